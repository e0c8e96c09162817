/* The log of a blind test, written as JSON when it is over.
 *
 *   test, trials, commitment, ...    the set-up
 *   choices     name, gain_db, delay: what was compared, and how it was matched
 *   settings    names and texts, as passed in
 *   events      time, trial (from 1), event and its details: listen (the first sound of a trial,
 *               or the same again), switch (another sound), late_switch (its pause was longer
 *               by `seconds`, since the machine was too slow), answer, rate, confirm
 *   end         time, answered, stopped_early, key (draws and salt), result
 *
 * Times are seconds since the start, by the caller's clock. The log does not contain the key before
 * trial_log_end. Lack of memory is reported by trial_log_save.
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

/* In the order of the choices, with the gain and the delay (frames) that match them. */
void trial_log_choice(struct trial_log *log, const char *name, double gain_db, size_t delay);
void trial_log_setting(struct trial_log *log, const char *name, const char *value);

/* Write the whole log or nothing. Errors: the test is not over; the file exists (without `force`);
 * writing; memory. */
MUST_CHECK enum status trial_log_save(const struct trial_log *log, const char *path, bool force);

/* The rest is for trial.c and its kinds. Objects are owned and may be NULL (no memory); names of
 * sounds are not copied. */
void trial_log_begin(struct trial_log *log, json_t *start);
void trial_log_sound(struct trial_log *log, double seconds, size_t trial, const char *sound);
void trial_log_event(struct trial_log *log, double seconds, size_t trial, const char *event,
                     json_t *about);
void trial_log_end(struct trial_log *log, double seconds, const struct trial *trial,
                   json_t *result);

/* The trials that a p-value of `test` covers, with a warning if the test was stopped early. */
void trial_log_p_value_note(char *text, size_t size, const char *test, size_t answered,
                            size_t planned);

/* null if not finite. */
json_t *trial_log_number(double number);

#endif
