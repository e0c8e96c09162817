/* A blind test: what ABX (trial_abx.h) and ranking (trial_ranking.h) share.
 *
 * All draws are made by trial_init from the system's random source, before the first sound. Until
 * the test is over only trial_choice reveals them, and only to the code that switches the sound:
 * nothing else may call it, show its result or log it.
 * Nothing here plays, shows or reads a clock: times are seconds since the start, passed in.
 * Threads: one. Not real-time.
 */
#ifndef HALO_TRIAL_H
#define HALO_TRIAL_H

#include "base/status.h"
#include "listen/trial_log.h"

#include <stdint.h>
#include <stdio.h>

enum { TRIAL_SALT_BYTES = 16, DIGEST_TEXT = 65 /* 64 hexadecimal digits and the end */ };

/* The secret of a blind test. Its commitment, the SHA-256 of "DRAWS SALT" (one blank between), is
 * shown before the first sound and does not reveal the draws; draws and salt are shown at the end,
 * so that anyone can check that they did not change. */
struct trial_key {
    char *draws;
    char salt[2 * TRIAL_SALT_BYTES + 1];
    char commitment[DIGEST_TEXT];
};

struct trial;

struct trial_kind {
    const char *name;                         /* in the log: "abx" */
    const char *draws;                        /* describes the key's draws to a person */
    const char *const *sounds;                /* names of the sounds a listener can select */
    char *(*draw)(const struct trial *trial); /* for free(); NULL: no memory */
    size_t (*choice)(const struct trial *trial, size_t sound);
    void (*conclude)(struct trial *trial); /* compute the result of the answered trials */
    json_t *(*result_json)(const struct trial *trial);
    void (*result_print)(const struct trial *trial, const char *const *names, FILE *stream);
};

/* The first member of every test. */
struct trial {
    const struct trial_kind *kind;
    struct trial_log *log;
    struct trial_key key;
    size_t planned;
    size_t answered; /* fewer than planned at the end: stopped early */
    bool over;
    double began;    /* the trial's first sound; NaN: not yet */
    double *seconds; /* duration of each trial */
};

/* SHA-256 (FIPS 180-4) of a text, by libsodium. */
void digest_of_text(const char *text, char digest[DIGEST_TEXT]);

/* The commitment of draws and salt. Errors: memory. */
MUST_CHECK enum status trial_commit(const char *draws, const char *salt,
                                    char commitment[DIGEST_TEXT]);

/* The system's random source (getrandom, by libsodium), not repeatable; noise.h has noise that is.
 * Call secure_random_start first. Errors: the system has no random source. Threads: any. */
MUST_CHECK enum status secure_random_start(void);
uint32_t secure_random_below(uint32_t bound);    /* uniform in 0..bound-1 */
void secure_random_hex(size_t bytes, char *hex); /* 2 * bytes digits and the end */

/* For the kinds: draw the test. The log outlives the test and serves no other. Errors: memory, no
 * random source; destroy in any case. */
MUST_CHECK enum status trial_init(struct trial *trial, const struct trial_kind *kind,
                                  size_t planned, struct trial_log *log);

/* For the kinds: `event` answers the current trial and is logged with `about` (owned). The last
 * answer ends the test. */
void trial_answer(struct trial *trial, double seconds, const char *event, json_t *about);

void trial_destroy(struct trial *trial);

/* The choice behind a sound of the current trial, or of the last one once all are answered. For
 * the code that switches the sound only. */
size_t trial_choice(const struct trial *trial, size_t sound);

/* The listener selected a sound. No effect once the test is over. */
void trial_play(struct trial *trial, size_t sound, double seconds);

/* End the test early, without the current trial. No effect once it is over. */
void trial_stop(struct trial *trial, double seconds);

/* NULL until the test is over. */
const struct trial_key *trial_revealed_key(const struct trial *trial);

#endif
