#include "listen/trial_ranking.h"

#include "listen/secure_random.h"
#include "signal/median.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const letter_names[RANKING_MASKS_MOST] = {"A", "B", "C", "D", "E",
                                                             "F", "G", "H", "I"};
static const char *const test_name = "Friedman test, chi-square approximation";

enum { NOTE_TEXT = 200 };

struct trial_ranking {
    struct trial_log *log;
    /* draws: for every trial a word of digits, the masks (from 1) under A, B, C... */
    struct trial_key key;
    bool over;
    double began;           /* the trial's first sound; NaN: not yet */
    double *seconds;        /* each trial took */
    unsigned char *ratings; /* trial after trial, in the order of the masks */
    struct ranking_result result;
};

void trial_ranking_destroy(struct trial_ranking *ranking)
{
    if (!ranking)
        return;
    trial_key_free(&ranking->key);
    free(ranking->seconds);
    free(ranking->ratings);
    free(ranking);
}

/* Fisher and Yates: every order is as likely as any other. */
static void draw_order(char *word, size_t masks)
{
    for (size_t i = 0; i < masks; i++) {
        size_t at = secure_random_below((uint32_t)i + 1);
        word[i] = word[at];
        word[at] = (char)('1' + i);
    }
}

static char *draw_orders(size_t masks, size_t trials)
{
    char *draws = calloc(trials, masks + 1);
    for (size_t t = 0; draws && t < trials; t++) {
        draw_order(draws + t * (masks + 1), masks);
        draws[t * (masks + 1) + masks] = t + 1 < trials ? ',' : '\0';
    }
    return draws;
}

static enum status prepare(struct trial_ranking *ranking)
{
    size_t masks = ranking->result.masks, trials = ranking->result.planned;
    enum status status = secure_random_start();
    if (status == STATUS_OK)
        status = trial_key_init(&ranking->key, draw_orders(masks, trials));
    ranking->seconds = calloc(trials, sizeof *ranking->seconds);
    ranking->ratings = calloc(trials, masks);
    if (status == STATUS_OK && (!ranking->seconds || !ranking->ratings))
        status = fail_memory("a test");
    return status;
}

enum status trial_ranking_create(size_t masks, size_t trials, struct trial_log *log,
                                 struct trial_ranking **result)
{
    struct trial_ranking *ranking = calloc(1, sizeof *ranking);
    if (!ranking)
        return fail_memory("a test");
    ranking->log = log;
    ranking->began = NAN;
    ranking->result.masks = masks;
    ranking->result.planned = trials;
    enum status status = prepare(ranking);
    if (status != STATUS_OK) {
        trial_ranking_destroy(ranking);
        return status;
    }
    trial_log_begin(log, json_pack("{s:s, s:I, s:I, s:s}", "test", "ranking", "trials",
                                   (json_int_t)trials, "masks", (json_int_t)masks, "commitment",
                                   ranking->key.commitment));
    *result = ranking;
    return STATUS_OK;
}

const char *trial_ranking_commitment(const struct trial_ranking *ranking)
{
    return ranking->key.commitment;
}

size_t trial_ranking_at(const struct trial_ranking *ranking)
{
    return ranking->result.answered;
}

bool trial_ranking_is_over(const struct trial_ranking *ranking)
{
    return ranking->over;
}

size_t trial_ranking_choice(const struct trial_ranking *ranking, size_t letter)
{
    const struct ranking_result *result = &ranking->result;
    /* After the last trial the letters stay what they were. */
    size_t trial = result->answered < result->planned ? result->answered : result->planned - 1;
    return (size_t)(ranking->key.draws[trial * (result->masks + 1) + letter] - '1');
}

/* Where the trial at hand keeps the letter's rating. */
static unsigned char *rating_of(const struct trial_ranking *ranking, size_t letter)
{
    return ranking->ratings + ranking->result.answered * ranking->result.masks +
           trial_ranking_choice(ranking, letter);
}

