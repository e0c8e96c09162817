/* The GPUs of this machine, as the convolvers see them.
 * Threads: the control thread. */
#ifndef HALO_GPU_GPU_H
#define HALO_GPU_GPU_H

#include "base/status.h"

#include <cuda_runtime_api.h>
#include <stdint.h>

enum { GPU_MOST = 64 }; /* bits of a set of devices */

/* How many there are. Errors: no driver, no GPU; says what is missing. */
MUST_CHECK enum status gpu_count(int *count);

/* The devices of the set (0: the first), in order. Errors: one is not there. */
MUST_CHECK enum status gpu_choose(uint64_t set, int devices[GPU_MOST], size_t *count);

/* A kernel on some GPU does not end: what frees device memory would wait for it for ever,
 * and is left undone from now on, for the driver to do; the process ends without it.
 * May be called in a step. */
void gpu_abandon(void);
bool gpu_abandoned(void);

/* One line: the GPU failed to `what`. */
MUST_CHECK enum status gpu_failed(cudaError_t error, const char *what);

/* Ends a function that returns cudaError_t with the first error. */
#define CUDA_TRY(call)                                                                             \
    do {                                                                                           \
        cudaError_t cuda_try_error = (call);                                                       \
        if (cuda_try_error != cudaSuccess)                                                         \
            return cuda_try_error;                                                                 \
    } while (0)

#endif
