#include "listen/trial.h"

#include "sound/sodium_library.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum status secure_random_start(void)
{
    TRY(library_open(&sodium_library));
    if (sodium_init() < 0)
        return fail(STATUS_FAILED, "cannot draw trials: the system has no random source");
    return STATUS_OK;
}

uint32_t secure_random_below(uint32_t bound)
{
    return randombytes_uniform(bound);
}

void secure_random_hex(size_t bytes, char *hex)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < 2 * bytes; i++)
        hex[i] = digits[randombytes_uniform(16)];
    hex[2 * bytes] = '\0';
}

void digest_of_text(const char *text, char digest[DIGEST_TEXT])
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(hash, (const unsigned char *)text, strlen(text));
    sodium_bin2hex(digest, DIGEST_TEXT, hash, sizeof hash);
}

enum status trial_commit(const char *draws, const char *salt, char commitment[DIGEST_TEXT])
{
    char *text = NULL;
    TRY(library_open(&sodium_library));
    if (asprintf(&text, "%s %s", draws, salt) < 0)
        return fail_memory("a test's key");
    digest_of_text(text, commitment);
    free(text);
    return STATUS_OK;
}

enum status trial_init(struct trial *trial, const struct trial_kind *kind, size_t planned,
                       struct trial_log *log)
{
    trial->kind = kind;
    trial->log = log;
    trial->planned = planned;
    trial->began = NAN;
    trial->seconds = calloc(planned, sizeof *trial->seconds);
    if (!trial->seconds)
        return fail_memory("a test");
    TRY(secure_random_start());
    trial->key.draws = kind->draw(trial);
    if (!trial->key.draws)
        return fail_memory("a test's key");
    secure_random_hex(TRIAL_SALT_BYTES, trial->key.salt);
    return trial_commit(trial->key.draws, trial->key.salt, trial->key.commitment);
}

void trial_destroy(struct trial *trial)
{
    if (!trial)
        return;
    free(trial->key.draws);
    free(trial->seconds);
    free(trial);
}

size_t trial_choice(const struct trial *trial, size_t sound)
{
    return trial->kind->choice(trial, sound);
}

void trial_play(struct trial *trial, size_t sound, double seconds)
{
    if (trial->over)
        return;
    if (isnan(trial->began))
        trial->began = seconds;
    trial_log_sound(trial->log, seconds, trial->answered + 1, trial->kind->sounds[sound]);
}

void trial_answer(struct trial *trial, double seconds, const char *event, json_t *about)
{
    trial->seconds[trial->answered] = isnan(trial->began) ? 0 : seconds - trial->began;
    trial->began = NAN;
    trial->answered++;
    trial_log_event(trial->log, seconds, trial->answered, event, about);
    if (trial->answered == trial->planned)
        trial_stop(trial, seconds);
}

void trial_stop(struct trial *trial, double seconds)
{
    if (trial->over)
        return;
    trial->over = true;
    trial->kind->conclude(trial);
    trial_log_end(trial->log, seconds, trial, trial->kind->result_json(trial));
}

const struct trial_key *trial_revealed_key(const struct trial *trial)
{
    return trial->over ? &trial->key : NULL;
}
