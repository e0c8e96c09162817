/* The key of a blind test and what happened in it, kept in memory and written as JSON when it is
 * over.
 *
 *   test, trials, commitment, ...    how it began
 *   choices     name, gain_db, delay: what was compared, and what was done to match them
 *   settings    names and texts, as handed in
 *   events      time, trial (from 1), event, and what it was about:
 *               listen (the first sound of a trial, or the same once more), switch (another
 *               sound), answer, rate, confirm
 *   end         time, answered, stopped_early, key (draws and salt), result
 *
 * Times are seconds since the start, by the caller's clock. The log never holds the key
 * before trial_log_end. Memory that runs out is told by trial_log_save.
 * Threads: one. Not real-time.
 */
#ifndef HALO_TRIAL_LOG_H
#define HALO_TRIAL_LOG_H

#include "base/digest.h"
#include "base/status.h"

#include <jansson.h>

/* The secret of a blind test: what was drawn, and a salt that nobody can guess.
 *
 * Its SHA-256, of "DRAWS SALT" with one blank between, is shown before the first sound: a
 * commitment. When draws and salt are shown at the end, everybody can see that they
 * are those of the start, and nobody could have told them from the commitment.
 */
enum { TRIAL_SALT_BYTES = 16 };

struct trial_key {
    char *draws;
    char salt[2 * TRIAL_SALT_BYTES + 1];
    char commitment[DIGEST_TEXT];
};

/* Takes `draws` (from malloc), also on failure; NULL is no memory. Errors: memory. */
MUST_CHECK enum status trial_key_init(struct trial_key *key, char *draws);
void trial_key_free(struct trial_key *key);

/* The commitment of draws and salt. Errors: memory. */
MUST_CHECK enum status trial_key_commit(const char *draws, const char *salt,
                                        char commitment[DIGEST_TEXT]);

struct trial_log;

/* Errors: memory. */
MUST_CHECK enum status trial_log_create(struct trial_log **log);
void trial_log_destroy(struct trial_log *log);

/* In the order of the choices: the gain that matches its loudness, and by how many frames
 * it was held back to be aligned. */
void trial_log_choice(struct trial_log *log, const char *name, double gain_db, size_t delay);
void trial_log_setting(struct trial_log *log, const char *name, const char *value);

/* Write it whole or not at all. Errors: the test is not over; a file stands there (without
 * `force`); the write; memory. */
MUST_CHECK enum status trial_log_save(const struct trial_log *log, const char *path, bool force);

/* The following are called by the tests themselves (trial_abx.c, trial_ranking.c). Objects
 * are taken, NULL (memory) too; names of sounds are kept as pointers. */
void trial_log_begin(struct trial_log *log, json_t *start);
void trial_log_sound(struct trial_log *log, double seconds, size_t trial, const char *sound);
void trial_log_event(struct trial_log *log, double seconds, size_t trial, const char *event,
                     json_t *about);
void trial_log_end(struct trial_log *log, double seconds, size_t answered, size_t planned,
                   const struct trial_key *key, json_t *result);

/* In words: over which trials a p-value of `test` was taken, and that one of a test
 * that was stopped early is not what it seems. */
void trial_log_p_value_note(char *text, size_t size, const char *test, size_t answered,
                            size_t planned);

/* null where it is not a number. */
json_t *trial_log_number(double number);

#endif
