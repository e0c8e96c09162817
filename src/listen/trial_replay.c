#include "base/json_text.h"
#include "base/printable.h"
#include "listen/trial.h"
#include "live/session/stream_session.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS_MOST 1e9
#define ROUNDING 0.0015 /* tolerance in seconds: a change of the device's rate rounds times */
#define COUNT_MOST 1e15

static const char *text_in(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

/* A copy of the record without some members. NULL: memory. */
static json_t *without(const json_t *record, const char *const *names)
{
    json_t *rest = json_copy((json_t *)record);
    for (; rest && *names; names++)
        json_object_del(rest, *names);
    return rest;
}

static void set_fault(struct trial_replay *replay, const char *format, ...) PRINTF_LIKE(2, 3);
static void set_fault(struct trial_replay *replay, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!replay->fault[0])
        vsnprintf(replay->fault, sizeof replay->fault, format, arguments);
    va_end(arguments);
}

/* ---- the set-up ---- */

/* Makes a test with the kind and seed of the log. Errors: not the log of a blind test. */
static enum status make_trial(struct trial_replay *replay, const char *path)
{
    const json_t *root = replay->root;
    const char *test = text_in(root, "test");
    json_int_t trials = json_integer_value(json_object_get(root, "trials"));
    json_int_t masks = json_integer_value(json_object_get(root, "masks"));
    bool feedback = json_is_true(json_object_get(root, "feedback"));
    char seed[DIGEST_TEXT];
    bool abx = strcmp(test, "abx") == 0, ranking = strcmp(test, "ranking") == 0,
         preference = strcmp(test, "preference") == 0;
    if ((!abx && !ranking && !preference) || trials < 1 || trials > BINOMIAL_TRIALS_MOST ||
        !json_is_array(json_object_get(root, "events")) ||
        (!abx && (masks < 2 || masks > RANKING_MASKS_MOST)) ||
        (preference && (size_t)trials % preference_pairs((size_t)masks) > 0) ||
        trial_unseal(root, seed) != STATUS_OK)
        return fail(CAUSE_DAMAGED, "cannot check %s: it is no log of halo listen", path);
    TRY(trial_log_create(&replay->log));
    if (abx)
        return trial_abx_create((size_t)trials, feedback, seed, replay->log, &replay->trial);
    return (preference ? trial_preference_create : trial_ranking_create)(
        (size_t)masks, (size_t)trials, seed, replay->log, &replay->trial);
}

static enum status replay_start(struct trial_replay *replay)
{
    static const char *const later[] = {"commitment", "sealed_seed", "hash", "events", "end", NULL};
    json_t *about = without(replay->root, later);
    if (!about)
        return fail_memory("checking a log");
    TRY(trial_begin(replay->trial, about));
    if (strcmp(text_in(replay->root, "commitment"), replay->trial->key.commitment) != 0)
        set_fault(replay, "the commitment is not the one of key, choices and settings");
    if (strcmp(text_in(replay->root, "hash"), trial_log_head(replay->log)) != 0)
        set_fault(replay, "the first record is not the one of its hash");
    return STATUS_OK;
}

/* ---- events ---- */

static bool find_sound(const struct trial_replay *replay, const json_t *event, size_t *sound)
{
    const char *name = text_in(event, "sound");
    for (*sound = 0; *sound < replay->trial->sound_count; ++*sound)
        if (strcmp(replay->trial->kind->sounds[*sound], name) == 0)
            return true;
    return false;
}

static bool is_within(const json_t *value, double least, double most)
{
    double number = json_number_value(value);
    return json_is_number(value) && number >= least && number <= most;
}

/* Whether the counts of an event are valid. Each may be missing. */
static bool has_counts(const json_t *object)
{
    static const char *const counts[] = {"late", "lost", "missed"};
    bool all = true;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const json_t *count = json_object_get(object, counts[i]);
        all = all && (!count || (json_is_integer(count) && is_within(count, 0, COUNT_MOST)));
    }
    return all;
}

