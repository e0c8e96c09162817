/* What the laboratory of two dimensions measured, as a table, CSV, JSON or a plot. */
#ifndef HALO_GPU_LAB2D_REPORT_H
#define HALO_GPU_LAB2D_REPORT_H

#include "bench/bench.h"
#include "lab2d.h"

struct lab2d_report;

/* `plot`: a file to draw, or NULL. Errors: memory, an unknown kind of plot. On
 * failure *report is NULL. */
MUST_CHECK enum status lab2d_report_create(const struct lab2d_settings *settings,
                                           const struct lab_device *device, enum bench_form form,
                                           const char *plot, struct lab2d_report **report);
/* A report of what --csv printed elsewhere. Fills `settings` and `device` from it, which must
 * outlive the report. Errors: reading, a line that is not the laboratory's. */
MUST_CHECK enum status lab2d_report_read(const char *file, struct lab2d_settings *settings,
                                         struct lab_device *device, const char *plot,
                                         struct lab2d_report **report);
void lab2d_report_destroy(struct lab2d_report *report);

/* lab2d_run's callback; `context` is the report. Tables grow while it runs. */
MUST_CHECK enum status lab2d_report_take(void *context, const struct lab2d_row *row);
MUST_CHECK enum status lab2d_report_finish(struct lab2d_report *report);

#endif
