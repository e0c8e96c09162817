/* The double-precision variant of the backend "cuda", private to its set-up
 * (convolver_cuda_double.c) and its step (convolver_cuda_double_step.c). */
#ifndef HALO_GPU_CONVOLVER_CUDA_DOUBLE_H
#define HALO_GPU_CONVOLVER_CUDA_DOUBLE_H

#include "gpu/convolver_cuda.h"
#include "gpu/cufft_library.h"
#include "gpu/double_kernels.h"
#include "gpu/fault.h"

struct gpu_double_mask {
    struct gpu_double_mask *next; /* in the list of spare masks */
    size_t columns, outputs, path_count;
    double2 *forms; /* device: columns x bins; these and the following */
    unsigned *first;
    uint2 *paths;
};

struct gpu_double {
    struct convolver_shape shape;
    struct double_plan plan;
    int device;
    const struct cufft_library *library;
    cufftHandle forward, inverse; /* of a batch of chunks of all inputs, or outputs */
    cufftHandle one;              /* of a mask's column; control thread */
    cudaStream_t work, control;
    size_t stride;                 /* frames of an input: history and block, up to the last chunk */
    size_t now;                    /* which rows hold the newest block */
    double *rows[2];               /* device: inputs x stride; these and the following */
    double *samples;               /* the larger of inputs and outputs x batch x fft */
    double2 *in_bins, *out_bins;   /* inputs and outputs x batch x bins */
    double *out;                   /* outputs x block */
    double *column;                /* fft, a mask's column; control thread */
    double *staged_in;             /* pinned: inputs x block */
    double *staged_out;            /* pinned: outputs x block */
    struct gpu_double_mask *spare; /* freed with the convolver: freeing synchronises the device */
    uint64_t steps;
    struct fault fault;
    cudaError_t error; /* the first in a step */
};

static inline struct gpu_double *double_of(const struct convolution *convolution)
{
    return (struct gpu_double *)convolution; /* the control side modifies it too */
}

/* Real-time, except waiting for the GPU. See struct convolver_backend. */
void double_step(struct convolution *convolution, const float *const *in,
                 const struct convolver_slot slots[CONVOLVER_SLOTS]);
void double_step_in_double(struct convolution *convolution, const double *const *in,
                           const struct convolver_slot slots[CONVOLVER_SLOTS]);

#endif
