/* A blind test: ABX, a ranking or a preference test; its log, and how a log is checked.
 *
 * All draws follow from a secret seed, which comes from the system's random source before the first
 * sound. Until the test is over only trial_choice reveals draws. Only the code that switches the
 * sound may call trial_choice; nothing may display or log its result.
 * Every event goes to the log. The same calls with the same seed, texts and times make the same
 * log. So a log can be checked, and a test can be continued (struct trial_replay).
 * Nothing here plays, displays or reads a clock: times are passed in. They are seconds since the
 * start and are rounded to milliseconds.
 * Threads: one. Not real-time.
 */
#ifndef HALO_TRIAL_H
#define HALO_TRIAL_H

#include "base/status.h"
#include "listen/digest.h"
#include "listen/preference.h"
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
 *               a trial, or the same sound again), switch (another sound), answer, rate, prefer,
 *               confirm, level, resume, outages (before the end: late and lost blocks and missed frames of
 *               each trial, and late switches, whose pause was longer by `seconds`)
 *   end         time, answered, stopped_early, key (draws and seed), result
 *
 * Each record has a `hash`. It is the SHA-256 of the previous record's hash and this record's text
 * without `hash` (trial_log_text); for the first record, of its text alone. The last hash is the
 * log's head: it changes if anything before it changes.
 * A new record is written over the end of the file ("]}"), and the end after it. If the program is
 * killed meanwhile, or the disk is full, the earlier records can be read.
 */
struct trial_log;

MUST_CHECK enum status trial_log_create(struct trial_log **log);
void trial_log_destroy(struct trial_log *log);

/* Checks whether trial_log_open could write there now. Errors: those of trial_log_open. */
MUST_CHECK enum status trial_log_try(const char *path, bool force);

/* Writes the records so far to a file, completely or not at all, and each further record when it
 * comes. Errors: the file exists (without `force`), or is the log of a running test; writing;
 * memory. */
MUST_CHECK enum status trial_log_open(struct trial_log *log, const char *path, bool force);

/* Whether a record could not be made or written; and the error. */
bool trial_log_failed(const struct trial_log *log);
MUST_CHECK enum status trial_log_check(const struct trial_log *log);

/* Hash of the last record: 64 digits. */
const char *trial_log_head(const struct trial_log *log);

/* The hash of a record. `before`: hash of the previous record, "" for the first. Errors: memory. */
MUST_CHECK enum status trial_log_hash(const char *before, const json_t *record,
                                      char hash[DIGEST_TEXT]);

/* The commitment of a page's key: the hash of its salt, a blank, and the key without salt and
 * commitment. Errors: memory. */
MUST_CHECK enum status trial_log_commit(const json_t *key, char commitment[DIGEST_TEXT]);

/* A record as text: sorted by name, without blanks, real numbers with at most 15 digits. Free it
 * with free(); NULL: memory. */
char *trial_log_text(const json_t *record);

/* Reads a log. If the log was cut off, reads its complete records and sets *cut. Errors: reading,
 * not JSON, memory. With `alone`: a running test writes the log. */
MUST_CHECK enum status trial_log_load(const char *path, bool alone, json_t **root, bool *cut);

/* The functions below are for trial.c. Objects are owned, and may be NULL (no memory, or nothing to
 * add). Names of sounds are not copied. */
void trial_log_begin(struct trial_log *log, json_t *start);
void trial_log_sound(struct trial_log *log, double seconds, size_t trial, const char *sound);
void trial_log_event(struct trial_log *log, double seconds, size_t trial, const char *event,
                     json_t *about);
void trial_log_end(struct trial_log *log, json_t *end);

/* Waits until all is on the disk, and reads the file again. It must still have its name, these
 * records and nothing else. Otherwise the log has failed. */
void trial_log_sync(struct trial_log *log);

/* For trial_replay.c: the hash before the end, and the end; NULL: there is no end yet. */
const char *trial_log_last_event(const struct trial_log *log);
const json_t *trial_log_the_end(const struct trial_log *log);

/* Writes which trials a p-value of `test` covers, with a warning if the test was stopped early. */
void trial_log_p_value_note(char *text, size_t size, const char *test, size_t answered,
                            size_t planned);

/* A real number, or null if it is not finite. */
json_t *trial_log_number(double number);

/* ---- trial.c: what all tests share ---- */

