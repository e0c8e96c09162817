#include "listen/trial_ranking.h"

#include "base/printable.h"
#include "signal/median.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const letter_names[RANKING_MASKS_MOST] = {"A", "B", "C", "D", "E",
                                                             "F", "G", "H", "I"};
static const char *const test_names[] = {
    [RATINGS_EXACT] = "Friedman test, exact",
    [RATINGS_PERMUTED] = "Friedman test, by 1,000,000 random orders of the ratings, seed 1",
    [RATINGS_APPROXIMATE] = "Friedman test, chi-square approximation"};

enum { NOTE_TEXT = 200 };

struct ranking_score {
    struct ratings_mean rating;
    size_t first; /* trials in which no other was rated higher */
};

struct ranking_result {
    size_t masks;
    struct ranking_score scores[RANKING_MASKS_MOST]; /* NaN and 0 if no trial was confirmed */
    struct ratings_friedman friedman;
    double median_seconds; /* from a trial's first sound to its confirmation; NaN: none */
};

/* The key's draws: for every trial the masks (digits from 1) under A, B, C..., comma-separated. */
struct trial_ranking {
    struct trial trial;
    struct ranking_result result;
    unsigned char ratings[]; /* trial after trial, in the order of the masks */
};

static size_t masks_of(const struct trial *trial)
{
    return ((const struct trial_ranking *)trial)->result.masks;
}

/* Fisher-Yates shuffle; trials count from 1. */
static void draw_order(const struct trial *trial, size_t number, char *order)
{
    const size_t masks = masks_of(trial);
    for (size_t i = 0; i < masks; i++) {
        size_t at = trial_draw(trial, number, i, i + 1);
        order[i] = order[at];
        order[at] = (char)('1' + i);
    }
}

static char *ranking_draw(const struct trial *trial)
{
    size_t masks = masks_of(trial), trials = trial->planned;
    char *draws = calloc(trials, masks + 1);
    for (size_t t = 0; draws && t < trials; t++) {
        draw_order(trial, t + 1, draws + t * (masks + 1));
        draws[t * (masks + 1) + masks] = t + 1 < trials ? ',' : '\0';
    }
    return draws;
}

static json_t *ranking_setup(const struct trial *trial)
{
    return json_pack("{s:I}", "masks", (json_int_t)masks_of(trial));
}

static size_t ranking_choice(const struct trial *trial, size_t letter)
{
    size_t at = trial->answered < trial->planned ? trial->answered : trial->planned - 1;
    return (size_t)(trial->key.draws[at * (masks_of(trial) + 1) + letter] - '1');
}

static size_t times_first(const unsigned char *ratings, size_t trials, size_t masks, size_t mask)
{
    size_t count = 0;
    for (size_t t = 0; t < trials; t++) {
        size_t higher = 0;
        for (size_t other = 0; other < masks; other++)
            higher += ratings[t * masks + other] > ratings[t * masks + mask];
        count += higher == 0;
    }
    return count;
}

static void ranking_conclude(struct trial *trial)
{
    struct trial_ranking *ranking = (struct trial_ranking *)trial;
    struct ranking_result *result = &ranking->result;
    size_t trials = trial->answered, masks = result->masks;
    result->friedman = ratings_friedman(ranking->ratings, trials, masks);
    for (size_t mask = 0; mask < masks; mask++) {
        struct ranking_score *score = &result->scores[mask];
        score->rating = trials ? ratings_mean(ranking->ratings, trials, masks, mask)
                               : (struct ratings_mean){NAN, NAN, NAN};
        score->first = times_first(ranking->ratings, trials, masks, mask);
    }
    result->median_seconds = median_of(trial->seconds, trial->answered);
}

static json_t *ranking_result_json(const struct trial *trial)
{
    const struct ranking_result *result = &((const struct trial_ranking *)trial)->result;
    char note[NOTE_TEXT];
    trial_log_p_value_note(note, sizeof note, test_names[result->friedman.method], trial->answered,
                           trial->planned);
    json_t *scores = json_array();
    for (size_t mask = 0; mask < result->masks; mask++) {
        const struct ranking_score *score = &result->scores[mask];
        json_array_append_new(scores, json_pack("{s:o, s:[o,o], s:I}", "mean",
                                                trial_log_number(score->rating.mean), "interval",
                                                trial_log_number(score->rating.low),
                                                trial_log_number(score->rating.high), "first",
                                                (json_int_t)score->first));
    }
    return json_pack("{s:o, s:f, s:f, s:s, s:o}", "scores", scores, "friedman",
                     result->friedman.statistic, "p_value", result->friedman.p_value,
                     "p_value_note", note, "median_seconds",
                     trial_log_number(result->median_seconds));
}

