/* A blind test: what ABX (trial_abx.h) and ranking (trial_ranking.h) share.
 *
 * All draws follow from a secret seed, which comes from the system's random source before the first
 * sound. Until the test is over only trial_choice reveals them, and only to the code that switches
 * the sound: nothing else may call it, show its result or log it.
 * Every event goes to the log (trial_log.h). The same calls with the same seed, texts and times
 * make the same log: so a log can be checked, and a test can go on (trial_replay.h).
 * Nothing here plays, shows or reads a clock: times are seconds since the start, passed in, and
 * rounded to milliseconds.
 * Threads: one. Not real-time.
 */
#ifndef HALO_TRIAL_H
#define HALO_TRIAL_H

#include "base/status.h"
#include "listen/digest.h"
#include "listen/trial_log.h"

#include <stdint.h>
#include <stdio.h>

/* The secret of a blind test. Its commitment is the SHA-256 of "SEED SETUP" (one blank between),
 * SETUP being the log's first record without commitment, sealed_seed and hash. It is shown before
 * the first sound and does not reveal the draws. */
struct trial_key {
    char *draws;
    char seed[DIGEST_TEXT];
    char commitment[DIGEST_TEXT]; /* once trial_begin was called */
};

struct trial;

struct trial_kind {
    const char *name;                            /* in the log: "abx" */
    const char *draws;                           /* describes the key's draws to a person */
    const char *const *sounds;                   /* names of the sounds a listener can select */
    char *(*draw)(const struct trial *trial);    /* for free(); NULL: no memory */
    json_t *(*setup)(const struct trial *trial); /* its members of the log's first record */
    size_t (*choice)(const struct trial *trial, size_t sound);
    /* Does what a logged event says. False: not an event of this kind. */
    bool (*judge)(struct trial *trial, const json_t *event, double seconds);
    bool (*is_complete)(const struct trial *trial); /* the current trial can be confirmed */
    void (*count)(struct trial *trial);             /* the current trial, as it is confirmed */
    void (*forget)(struct trial *trial);            /* what was judged in the current trial */
    void (*conclude)(struct trial *trial);          /* compute the result of the answered trials */
    json_t *(*result_json)(const struct trial *trial);
    void (*result_print)(const struct trial *trial, const char *const *names, FILE *stream);
};

/* The first member of every test. */
struct trial {
    const struct trial_kind *kind;
    struct trial_log *log;
    struct trial_key key;
    size_t planned;
    size_t answered; /* confirmed; fewer than planned at the end: stopped early */
    bool over;
    unsigned heard;  /* sounds of the current trial, a bit each */
    double began;    /* the trial's first sound; NaN: not yet */
    double *seconds; /* duration of each trial */
};

/* 0..bound-1 for a place of a trial: the first 16 digits of the SHA-256 of "SEED TRIAL PLACE", as
 * a number, modulo bound. The remainder's unevenness is below 1e-18. */
size_t trial_draw(const struct trial *trial, size_t number, size_t place, size_t bound);

/* For the kinds: draw the test by `seed`; NULL: by a new one. The log outlives the test and serves
 * no other. Errors: memory, no random source; destroy in any case. */
MUST_CHECK enum status trial_init(struct trial *trial, const struct trial_kind *kind,
                                  size_t planned, const char *seed, struct trial_log *log);

void trial_destroy(struct trial *trial);

/* Before the first sound: log the set-up and commit to it. `about` (owned): what is compared, and
 * how. Errors: memory. */
MUST_CHECK enum status trial_begin(struct trial *trial, json_t *about);

/* The seed of a log, given its first record with sealed_seed. It is sealed by the record itself,
 * which keeps it from eyes, not from a person who wants to know it. Errors: memory, it is no such
 * record. */
MUST_CHECK enum status trial_unseal(const json_t *start, char seed[DIGEST_TEXT]);

/* The choice behind a sound of the current trial, or of the last one once all are answered. For
 * the code that switches the sound only. */
size_t trial_choice(const struct trial *trial, size_t sound);

/* A sound that the listener selected plays now. No effect once the test is over. */
void trial_play(struct trial *trial, size_t sound, double seconds);

static inline bool trial_has_heard(const struct trial *trial, size_t sound)
{
    return trial->heard >> sound & 1;
}

/* End the current trial; its judgement is final. The last one ends the test. `about` (owned, may be
 * NULL) is logged. False, without effect: it is not complete, or the test is over. */
bool trial_confirm(struct trial *trial, double seconds, json_t *about);

/* The test goes on after a pause: the current trial begins anew. `about` as in trial_confirm. */
void trial_resume(struct trial *trial, double seconds, json_t *about);

/* Log an event that is neither a sound nor a judgement. `about` is owned. */
void trial_remark(struct trial *trial, double seconds, const char *event, json_t *about);

/* End the test early, without the current trial. No effect once it is over. */
void trial_stop(struct trial *trial, double seconds);

/* NULL until the test is over. */
const struct trial_key *trial_revealed_key(const struct trial *trial);

#endif
