#include "gpu/gpu.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum status gpu_count(int *count)
{
    *count = 0;
    cudaError_t error = cudaGetDeviceCount(count);
    if (error == cudaErrorInsufficientDriver)
        return fail(STATUS_FAILED, "there is no NVIDIA driver here, or it is older than this "
                                   "build's CUDA; install one, or use --backend cpu");
    if (error != cudaSuccess || *count == 0)
        return fail(STATUS_FAILED, "there is no NVIDIA GPU here (%s); use --backend cpu",
                    cudaGetErrorString(error == cudaSuccess ? cudaErrorNoDevice : error));
    return STATUS_OK;
}

enum status gpu_choose(uint64_t set, int devices[GPU_MOST], size_t *count)
{
    int there;
    enum status status = gpu_count(&there);
    if (status != STATUS_OK)
        return status;
    if (set == 0)
        set = 1;
    *count = 0;
    for (int d = 0; d < GPU_MOST; d++) {
        if (!(set >> d & 1))
            continue;
        if (d >= there && set == UINT64_MAX) /* all there are */
            break;
        if (d >= there)
            return fail(STATUS_FAILED,
                        "cannot use GPU %d: there %s here, counted from 0; name others with "
                        "--devices or use --backend cpu",
                        d, there == 1 ? "is one GPU" : "are fewer GPUs");
        devices[(*count)++] = d;
    }
    return STATUS_OK;
}

static atomic_bool abandoned;

/* The driver's own leaving would wait for the kernel too. */
static void leave(int status, void *context)
{
    (void)context;
    fflush(NULL);
    _exit(status);
}

void gpu_abandon(void)
{
    if (!atomic_exchange(&abandoned, true))
        on_exit(leave, NULL);
}

bool gpu_abandoned(void)
{
    return atomic_load(&abandoned);
}

enum status gpu_failed(cudaError_t error, const char *what)
{
    (void)cudaGetLastError(); /* it is told here, and not of another call */
    return fail(STATUS_FAILED, "the GPU failed to %s: %s; use --backend cpu", what,
                cudaGetErrorString(error));
}
