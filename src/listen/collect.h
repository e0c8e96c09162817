/* One report on the logs of a blind test that several listeners took. Threads: one. */
#ifndef HALO_COLLECT_H
#define HALO_COLLECT_H

#include "base/status.h"

/* Checks all logs and prints a report; with `json` one line of JSON. `csv`: a table of all trials
 * to write, NULL: none. Errors, without a report: a log is damaged, changed, unfinished, of another
 * test or there twice; the table exists (without `force`); writing; memory. */
MUST_CHECK enum status collect_report(const char *const *paths, size_t count, bool json,
                                      const char *csv, bool force);

#endif
