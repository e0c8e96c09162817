#include "listen/trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Results follow from the times as they are logged. */
static double to_milliseconds(double seconds)
{
    return round(seconds * 1000) / 1000;
}

/* ---- the key ---- */

size_t trial_draw(const struct trial *trial, size_t number, size_t place, size_t bound)
{
    char text[DIGEST_TEXT + 48], digest[DIGEST_TEXT];
    snprintf(text, sizeof text, "%s %zu %zu", trial->key.seed, number, place);
    digest_of_text(text, digest);
    digest[16] = '\0';
    return (size_t)(strtoull(digest, NULL, 16) % bound);
}

enum status trial_init(struct trial *trial, const struct trial_kind *kind, size_t planned,
                       const char *seed, struct trial_log *log)
{
    trial->kind = kind;
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

/* Adds the digits of a pad, or takes them away again: bit by bit, modulo 2. */
static void seal(const char *text, const char *pad, char sealed[DIGEST_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i + 1 < DIGEST_TEXT; i++)
        sealed[i] = digits[(strchr(digits, text[i]) - digits) ^ (strchr(digits, pad[i]) - digits)];
    sealed[DIGEST_TEXT - 1] = '\0';
}

/* Commitment and sealed seed join the set-up. */
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

/* What comes next begins anew. */
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