void trial_ranking_play(struct trial_ranking *ranking, size_t letter, double seconds)
{
    if (ranking->over)
        return;
    if (isnan(ranking->began))
        ranking->began = seconds;
    trial_log_sound(ranking->log, seconds, ranking->result.answered + 1, letter_names[letter]);
}

void trial_ranking_rate(struct trial_ranking *ranking, size_t letter, unsigned rating,
                        double seconds)
{
    if (ranking->over || rating < RATING_LEAST || rating > RATING_MOST)
        return;
    *rating_of(ranking, letter) = (unsigned char)rating;
    trial_log_event(ranking->log, seconds, ranking->result.answered + 1, "rate",
                    json_pack("{s:s, s:i}", "sound", letter_names[letter], "rating", (int)rating));
}

unsigned trial_ranking_rating(const struct trial_ranking *ranking, size_t letter)
{
    return ranking->over ? 0 : *rating_of(ranking, letter);
}

bool trial_ranking_confirm(struct trial_ranking *ranking, double seconds)
{
    struct ranking_result *result = &ranking->result;
    if (ranking->over)
        return false;
    for (size_t letter = 0; letter < result->masks; letter++)
        if (*rating_of(ranking, letter) == 0)
            return false;
    ranking->seconds[result->answered] = isnan(ranking->began) ? 0 : seconds - ranking->began;
    ranking->began = NAN;
    result->answered++;
    trial_log_event(ranking->log, seconds, result->answered, "confirm", json_object());
    if (result->answered == result->planned)
        trial_ranking_stop(ranking, seconds);
    return true;
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

void ranking_result_of(const unsigned char *ratings, struct ranking_result *result)
{
    size_t trials = result->answered, masks = result->masks;
    result->friedman = ratings_friedman(ratings, trials, masks);
    for (size_t mask = 0; mask < masks; mask++) {
        struct ranking_score *score = &result->scores[mask];
        score->rating = trials ? ratings_mean(ratings, trials, masks, mask)
                               : (struct ratings_mean){NAN, NAN, NAN};
        score->first = times_first(ratings, trials, masks, mask);
    }
}

json_t *ranking_result_json(const struct ranking_result *result)
{
    char note[NOTE_TEXT];
    trial_log_p_value_note(note, sizeof note, test_name, result->answered, result->planned);
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

void trial_ranking_stop(struct trial_ranking *ranking, double seconds)
{
    struct ranking_result *result = &ranking->result;
    if (ranking->over)
        return;
    ranking->over = true;
    ranking_result_of(ranking->ratings, result);
    result->median_seconds = median_of(ranking->seconds, result->answered);
    trial_log_end(ranking->log, seconds, result->answered, result->planned, &ranking->key,
                  ranking_result_json(result));
}

const struct ranking_result *trial_ranking_result(const struct trial_ranking *ranking)
{
    return ranking->over ? &ranking->result : NULL;
}

const struct trial_key *trial_ranking_key(const struct trial_ranking *ranking)
{
    return ranking->over ? &ranking->key : NULL;
}

/* How many stand before that mask: rated higher, or as high and named earlier. */
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
    fprintf(stream, "%s, first in %zu of %zu\n", name, score->first, trials);
}

void ranking_result_print(const struct ranking_result *result, const char *const *names,
                          FILE *stream)
{
    char note[NOTE_TEXT];
    trial_log_p_value_note(note, sizeof note, test_name, result->answered, result->planned);
    if (result->answered > 0)
        fputs("mean rating, 1 to 5 (95 % confidence):\n", stream);
    for (size_t place = 0; result->answered > 0 && place < result->masks; place++)
        for (size_t mask = 0; mask < result->masks; mask++)
            if (place_of(result, mask) == place)
                print_score(&result->scores[mask], names[mask], result->answered, stream);
    fprintf(stream, "that they differ so by chance: p = %.4g (%s)\n", result->friedman.p_value,
            note);
    if (result->answered > 0)
        fprintf(stream, "median time of a trial: %.1f s\n", result->median_seconds);
}
