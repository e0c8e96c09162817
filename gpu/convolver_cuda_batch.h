/* The way of files of the backend "cuda", shared by its setting up
 * (convolver_cuda_batch.c) and its step (convolver_cuda_batch_step.c) alone. */
#ifndef HALO_GPU_CONVOLVER_CUDA_BATCH_H
#define HALO_GPU_CONVOLVER_CUDA_BATCH_H

#include "gpu/block_plan.h"
#include "gpu/convolver_cuda.h"
#include "gpu/fault.h"
#include "gpu/gpu.h"
#include "gpu/kernel.h"
#include "gpu/pcm.h"

/* One device's part: some of the outputs. */
struct gpu_share {
    int device;
    size_t first_output;
    size_t outputs;
    struct kernel_plan *plan;
    float *history[2];     /* inputs x stride */
    float *out;            /* outputs x out_stride */
    unsigned char *packed; /* inputs x packed_pitch */
    float *column;         /* shape.taps: a mask's, on its way into its form */
    const float *loaded;   /* the form in constant memory, known within a step only */
    cudaStream_t up, work, down;
    cudaEvent_t arrived[SLICES_MOST], computed[SLICES_MOST], returned[SLICES_MOST];
};

struct gpu_batch {
    struct convolver_shape shape;
    const struct kernel *kernel;
    size_t slice; /* frames, a multiple of 4; the last one is perhaps shorter */
    size_t slices;
    size_t history_frames;              /* frames before the block, a multiple of 4 */
    size_t stride;            /* floats of an input: past and block */
    size_t out_stride;        /* floats of an output */
    size_t now;               /* which history holds the newest block */
    enum pcm pcm;             /* what the sound has fitted so far */
    unsigned char *staged_in; /* pinned: inputs x out_stride x 4 bytes */
    float *staged_out;        /* pinned: outputs x out_stride */
    size_t share_count;
    struct gpu_share shares[GPU_MOST];
    struct gpu_batch_mask *spare; /* freed at the end: freeing waits for what runs on the device */
    uint64_t steps;
    struct fault fault;
    cudaError_t error; /* the first that a step met */
};

struct gpu_batch_mask {
    struct gpu_batch_mask *next; /* of those whose memory another may have */
    size_t taps;
    struct path_table paths;
    size_t form_floats;
    size_t bytes; /* on each device */
    size_t share_count;
    float *forms[GPU_MOST]; /* device, column after column */
};

static inline struct gpu_batch *batch_of(const struct convolution *convolution)
{
    return (struct gpu_batch *)convolution; /* whose control part changes beside the step too */
}

/* Real-time, but for waiting on the GPU. See struct convolver_backend. */
void batch_step(struct convolution *convolution, const float *const *in,
                const struct convolver_slot slots[CONVOLVER_SLOTS]);

/* Keep the first error, and have CUDA forget it. */
void batch_note_error(struct gpu_batch *batch, cudaError_t error);

#endif
