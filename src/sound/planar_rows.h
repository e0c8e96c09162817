/* The rows that a source reads to, and interleaved samples that go there, converted by one thread
 * or by several. Threads: the caller's. */
#ifndef HALO_PLANAR_ROWS_H
#define HALO_PLANAR_ROWS_H

#include "base/workers.h"

#include <stddef.h>

/* One of them; the other is NULL. */
struct planar_rows {
    float *const *single;
    double *const *in_double;
};

/* Frames to convert at a time, at least 1: enough for sharing to pay. workers: NULL: none. */
size_t planar_rows_chunk(size_t channels, const struct workers *workers);

/* `frames` frames, from planar[c][at] on; the samples have the precision of the rows. */
void planar_rows_put(const struct planar_rows *rows, size_t at, const void *interleaved,
                     size_t channels, size_t frames, struct workers *workers);

#endif
