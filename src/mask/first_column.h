/* What the first of several columns of numbers holds: programs write times, counts or frequencies
 * there, and as taps those would be noise. Threads: any. */
#ifndef HALO_FIRST_COLUMN_H
#define HALO_FIRST_COLUMN_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum first_column_kind {
    FIRST_COLUMN_TAPS,
    FIRST_COLUMN_COUNTS,      /* 0 1 2 ... or 1 2 3 ... */
    FIRST_COLUMN_TIMES,       /* rises evenly */
    FIRST_COLUMN_FREQUENCIES, /* in any order */
};

struct first_column {
    enum first_column_kind kind;
    uint32_t rate; /* of times, in Hz; 0: none that is usual */
};

/* Of a table of finite numbers, row after row of `width`, without its first columns, `left_out` of
 * them. Errors: memory. */
MUST_CHECK enum status first_column_find(const double *values, size_t rows, size_t width,
                                         size_t left_out, struct first_column *found);

/* The usual sampling rate that differs by a thousandth at most; 0: none. */
uint32_t usual_rate(double rate);

#endif
