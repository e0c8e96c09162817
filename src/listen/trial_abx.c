#include "listen/trial_abx.h"

#include "signal/median.h"

#include <stdlib.h>

static const char *const sound_names[] = {"A", "B", "X"};
static const char *const test_name = "exact binomial test, one-sided";

enum { NOTE_TEXT = 200 };

struct abx_result {
    size_t hits;
    double p_value; /* one-sided, over the answered trials */
    struct binomial_interval rate;
    size_t trials_needed;  /* see binomial_trials_needed */
    double median_seconds; /* from a trial's first sound to its answer; NaN: no answers */
};

/* The key's draws: A or B for every trial. */
struct trial_abx {
    struct trial trial;
    bool feedback;
    struct abx_result result;
};

static char *abx_draw(const struct trial *trial)
{
    char *draws = calloc(trial->planned + 1, 1);
    for (size_t i = 0; draws && i < trial->planned; i++)
        draws[i] = (char)('A' + secure_random_below(2));
    return draws;
}

static size_t abx_choice(const struct trial *trial, size_t sound)
{
    size_t at = trial->answered < trial->planned ? trial->answered : trial->planned - 1;
    return sound == ABX_X ? trial->key.draws[at] == 'B' : sound == ABX_B;
}

static void abx_conclude(struct trial *trial)
{
    struct abx_result *result = &((struct trial_abx *)trial)->result;
    result->p_value = binomial_p_value(result->hits, trial->answered);
    result->rate = binomial_interval(result->hits, trial->answered);
    result->trials_needed = binomial_trials_needed(result->hits, trial->answered);
    result->median_seconds = median_of(trial->seconds, trial->answered);
}

static json_t *abx_result_json(const struct trial *trial)
{
    const struct abx_result *result = &((const struct trial_abx *)trial)->result;
    char note[NOTE_TEXT];
    trial_log_p_value_note(note, sizeof note, test_name, trial->answered, trial->planned);
    return json_pack("{s:I, s:f, s:s, s:[f,f], s:I, s:o}", "hits", (json_int_t)result->hits,
                     "p_value", result->p_value, "p_value_note", note, "rate_interval",
                     result->rate.low, result->rate.high, "trials_needed",
                     (json_int_t)result->trials_needed, "median_seconds",
                     trial_log_number(result->median_seconds));
}

static void print_trials_needed(size_t needed, FILE *stream)
{
    if (needed == 0)
        fputs("no number of trials would show a rate of that size\n", stream);
    else if (needed > BINOMIAL_TRIALS_MOST)
        fprintf(stream, "to show a rate of that size takes more than %d trials\n",
                BINOMIAL_TRIALS_MOST);
    else
        fprintf(stream, "to show a rate of that size takes %zu trials (5 %% level, power 80 %%)\n",
                needed);
}

static void abx_result_print(const struct trial *trial, const char *const *names, FILE *stream)
{
    const struct abx_result *result = &((const struct trial_abx *)trial)->result;
    (void)names;
    char note[NOTE_TEXT];
    trial_log_p_value_note(note, sizeof note, test_name, trial->answered, trial->planned);
    fprintf(stream, "%zu of %zu right; p = %.4g (%s)\n", result->hits, trial->answered,
            result->p_value, note);
    fprintf(stream, "true rate: %.1f to %.1f %% (95 %% confidence)\n", 100 * result->rate.low,
            100 * result->rate.high);
    print_trials_needed(result->trials_needed, stream);
    if (trial->answered > 0)
        fprintf(stream, "median time of an answer: %.1f s\n", result->median_seconds);
}

static const struct trial_kind abx_kind = {
    .name = "abx",
    .draws = "X of each trial",
    .sounds = sound_names,
    .draw = abx_draw,
    .choice = abx_choice,
    .conclude = abx_conclude,
    .result_json = abx_result_json,
    .result_print = abx_result_print,
};

enum status trial_abx_create(size_t trials, bool feedback, struct trial_log *log,
                             struct trial **result)
{
    struct trial_abx *abx = calloc(1, sizeof *abx);
    if (!abx)
        return fail_memory("a test");
    abx->feedback = feedback;
    enum status status = trial_init(&abx->trial, &abx_kind, trials, log);
    if (status != STATUS_OK) {
        trial_destroy(&abx->trial);
        return status;
    }
    trial_log_begin(log, json_pack("{s:s, s:I, s:b, s:s}", "test", abx_kind.name, "trials",
                                   (json_int_t)trials, "feedback", feedback, "commitment",
                                   abx->trial.key.commitment));
    *result = &abx->trial;
    return STATUS_OK;
}

enum abx_feedback trial_abx_answer(struct trial *trial, enum abx_sound said, double seconds)
{
    struct trial_abx *abx = (struct trial_abx *)trial;
    if (trial->over || said == ABX_X)
        return ABX_NOT_REVEALED;
    bool right = abx_choice(trial, said) == abx_choice(trial, ABX_X);
    abx->result.hits += right;
    trial_answer(trial, seconds, "answer", json_pack("{s:s}", "answer", sound_names[said]));
    if (!abx->feedback)
        return ABX_NOT_REVEALED;
    return right ? ABX_RIGHT : ABX_WRONG;
}