/* Says why a test cannot have written this event after the earlier ones. NULL: it can. */
static const char *contradiction(struct trial_replay *replay, const json_t *event)
{
    const char *name = text_in(event, "event");
    const json_t *time = json_object_get(event, "time"), *gain = json_object_get(event, "gain_db"),
                 *muted = json_object_get(event, "muted");
    const json_t *trial;
    size_t index;
    double earliest = strcmp(name, "resume") == 0 ? 0 : replay->seconds - ROUNDING;
    if (!is_within(time, fmax(0, earliest), SECONDS_MOST))
        return "its time is before theirs";
    replay->seconds = json_number_value(time);
    bool counts = has_counts(event);
    json_array_foreach(json_object_get(event, "trials"), index, trial)
    {
        counts = counts && has_counts(trial);
    }
    if (!counts)
        return "its late, lost or missed blocks are no count";
    if (strcmp(name, "level") == 0) {
        if (!json_is_boolean(muted) || !is_within(gain, STREAM_GAIN_LEAST_DB, STREAM_GAIN_MOST_DB))
            return "its level cannot be";
        replay->muted = json_is_true(muted);
    }
    bool sounds = strcmp(name, "listen") == 0 || strcmp(name, "switch") == 0;
    return sounds && replay->muted ? "its sound was muted" : NULL;
}

static void replay_event(struct trial_replay *replay, const json_t *event)
{
    static const char *const own[] = {"time", "trial", "event", "hash", NULL};
    static const char *const judgements[] = {"answer", "rate", "prefer"};
    struct trial *trial = replay->trial;
    const char *name = text_in(event, "event");
    double seconds = json_number_value(json_object_get(event, "time"));
    size_t sound;
    bool judged = false;
    for (size_t i = 0; i < sizeof judgements / sizeof *judgements; i++)
        judged |= strcmp(name, judgements[i]) == 0;
    if (judged)
        (void)trial->kind->judge(trial, event, seconds);
    else if (strcmp(name, "confirm") == 0)
        (void)trial_confirm(trial, seconds, without(event, own));
    else if (strcmp(name, "resume") == 0)
        trial_resume(trial, seconds, without(event, own));
    else if (strcmp(name, "listen") != 0 && strcmp(name, "switch") != 0)
        trial_remark(trial, seconds, name, without(event, own));
    else if (find_sound(replay, event, &sound))
        trial_play(trial, sound, seconds);
}

/* Repeats the events. Each must have the right hash, and be equal to the one that the test
 * makes. */
static enum status replay_events(struct trial_replay *replay)
{
    size_t index;
    json_t *event;
    char before[DIGEST_TEXT], hash[DIGEST_TEXT];
    json_array_foreach(json_object_get(replay->root, "events"), index, event)
    {
        if (replay->fault[0])
            return STATUS_OK;
        memcpy(before, trial_log_last_event(replay->log), sizeof before);
        TRY(trial_log_hash(before, event, hash));
        const char *why = contradiction(replay, event);
        replay_event(replay, event);
        if (why)
            set_fault(replay, "event %zu (%s) contradicts those before it: %s", index + 1,
                      printable(text_in(event, "event")), why);
        if (strcmp(hash, text_in(event, "hash")) != 0 ||
            strcmp(hash, trial_log_last_event(replay->log)) != 0)
            set_fault(replay, "event %zu (%s of trial %lld) does not follow from those before it",
                      index + 1, printable(text_in(event, "event")),
                      (long long)json_integer_value(json_object_get(event, "trial")));
    }
    return STATUS_OK;
}

/* ---- the end ---- */

