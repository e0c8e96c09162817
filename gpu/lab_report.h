/* What the laboratory measured, as a table, CSV, JSON or a plot. */
#ifndef HALO_GPU_LAB_REPORT_H
#define HALO_GPU_LAB_REPORT_H

#include "bench/bench.h"
#include "lab.h"

struct lab_report;

/* `plot`: a file to draw, or NULL. Errors: memory, an unknown kind of plot. On
 * failure *report is NULL. */
MUST_CHECK enum status lab_report_create(const struct lab_settings *settings,
                                         const struct lab_device *device, enum bench_form form,
                                         const char *plot, struct lab_report **report);
/* A report of what --csv printed elsewhere, on a machine without gnuplot perhaps.
 * Fills `settings` and `device` from it, which must outlive the report, as for
 * lab_report_create. Errors: reading, a line that is not the laboratory's. */
MUST_CHECK enum status lab_report_read(const char *file, struct lab_settings *settings,
                                       struct lab_device *device, const char *plot,
                                       struct lab_report **report);
void lab_report_destroy(struct lab_report *report);

/* lab_run's callback; `context` is the report. Tables grow while it runs. */
MUST_CHECK enum status lab_report_take(void *context, const struct lab_row *row);
MUST_CHECK enum status lab_report_finish(struct lab_report *report);

#endif