/* The secret of a blind test. The commitment is the SHA-256 of "SEED SETUP" (one blank between).
 * SETUP is the log's first record without commitment, sealed_seed and hash. The commitment is shown
 * before the first sound and does not reveal the draws. */
struct trial_key {
    char *draws;
    char seed[DIGEST_TEXT];
    char commitment[DIGEST_TEXT]; /* set by trial_begin */
};

struct trial;

/* A kind of test: ABX, ranking or preference. */
struct trial_kind {
    const char *name;          /* name in the log, such as "abx" */
    const char *draws;         /* explains the key's draws to a person */
    const char *const *sounds; /* names of the sounds that a listener can select */
    /* makes the key's draws, for free(); NULL: no memory */
    char *(*draw)(const struct trial *trial);
    json_t *(*setup)(const struct trial *trial); /* members of the log's first record */
    size_t (*choice)(const struct trial *trial, size_t sound); /* the choice behind a sound */
    /* Applies a logged judgement. Returns false if the event is not of this kind. */
    bool (*judge)(struct trial *trial, const json_t *event, double seconds);
    bool (*is_complete)(const struct trial *trial); /* whether the current trial can be confirmed */
    void (*count)(struct trial *trial);    /* counts the current trial when it is confirmed */
    void (*forget)(struct trial *trial);   /* forgets the judgements of the current trial */
    void (*conclude)(struct trial *trial); /* computes the result of the answered trials */
    json_t *(*result_json)(const struct trial *trial);
    void (*result_print)(const struct trial *trial, const char *const *names, FILE *stream);
};

/* The common part of all tests, and their first member. */
struct trial {
    const struct trial_kind *kind;
    struct trial_log *log;
    struct trial_key key;
    size_t planned;
    size_t sound_count; /* number of sounds that a listener can select */
    /* confirmed trials; if fewer than planned at the end, the test was stopped early */
    size_t answered;
    bool over;
    unsigned heard;  /* sounds heard in the current trial, a bit each */
    double began;    /* time of the trial's first sound; NaN: not yet */
    double *seconds; /* duration of each trial */
};

void trial_destroy(struct trial *trial);

/* Before the first sound: logs the set-up and commits to it. `about` (owned): choices and settings.
 * Errors: memory. */
MUST_CHECK enum status trial_begin(struct trial *trial, json_t *about);

/* Gets the seed of a log from its first record. The seed is sealed with the record itself. That
 * hides it from view, but not from a person who wants to know it. Errors: memory, another kind of
 * record. */
MUST_CHECK enum status trial_unseal(const json_t *start, char seed[DIGEST_TEXT]);

/* The choice behind a sound of the current trial, or of the last trial if all are answered. Only
 * for the code that switches the sound. */
size_t trial_choice(const struct trial *trial, size_t sound);

/* Notes that a selected sound plays now. No effect once the test is over. */
void trial_play(struct trial *trial, size_t sound, double seconds);

static inline bool trial_has_heard(const struct trial *trial, size_t sound)
{
    return trial->heard >> sound & 1;
}

/* Ends the current trial; its judgement is final. After the last trial the test is over. `about`
 * (owned, may be NULL) is logged. Returns false, without effect, if the trial is not complete or
 * the test is over. */
bool trial_confirm(struct trial *trial, double seconds, json_t *about);

/* Continues a test after a pause: the current trial begins again. `about` as in trial_confirm. */
void trial_resume(struct trial *trial, double seconds, json_t *about);

/* Logs an event that is neither a sound nor a judgement. `about` is owned. */
void trial_remark(struct trial *trial, double seconds, const char *event, json_t *about);

/* Ends the test early, without the current trial. No effect once the test is over. */
void trial_stop(struct trial *trial, double seconds);

/* The key; NULL until the test is over. */
const struct trial_key *trial_revealed_key(const struct trial *trial);

/* The functions below are for the kinds. */

/* Initialises the common part of a test. `sounds`: number of sounds that a listener can select.
 * `seed` NULL: draws a new one. Call trial_destroy in any case. Errors: memory, no random source. */
MUST_CHECK enum status trial_init(struct trial *trial, const struct trial_kind *kind, size_t sounds,
                                  size_t planned, const char *seed, struct trial_log *log);

/* Draws a number from 0 to bound-1 for a place of a trial. */
size_t trial_draw(const struct trial *trial, size_t number, size_t place, size_t bound);

