/* The results of the stream bench as a table, CSV or JSON. */
#ifndef HALO_STREAM_REPORT_H
#define HALO_STREAM_REPORT_H

#include "bench/bench.h"
#include "bench/stream_bench.h"

/* Names for the report; NULL ends each list. */
extern const char *const stream_pace_names[];  /* by enum stream_pace */
extern const char *const stream_mode_names[];  /* by enum gpu_mode */
extern const char *const stream_paths_names[]; /* by stream_cell.matrix */

struct stream_report;

/* Errors: memory. On failure *report is NULL. */
MUST_CHECK enum status stream_report_create(enum bench_form form, struct stream_report **report);
void stream_report_destroy(struct stream_report *report);

/* Adds a row. A table or CSV is printed row by row, JSON at the end. Errors: memory, writing. */
MUST_CHECK enum status stream_report_take(struct stream_report *report,
                                          const struct stream_row *row);
MUST_CHECK enum status stream_report_finish(struct stream_report *report);

#endif
