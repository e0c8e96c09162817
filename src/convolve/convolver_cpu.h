/* What the two variants of the CPU's convolver share. Both are compiled for each precision.
 *
 * convolver_cpu_batch: direct form or overlap-save, equal work in every step; for files.
 * convolver_cpu_live: a direct head and growing partitions, whose work is spread over the blocks;
 * for live streams, and for files in blocks much shorter than the mask.
 * partition.c chooses.
 */
#ifndef HALO_CONVOLVER_CPU_H
#define HALO_CONVOLVER_CPU_H

#include "convolve/convolver_backend.h"
#include "convolve/history.h"
#include "convolve/near_bound.h"
#include "convolve/partition.h"
#include "signal/real.h"

/* Names of their own for each precision. */
#define cpu_plan REAL(cpu_plan)
#define rows_alloc REAL(rows_alloc)
#define rows_alloc_unset REAL(rows_alloc_unset)
#define rows_free REAL(rows_free)
#define transform_taps REAL(transform_taps)
#define copy_head REAL(copy_head)
#define add_head REAL(add_head)
#define peak_with REAL(peak_with)
#define check_memory REAL(check_memory)

extern const struct convolver_backend REAL(convolver_cpu_batch);
extern const struct convolver_backend REAL(convolver_cpu_live);

struct partition_plan cpu_plan(const struct convolver_shape *shape);

/* Rows in one piece of memory, each aligned as by audio_alloc. rows_alloc sets them to zero,
 * rows_alloc_unset does not. NULL: no memory. */
real **rows_alloc(size_t rows, size_t floats);
real **rows_alloc_unset(size_t rows, size_t floats);
void rows_free(real **rows, size_t count);

/* The spectrum of taps [from, from + count) of a column of a mask, scaled for the inverse
 * transform. If `precise` is not NULL, the transform is in double precision; `precise` has the
 * length of `fft`. samples: scratch of that length. */
void transform_taps(const struct real_odd_fft *fft, const struct fft_double *precise,
                    const struct mask *mask, size_t column, size_t from, size_t count,
                    real *samples, real *spectrum);

/* The first `head` taps of each column, column by column. NULL: no memory. */
real *copy_head(const struct mask *mask, size_t head);

/* Adds a block of an output to `out`: the head's taps applied to the input history. Real-time. */
void add_head(const struct convolver_shape *shape, const struct history *history,
              const struct path_table *table, const real *heads, size_t head, size_t output,
              real *out);

/* The larger of `peak` and the block's peak. Real-time. */
real peak_with(real peak, const struct convolver_shape *shape, const real *const *in);

/* Fails if `floats` floats per channel exceed the machine's memory. */
MUST_CHECK enum status check_memory(const struct convolver_shape *shape, double floats);

#endif
