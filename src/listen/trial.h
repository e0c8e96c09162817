/* A blind test: ABX, or a ranking; its log, and how a log is checked.
 *
 * All draws follow from a secret seed, which comes from the system's random source before the first
 * sound. Until the test is over only trial_choice reveals them, and only to the code that switches
 * the sound: nothing else may call it, show its result or log it.
 * Every event goes to the log. The same calls with the same seed, texts and times
 * make the same log: so a log can be checked, and a test can go on (struct trial_replay).
 * Nothing here plays, shows or reads a clock: times are seconds since the start, passed in, and
 * rounded to milliseconds.
 * Threads: one. Not real-time.
 */
#ifndef HALO_TRIAL_H
#define HALO_TRIAL_H

#include "base/status.h"
#include "listen/digest.h"
#include "listen/ratings.h"
#include "signal/binomial.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/* ---- trial_log.c ---- */

/* The log of a blind test: JSON, complete after each record.
 *
 *   the first record: test, trials, ..., choices, settings, ..., commitment, sealed_seed
 *   events      one a line: time, trial (from 1), event and its details: listen (the first sound of
 *               a trial, or the same again), switch (another sound), answer, rate, confirm, level,
 *               resume, outages (before the end: late and lost blocks and missed frames of each
 *               trial, and late switches, whose pause was longer by `seconds`)
 *   end         time, answered, stopped_early, key (draws and seed), result
 *
 * Each record has `hash`: the SHA-256 of the hash before it and the record's text without `hash`
 * (trial_log_text); for the first record, of its text alone. The last hash is the log's head: it
 * changes if anything before it does.
 * A record replaces the end of the file ("]}") by itself and that end. If the program was
 * killed meanwhile, or the disk full, the records before it can be read.
 */
struct trial_log;

/* Errors: memory. */
MUST_CHECK enum status trial_log_create(struct trial_log **log);
void trial_log_destroy(struct trial_log *log);

/* Whether trial_log_open could write there now. Errors: the same. */
MUST_CHECK enum status trial_log_try(const char *path, bool force);

/* Write what there is to a file, complete or not at all, and each record from then on as it comes.
 * Errors: the file exists (without `force`), or is the log of a test that runs; writing; memory. */
MUST_CHECK enum status trial_log_open(struct trial_log *log, const char *path, bool force);

/* Whether a record could not be written or made, and the error. */
bool trial_log_failed(const struct trial_log *log);
MUST_CHECK enum status trial_log_check(const struct trial_log *log);

/* 64 digits. */
const char *trial_log_head(const struct trial_log *log);

/* The hash of a record, after the hash `before` ("" before the first). Errors: memory. */
MUST_CHECK enum status trial_log_hash(const char *before, const json_t *record,
                                      char hash[DIGEST_TEXT]);

/* A record as one text: sorted by name, without blanks, reals of at most 15 digits. For free();
 * NULL: memory. */
char *trial_log_text(const json_t *record);

/* Read a log. Of one that was cut off, the whole records are read; then *cut. Errors: reading, not
 * JSON, memory; `alone`: a test that runs writes it. */
MUST_CHECK enum status trial_log_load(const char *path, bool alone, json_t **root, bool *cut);

/* The rest is for trial.c and its kinds. Objects are owned and may be NULL (no memory, or nothing);
 * names of sounds are not copied. */
void trial_log_begin(struct trial_log *log, json_t *start);
void trial_log_sound(struct trial_log *log, double seconds, size_t trial, const char *sound);
void trial_log_event(struct trial_log *log, double seconds, size_t trial, const char *event,
                     json_t *about);
void trial_log_end(struct trial_log *log, json_t *end);

/* Wait until all is on the disk, and read it again: the file must still be there under its name,
 * with these records and nothing else. Otherwise the log has failed. */
void trial_log_sync(struct trial_log *log);

/* The hash before the end, and the end; NULL: there is none yet. For trial_replay.c. */
const char *trial_log_last_event(const struct trial_log *log);
const json_t *trial_log_the_end(const struct trial_log *log);

