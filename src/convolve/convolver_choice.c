/* The table of backends, and which one serves a mask. */
#include "convolve/convolver_state.h"

#include "base/machine.h"
#include "convolve/backend_cost.h"
#include "convolve/partition.h"
#include "signal/fft.h"

#include <stdio.h>
#include <string.h>

#ifdef HALO_NO_CUDA
const struct convolver_backend convolver_cuda = {.name = "cuda"}; /* create_side refuses it */
#endif

/* The first one always works. */
static const struct convolver_backend *const backends[] = {&convolver_cpu, &convolver_cuda,
                                                           &convolver_direct};
enum { BACKENDS = sizeof backends / sizeof *backends };

enum { LIVE_BLOCK = 64 }; /* frames, by default */

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

static bool implies_gpu(const struct gpu_settings *gpu)
{
    return gpu->kernel || gpu->mode != GPU_MODE_AUTO || gpu_devices_are_given(&gpu->devices);
}

bool convolver_expects(const struct convolver_settings *settings)
{
    return convolver_cuda.expect && strcmp(settings->backend, convolver_cpu.name) != 0 &&
           machine_may_have_gpu();
}

void convolver_expect(const struct convolver_settings *settings, const struct backend_job *job)
{
    bool is_auto = strcmp(settings->backend, "auto") == 0;
    bool likely = is_auto ? implies_gpu(&settings->gpu) : strcmp(settings->backend, "cuda") == 0;
    if (is_auto && job && job->frames > 0)
        likely = backend_cost_clearly_gpu(backend_cost_cpu(job), backend_cost_gpu(job, 0));
    if (likely && convolver_expects(settings))
        convolver_cuda.expect(&settings->gpu, job ? job->taps : 0);
}

void convolver_settle(void)
{
    if (convolver_cuda.settle)
        convolver_cuda.settle();
}

static struct backend_job job_of(const struct convolver_settings *settings, const struct mask *mask)
{
    return (struct backend_job){.frames = (double)settings->frames,
                                .inputs = mask->inputs,
                                .outputs = mask->outputs,
                                .paths = mask->path_count,
                                .columns = mask->columns,
                                .taps = settings->taps > mask->taps ? settings->taps : mask->taps,
                                .threads = workers_count(settings->workers)};
}

const struct convolver_backend *convolver_choose(const struct convolver_settings *settings,
                                                 const struct mask *mask, char *reason, size_t size)
{
    const struct gpu_settings *gpu = &settings->gpu;
    *reason = '\0';
    if (strcmp(settings->backend, "auto") != 0)
        return backend_named(settings->backend);
    if (implies_gpu(gpu))
        return &convolver_cuda; /* options of the GPU imply it */
    if (settings->live || settings->frames <= 0) {
        snprintf(reason, size, "%s", settings->live ? "a live stream" : "unknown length");
        return &convolver_cpu;
    }
    if (!convolver_cuda.is_usable || !machine_may_have_gpu())
        return &convolver_cpu; /* no choice, and no reason */
    const struct backend_job job = job_of(settings, mask);
    double cpu = backend_cost_cpu(&job), cuda = backend_cost_gpu(&job, 0);
    bool is_better = backend_cost_clearly_gpu(cpu, cuda), there = false;
    if (is_better && convolver_cuda.is_usable()) {
        cuda = backend_cost_gpu(&job, convolver_cuda.bandwidth());
        there = backend_cost_clearly_gpu(cpu, cuda);
        is_better = there;
    }
    snprintf(reason, size,
             "estimated %.2f s on the CPU, %.2f s on a GPU%s, apart from reading and writing", cpu,
             cuda, is_better && !there ? ", but no GPU is available" : "");
    return there ? &convolver_cuda : &convolver_cpu;
}

size_t convolver_preferred_block(const struct convolver_settings *settings, const struct mask *mask,
                                 size_t most)
{
    char reason[sizeof((struct convolver *)NULL)->reason];
    const struct convolver_backend *backend =
        convolver_choose(settings, mask, reason, sizeof reason);
    if (settings->block && backend == &convolver_cuda)
        return settings->block;
    if (settings->live || settings->gpu.mode != GPU_MODE_AUTO)
        return LIVE_BLOCK;
    if (backend && backend->preferred_block)
        return backend->preferred_block(mask->taps, most);
    size_t channels = mask->inputs > mask->outputs ? mask->inputs : mask->outputs;
    const struct partition_job job = {
        .taps = mask->taps,
        .channels = channels,
        .paths = partition_paths(mask->inputs, mask->outputs, mask->path_count)};
    return partition_preferred_block(&job, most);
}