/* The name of a value that does not follow from the answers; NULL: all values do. */
static const char *differing(const char *name, const json_t *found, const json_t *right)
{
    const char *key, *different = NULL;
    json_t *value;
    size_t index;
    if (json_is_number(found) && json_is_number(right)) {
        double number = json_number_value(right);
        bool same = fabs(json_number_value(found) - number) <= 1e-9 * fabs(number);
        return same ? NULL : name;
    }
    if (json_is_object(right) && json_object_size(found) == json_object_size(right)) {
        json_object_foreach((json_t *)right, key, value)
        {
            different = different ? different : differing(key, json_object_get(found, key), value);
        }
        return different;
    }
    if (json_is_array(right) && json_array_size(found) == json_array_size(right)) {
        json_array_foreach((json_t *)right, index, value)
        {
            different =
                different ? different : differing(name, json_array_get(found, index), value);
        }
        return different;
    }
    return json_equal(found, right) ? NULL : name;
}

static enum status replay_end(struct trial_replay *replay)
{
    static const char *const own[] = {"hash", NULL};
    const json_t *end = json_object_get(replay->root, "end");
    char hash[DIGEST_TEXT];
    replay->finished = end != NULL;
    if (!end || replay->fault[0])
        return STATUS_OK;
    if (!is_within(json_object_get(end, "time"), replay->seconds - ROUNDING, SECONDS_MOST))
        set_fault(replay, "the end's time is before its events");
    trial_stop(replay->trial, json_number_value(json_object_get(end, "time")));
    json_t *found = without(end, own), *right = without(trial_log_the_end(replay->log), own);
    const char *different = differing("end", found, right);
    if (different)
        set_fault(replay, "%s does not follow from the answers", different);
    json_decref(found);
    json_decref(right);
    TRY(trial_log_hash(trial_log_last_event(replay->log), end, hash));
    if (strcmp(text_in(end, "hash"), hash) != 0)
        set_fault(replay, "the end is not the one of its hash");
    return STATUS_OK;
}

enum status trial_replay_init(struct trial_replay *replay, const char *path, bool alone)
{
    *replay = (struct trial_replay){.log = NULL};
    TRY(trial_log_load(path, alone, &replay->root, &replay->cut));
    TRY(digest_start());
    TRY(make_trial(replay, path));
    TRY(replay_start(replay));
    TRY(replay_events(replay));
    TRY(replay_end(replay));
    return trial_log_check(replay->log);
}

void trial_replay_free(struct trial_replay *replay)
{
    trial_destroy(replay->trial);
    trial_log_destroy(replay->log);
    json_decref(replay->root);
    *replay = (struct trial_replay){.log = NULL};
}

/* ---- --verify ---- */

static enum status print_json(const struct trial_replay *replay, const char *path, const char *head)
{
    json_t *root = json_pack("{s:o, s:I, s:I, s:s, s:s}", "log", json_text(path), "trials",
                             (json_int_t)replay->trial->answered, "planned",
                             (json_int_t)replay->trial->planned, "commitment",
                             replay->trial->key.commitment, "head", head);
    return json_print(root, JSON_COMPACT, "the log of a test");
}

static enum status report(const struct trial_replay *replay, const char *path, bool json)
{
    const struct trial *trial = replay->trial;
    const char *head = text_in(json_object_get(replay->root, "end"), "hash");
    if (replay->fault[0])
        return fail(CAUSE_DAMAGED, "%s was changed after the test: %s", path, replay->fault);
    if (!replay->finished)
        return fail(CAUSE_OTHER,
                    "%s is incomplete: %zu of %zu trials are answered%s; head %s; halo listen "
                    "--resume goes on",
                    path, trial->answered, trial->planned,
                    replay->cut ? ", and the last record is cut off" : "",
                    trial_log_head(replay->log));
    if (json)
        return print_json(replay, path, head);
    printf("%s: %zu of %zu trials; order, results and hashes follow from key and answers\n"
           "  commitment %s\n  head       %s\n",
           printable(path), trial->answered, trial->planned, trial->key.commitment, head);
    return STATUS_OK;
}

enum status trial_replay_verify(const char *path, bool json)
{
    struct trial_replay replay;
    enum status status = trial_replay_init(&replay, path, false);
    if (status == STATUS_OK)
        status = report(&replay, path, json);
    trial_replay_free(&replay);
    return status;
}