/* The trials that a p-value of `test` covers, with a warning if the test was stopped early. */
void trial_log_p_value_note(char *text, size_t size, const char *test, size_t answered,
                            size_t planned);

/* null if not finite. */
json_t *trial_log_number(double number);

/* ---- trial.c: what all tests share ---- */

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

/* ---- trial.c: ABX ---- */

/* ABX: can two choices be distinguished?
 *
 * In every trial X is drawn to be A or B, with equal probability and independently. The listener
 * plays A, B and X at will, answers which one X is, and may change the answer until the trial is
 * confirmed. Results are shown at the end, or with feedback (for training) after every trial.
 * The sounds are those of enum abx_sound, choices 0 and 1.
 */
enum abx_sound { ABX_A, ABX_B, ABX_X };
enum abx_feedback { ABX_NOT_REVEALED, ABX_RIGHT, ABX_WRONG };

/* 1 to BINOMIAL_TRIALS_MOST trials; the seed as in trial_init. Errors: those of trial_init. */
MUST_CHECK enum status trial_abx_create(size_t trials, bool feedback, const char *seed,
                                        struct trial_log *log, struct trial **trial);

/* The answer, ABX_A or ABX_B. False, without effect: A, B and X were not all heard in this trial,
 * or the test is over. */
bool trial_abx_answer(struct trial *trial, enum abx_sound said, double seconds);

/* The answer of the current trial; ABX_X: none yet. */
enum abx_sound trial_abx_said(const struct trial *trial);

/* Whether the answer of the trial that was confirmed last was right. */
enum abx_feedback trial_abx_feedback(const struct trial *trial);

/* ---- trial.c: ranking ---- */

/* A blind ranking of several masks.
 *
 * Every trial assigns the masks to the letters A, B, C... at random, all orders equally likely. The
 * listener rates each letter that was heard from 1 (bad) to 5 (excellent), and confirms the trial.
 * Results are shown at the end.
 * The sounds are letters, from 0.
 */
enum { RANKING_MASKS_MOST = RATINGS_THINGS_MOST };

/* 2 to RANKING_MASKS_MOST masks, 1 to 10,000 trials; the seed as in trial_init. Errors: those of
 * trial_init. */
MUST_CHECK enum status trial_ranking_create(size_t masks, size_t trials, const char *seed,
                                            struct trial_log *log, struct trial **trial);

/* The listener rates a letter. False, without effect: it was not heard in this trial, there is no
 * such rating, or the test is over. */
bool trial_ranking_rate(struct trial *trial, size_t letter, unsigned rating, double seconds);

/* The rating of a letter in the current trial; 0: none yet. */
unsigned trial_ranking_rating(struct trial *trial, size_t letter);

/* ---- trial_replay.c ---- */

/* Takes a blind test again from its log: to check the log, or to go on with the test.
 *
 * The test gets the log's seed, and what the listener heard and answered at the times logged. So it
 * makes a log of its own, and each of its records must be the one that was read. Results are
 * compared as numbers, which processors round differently. Times must not go back, and levels and
 * counts must be ones that a test can write.
 * Found is each change that was made without making all hashes from it on anew. Whoever does that
 * changes the head, so compare the head with one that was noted during the test.
 */
struct trial_replay {
    struct trial_log *log; /* the new one */
    struct trial *trial;
    json_t *root;    /* of the file */
    bool cut;        /* its last record was torn off */
    bool finished;   /* it has an end */
    double seconds;  /* time of the last event */
    bool muted;      /* since the last event of a level */
    char fault[200]; /* what does not fit; empty: nothing */
};

/* Free it in any case. Errors: reading, not the log of a blind test, memory; `alone`: a test that
 * runs writes it. */
MUST_CHECK enum status trial_replay_init(struct trial_replay *replay, const char *path, bool alone);
void trial_replay_free(struct trial_replay *replay);

/* Check a log, and print what it holds on standard output, with `json` as one line of JSON. Errors:
 * it was changed; its test is not over; those of trial_replay_init. */
MUST_CHECK enum status trial_replay_verify(const char *path, bool json);

#endif
