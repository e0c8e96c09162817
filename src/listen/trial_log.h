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
 * Threads: one. Not real-time.
 */
#ifndef HALO_TRIAL_LOG_H
#define HALO_TRIAL_LOG_H

#include "base/status.h"
#include "listen/digest.h"

#include <jansson.h>

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

#endif
