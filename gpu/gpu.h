/* The GPUs of this machine. Threads: the control thread. */
#ifndef HALO_GPU_GPU_H
#define HALO_GPU_GPU_H

#include "base/machine.h"
#include "base/status.h"
#include "convolve/gpu_devices.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

/* Begin in a thread, once, what takes a few tenths of a second: the context of the device, and then
 * the library of transforms, if any call so far wants them. The functions below wait for it. */
void gpu_expect(const struct gpu_devices *wanted, bool transforms);

/* Wait for that thread, if there is one. */
void gpu_settle(void);

/* Whether there is a GPU. */
bool gpu_is_there(void);

/* The bandwidth of the first GPU's memory, bytes a second, as the driver reports it; 0: it does
 * not. */
double gpu_bandwidth(void);

/* Whether the current device computes in double precision at least half as fast as in single. */
bool gpu_is_fast_in_double(void);

/* The number of GPUs. Errors: no driver, no GPU. */
MUST_CHECK enum status gpu_count(int *count);

/* The one device that is meant (none named: the first). `what` uses the device, for --verbose: "the
 * stream". Errors: several are named; the device does not exist. */
MUST_CHECK enum status gpu_choose(const struct gpu_devices *wanted, const char *what, int *device);

/* The first that is named, which need not exist. */
static inline int gpu_device(const struct gpu_devices *wanted)
{
    return wanted->count ? wanted->of[0] : 0;
}

/* Where a device is among the machine's memory nodes, and its address on the bus. */
enum { GPU_BUS_CHARS = 32 };

/* Go to its memory node, until numa_leave. */
void gpu_enter(int device, struct numa_before *before);

/* A note for --verbose: what it is, and where on the machine. `what`: "the stream". */
void gpu_note_place(int device, const char *what);

/* A kernel does not end: freeing memory would wait for it forever, perhaps that of another device
 * too, so nothing is freed from now on and the process exits without the driver's clean-up. The
 * other devices go on with their work. May be called in a step. */
void gpu_abandon(int device);
bool gpu_abandoned(void); /* any */
bool gpu_is_abandoned(int device);

/* Print "the GPU failed to `what`" and return STATUS_FAILED. */
MUST_CHECK enum status gpu_failed(cudaError_t error, const char *what);

/* Keep the first error of a step in *kept, and clear CUDA's. */
void gpu_note_error(cudaError_t *kept, cudaError_t error);

/* To the current device, whatever streams are used next: a copy from ordinary memory may return
 * before the device has the bytes, and streams that do not block do not wait for it. */
cudaError_t gpu_send(void *to, const void *from, size_t bytes);

/* An attribute of the current device. */
cudaError_t gpu_attribute(enum cudaDeviceAttr attribute, int *value);

/* Return from a function of type cudaError_t if `call` fails. */
#define CUDA_TRY(call)                                                                             \
    do {                                                                                           \
        cudaError_t cuda_try_error = (call);                                                       \
        if (cuda_try_error != cudaSuccess)                                                         \
            return cuda_try_error;                                                                 \
    } while (0)

/* Fault injection: HALO_GPU_FAULT=N in the environment makes step N (from 0) of every convolver
 * fail. N:memory as if memory had run out (default); N:lost as if the device were gone; N:trap by a
 * kernel that traps, after which this process cannot use the GPU; N:late as if a live answer took
 * until block N + FAULT_LATE_BLOCKS; N:never as if it did not come. */

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
