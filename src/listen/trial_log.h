/* What happened in a blind test, kept in memory and written as JSON when it is
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

#include "base/status.h"

#include <jansson.h>

struct trial;
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

/* The following are called by the tests themselves (trial.c and its kinds). Objects
 * are taken, NULL (memory) too; names of sounds are kept as pointers. */
void trial_log_begin(struct trial_log *log, json_t *start);
void trial_log_sound(struct trial_log *log, double seconds, size_t trial, const char *sound);
void trial_log_event(struct trial_log *log, double seconds, size_t trial, const char *event,
                     json_t *about);
void trial_log_end(struct trial_log *log, double seconds, const struct trial *trial,
                   json_t *result);

/* In words: over which trials a p-value of `test` was taken, and that one of a test
 * that was stopped early is not what it seems. */
void trial_log_p_value_note(char *text, size_t size, const char *test, size_t answered,
                            size_t planned);

/* null where it is not a number. */
json_t *trial_log_number(double number);

#endif
