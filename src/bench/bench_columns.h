/* The columns of a bench's report; one table serves --csv and --json. A value that is not finite or
 * does not apply is empty in --csv and null in --json. */
#ifndef HALO_BENCH_COLUMNS_H
#define HALO_BENCH_COLUMNS_H

#include "base/status.h"
#include "bench/bench.h"

#include <jansson.h>
#include <stddef.h>

enum bench_output { IN_NONE, IN_CSV, IN_JSON, IN_BOTH };

/* Types of fields. A positive number is a double, printed with that many digits. */
enum bench_field {
    COLUMN_COUNT = 0, /* size_t or uint64_t; SIZE_MAX: does not apply */
    COLUMN_RATE = -1, /* uint32_t */
    COLUMN_FLAG = -2, /* bool */
    COLUMN_TEXT = -3, /* const char *; NULL: does not apply */
    COLUMN_CHARS = -4,
    COLUMN_QUOTED = -5,       /* char[], in quotes in --csv */
    COLUMN_DECIBELS = -6,     /* double, printed with one decimal */
    COLUMN_MICROSECONDS = -7, /* double, in seconds; printed with 9 digits */
};

struct bench_column {
    const char *name; /* NULL ends the table */
    size_t offset;    /* offset of the field in the row */
    int field;        /* digits, or enum bench_field */
    enum bench_output output;
};

void bench_print_csv_head(const struct bench_column *columns);
void bench_print_csv_row(const struct bench_column *columns, const void *row);
json_t *bench_json_row(const struct bench_column *columns, const void *row);

/* The rows of a report. In --csv they are printed when they are added, in --json at the end. */
struct bench_rows {
    enum bench_form form;
    size_t count;
    json_t *cells; /* rows for --json, released by the owner; NULL: none */
};

/* Errors: memory; writing. */
MUST_CHECK enum status bench_rows_add(struct bench_rows *rows, const struct bench_column *columns,
                                      const void *row);
MUST_CHECK enum status bench_rows_finish(const struct bench_rows *rows);

#endif
