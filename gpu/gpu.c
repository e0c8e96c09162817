#include "gpu/gpu.h"

#include "base/laps.h"
#include "base/realtime.h"
#include "base/thread.h"
#include "gpu/cufft_library.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Jobs of one process (render -O) settle at once. The lock lets one of them join the thread. */
static struct {
    pthread_mutex_t lock;
    pthread_t thread;
    bool runs, begun;
    int device;
    atomic_bool transforms;
} expected = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Errors are not reported here. They appear again where the context is needed. */
static bool make_context(int device)
{
    bool made = cudaSetDevice(device) == cudaSuccess && cudaFree(NULL) == cudaSuccess;
    (void)cudaGetLastError();
    return made;
}

static void *make_expected(void *argument)
{
    (void)argument;
    int64_t lap = lap_begin();
    bool made = make_context(expected.device);
    lap_end(LAP_CONTEXT, lap);
    lap = lap_begin();
    if (made && atomic_load(&expected.transforms))
        cufft_library_expect();
    lap_end(LAP_LIBRARY, lap);
    (void)cudaGetLastError();
    return NULL;
}

void gpu_expect(const struct gpu_devices *wanted, bool transforms)
{
    if (transforms)
        atomic_store(&expected.transforms, true);
    pthread_mutex_lock(&expected.lock);
    if (!expected.begun) {
        expected.begun = true;
        expected.device = gpu_device(wanted);
        expected.runs =
            thread_start(&expected.thread, "halo gpu", THREAD_AS_CALLER, make_expected, NULL) == 0;
    }
    pthread_mutex_unlock(&expected.lock);
}

void gpu_settle(void)
{
    pthread_mutex_lock(&expected.lock);
    if (expected.runs) {
        int64_t lap = lap_begin();
        pthread_join(expected.thread, NULL);
        expected.runs = false;
        lap_end(LAP_DEVICE, lap);
    }
    pthread_mutex_unlock(&expected.lock);
}

bool gpu_is_fast_in_double(void)
{
    enum { SLOWER_MOST = 2 };
    int slower = 0;
    return gpu_attribute(cudaDevAttrSingleToDoublePrecisionPerfRatio, &slower) == cudaSuccess &&
           slower <= SLOWER_MOST;
}

