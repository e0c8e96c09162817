/* How arrays.c computes convolutions on the CPU. arrays_run.c is compiled for each precision. */
#ifndef HALO_ARRAYS_PLAN_H
#define HALO_ARRAYS_PLAN_H

#include "base/workers.h"
#include "convolve/arrays.h"
#include "signal/real.h"

/* The part of an array that matters: `count` samples, the first of which is sample `from`. */
struct arrays_operand {
    const void *samples; /* the first array of the group */
    ptrdiff_t step;
    size_t length; /* samples of the whole array */
    size_t from, count;
    bool is_backwards; /* sample i is number length - 1 - i in memory */
};

/* The longer operand is the signal, the other one the mask, in partitions of `taps` taps. Block b
 * of the output has `hop` frames. It is the sum over p of partition p applied to window b - p,
 * without the first `skip` frames of each product. Window w begins at frame begin + w hop of the
 * signal. The bits of results depend on plans, so plans do not depend on the number of threads. */
struct arrays_plan {
    struct arrays_operand signal, mask;
    size_t frames; /* output frames; the rest of y is 0 */
    size_t fft;    /* points of the transforms, and frames of a window; 0: direct form */
    size_t partitions, taps;
    size_t hop, blocks, skip;
    ptrdiff_t begin;
    double cost;   /* estimated ns of one convolution */
    size_t before; /* convolutions of earlier groups */
};

/* Runs the planned job. Workers share single convolutions if `shares_each`, else they take whole
 * ones. NULL workers: the caller works alone. are_left: [convolution] in single precision, set for
 * those that are left for double precision (near_bound.h); in double precision, those to compute,
 * or NULL: all. Errors: memory. */
MUST_CHECK enum status arrays_run(const struct arrays_job *job, const struct arrays_plan *plans,
                                  struct workers *workers, bool shares_each, bool *are_left);
MUST_CHECK enum status arrays_run_in_double(const struct arrays_job *job,
                                            const struct arrays_plan *plans,
                                            struct workers *workers, bool shares_each,
                                            bool *are_left);
#define arrays_run REAL(arrays_run)

#endif
