/* The table of backends, and which one serves a mask. */
#include "convolve/convolver_state.h"

#include "convolve/backend_cost.h"
#include "convolve/partition.h"

#include <stdio.h>
#include <string.h>

#ifdef HALO_NO_CUDA
const struct convolver_backend convolver_cuda = {.name = "cuda"}; /* create_side refuses it */
#endif

/* The first one always works. */
static const struct convolver_backend *const backends[] = {&convolver_cpu, &convolver_cuda,
                                                           &convolver_direct};
enum { BACKENDS = sizeof backends / sizeof *backends };

enum { LIVE_BLOCK = 64 };     /* frames, by default */
enum { THREADS_ASSUMED = 8 }; /* that blocks of a reproducible render suit */

const char *convolver_backend_name(size_t index)
{
    return index < BACKENDS ? backends[index]->name : NULL;
}

static const struct convolver_backend *backend_named(const char *name)
{
    for (size_t i = 0; i < BACKENDS; i++)
        if (strcmp(backends[i]->name, name) == 0)
            return backends[i];
    return NULL;
}

const char *convolver_choice_name(size_t index)
{
    return index == 0 ? "auto" : convolver_backend_name(index - 1);
}

const struct convolver_backend *convolver_choose(const struct convolver_settings *settings,
                                                 const struct mask *mask, char *reason, size_t size)
{
    const struct gpu_settings *gpu = &settings->gpu;
    *reason = '\0';
    if (strcmp(settings->backend, "auto") != 0)
        return backend_named(settings->backend);
    if (gpu->kernel || gpu->mode != GPU_MODE_AUTO || gpu->devices != 0)
        return &convolver_cuda; /* options of the GPU imply it */
    struct backend_job job = {.frames = (double)settings->frames,
                              .inputs = mask->inputs,
                              .outputs = mask->outputs,
                              .paths = mask->path_count,
                              .taps = settings->taps > mask->taps ? settings->taps : mask->taps,
                              .threads = workers_count(settings->workers)};
    double cpu = backend_cost_cpu(&job), cuda = backend_cost_gpu(&job);
    bool long_enough =
        !settings->live && settings->frames > 0 && backend_cost_clearly_gpu(cpu, cuda);
    bool there = long_enough && convolver_cuda.is_usable && convolver_cuda.is_usable();
    if (settings->live || settings->frames <= 0)
        snprintf(reason, size, "%s", settings->live ? "a live stream" : "unknown length");
    else
        snprintf(reason, size, "estimated %.2f s on the CPU, %.2f s on a GPU%s", cpu, cuda,
                 long_enough && !there ? ", but no GPU is available" : "");
    return there ? &convolver_cuda : &convolver_cpu;
}

size_t convolver_preferred_block(const struct convolver_settings *settings, const struct mask *mask,
                                 size_t most)
{
    char reason[sizeof((struct convolver *)NULL)->reason];
    const struct convolver_backend *backend =
        convolver_choose(settings, mask, reason, sizeof reason);
    if (settings->live || settings->gpu.mode != GPU_MODE_AUTO)
        return LIVE_BLOCK;
    if (backend && backend->preferred_block)
        return backend->preferred_block(mask->taps, most);
    size_t channels = mask->inputs > mask->outputs ? mask->inputs : mask->outputs;
    size_t threads = settings->reproducible ? THREADS_ASSUMED : workers_count(settings->workers);
    return partition_preferred_block(mask->taps, channels, threads, most);
}