bool gpu_is_there(void)
{
    int count = 0;
    gpu_settle();
    return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

double gpu_bandwidth(void)
{
    int clock = 0, width = 0; /* kHz, bits; memory makes two transfers a clock */
    if (cudaDeviceGetAttribute(&clock, cudaDevAttrMemoryClockRate, 0) != cudaSuccess ||
        cudaDeviceGetAttribute(&width, cudaDevAttrGlobalMemoryBusWidth, 0) != cudaSuccess)
        (void)cudaGetLastError();
    return 1e3 * (double)clock * 2 * (double)width / 8;
}

enum status gpu_count(int *count)
{
    *count = 0;
    gpu_settle();
    cudaError_t error = cudaGetDeviceCount(count);
    if (error == cudaErrorInsufficientDriver)
        return fail(CAUSE_NO_GPU, "there is no NVIDIA driver, or it is older than this build's "
                                  "CUDA; install one, or use --backend cpu");
    if (error != cudaSuccess || *count == 0)
        return fail(CAUSE_NO_GPU, "there is no NVIDIA GPU (%s); use --backend cpu",
                    cudaGetErrorString(error == cudaSuccess ? cudaErrorNoDevice : error));
    return STATUS_OK;
}

enum status gpu_choose(const struct gpu_devices *wanted, const char *what, int *device)
{
    int available;
    *device = gpu_device(wanted);
    TRY(gpu_devices_check_one(wanted));
    TRY(gpu_count(&available));
    if (*device >= available)
        return fail(CAUSE_DEVICE,
                    "cannot use GPU %d: there %s, counted from 0; name another with --devices or "
                    "use --backend cpu",
                    *device, available == 1 ? "is one GPU" : "are fewer GPUs");
    gpu_note_place(*device, what);
    return STATUS_OK;
}

static struct numa_place gpu_place(int device, char bus[GPU_BUS_CHARS])
{
    *bus = '\0';
    if (cudaDeviceGetPCIBusId(bus, GPU_BUS_CHARS, device) != cudaSuccess)
        (void)cudaGetLastError(); /* the place is then unknown */
    return numa_place_of("/sys", bus);
}

void gpu_enter(int device, struct numa_before *before)
{
    char bus[GPU_BUS_CHARS];
    const struct numa_place place = gpu_place(device, bus);
    numa_enter(&place, before);
}

void gpu_note_place(int device, const char *what)
{
    struct cudaDeviceProp properties = {0};
    char bus[GPU_BUS_CHARS], where[192] = "";
    const struct numa_place place = gpu_place(device, bus);
    if (cudaGetDeviceProperties(&properties, device) != cudaSuccess)
        (void)cudaGetLastError();
    if (place.node >= 0)
        snprintf(where, sizeof where, ", memory node %d with processors %s", place.node,
                 place.cpu_list);
    note_detail("%s: GPU %d, %s at %s%s", what, device, properties.name, bus, where);
}

static _Atomic uint64_t abandoned; /* bit d: GPU d */

/* Exits without the driver's exit handler, which would wait for the kernel, too. */
static void leave(int status, void *context)
{
    (void)context;
    fflush(NULL);
    _exit(status);
}

void gpu_abandon(int device)
{
    if (atomic_fetch_or(&abandoned, UINT64_C(1) << device % GPU_MOST) == 0)
        on_exit(leave, NULL);
}

HALO_REALTIME void gpu_note_error(cudaError_t *kept, cudaError_t error)
{
    if (error != cudaSuccess)
        (void)cudaGetLastError(); /* clears the error, which is reported from here */
    if (*kept == cudaSuccess)
        *kept = error;
}

cudaError_t gpu_send(void *to, const void *from, size_t bytes)
{
    CUDA_TRY(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
    return cudaStreamSynchronize(cudaStreamLegacy);
}

cudaError_t gpu_attribute(enum cudaDeviceAttr attribute, int *value)
{
    int device;
    CUDA_TRY(cudaGetDevice(&device));
    return cudaDeviceGetAttribute(value, attribute, device);
}

bool gpu_abandoned(void)
{
    return atomic_load(&abandoned) != 0;
}

HALO_REALTIME bool gpu_is_abandoned(int device)
{
    return atomic_load(&abandoned) >> device % GPU_MOST & 1;
}

enum status gpu_failed(cudaError_t error, const char *what)
{
    (void)cudaGetLastError(); /* clears the error, which is reported here */
    bool is_full = error == cudaErrorMemoryAllocation;
    return fail(is_full ? CAUSE_NO_MEMORY : CAUSE_DEVICE,
                "the GPU failed to %s: %s; use --backend cpu", what,
                is_full ? "not enough memory" : cudaGetErrorString(error));
}

struct fault fault_wanted(void)
{
    static const char *const kinds[] = {
        [FAULT_MEMORY] = ":memory", [FAULT_LOST] = ":lost",   [FAULT_TRAP] = ":trap",
        [FAULT_LATE] = ":late",     [FAULT_NEVER] = ":never",
    };
    struct fault fault = {.step = UINT64_MAX};
    const char *text = getenv("HALO_GPU_FAULT");
    if (!text || *text < '0' || *text > '9')
        return fault;
    char *end;
    uint64_t step = strtoull(text, &end, 10);
    fault.step = step;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (strcmp(kinds[k], end) == 0)
            fault.kind = (enum fault_kind)k;
    return fault;
}

HALO_REALTIME bool fault_hides(const struct fault *fault, uint64_t step)
{
    if (step < fault->step)
        return false;
    return fault->kind == FAULT_NEVER ||
           (fault->kind == FAULT_LATE && step < fault->step + FAULT_LATE_BLOCKS);
}

cudaError_t fault_at(const struct fault *fault, uint64_t step, cudaStream_t stream)
{
    if (step != fault->step || fault->kind == FAULT_LATE || fault->kind == FAULT_NEVER)
        return cudaSuccess;
    if (fault->kind == FAULT_MEMORY)
        return cudaErrorMemoryAllocation;
    if (fault->kind == FAULT_LOST)
        return cudaErrorDevicesUnavailable;
    cudaError_t error = fault_trap(stream);
    return error == cudaSuccess ? cudaStreamSynchronize(stream) : error;
}
