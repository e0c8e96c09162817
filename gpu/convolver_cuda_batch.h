/* The file variant of the backend "cuda", private to its set-up (convolver_cuda_batch.c) and its
 * step (convolver_cuda_batch_step.c). */
#ifndef HALO_GPU_CONVOLVER_CUDA_BATCH_H
#define HALO_GPU_CONVOLVER_CUDA_BATCH_H

#include "gpu/block_plan.h"
#include "gpu/convolver_cuda.h"
#include "gpu/fault.h"
#include "gpu/gpu.h"
#include "gpu/kernel.h"
#include "gpu/pcm.h"

struct gpu_batch {
    struct convolver_shape shape;
    int device;
    const struct kernel *kernel;
    struct kernel_plan *plan;
    size_t slice; /* frames, a multiple of 4; the last may be shorter */
    size_t slices;
    size_t history_frames;    /* frames before the block, a multiple of 4 */
    size_t stride;            /* floats of an input: history and block */
    size_t out_stride;        /* floats of an output */
    size_t now;               /* which history holds the newest block */
    enum pcm pcm;             /* the narrowest format that has held all samples */
    unsigned char *staged_in; /* pinned: inputs x out_stride x 4 bytes */
    float *staged_out;        /* pinned: outputs x out_stride */
    float *history[2];        /* device: inputs x stride; this and the following */
    float *out;               /* outputs x out_stride */
    unsigned char *packed;    /* inputs x packed_pitch */
    float *column;            /* shape.taps: a mask's column before conversion */
    const float *loaded;      /* the form in constant memory, valid within a step */
    cudaStream_t up, work, down;
    cudaEvent_t arrived[SLICES_MOST], computed[SLICES_MOST], returned[SLICES_MOST];
    struct gpu_batch_mask *spare; /* freed with the batch: freeing synchronises the device */
    uint64_t steps;
    struct fault fault;
    cudaError_t error; /* the first in a step */
};

struct gpu_batch_mask {
    struct gpu_batch_mask *next; /* in the list of spare masks */
    size_t taps;
    struct path_table paths;
    size_t form_floats;
    size_t bytes;
    float *forms; /* device, column after column */
};

static inline struct gpu_batch *batch_of(const struct convolution *convolution)
{
    return (struct gpu_batch *)convolution; /* the control side modifies it too */
}

/* Real-time, except waiting for the GPU. See struct convolver_backend. */
void batch_step(struct convolution *convolution, const float *const *in,
                const struct convolver_slot slots[CONVOLVER_SLOTS]);

#endif
