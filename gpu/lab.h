/* The kernel laboratory: what each kernel does on this GPU, timed beside the copy
 * and against the truth. Random data, warm-up, the median of many runs, buffers
 * rotated so that no cache holds them. */
#ifndef HALO_GPU_LAB_H
#define HALO_GPU_LAB_H

#include "base/options.h"
#include "base/status.h"
#include "kernel.h"
#include "lab_device.h"

#include <stdbool.h>

struct lab_settings {
    const struct kernel *kernels[OPTIONS_LIST_MOST];
    size_t kernel_count;
    struct number_list taps;
    struct number_list samples;
    struct number_list threads; /* a block; 0: the kernel's own choice */
    struct number_list fft;     /* transform lengths of kernels that transform; 0: likewise */
    enum kernel_boundary boundary;
    size_t repeats;
};

/* One cell of the grid. */
struct lab_row {
    const char *kernel; /* "copy": a device-to-device copy of as many samples */
    size_t taps;
    size_t samples;
    size_t setting;      /* threads or transform length, 0: the kernel's own choice */
    double seconds;      /* median of the runs */
    double samples_rate; /* a second */
    double bytes_rate;   /* read once and written once, a second */
    double copy_share;   /* of the copy's rate, of as many samples, in this run */
    double flops;        /* a second, two for each tap: what the direct form would need */
    double peak_share;   /* of the GPU's float32 peak */
    double error_db;     /* largest error at sampled places, of max|x| sum|h| */
};

/* Calls `row` for each cell as it is measured, the copy first for each number of
 * samples. Errors: CUDA's, a result that is wrong. */
MUST_CHECK enum status lab_run(const struct lab_settings *settings, const struct lab_device *device,
                               enum status (*row)(void *context, const struct lab_row *row),
                               void *context);

#endif
