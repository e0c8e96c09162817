#include "listen/trial_abx.h"

#include "signal/median.h"

#include <stdlib.h>
#include <string.h>

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
    enum abx_sound said; /* in the current trial; ABX_X: nothing yet */
    bool was_right;      /* in the trial before */
    struct abx_result result;
};

static char *abx_draw(const struct trial *trial)
{
    char *draws = calloc(trial->planned + 1, 1);
    for (size_t i = 0; draws && i < trial->planned; i++)
        draws[i] = (char)('A' + trial_draw(trial, i + 1, 0, 2));
    return draws;
}

static json_t *abx_setup(const struct trial *trial)
{
    return json_pack("{s:b}", "feedback", ((const struct trial_abx *)trial)->feedback);
}

static size_t abx_choice(const struct trial *trial, size_t sound)
{
    size_t at = trial->answered < trial->planned ? trial->answered : trial->planned - 1;
    return sound == ABX_X ? trial->key.draws[at] == 'B' : sound == ABX_B;
}

static bool abx_is_complete(const struct trial *trial)
{
    return trial_abx_said(trial) != ABX_X;
}

static void abx_count(struct trial *trial)
{
    struct trial_abx *abx = (struct trial_abx *)trial;
    abx->was_right = abx_choice(trial, abx->said) == abx_choice(trial, ABX_X);
    abx->result.hits += abx->was_right;
}

static void abx_forget(struct trial *trial)
{
    ((struct trial_abx *)trial)->said = ABX_X;
}

static bool abx_judge(struct trial *trial, const json_t *event, double seconds)
{
    const char *said = json_string_value(json_object_get(event, "answer"));
    if (!said)
        return false;
    return trial_abx_answer(trial, strcmp(said, sound_names[ABX_A]) == 0 ? ABX_A : ABX_B, seconds);
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
    .setup = abx_setup,
    .choice = abx_choice,
    .judge = abx_judge,
    .is_complete = abx_is_complete,
    .count = abx_count,
    .forget = abx_forget,
    .conclude = abx_conclude,
    .result_json = abx_result_json,
    .result_print = abx_result_print,
};

enum status trial_abx_create(size_t trials, bool feedback, const char *seed, struct trial_log *log,
                             struct trial **result)
{
    struct trial_abx *abx = calloc(1, sizeof *abx);
    if (!abx)
        return fail_memory("a test");
    abx->feedback = feedback;
    abx->said = ABX_X;
    enum status status = trial_init(&abx->trial, &abx_kind, trials, seed, log);
    if (status == STATUS_OK)
        *result = &abx->trial;
    else
        trial_destroy(&abx->trial);
    return status;
}

bool trial_abx_answer(struct trial *trial, enum abx_sound said, double seconds)
{
    bool heard = trial_has_heard(trial, ABX_A) && trial_has_heard(trial, ABX_B) &&
                 trial_has_heard(trial, ABX_X);
    if (trial->over || said == ABX_X || !heard)
        return false;
    ((struct trial_abx *)trial)->said = said;
    trial_remark(trial, seconds, "answer", json_pack("{s:s}", "answer", sound_names[said]));
    return true;
}

enum abx_sound trial_abx_said(const struct trial *trial)
{
    return ((const struct trial_abx *)trial)->said;
}

enum abx_feedback trial_abx_feedback(const struct trial *trial)
{
    const struct trial_abx *abx = (const struct trial_abx *)trial;
    if (!abx->feedback || trial->answered == 0)
        return ABX_NOT_REVEALED;
    return abx->was_right ? ABX_RIGHT : ABX_WRONG;
}
