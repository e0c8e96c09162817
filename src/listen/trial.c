#include "listen/trial.h"

#include "base/printable.h"
#include "signal/median.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rounds a time to milliseconds, as it is logged. Results are computed from rounded times. */
static double to_milliseconds(double seconds)
{
    return round(seconds * 1000) / 1000;
}

/* ---- the key ---- */

/* The draw is the first 16 digits of the SHA-256 of "SEED TRIAL PLACE", as a number, modulo bound.
 * The probabilities differ by less than 1e-18. */
size_t trial_draw(const struct trial *trial, size_t number, size_t place, size_t bound)
{
    char text[DIGEST_TEXT + 48], digest[DIGEST_TEXT];
    snprintf(text, sizeof text, "%s %zu %zu", trial->key.seed, number, place);
    digest_of_text(text, digest);
    digest[16] = '\0';
    return (size_t)(strtoull(digest, NULL, 16) % bound);
}

void trial_shuffle(const struct trial *trial, size_t number, size_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = trial_draw(trial, number, i, i + 1);
        order[i] = order[at];
        order[at] = i;
    }
}

enum status trial_init(struct trial *trial, const struct trial_kind *kind, size_t sounds,
                       size_t planned, const char *seed, struct trial_log *log)
{
    trial->kind = kind;
    trial->sound_count = sounds;
    trial->log = log;
    trial->planned = planned;
    trial->began = NAN;
    trial->seconds = calloc(planned, sizeof *trial->seconds);
    if (!trial->seconds)
        return fail_memory("a test");
    TRY(digest_start());
    if (seed)
        snprintf(trial->key.seed, sizeof trial->key.seed, "%s", seed);
    else
        digest_draw_secret(trial->key.seed);
    trial->key.draws = kind->draw(trial);
    return trial->key.draws ? STATUS_OK : fail_memory("a test's key");
}

void trial_destroy(struct trial *trial)
{
    if (!trial)
        return;
    free(trial->key.draws);
    free(trial->seconds);
    free(trial);
}

/* Combines digits with those of a pad, bit by bit, modulo 2. The same call again restores them. */
static void seal(const char *text, const char *pad, char sealed[DIGEST_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i + 1 < DIGEST_TEXT; i++)
        sealed[i] = digits[(strchr(digits, text[i]) - digits) ^ (strchr(digits, pad[i]) - digits)];
    sealed[DIGEST_TEXT - 1] = '\0';
}

/* Adds the commitment and the sealed seed to the set-up. */
static enum status commit(struct trial_key *key, json_t *setup)
{
    char pad[DIGEST_TEXT], sealed[DIGEST_TEXT], *text = trial_log_text(setup), *whole = NULL;
    if (!text || asprintf(&whole, "%s %s", key->seed, text) < 0) {
        free(text);
        return fail_memory("a test's key");
    }
    digest_of_text(whole, key->commitment);
    digest_of_text(text, pad);
    seal(key->seed, pad, sealed);
    free(whole);
    free(text);
    int failed = json_object_set_new(setup, "commitment", json_string(key->commitment));
    failed |= json_object_set_new(setup, "sealed_seed", json_string(sealed));
    return failed ? fail_memory("a test's key") : STATUS_OK;
}

enum status trial_begin(struct trial *trial, json_t *about)
{
    json_t *start =
        json_pack("{s:s, s:I}", "test", trial->kind->name, "trials", (json_int_t)trial->planned);
    json_t *setup = trial->kind->setup(trial);
    int failed = json_object_update(start, setup);
    failed |= json_object_update(start, about);
    json_decref(setup);
    json_decref(about);
    enum status status = failed ? fail_memory("a log") : commit(&trial->key, start);
    if (status == STATUS_OK)
        trial_log_begin(trial->log, start);
    else
        json_decref(start);
    return status;
}

enum status trial_unseal(const json_t *start, char seed[DIGEST_TEXT])
{
    const char *sealed = json_string_value(json_object_get(start, "sealed_seed"));
    char pad[DIGEST_TEXT];
    if (!sealed || strlen(sealed) != DIGEST_TEXT - 1 ||
        strspn(sealed, "0123456789abcdef") != DIGEST_TEXT - 1)
        return STATUS_FAILED;
    json_t *setup = json_copy((json_t *)start);
    static const char *const later[] = {"commitment", "sealed_seed", "hash", "events", "end"};
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        json_object_del(setup, later[i]);
    char *text = trial_log_text(setup);
    json_decref(setup);
    if (!text)
        return fail_memory("a test's key");
    digest_of_text(text, pad);
    seal(sealed, pad, seed);
    free(text);
    return STATUS_OK;
}

const struct trial_key *trial_revealed_key(const struct trial *trial)
{
    return trial->over ? &trial->key : NULL;
}

/* ---- the test ---- */

size_t trial_choice(const struct trial *trial, size_t sound)
{
    return trial->kind->choice(trial, sound);
}