/* Draws an order of the numbers from 0 to count-1 for a trial: a Fisher-Yates shuffle. */
void trial_shuffle(const struct trial *trial, size_t number, size_t *order, size_t count);

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

/* Creates a test with 1 to BINOMIAL_TRIALS_MOST trials. `seed` NULL: draws a new one. Errors:
 * memory, no random source. */
MUST_CHECK enum status trial_abx_create(size_t trials, bool feedback, const char *seed,
                                        struct trial_log *log, struct trial **trial);

/* Sets the answer, ABX_A or ABX_B. Returns false, without effect, if A, B and X were not all heard
 * in this trial, or the test is over. */
bool trial_abx_answer(struct trial *trial, enum abx_sound said, double seconds);

/* The answer of the current trial; ABX_X: none yet. */
enum abx_sound trial_abx_said(const struct trial *trial);

/* Whether the last confirmed answer was right. ABX_NOT_REVEALED: no answer yet, or no feedback. */
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

/* Creates a test with 2 to RANKING_MASKS_MOST masks and 1 to 10,000 trials. `seed` NULL: draws a
 * new one. Errors: memory, no random source. */
MUST_CHECK enum status trial_ranking_create(size_t masks, size_t trials, const char *seed,
                                            struct trial_log *log, struct trial **trial);

/* Rates a letter. Returns false, without effect, if it was not heard in this trial, there is no
 * such rating, or the test is over. */
bool trial_ranking_rate(struct trial *trial, size_t letter, unsigned rating, double seconds);

/* The rating of a letter in the current trial; 0: none yet. */
unsigned trial_ranking_rating(struct trial *trial, size_t letter);

/* ---- trial_preference.c ---- */

/* Which of two masks does the listener prefer?
 *
 * Each trial plays two masks as A and B. The listener hears both and prefers one or none. Each pair
 * of masks occurs in every round once, in a drawn order of pairs. In the next round its masks
 * change places, so that no mask profits from its place. The first places are drawn.
 * The sounds are PREFERENCE_A and PREFERENCE_B.
 */
enum preference {
    PREFERENCE_A,
    PREFERENCE_B,
    PREFERENCE_NONE,
    PREFERENCE_OPEN /* no answer yet */
};

/* Creates a test with 2 to RANKING_MASKS_MOST masks and `trials` trials: at least 1, and a
 * multiple of the number of pairs. `seed` NULL: draws a new one. Errors: memory, no random
 * source. */
MUST_CHECK enum status trial_preference_create(size_t masks, size_t trials, const char *seed,
                                               struct trial_log *log, struct trial **trial);

/* Sets the preference. Returns false, without effect, if A and B were not both heard in this trial,
 * there is no such preference, or the test is over. */
bool trial_prefer(struct trial *trial, enum preference preferred, double seconds);

/* The preference of the current trial. */
enum preference trial_preferred(const struct trial *trial);

/* ---- trial_replay.c ---- */

/* Repeats a blind test from its log: to check the log, or to continue the test.
 *
 * The test gets the log's seed, and what the listener heard and answered at the logged times. So it
 * makes a log of its own, and each record must be equal to the one that was read. Results are
 * compared as numbers, since processors round differently. Times must not decrease, and levels and
 * counts must be ones that a test can write.
 * This finds every change, unless all following hashes were computed again. That changes the head.
 * So compare the head with one that was noted during the test.
 */
struct trial_replay {
    struct trial_log *log; /* the log that is made again */
    struct trial *trial;
    json_t *root;    /* the log that was read */
    bool cut;        /* the last record was cut off */
    bool finished;   /* the log that was read has an end */
    double seconds;  /* time of the last event */
    bool muted;      /* muted, according to the last level event */
    char fault[200]; /* what does not fit; empty: all fits */
};

/* Call trial_replay_free in any case. Errors: reading, not the log of a blind test, memory. With
 * `alone`: a running test writes the log. */
MUST_CHECK enum status trial_replay_init(struct trial_replay *replay, const char *path, bool alone);
void trial_replay_free(struct trial_replay *replay);

/* Checks a log and prints a summary; with `json` one line of JSON. Errors: the log was changed; its
 * test is not over; those of trial_replay_init. */
MUST_CHECK enum status trial_replay_verify(const char *path, bool json);

#endif
