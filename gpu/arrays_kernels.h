/* Launchers of the kernels that convolve arrays. device_arrays_plan.h says what a chunk is. No
 * launcher synchronises or allocates. */
#ifndef HALO_GPU_ARRAYS_KERNELS_H
#define HALO_GPU_ARRAYS_KERNELS_H

#include "convolve/arrays.h"

#include <cuda_runtime_api.h>

/* Arrays of one length. Frame i of array a is samples[a * step + i * stride]. */
struct array_rows {
    const void *samples;
    long long frames;
    long long step;
    int stride; /* 1; -1: backwards, and `samples` is the last frame */
};

/* Convolutions of one group. Items are chunks; the launch numbers those of all its pieces. */
struct array_piece {
    struct array_rows signal, mask;
    void *y;
    long long y_step, frames; /* outputs of a convolution */
    long long origin;         /* origin, hop, skip, chunks: see struct device_arrays_plan */
    int hop, skip;
    unsigned chunks;
    unsigned first_item; /* number of the piece's first item */
    unsigned first_mask; /* number of the first mask that the piece transforms */
    unsigned form;       /* place of the first mask's spectrum */
};

enum { ARRAY_PIECES_MOST = 30 }; /* arguments of a kernel have 4 KB */

struct array_pieces {
    unsigned count, items, masks;
    enum arrays_sample sample;
    struct array_piece of[ARRAY_PIECES_MOST];
};

/* Sums of at most ARRAYS_DIRECT_TAPS products. */
cudaError_t arrays_direct(const struct array_pieces *pieces, cudaStream_t stream);

/* Transforms of 2^power points that a thread block holds, in single precision. A form has 2^power
 * points, float2. The table is that of fft_kernels.h. */
cudaError_t arrays_fused_prepare(unsigned power);
cudaError_t arrays_fused_form(unsigned power, const struct array_pieces *pieces, const void *table,
                              void *forms, cudaStream_t stream);
cudaError_t arrays_fused_run(unsigned power, const struct array_pieces *pieces, const void *table,
                             const void *forms, cudaStream_t stream);

/* Longer transforms, in three passes. A form and the work of an item have 2^power points, float2
 * or double2. */
struct arrays_long {
    size_t (*table_bytes)(unsigned power);
    void (*fill_table)(unsigned power, void *table);
    cudaError_t (*form)(unsigned power, const struct array_pieces *pieces, const void *table,
                        void *forms, cudaStream_t stream);
    /* Convolves items [first, first + count). */
    cudaError_t (*run)(unsigned power, const struct array_pieces *pieces, unsigned first,
                       unsigned count, const void *table, const void *forms, void *work,
                       cudaStream_t stream);
};

extern const struct arrays_long arrays_long_single, arrays_long_double;

#endif
