#include "base/printable.h"
#include "listen/trial.h"
#include "signal/median.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIAL_NOTE = 200 };

static const char *const preference_names[] = {"A", "B", "none"};
static const char sign_test[] = "exact sign test, two-sided, without ties";

/* A preference test. The key's draws for every trial: the masks (digits from 1) under A and B.
 * Trials are separated by commas. */
struct trial_preference {
    struct trial trial;
    enum preference preferred; /* judgement of the current trial */
    size_t masks;
    struct preference_pair pairs[PREFERENCE_PAIRS_MOST];
    double strengths[PREFERENCE_CHOICES_MOST];
    double median_seconds; /* median time of a trial; NaN: no trials */
};

enum { DRAW_DIGITS = 3 /* digits of a trial in the draws, with the comma */ };

static char *preference_draw(const struct trial *trial)
{
    const struct trial_preference *test = (const struct trial_preference *)trial;
    size_t count = preference_pairs(test->masks), order[PREFERENCE_PAIRS_MOST] = {0};
    char *draws = calloc(trial->planned, DRAW_DIGITS);
    for (size_t t = 0; draws && t < trial->planned; t++) {
        size_t round = t / count;
        if (t % count == 0)
            trial_shuffle(trial, round + 1, order, count);
        size_t pair = order[t % count];
        /* number 0 is no round: this draw decides the places in the first round */
        bool swapped = (trial_draw(trial, 0, pair, 2) + round) % 2 == 1;
        size_t a = test->pairs[pair].first, b = test->pairs[pair].second;
        char *digits = draws + t * DRAW_DIGITS;
        digits[0] = (char)('1' + (swapped ? b : a));
        digits[1] = (char)('1' + (swapped ? a : b));
        digits[2] = t + 1 < trial->planned ? ',' : '\0';
    }
    return draws;
}

static json_t *preference_setup(const struct trial *trial)
{
    return json_pack("{s:I}", "masks", (json_int_t)((const struct trial_preference *)trial)->masks);
}

static size_t preference_choice(const struct trial *trial, size_t sound)
{
    size_t at = trial->answered < trial->planned ? trial->answered : trial->planned - 1;
    return (size_t)(trial->key.draws[at * DRAW_DIGITS + sound] - '1');
}

static bool preference_judge(struct trial *trial, const json_t *event, double seconds)
{
    const char *said = json_string_value(json_object_get(event, "prefer"));
    for (int i = PREFERENCE_A; said && i <= PREFERENCE_NONE; i++)
        if (strcmp(said, preference_names[i]) == 0)
            return trial_prefer(trial, (enum preference)i, seconds);
    return false;
}

static bool preference_is_complete(const struct trial *trial)
{
    return trial_preferred(trial) != PREFERENCE_OPEN;
}

static void preference_count(struct trial *trial)
{
    struct trial_preference *test = (struct trial_preference *)trial;
    size_t a = preference_choice(trial, PREFERENCE_A), b = preference_choice(trial, PREFERENCE_B);
    size_t first = a < b ? a : b, second = a < b ? b : a;
    struct preference_pair *pair = test->pairs;
    while (pair->first != first || pair->second != second)
        pair++;
    if (test->preferred == PREFERENCE_NONE)
        pair->ties++;
    else if (preference_choice(trial, test->preferred) == first)
        pair->first_wins++;
    else
        pair->second_wins++;
}

static void preference_forget(struct trial *trial)
{
    ((struct trial_preference *)trial)->preferred = PREFERENCE_OPEN;
}

static void preference_conclude(struct trial *trial)
{
    struct trial_preference *test = (struct trial_preference *)trial;
    preference_test(test->pairs, preference_pairs(test->masks));
    preference_strengths(test->pairs, test->masks, test->strengths);
    test->median_seconds = median_of(trial->seconds, trial->answered);
}

