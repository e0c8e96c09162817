/* The results of the kernel bench as a table, CSV or JSON. */
#ifndef HALO_KERNEL_BENCH_REPORT_H
#define HALO_KERNEL_BENCH_REPORT_H

#include "bench/bench.h"
#include "bench/kernel_bench.h"

struct kernel_bench_report {
    const struct kernel_bench_settings *settings;
    const struct kernel_bench_device *device;
    enum bench_form form;
    size_t count;
    size_t capacity;
    struct kernel_bench_row *rows;
};

/* Settings and device must outlive the report. Errors: memory. On failure *report is NULL. */
MUST_CHECK enum status kernel_bench_report_create(const struct kernel_bench_settings *settings,
                                                  const struct kernel_bench_device *device,
                                                  enum bench_form form,
                                                  struct kernel_bench_report **report);
void kernel_bench_report_destroy(struct kernel_bench_report *report);

/* Adds a row. A table or --csv is printed row by row. */
MUST_CHECK enum status kernel_bench_report_add(struct kernel_bench_report *report,
                                               const struct kernel_bench_row *row);
MUST_CHECK enum status kernel_bench_report_finish(struct kernel_bench_report *report);

/* The row of the copy with the same size as `row`. */
const struct kernel_bench_row *kernel_bench_copy_of(const struct kernel_bench_report *report,
                                                    const struct kernel_bench_row *row);

#define ROW(field) offsetof(struct kernel_bench_row, field)

/* The last columns of both kinds. */
#define KERNEL_BENCH_RATES                                                                         \
    {"bytes_per_second", ROW(bytes_rate), 9, IN_BOTH},                                             \
        {"copy_share", ROW(copy_share), 6, IN_BOTH}, {"flops", ROW(flops), 9, IN_BOTH},            \
        {"peak_share", ROW(peak_share), 6, IN_BOTH},                                               \
        {"error_db", ROW(error_db), COLUMN_DECIBELS, IN_BOTH}, {0}

#endif
