/* Fault injection: HALO_GPU_FAULT=N in the environment makes step N (from 0) of every convolver
 * fail. N:memory as if memory had run out (default); N:lost as if the device were gone; N:trap by a
 * kernel that traps, after which this process cannot use the GPU; N:late as if a live answer took
 * until block N + FAULT_LATE_BLOCKS; N:never as if it did not come. */
#ifndef HALO_GPU_FAULT_H
#define HALO_GPU_FAULT_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

enum fault_kind { FAULT_MEMORY, FAULT_LOST, FAULT_TRAP, FAULT_LATE, FAULT_NEVER };

enum { FAULT_LATE_BLOCKS = 5 };

struct fault {
    uint64_t step; /* UINT64_MAX: never */
    enum fault_kind kind;
};

/* Reads the environment. */
struct fault fault_wanted(void);

/* Whether the answer to a live block is to be ignored at this step. */
bool fault_hides(const struct fault *fault, uint64_t step);

/* The error of step `step`, or cudaSuccess. */
cudaError_t fault_at(const struct fault *fault, uint64_t step, cudaStream_t stream);

cudaError_t fault_trap(cudaStream_t stream); /* launches the kernel that traps */

#endif