void trial_play(struct trial *trial, size_t sound, double seconds)
{
    if (trial->over)
        return;
    seconds = to_milliseconds(seconds);
    if (isnan(trial->began))
        trial->began = seconds;
    trial->heard |= 1U << sound;
    trial_log_sound(trial->log, seconds, trial->answered + 1, trial->kind->sounds[sound]);
}

/* Resets the state of the current trial. */
static void begin_trial(struct trial *trial)
{
    trial->began = NAN;
    trial->heard = 0;
    if (trial->answered < trial->planned)
        trial->kind->forget(trial);
}

bool trial_confirm(struct trial *trial, double seconds, json_t *about)
{
    if (trial->over || !trial->kind->is_complete(trial)) {
        json_decref(about);
        return false;
    }
    seconds = to_milliseconds(seconds);
    trial->kind->count(trial);
    trial->seconds[trial->answered] = isnan(trial->began) ? 0 : seconds - trial->began;
    trial->answered++;
    trial_log_event(trial->log, seconds, trial->answered, "confirm", about);
    trial_log_sync(trial->log);
    begin_trial(trial);
    if (trial->answered == trial->planned)
        trial_stop(trial, seconds);
    return true;
}

void trial_resume(struct trial *trial, double seconds, json_t *about)
{
    begin_trial(trial);
    trial_remark(trial, seconds, "resume", about);
}

void trial_remark(struct trial *trial, double seconds, const char *event, json_t *about)
{
    if (trial->over)
        json_decref(about);
    else
        trial_log_event(trial->log, to_milliseconds(seconds), trial->answered + 1, event, about);
}

void trial_stop(struct trial *trial, double seconds)
{
    if (trial->over)
        return;
    trial->over = true;
    trial->kind->conclude(trial);
    trial_log_end(trial->log,
                  json_pack("{s:f, s:I, s:b, s:{s:s, s:s}, s:o}", "time", to_milliseconds(seconds),
                            "answered", (json_int_t)trial->answered, "stopped_early",
                            trial->answered < trial->planned, "key", "draws", trial->key.draws,
                            "seed", trial->key.seed, "result", trial->kind->result_json(trial)));
    trial_log_sync(trial->log);
}

/* ---- ABX: can two choices be distinguished? ---- */

static const char *const sound_names[] = {"A", "B", "X"};
static const char *const test_name = "exact binomial test, one-sided";

enum { ABX_NOTE = 200 };

struct abx_result {
    size_t hits;
    double p_value; /* one-sided, over the answered trials */
    struct binomial_interval rate;
    size_t trials_needed; /* see binomial_trials_needed */
    double
        median_seconds; /* median time from a trial's first sound to its answer; NaN: no answers */
};

/* An ABX test. The key's draws are A or B for every trial. */
struct trial_abx {
    struct trial trial;
    bool feedback;
    enum abx_sound said; /* answer of the current trial; ABX_X: none yet */
    bool was_right;      /* the answer of the previous trial was right */
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
    char note[ABX_NOTE];
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
    char note[ABX_NOTE];
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
    enum status status = trial_init(&abx->trial, &abx_kind, ABX_X + 1, trials, seed, log);
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

/* ---- a blind ranking ---- */

static const char *const letter_names[RANKING_MASKS_MOST] = {"A", "B", "C", "D", "E",
                                                             "F", "G", "H", "I"};
static const char *const test_names[] = {
    [RATINGS_EXACT] = "Friedman test, exact",
    [RATINGS_PERMUTED] = "Friedman test, by 1,000,000 random orders of the ratings, seed 1",
    [RATINGS_APPROXIMATE] = "Friedman test, chi-square approximation"};

enum { NOTE_TEXT = 200 };

struct ranking_score {
    struct ratings_mean rating;
    size_t first; /* number of trials in which no other mask was rated higher */
};

struct ranking_result {
    size_t masks;
    struct ranking_score scores[RANKING_MASKS_MOST]; /* NaN and 0 if no trial was confirmed */
    struct ratings_friedman friedman;
    double
        median_seconds; /* median time from a trial's first sound to its confirmation; NaN: no trials */
};

/* A ranking. The key's draws for every trial: the masks (digits from 1) under A, B, C, ... Trials
 * are separated by commas. */
struct trial_ranking {
    struct trial trial;
    struct ranking_result result;
    unsigned char ratings[]; /* for each trial, the ratings in the order of the masks */
};

static size_t masks_of(const struct trial *trial)
{
    return ((const struct trial_ranking *)trial)->result.masks;
}

static char *ranking_draw(const struct trial *trial)
{
    size_t masks = masks_of(trial), trials = trial->planned;
    char *draws = calloc(trials, masks + 1);
    for (size_t t = 0; draws && t < trials; t++) {
        size_t order[RANKING_MASKS_MOST] = {0};
        trial_shuffle(trial, t + 1, order, masks);
        for (size_t i = 0; i < masks; i++)
            draws[t * (masks + 1) + i] = (char)('1' + order[i]);
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

/* Number of masks that were rated higher, or equally and are listed earlier. */
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
    (void)trial; /* the ratings are stored already */
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
    enum status status = trial_init(&ranking->trial, &ranking_kind, masks, trials, seed, log);
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
