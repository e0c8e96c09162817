/* The GPUs of this machine. Threads: the control thread. */
#ifndef HALO_GPU_GPU_H
#define HALO_GPU_GPU_H

#include "base/machine.h"
#include "base/status.h"
#include "convolve/gpu_devices.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

/* Starts once, in a thread, set-up of some tenths of a second: the device's context, then, if any
 * call so far asked for it, the library of transforms. Functions below wait for the thread. */
void gpu_expect(const struct gpu_devices *wanted, bool transforms);

/* Waits for that thread, if it was started. */
void gpu_settle(void);

/* Whether there is a GPU. */
bool gpu_is_there(void);

/* The memory bandwidth of the first GPU in bytes a second, as the driver reports it. 0: unknown. */
double gpu_bandwidth(void);

/* Whether the current device computes in double precision at least half as fast as in single. */
bool gpu_is_fast_in_double(void);

/* The number of GPUs. Errors: no driver, no GPU. */
MUST_CHECK enum status gpu_count(int *count);

/* The device to use: the named one, or the first if none is named. `what` names its use for
 * --verbose, such as "the stream". Errors: several are named; the device does not exist. */
MUST_CHECK enum status gpu_choose(const struct gpu_devices *wanted, const char *what, int *device);

/* The first device that is named, or 0. It need not exist. */
static inline int gpu_device(const struct gpu_devices *wanted)
{
    return wanted->count ? wanted->of[0] : 0;
}

enum { GPU_BUS_CHARS = 32 }; /* bytes of a device's address on the bus */

/* Moves this thread to the device's memory node, until numa_leave. */
void gpu_enter(int device, struct numa_before *before);

/* Notes for --verbose which GPU it is, and where. `what` names its use, such as "the stream". */
void gpu_note_place(int device, const char *what);

/* Gives up a device on which a kernel does not end. Freeing memory would wait for the kernel
 * forever, perhaps on other devices, too. So nothing is freed from now on, and the process exits
 * without the driver's clean-up. Other devices go on. May be called in a step. */
void gpu_abandon(int device);
bool gpu_abandoned(void); /* whether any device was given up */
bool gpu_is_abandoned(int device);

/* Print "the GPU failed to `what`" and return STATUS_FAILED. */
MUST_CHECK enum status gpu_failed(cudaError_t error, const char *what);

/* Keeps the first error of a step in *kept, and clears CUDA's error. */
void gpu_note_error(cudaError_t *kept, cudaError_t error);

/* Copies to the current device, for use on any stream. A plain copy may return before the device
 * has the bytes, and streams that do not block would not wait for it. */
cudaError_t gpu_send(void *to, const void *from, size_t bytes);

/* An attribute of the current device. */
cudaError_t gpu_attribute(enum cudaDeviceAttr attribute, int *value);

/* Returns from a function of type cudaError_t if `call` fails. */
#define CUDA_TRY(call)                                                                             \
    do {                                                                                           \
        cudaError_t cuda_try_error = (call);                                                       \
        if (cuda_try_error != cudaSuccess)                                                         \
            return cuda_try_error;                                                                 \
    } while (0)

/* Fault injection. HALO_GPU_FAULT=N in the environment makes step N (from 0) of every convolver
 * fail.
 *   N:memory  as if memory had run out (default)
 *   N:lost    as if the device were gone
 *   N:trap    by a kernel that traps, after which this process cannot use the GPU
 *   N:late    as if a live answer came only at block N + FAULT_LATE_BLOCKS
 *   N:never   as if a live answer never came
 */

enum fault_kind { FAULT_MEMORY, FAULT_LOST, FAULT_TRAP, FAULT_LATE, FAULT_NEVER };

enum { FAULT_LATE_BLOCKS = 5 };

struct fault {
    uint64_t step; /* step that fails; UINT64_MAX: none */
    enum fault_kind kind;
};

/* Reads the environment. */
struct fault fault_wanted(void);

/* Whether the step must ignore the answer to a live block. */
bool fault_hides(const struct fault *fault, uint64_t step);

/* The error of step `step`, or cudaSuccess. */
cudaError_t fault_at(const struct fault *fault, uint64_t step, cudaStream_t stream);

cudaError_t fault_trap(cudaStream_t stream); /* launches the kernel that traps */

#endif
