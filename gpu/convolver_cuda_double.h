/* The double-precision variant of the backend "cuda", private to its set-up
 * (convolver_cuda_double.c) and its step (convolver_cuda_double_step.c). */
#ifndef HALO_GPU_CONVOLVER_CUDA_DOUBLE_H
#define HALO_GPU_CONVOLVER_CUDA_DOUBLE_H

#include "gpu/convolver_cuda.h"
#include "gpu/cufft_library.h"
#include "gpu/double_kernels.h"
#include "gpu/fault.h"
#include "gpu/upload.h"

enum { RETURNS_MOST = 16 }; /* parts of a block that are copied while the next returns */

/* Pinned memory for a block, row after row, in the precision of the chain: either array is NULL. */
struct gpu_rows {
    char *pinned;
    float **single;
    double **in_double;
};

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
    cufftHandle columns;          /* of `together` columns of a mask; control thread */
    size_t together;
    struct gpu_upload upload; /* of masks; control thread */
    cudaStream_t work, control;
    size_t stride;               /* frames of an input: history and block, up to the last chunk */
    size_t now;                  /* which rows hold the newest block */
    double *rows[2];             /* device: inputs x stride; these and the following */
    double *samples;             /* the larger of inputs and outputs x batch x fft */
    double2 *in_bins, *out_bins; /* inputs and outputs x batch x bins */
    float *sent;                 /* inputs x block, in single precision */
    void *out;                   /* outputs x block samples */
    double *taps;                /* together x taps, of a mask; control thread */
    double *padded;              /* together x fft; control thread */
    struct gpu_rows staged_in;   /* of the inputs */
    struct gpu_rows staged_out;
    cudaEvent_t returned[RETURNS_MOST];
    struct gpu_double_mask *spare; /* freed with the convolver: freeing synchronises the device */
    uint64_t steps;
    struct fault fault;
    cudaError_t error; /* the first in a step */
};

/* Who shares its copies: in files alone. In a live stream masks are prepared beside the step, which
 * takes no lock. */
static inline struct workers *double_workers(const struct gpu_double *gpu)
{
    return gpu->shape.live ? NULL : gpu->shape.workers;
}

/* Of a sample that the filters before and after it have. */
static inline size_t double_sample(const struct gpu_double *gpu)
{
    return gpu->shape.precision == PRECISION_DOUBLE ? sizeof(double) : sizeof(float);
}

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