static json_t *preference_result_json(const struct trial *trial)
{
    const struct trial_preference *test = (const struct trial_preference *)trial;
    char note[TRIAL_NOTE];
    json_t *pairs = json_array(), *strengths = json_array();
    for (size_t i = 0; i < preference_pairs(test->masks); i++) {
        const struct preference_pair *pair = &test->pairs[i];
        json_array_append_new(
            pairs,
            json_pack("{s:[I,I], s:[I,I], s:I, s:f, s:f}", "masks", (json_int_t)pair->first + 1,
                      (json_int_t)pair->second + 1, "preferred", (json_int_t)pair->first_wins,
                      (json_int_t)pair->second_wins, "ties", (json_int_t)pair->ties, "p_value",
                      pair->p_value, "p_holm", pair->p_holm));
    }
    for (size_t i = 0; i < test->masks; i++)
        json_array_append_new(strengths, json_real(test->strengths[i]));
    trial_log_p_value_note(note, sizeof note, sign_test, trial->answered, trial->planned);
    return json_pack("{s:o, s:o, s:s, s:o}", "pairs", pairs, "strengths", strengths, "p_value_note",
                     note, "median_seconds", trial_log_number(test->median_seconds));
}

static void print_strengths(const struct trial_preference *test, const char *const *names,
                            FILE *stream)
{
    bool printed[PREFERENCE_CHOICES_MOST] = {false};
    fputs("strength (Bradley-Terry, log odds; 0 is the average):\n", stream);
    for (size_t place = 0; place < test->masks; place++) {
        size_t best = SIZE_MAX;
        for (size_t i = 0; i < test->masks; i++)
            if (!printed[i] && (best == SIZE_MAX || test->strengths[i] > test->strengths[best]))
                best = i;
        printed[best] = true;
        fprintf(stream, "%+.2f  %s\n", test->strengths[best], printable(names[best]));
    }
}

static void preference_result_print(const struct trial *trial, const char *const *names,
                                    FILE *stream)
{
    const struct trial_preference *test = (const struct trial_preference *)trial;
    const size_t count = preference_pairs(test->masks);
    char note[TRIAL_NOTE];
    fputs("times preferred:\n", stream);
    for (size_t i = 0; i < count; i++) {
        const struct preference_pair *pair = &test->pairs[i];
        fprintf(stream, "%s: %zu, ", printable(names[pair->first]), pair->first_wins);
        fprintf(stream, "%s: %zu, neither: %zu; p = %.4g", printable(names[pair->second]),
                pair->second_wins, pair->ties, pair->p_value);
        if (count > 1)
            fprintf(stream, ", by Holm %.4g", pair->p_holm);
        fputc('\n', stream);
    }
    trial_log_p_value_note(note, sizeof note, sign_test, trial->answered, trial->planned);
    fprintf(stream, "p: %s\n", note);
    if (trial->answered > 0) {
        print_strengths(test, names, stream);
        fprintf(stream, "median time of a trial: %.1f s\n", test->median_seconds);
    }
}

static const struct trial_kind preference_kind = {
    .name = "preference",
    .draws = "of each trial, the masks under A and B",
    .sounds = preference_names,
    .draw = preference_draw,
    .setup = preference_setup,
    .choice = preference_choice,
    .judge = preference_judge,
    .is_complete = preference_is_complete,
    .count = preference_count,
    .forget = preference_forget,
    .conclude = preference_conclude,
    .result_json = preference_result_json,
    .result_print = preference_result_print,
};

enum status trial_preference_create(size_t masks, size_t trials, const char *seed,
                                    struct trial_log *log, struct trial **result)
{
    struct trial_preference *test = calloc(1, sizeof *test);
    if (!test)
        return fail_memory("a test");
    test->preferred = PREFERENCE_OPEN;
    test->masks = masks;
    preference_pairs_name(masks, test->pairs);
    enum status status =
        trial_init(&test->trial, &preference_kind, PREFERENCE_B + 1, trials, seed, log);
    if (status == STATUS_OK)
        *result = &test->trial;
    else
        trial_destroy(&test->trial);
    return status;
}

bool trial_prefer(struct trial *trial, enum preference preferred, double seconds)
{
    if (trial->over || preferred > PREFERENCE_NONE || !trial_has_heard(trial, PREFERENCE_A) ||
        !trial_has_heard(trial, PREFERENCE_B))
        return false;
    ((struct trial_preference *)trial)->preferred = preferred;
    trial_remark(trial, seconds, "prefer",
                 json_pack("{s:s}", "prefer", preference_names[preferred]));
    return true;
}

enum preference trial_preferred(const struct trial *trial)
{
    return ((const struct trial_preference *)trial)->preferred;
}
