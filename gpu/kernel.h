/* The direct convolution kernels, one technique a file. All compute
 *
 *   out[i] = sum over k of x[i + origin - k] h[k],   k = 0..taps-1, i = 0..frames-1
 *
 * where x is `in` and, beyond its ends, what the boundary policy says. For a whole
 * sound in and out are of one length; for a block of a stream `in` begins with the
 * past, and origin is as many frames. They are
 * the steps of the textbook's ladder (Kirk and Hwu, "Programming Massively
 * Parallel Processors", chapter on convolution), and on top of it our own:
 *
 *   basic     one thread an output, mask in global memory
 *   constant  the same, mask in constant memory
 *   tiled     a block loads its tile and both halos into shared memory
 *   cached    the tile in shared memory, halo cells left to the caches
 *   register  a window slides through registers, 4 to 16 outputs a thread
 *
 * Errors come back as cudaError_t; nothing here synchronises, prints or exits.
 * Threads: one host thread at a time for each kernel, since a kernel has one mask.
 */
#ifndef HALO_GPU_KERNEL_H
#define HALO_GPU_KERNEL_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { KERNEL_TAPS_MOST = 16384 }; /* constant memory: 64 KB */

enum kernel_boundary { KERNEL_ZERO, KERNEL_REPLICATE };

struct kernel_job {
    const float *in;  /* device, 16-byte aligned */
    float *out;       /* device, 16-byte aligned, apart from in */
    size_t frames_in; /* at least 1 */
    size_t frames;    /* of out, at least 1 */
    size_t taps;      /* of the loaded mask, 1..KERNEL_TAPS_MOST */
    size_t origin;    /* the frame of in that tap 0 meets for out[0] */
    bool add;         /* to what out holds: several paths to one output */
    enum kernel_boundary boundary;
    unsigned threads; /* a block, a multiple of 32 up to 1024; 0: the kernel's own choice */
};

struct kernel {
    const char *name;
    /* Make `mask` (host or device memory, job->taps long) this kernel's, in stream order. */
    cudaError_t (*load)(const float *mask, const struct kernel_job *job, cudaStream_t stream);
    cudaError_t (*launch)(const struct kernel_job *job, cudaStream_t stream);
};

extern const struct kernel kernel_basic;
extern const struct kernel kernel_constant;
extern const struct kernel kernel_tiled;
extern const struct kernel kernel_cached;
extern const struct kernel kernel_register;

/* By index (NULL past the last) and by name (NULL: there is none). */
const struct kernel *kernel_at(size_t index);
const struct kernel *kernel_named(const char *name);

#ifdef __cplusplus
}
#endif

#endif
