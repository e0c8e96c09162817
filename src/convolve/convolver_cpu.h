/* The convolver of the CPU, float32: what its two ways share, and nobody else's.
 *
 * convolver_cpu_batch: direct form or overlap-save, every step the same work; files.
 * convolver_cpu_live: a direct head and growing partitions, whose work is spread over
 * the blocks; live streams, and files in blocks much shorter than the mask.
 * partition.c says which.
 */
#ifndef HALO_CONVOLVER_CPU_H
#define HALO_CONVOLVER_CPU_H

#include "convolve/convolver.h"
#include "convolve/history.h"
#include "convolve/partition.h"
#include "signal/fft.h"

extern const struct convolver_backend convolver_cpu_batch;
extern const struct convolver_backend convolver_cpu_live;

struct partition_plan cpu_plan(const struct convolver_shape *shape);

/* Zeroed rows of floats, each from audio_alloc; NULL without memory. */
float **rows_alloc(size_t rows, size_t floats);
void rows_free(float **rows, size_t count);

/* The spectrum of taps [from, from + count) of a mask's column, scaled for the way back.
 * `samples` has room for the transform. */
void transform_taps(const struct fft *fft, const struct mask *mask, size_t column, size_t from,
                    size_t count, float *samples, float *spectrum);

/* The first `head` taps of each column, column after column; NULL without memory. */
float *copy_head(const struct mask *mask, size_t head);

/* out += the head's taps with the input's history, one output's block. Real-time. */
void add_head(const struct history *history, const struct path_table *table, const float *heads,
              size_t head, size_t output, size_t block, float *out);

/* Refuses what could never fit: `floats` of an average channel. */
MUST_CHECK enum status check_memory(const struct convolver_shape *shape, double floats);

#endif
