/* A blind test at work: what all kinds of it share. trial_abx.h and trial_ranking.h each make one,
 * take the answers and draw the conclusion.
 *
 * What every sound of every trial is, is drawn from the system's random source when the test is
 * made, before the first sound. Until the end nothing here says what was drawn but trial_choice,
 * which is for whoever makes the sound: no one else calls it, nor shows or logs what it returns.
 *
 * There is no sound, screen or clock in here: times are seconds since the start, handed in.
 * Threads: one. Not real-time.
 */
#ifndef HALO_TRIAL_H
#define HALO_TRIAL_H

#include "base/status.h"
#include "listen/trial_log.h"

#include <stdio.h>

enum { TRIAL_SALT_BYTES = 16, DIGEST_TEXT = 65 /* 64 hexadecimal digits and the end */ };

/* The secret of a blind test: what was drawn, and a salt that nobody can guess.
 *
 * Its SHA-256, of "DRAWS SALT" with one blank between, is shown before the first sound: a
 * commitment. When draws and salt are shown at the end, everybody can see that they
 * are those of the start, and nobody could have told them from the commitment.
 */
struct trial_key {
    char *draws;
    char salt[2 * TRIAL_SALT_BYTES + 1];
    char commitment[DIGEST_TEXT];
};

struct trial;

struct trial_kind {
    const char *name;                         /* as the log has it: "abx" */
    const char *draws;                        /* what the key's draws are, for a person */
    const char *const *sounds;                /* names of what the listener can ask for */
    char *(*draw)(const struct trial *trial); /* for free(); NULL: no memory */
    size_t (*choice)(const struct trial *trial, size_t sound);
    void (*conclude)(struct trial *trial); /* compute the result of the answered trials */
    json_t *(*result_json)(const struct trial *trial);
    void (*result_print)(const struct trial *trial, const char *const *names, FILE *stream);
};

/* Every test begins with one. */
struct trial {
    const struct trial_kind *kind;
    struct trial_log *log;
    struct trial_key key;
    size_t planned;
    size_t answered; /* fewer than planned at the end: stopped early */
    bool over;
    double began;    /* the trial's first sound; NaN: not yet */
    double *seconds; /* each trial took */
};

/* The SHA-256 of a text (FIPS 180-4), by libsodium. */
void digest_of_text(const char *text, char digest[DIGEST_TEXT]);

/* For the kinds: draws the test. The log stays the caller's, outlives the test, and serves no
 * other. Errors: memory, no random source; destroy in any case. */
MUST_CHECK enum status trial_init(struct trial *trial, const struct trial_kind *kind,
                                  size_t planned, struct trial_log *log);

/* For the kinds: the trial at hand is answered by `event`, about which the log keeps `about`. The
 * last answer ends the test. */
void trial_answer(struct trial *trial, double seconds, const char *event, json_t *about);

void trial_destroy(struct trial *trial);

/* Show it before the first sound. */
const char *trial_commitment(const struct trial *trial);

/* Which choice that sound is in the trial at hand; after the last answer it stays what it was. For
 * the engine only. */
size_t trial_choice(const struct trial *trial, size_t sound);

/* The listener asked for that sound. No effect once the test is over. */
void trial_play(struct trial *trial, size_t sound, double seconds);

/* End it before its time, without the trial at hand. No effect once it is over. */
void trial_stop(struct trial *trial, double seconds);

/* NULL until the test is over. */
const struct trial_key *trial_revealed_key(const struct trial *trial);

/* The commitment of draws and salt. Errors: memory. */
MUST_CHECK enum status trial_commit(const char *draws, const char *salt,
                                    char commitment[DIGEST_TEXT]);

#endif
