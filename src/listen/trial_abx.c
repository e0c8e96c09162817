#include "listen/trial_abx.h"

#include "listen/secure_random.h"
#include "signal/median.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const sound_names[] = {"A", "B", "X"};
static const char *const test_name = "exact binomial test, one-sided";

enum { NOTE_TEXT = 200 };

struct trial_abx {
    struct trial_log *log;
    struct trial_key key; /* draws: a letter, A or B, for every trial */
    bool feedback;
    bool over;
    double began;    /* the trial's first sound; NaN: not yet */
    double *seconds; /* each answer took */
    struct abx_result result;
};

void trial_abx_destroy(struct trial_abx *abx)
{
    if (!abx)
        return;
    trial_key_free(&abx->key);
    free(abx->seconds);
    free(abx);
}

static char *draw_letters(size_t trials)
{
    char *draws = calloc(trials + 1, 1);
    for (size_t i = 0; draws && i < trials; i++)
        draws[i] = (char)('A' + secure_random_below(2));
    return draws;
}

static enum status prepare(struct trial_abx *abx, size_t trials)
{
    enum status status = secure_random_start();
    if (status == STATUS_OK)
        status = trial_key_init(&abx->key, draw_letters(trials));
    abx->seconds = calloc(trials, sizeof *abx->seconds);
    if (status == STATUS_OK && !abx->seconds)
        status = fail_memory("a test");
    return status;
}

enum status trial_abx_create(size_t trials, bool feedback, struct trial_log *log,
                             struct trial_abx **result)
{
    struct trial_abx *abx = calloc(1, sizeof *abx);
    if (!abx)
        return fail_memory("a test");
    abx->log = log;
    abx->feedback = feedback;
    abx->began = NAN;
    abx->result.planned = trials;
    enum status status = prepare(abx, trials);
    if (status != STATUS_OK) {
        trial_abx_destroy(abx);
        return status;
    }
    trial_log_begin(log,
                    json_pack("{s:s, s:I, s:b, s:s}", "test", "abx", "trials", (json_int_t)trials,
                              "feedback", feedback, "commitment", abx->key.commitment));
    *result = abx;
    return STATUS_OK;
}

const char *trial_abx_commitment(const struct trial_abx *abx)
{
    return abx->key.commitment;
}

size_t trial_abx_at(const struct trial_abx *abx)
{
    return abx->result.answered;
}

bool trial_abx_is_over(const struct trial_abx *abx)
{
    return abx->over;
}

size_t trial_abx_choice(const struct trial_abx *abx, enum abx_sound sound)
{
    size_t trial = abx->result.answered;
    if (sound != ABX_X)
        return sound == ABX_B;
    /* After the last answer X stays what it was. */
    return abx->key.draws[trial < abx->result.planned ? trial : trial - 1] == 'B';
}

void trial_abx_play(struct trial_abx *abx, enum abx_sound sound, double seconds)
{
    if (abx->over)
        return;
    if (isnan(abx->began))
        abx->began = seconds;
    trial_log_sound(abx->log, seconds, abx->result.answered + 1, sound_names[sound]);
}

json_t *abx_result_json(const struct abx_result *result)
{
    char note[NOTE_TEXT];
    trial_log_p_value_note(note, sizeof note, test_name, result->answered, result->planned);
    return json_pack("{s:I, s:f, s:s, s:[f,f], s:I, s:o}", "hits", (json_int_t)result->hits,
                     "p_value", result->p_value, "p_value_note", note, "rate_interval",
                     result->rate.low, result->rate.high, "trials_needed",
                     (json_int_t)result->trials_needed, "median_seconds",
                     trial_log_number(result->median_seconds));
}

void trial_abx_stop(struct trial_abx *abx, double seconds)
{
    struct abx_result *result = &abx->result;
    if (abx->over)
        return;
    abx->over = true;
    result->p_value = binomial_p_value(result->hits, result->answered);
    result->rate = binomial_interval(result->hits, result->answered);
    result->trials_needed = binomial_trials_needed(result->hits, result->answered);
    result->median_seconds = median_of(abx->seconds, result->answered);
    trial_log_end(abx->log, seconds, result->answered, result->planned, &abx->key,
                  abx_result_json(result));
}

enum abx_feedback trial_abx_answer(struct trial_abx *abx, enum abx_sound said, double seconds)
{
    if (abx->over || said == ABX_X)
        return ABX_NOT_REVEALED;
    bool right = trial_abx_choice(abx, said) == trial_abx_choice(abx, ABX_X);
    size_t trial = abx->result.answered;
    trial_log_event(abx->log, seconds, trial + 1, "answer",
                    json_pack("{s:s}", "answer", sound_names[said]));
    abx->seconds[trial] = isnan(abx->began) ? 0 : seconds - abx->began;
    abx->began = NAN;
    abx->result.hits += right;
    abx->result.answered++;
    if (abx->result.answered == abx->result.planned)
        trial_abx_stop(abx, seconds);
    if (!abx->feedback)
        return ABX_NOT_REVEALED;
    return right ? ABX_RIGHT : ABX_WRONG;
}

const struct abx_result *trial_abx_result(const struct trial_abx *abx)
{
    return abx->over ? &abx->result : NULL;
}

const struct trial_key *trial_abx_key(const struct trial_abx *abx)
{
    return abx->over ? &abx->key : NULL;
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

void abx_result_print(const struct abx_result *result, FILE *stream)
{
    char note[NOTE_TEXT];
    trial_log_p_value_note(note, sizeof note, test_name, result->answered, result->planned);
    fprintf(stream, "%zu of %zu right; p = %.4g (%s)\n", result->hits, result->answered,
            result->p_value, note);
    fprintf(stream, "true rate: %.1f to %.1f %% (95 %% confidence)\n", 100 * result->rate.low,
            100 * result->rate.high);
    print_trials_needed(result->trials_needed, stream);
    if (result->answered > 0)
        fprintf(stream, "median time of an answer: %.1f s\n", result->median_seconds);
}
