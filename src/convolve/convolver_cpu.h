/* Shared by the two variants of the CPU's convolver (float32):
 *
 * convolver_cpu_batch: direct form or overlap-save, equal work in every step; for files.
 * convolver_cpu_live: a direct head and growing partitions, whose work is spread over the
 * blocks; for live streams, and files in blocks much shorter than the mask.
 * partition.c chooses.
 */
#ifndef HALO_CONVOLVER_CPU_H
#define HALO_CONVOLVER_CPU_H

#include "convolve/convolver.h"
#include "convolve/history.h"
#include "convolve/near_bound.h"
#include "convolve/partition.h"
#include "signal/fft.h"

extern const struct convolver_backend convolver_cpu_batch;
extern const struct convolver_backend convolver_cpu_live;

struct partition_plan cpu_plan(const struct convolver_shape *shape);

/* Zeroed rows, each from audio_alloc; NULL: no memory. */
float **rows_alloc(size_t rows, size_t floats);
void rows_free(float **rows, size_t count);

/* The spectrum of taps [from, from + count) of a mask's column, scaled for the inverse transform;
 * in double precision if `precise`, of the same length, is not NULL. samples: scratch of that
 * length. */
void transform_taps(const struct fft *fft, const struct fft_double *precise,
                    const struct mask *mask, size_t column, size_t from, size_t count,
                    float *samples, float *spectrum);

/* The first `head` taps of each column, column by column; NULL: no memory. */
float *copy_head(const struct mask *mask, size_t head);

/* out += the head's taps applied to the input's history, one block of one output. Real-time. */
void add_head(const struct convolver_shape *shape, const struct history *history,
              const struct path_table *table, const float *heads, size_t head, size_t output,
              float *out);

/* The larger of `peak` and the block's. Real-time. */
float peak_with(float peak, const struct convolver_shape *shape, const float *const *in);

/* Fails if `floats` per channel exceed the machine's memory. */
MUST_CHECK enum status check_memory(const struct convolver_shape *shape, double floats);

#endif