/* Masks rated higher, or equal and listed earlier. */
static size_t place_of(const struct ranking_result *result, size_t mask)
{
    size_t place = 0;
    for (size_t other = 0; other < result->masks; other++) {
        double theirs = result->scores[other].rating.mean, own = result->scores[mask].rating.mean;
        place += theirs > own || (theirs <= own && theirs >= own && other < mask);
    }
    return place;
}

static void print_score(const struct ranking_score *score, const char *name, size_t trials,
                        FILE *stream)
{
    fprintf(stream, "%.2f  ", score->rating.mean);
    if (isfinite(score->rating.low))
        fprintf(stream, "(%.2f to %.2f)  ", score->rating.low, score->rating.high);
    fprintf(stream, "%s, first in %zu of %zu\n", printable(name), score->first, trials);
}

static void ranking_result_print(const struct trial *trial, const char *const *names, FILE *stream)
{
    const struct ranking_result *result = &((const struct trial_ranking *)trial)->result;
    char note[NOTE_TEXT];
    trial_log_p_value_note(note, sizeof note, test_names[result->friedman.method], trial->answered,
                           trial->planned);
    if (trial->answered > 0)
        fputs("mean rating, 1 to 5 (95 % confidence, by Student's t within the scale):\n", stream);
    for (size_t place = 0; trial->answered > 0 && place < result->masks; place++)
        for (size_t mask = 0; mask < result->masks; mask++)
            if (place_of(result, mask) == place)
                print_score(&result->scores[mask], names[mask], trial->answered, stream);
    fprintf(stream, "that they differ so by chance: p = %.4g (%s)\n", result->friedman.p_value,
            note);
    if (trial->answered > 0)
        fprintf(stream, "median time of a trial: %.1f s\n", result->median_seconds);
}

static unsigned char *rating_of(const struct trial *trial, size_t letter)
{
    struct trial_ranking *ranking = (struct trial_ranking *)trial;
    return ranking->ratings + trial->answered * ranking->result.masks +
           ranking_choice(trial, letter);
}

static bool ranking_is_complete(const struct trial *trial)
{
    for (size_t letter = 0; letter < masks_of(trial); letter++)
        if (*rating_of(trial, letter) == 0)
            return false;
    return true;
}

static void ranking_count(struct trial *trial)
{
    (void)trial; /* its ratings are in their place */
}

static void ranking_forget(struct trial *trial)
{
    for (size_t letter = 0; letter < masks_of(trial); letter++)
        *rating_of(trial, letter) = 0;
}

static bool ranking_judge(struct trial *trial, const json_t *event, double seconds)
{
    const char *letter = json_string_value(json_object_get(event, "sound"));
    json_int_t rating = json_integer_value(json_object_get(event, "rating"));
    for (size_t i = 0; letter && i < masks_of(trial); i++)
        if (strcmp(letter, letter_names[i]) == 0)
            return trial_ranking_rate(trial, i, (unsigned)rating, seconds);
    return false;
}

static const struct trial_kind ranking_kind = {
    .name = "ranking",
    .draws = "of each trial, the masks under A, B and so on",
    .sounds = letter_names,
    .draw = ranking_draw,
    .setup = ranking_setup,
    .choice = ranking_choice,
    .judge = ranking_judge,
    .is_complete = ranking_is_complete,
    .count = ranking_count,
    .forget = ranking_forget,
    .conclude = ranking_conclude,
    .result_json = ranking_result_json,
    .result_print = ranking_result_print,
};

enum status trial_ranking_create(size_t masks, size_t trials, const char *seed,
                                 struct trial_log *log, struct trial **result)
{
    struct trial_ranking *ranking = calloc(1, sizeof *ranking + masks * trials);
    if (!ranking)
        return fail_memory("a test");
    ranking->result.masks = masks;
    enum status status = trial_init(&ranking->trial, &ranking_kind, trials, seed, log);
    if (status == STATUS_OK)
        *result = &ranking->trial;
    else
        trial_destroy(&ranking->trial);
    return status;
}

bool trial_ranking_rate(struct trial *trial, size_t letter, unsigned rating, double seconds)
{
    if (trial->over || rating < RATING_LEAST || rating > RATING_MOST ||
        !trial_has_heard(trial, letter))
        return false;
    *rating_of(trial, letter) = (unsigned char)rating;
    trial_remark(trial, seconds, "rate",
                 json_pack("{s:s, s:i}", "sound", letter_names[letter], "rating", (int)rating));
    return true;
}

unsigned trial_ranking_rating(struct trial *trial, size_t letter)
{
    return trial->over ? 0 : *rating_of(trial, letter);
}
