/* The table of backends, and which one serves a mask. */
#include "convolve/convolver_state.h"

#include "base/laps.h"
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

static double estimate_cpu(const struct backend_job *job)
{
    return backend_cost_cpu(job, machine_speed_now());
}

static double estimate_gpu(const struct backend_job *job)
{
    return backend_cost_gpu(job, machine_speed_now());
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
        likely = backend_cost_clearly_gpu(estimate_cpu(job), estimate_gpu(job));
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

void convolver_learn(const struct filter *convolver, const struct convolver_settings *settings,
                     const struct mask *mask, struct machine_speed *measured)
{
    bool on_gpu = strcmp(convolver_backend(convolver), convolver_cuda.name) == 0;
    const struct backend_times times = {
        .form = on_gpu ? lap_seconds(LAP_FORM) : lap_seconds(LAP_CHAIN),
        .read = lap_seconds(LAP_READ),
        .write = lap_seconds(LAP_MEASURE) + lap_seconds(LAP_WRITE),
        .loop = lap_seconds(LAP_STARVED) + lap_seconds(LAP_STEP) + lap_seconds(LAP_HELD),
        .context = lap_seconds(LAP_CONTEXT) + lap_seconds(LAP_LIBRARY),
        .set_up = lap_seconds(LAP_PIN) + lap_seconds(LAP_PLAN),
        .carry = lap_seconds(LAP_SEND) + lap_seconds(LAP_RETURN),
        .compute = lap_seconds(LAP_COMPUTE),
        .launch = lap_seconds(LAP_LAUNCH),
    };
    const struct backend_job job = job_of(settings, mask);
    bool is_usual = settings->precision == PRECISION_SINGLE && !settings->reproducible &&
                    !settings->live && !implies_gpu(&settings->gpu) && !settings->proof.wanted &&
                    strcmp(settings->backend, convolver_direct.name) != 0;
    /* Making it took as long as the GPU that was tried before it. */
    bool in_vain = !on_gpu && lap_seconds(LAP_DEVICE) > 0;
    if (is_usual && !in_vain && settings->frames > 0 && convolver_failures(convolver) == 0)
        backend_cost_learn(&job, on_gpu, &times, measured);
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
    struct backend_job job = job_of(settings, mask);
    double cpu = estimate_cpu(&job), cuda = estimate_gpu(&job);
    bool is_better = backend_cost_clearly_gpu(cpu, cuda);
    bool there = is_better && convolver_cuda.is_usable && convolver_cuda.is_usable();
    snprintf(reason, size, "estimated %.2f s on the CPU, %.2f s on a GPU, %s%s", cpu, cuda,
             machine_speed_is_measured(machine_speed_now()) ? "by what was measured here"
                                                            : "by what other machines take",
             is_better && !there ? ", but no GPU is available" : "");
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
    size_t threads =
        settings->reproducible ? CONVOLVER_THREADS_ASSUMED : workers_count(settings->workers);
    const struct partition_job job = {
        .taps = mask->taps,
        .channels = channels,
        .threads = threads,
        .paths = partition_paths(mask->inputs, mask->outputs, mask->path_count)};
    return partition_preferred_block(&job, most);
}
