/* The convolution kernels. All compute
 *
 *   out[i] = sum over k of x[i + origin - k] h[k],   k = 0..taps-1, i = 0..frames-1
 *
 * where x is `in`, extended by the boundary policy. For a whole signal, in and out have the same
 * length. For a block of a stream, `in` begins with `origin` frames of history. The first four
 * kernels are those of Kirk and Hwu, "Programming Massively Parallel Processors", chapter on
 * convolution:
 *
 *   basic     one thread per output, mask in global memory
 *   constant  as basic, mask in constant memory
 *   tiled     a block loads its tile and both halos into shared memory
 *   cached    the tile is in shared memory, halo cells come from the caches
 *   register  a window slides through registers, 4 to 16 outputs per thread
 *   tensor    products of matrices, on tensor cores
 *   fft       overlap-save: multiplied in the frequency domain
 *
 * A kernel is opened for a number of taps and frames (a plan). It converts masks to a form of its
 * own. For each job, `load` makes a form current, and `launch` runs the kernel. Errors are returned
 * as cudaError_t; only `open` prints them. Functions with a stream do not synchronise. All work on
 * the current device. Threads: one host thread at a time per kernel. Constant memory holds one
 * mask, which kernels on all streams share.
 */
#ifndef HALO_GPU_KERNEL_H
#define HALO_GPU_KERNEL_H

#include "base/status.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

enum { KERNEL_TAPS_CONSTANT = 16384 }; /* constant memory: 64 KB */

/* KERNEL_REFLECT: 2-D only */
enum kernel_boundary { KERNEL_ZERO, KERNEL_REPLICATE, KERNEL_REFLECT };

struct kernel_plan; /* what a kernel keeps for one number of taps and frames */

struct kernel_shape {
    size_t taps;
    size_t frames; /* the most frames of out */
    size_t fft;    /* transform length; 0: the cheapest */
};

struct kernel_job {
    const float *in;   /* device, 16-byte aligned */
    float *out;        /* device, 16-byte aligned, not overlapping in */
    const float *mask; /* device memory, which form() wrote */
    struct kernel_plan *plan;
    size_t frames_in; /* frames of in, at least 1 */
    size_t frames;    /* frames of out, at least 1 */
    size_t taps;      /* taps, as in the plan */
    size_t origin;    /* the frame of `in` that tap 0 meets for out[0] */
    bool add;         /* add to the contents of out, for several paths to one output */
    enum kernel_boundary boundary;
    unsigned threads; /* threads per block, a multiple of 32 up to 1024; 0: the kernel chooses */
};

/* Only `launch` is never NULL. The functions from kernel_open on handle the others being NULL. */
struct kernel {
    const char *name;
    const char *technique;   /* short description for users */
    size_t taps_most;        /* the most taps; 0: no limit */
    bool transforms;         /* true: uses kernel_shape.fft; false: uses kernel_job.threads */
    bool (*is_usable)(void); /* whether it runs on the current device; NULL: it runs on any */
    enum status (*open)(const struct kernel_shape *shape, struct kernel_plan **plan);
    void (*close)(struct kernel_plan *plan);
    size_t (*form_floats)(const struct kernel_plan *plan);
    cudaError_t (*form)(struct kernel_plan *plan, const float *taps, float *form,
                        cudaStream_t stream);
    cudaError_t (*load)(const struct kernel_job *job, cudaStream_t stream);
    cudaError_t (*launch)(const struct kernel_job *job, cudaStream_t stream);
};

extern const struct kernel kernel_basic, kernel_constant, kernel_tiled, kernel_cached,
    kernel_register, kernel_tensor, kernel_fft;

/* kernel_at: by index; NULL after the last. kernel_named: by name; NULL: unknown. */
const struct kernel *kernel_at(size_t index);
const struct kernel *kernel_named(const char *name);

bool kernel_is_usable(const struct kernel *kernel);

/* The fastest kernel for this many taps on the current device. */
const struct kernel *kernel_for(size_t taps);

/* Errors: too many taps, an unfit device, memory, a missing library. The plan may be NULL. */
enum status kernel_open(const struct kernel *kernel, const struct kernel_shape *shape,
                        struct kernel_plan **plan);
void kernel_close(const struct kernel *kernel, struct kernel_plan *plan);

/* A mask's size in the kernel's form, and the conversion to it. Both buffers: device memory. */
size_t kernel_form_floats(const struct kernel *kernel, const struct kernel_plan *plan, size_t taps);
cudaError_t kernel_form(const struct kernel *kernel, struct kernel_plan *plan, const float *taps,
                        size_t count, float *form, cudaStream_t stream);

/* Makes job->mask the kernel's current mask, in stream order. */
cudaError_t kernel_load(const struct kernel *kernel, const struct kernel_job *job,
                        cudaStream_t stream);

#endif
