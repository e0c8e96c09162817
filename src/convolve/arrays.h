/* Convolutions of many arrays in memory. include/halo/halo.h (struct halo_arrays) defines the
 * results and their precision. Threads: any, several calls at once. */
#ifndef HALO_ARRAYS_H
#define HALO_ARRAYS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Type of samples. Halves are computed in single precision. */
enum arrays_sample { ARRAYS_FLOAT32, ARRAYS_FLOAT64, ARRAYS_FLOAT16, ARRAYS_BFLOAT16 };

/* `count` convolutions of arrays of one length; see struct halo_arrays. */
struct arrays_group {
    const void *x;
    size_t frames;
    ptrdiff_t x_step; /* samples from one array to the next; 0: all convolutions use one array */
    const void *h;
    size_t taps;
    ptrdiff_t h_step;
    void *y;
    size_t first, out_frames;
    ptrdiff_t y_step;
    size_t count;
};

struct arrays_job {
    const struct arrays_group *groups;
    size_t group_count;
    enum arrays_sample sample;
    bool correlate; /* h is read backwards */
};

/* Convolves arrays in memory of the host, on at most `threads` threads; 0: one per processor.
 * Errors: memory. */
MUST_CHECK enum status arrays_convolve_host(const struct arrays_job *job, size_t threads);

#endif
