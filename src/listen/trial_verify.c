#include "listen/trial_verify.h"

#include "base/json_text.h"
#include "listen/trial_ranking.h"
#include "signal/binomial.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TRIALS_MOST = BINOMIAL_TRIALS_MOST };

static const char *const wrong_key = "the key is not the one of the commitment";
static const char *const wrong_draws = "the key does not fit the test";
static const char *const wrong_answers = "the answers are not one for every trial";
static const char *const wrong_result = "the result does not follow from the answers";

/* A finished test; the JSON owns the texts. */
struct record {
    const char *test;
    size_t planned;
    size_t answered;
    const char *commitment;
    const char *draws;
    const char *salt;
    const json_t *events;
    const json_t *result;
};

static enum status read_record(json_t *root, const char *file, struct record *record)
{
    json_int_t planned, answered;
    json_t *events, *result;
    int failed = json_unpack(root, "{s:s, s:I, s:s, s:o, s:{s:I, s:{s:s, s:s}, s:o}}", "test",
                             &record->test, "trials", &planned, "commitment", &record->commitment,
                             "events", &events, "end", "answered", &answered, "key", "draws",
                             &record->draws, "salt", &record->salt, "result", &result);
    if (failed || planned < 1 || planned > TRIALS_MOST || answered < 0 || answered > planned)
        return fail(STATUS_FAILED, "cannot check %s: not the log of a finished blind test", file);
    record->planned = (size_t)planned;
    record->answered = (size_t)answered;
    record->events = events;
    record->result = result;
    return STATUS_OK;
}

static bool is_number(const json_t *object, const char *name, double value)
{
    const json_t *number = json_object_get(object, name);
    return json_is_number(number) && fabs(json_number_value(number) - value) <= 1e-9 * fabs(value);
}

/* The event's name if it belongs to that trial (from 0), else "". */
static const char *event_in(const json_t *event, size_t trial)
{
    const char *name = json_string_value(json_object_get(event, "event"));
    json_int_t number = json_integer_value(json_object_get(event, "trial"));
    return name && number == (json_int_t)trial + 1 ? name : "";
}

static const char *check_abx(const struct record *record)
{
    size_t index, answers = 0, hits = 0;
    json_t *event;
    if (strlen(record->draws) != record->planned)
        return wrong_draws;
    json_array_foreach(record->events, index, event)
    {
        const char *said = json_string_value(json_object_get(event, "answer"));
        if (answers >= record->answered || strcmp(event_in(event, answers), "answer") != 0 || !said)
            continue;
        hits += said[0] == record->draws[answers];
        answers++;
    }
    if (answers != record->answered)
        return wrong_answers;
    bool same = is_number(record->result, "hits", (double)hits) &&
                is_number(record->result, "p_value", binomial_p_value(hits, answers));
    return same ? NULL : wrong_result;
}

static bool parse_rating(const json_t *event, const char *order, size_t masks,
                         unsigned char *ratings)
{
    const char *letter = json_string_value(json_object_get(event, "sound"));
    json_int_t rating = json_integer_value(json_object_get(event, "rating"));
    size_t place = letter ? (size_t)(letter[0] - 'A') : masks;
    size_t mask = place < masks ? (size_t)(order[place] - '1') : masks;
    if (mask >= masks || rating < RATING_LEAST || rating > RATING_MOST)
        return false;
    ratings[mask] = (unsigned char)rating;
    return true;
}

static const char *parse_ratings(const struct record *record, size_t masks, unsigned char *ratings)
{
    size_t index, trial = 0;
    json_t *event;
    json_array_foreach(record->events, index, event)
    {
        const char *name = trial < record->answered ? event_in(event, trial) : "";
        if (strcmp(name, "confirm") == 0)
            trial++;
        else if (strcmp(name, "rate") == 0 &&
                 !parse_rating(event, record->draws + trial * (masks + 1), masks,
                               ratings + trial * masks))
            return wrong_answers;
    }
    bool complete = trial == record->answered && !memchr(ratings, 0, record->answered * masks);
    return complete ? NULL : wrong_answers;
}

static const char *compare_scores(const struct record *record, const struct ranking_result *result)
{
    const json_t *scores = json_object_get(record->result, "scores");
    bool same = is_number(record->result, "p_value", result->friedman.p_value) &&
                json_array_size(scores) == result->masks;
    for (size_t mask = 0; same && result->answered > 0 && mask < result->masks; mask++) {
        const json_t *score = json_array_get(scores, mask);
        same = is_number(score, "mean", result->scores[mask].rating.mean) &&
               is_number(score, "first", (double)result->scores[mask].first);
    }
    return same ? NULL : wrong_result;
}

static enum status check_ranking(const struct record *record, const char **fault)
{
    struct ranking_result result = {
        .masks = strcspn(record->draws, ","),
        .answered = record->answered,
    };
    *fault = wrong_draws;
    if (result.masks < 2 || result.masks > RANKING_MASKS_MOST ||
        strlen(record->draws) != record->planned * (result.masks + 1) - 1)
        return STATUS_OK;
    unsigned char *ratings = calloc(record->planned, result.masks);
    if (!ratings)
        return fail_memory("checking a log");
    *fault = parse_ratings(record, result.masks, ratings);
    if (!*fault) {
        ranking_result_of(ratings, &result);
        *fault = compare_scores(record, &result);
    }
    free(ratings);
    return STATUS_OK;
}

static enum status check_record(const struct record *record, const char *file, const char **fault)
{
    char commitment[DIGEST_TEXT];
    enum status status = trial_commit(record->draws, record->salt, commitment);
    *fault = wrong_key;
    if (status != STATUS_OK || strcmp(commitment, record->commitment) != 0)
        return status;
    if (strcmp(record->test, "ranking") == 0)
        return check_ranking(record, fault);
    if (strcmp(record->test, "abx") != 0)
        return fail(STATUS_FAILED, "cannot check %s: an unknown test, %s", file, record->test);
    *fault = check_abx(record);
    return STATUS_OK;
}

enum status trial_verify(const char *file, const char **fault)
{
    json_error_t error;
    struct record record;
    json_t *root = json_text_load(file, 0, &error);
    if (!root)
        return fail(STATUS_FAILED, "cannot read %s: %s", file, error.text);
    enum status status = read_record(root, file, &record);
    if (status == STATUS_OK)
        status = check_record(&record, file, fault);
    json_decref(root);
    return status;
}
