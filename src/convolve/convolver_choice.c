#include "convolve/convolver_choice.h"

#include "base/machine.h"
#include "convolve/convolver_state.h"
#include "convolve/partition.h"
#include "signal/fft.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Seconds on a server with 16 virtual processors and an H200 (docs/measurements.md). The CPU's
 * constants are from "Matrices afterwards" (the column "every path counted", and 32x32 on two
 * processors), less the costs that CPU and GPU share. */
static const double CPU_STEP = 1.9e-9; /* one ns estimated by partition.h, on one thread */
static const double CPU_MOVE = 1.2;    /* ns of partition.h for a sample's copies */
static const double CPU_ALONE = 2;     /* factor for transforms of millions of points */
static const double CPU_TAP = 1.34e-8; /* one tap of the mask made into spectra, on one thread */
static const double CPU_TAPS = 7e6;    /* as many taps take as long as all other preparations */
static const double CPU_SERIAL = 0.05; /* part of the work that more threads do not shorten */

/* From "GPU: files, and what auto takes": the phases that HALO_LAPS=1 prints. */
static const double GPU_CONTEXT = 0.22; /* start of CUDA: 0.20 to 0.24 */
static const double GPU_LEAVE = 0.11;   /* end of the process, which frees the GPU: 0.11 to 0.14 */
static const double MASK_TAP = 2.5e-9;  /* one tap read, while CUDA starts */
static const double GPU_SET_UP = 2e-9;  /* memory pinned for one sample of a block */
static const double GPU_SAMPLES = 3e6;  /* as many samples take as long as the rest of the set-up */
static const double GPU_SPECTRUM = 2e-10; /* one point of a mask's spectra */
static const double GPU_CARRY = 4e-10;    /* one sample copied to the GPU and back */
static const double GPU_POINT = 2e-11;    /* one point of a transform */
static const double GPU_BLOCK = 8e-5;     /* launches of a block */
static const double H200 = 4.9e12;        /* bytes a second, as the driver reports them */

/* Pictures, from "The stage --spectral" in docs/measurements.md. Seconds per cell. */
static const double CPU_CELL_TAP = 4.5e-11; /* one coefficient, on one thread */
static const double GPU_CELL = 3e-10;       /* copied to the GPU and back */
static const double GPU_CELL_TAP = 1e-13;   /* one coefficient */

/* Many sounds, from "GPU: many sounds at once" in docs/measurements.md. The masks were 1,600 rooms
 * of 0.2 to 1.2 s, compared with 50. */
static const double FILE_COST = 0.5e-3;    /* one file, without its samples */
static const double FILE_SAMPLE = 1.6e-9;  /* one sample: read 1.25e-9, written 1.9e-9 */
static const double CODEC = 11e-9;         /* one sample of a compressed format (FLAC) */
static const double HAND_OVER = 0.5e-9;    /* one sample copied to or from a GPU's buffer */
static const double DEVICE_TURN = 0.07e-3; /* one job, on the thread that serves a GPU */
static const double MASK_SENT = 0.2e-3;    /* one mask sent to a GPU while others wait */

/* A GPU is chosen only if it takes less than this part of the CPU's time. On another machine the
 * constants can be that wrong. */
static const double CLEARLY = 0.5;

enum {
    BLOCK_SAMPLES = 1 << 23, /* samples of a block, see chain/stages.c */
    GPU_BLOCK_LEAST = 1 << 16,
    GPU_BLOCK_TAPS = 8, /* divides the mask's taps: a block has at least so many frames */
    GPU_BLOCKS = 4,     /* a longer sound has at least as many blocks */
    GPU_FFT_LEAST = 1 << 10,
    GPU_PATHS = 8, /* products of a point that cost as much as its transform */
};

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static size_t widest(const struct backend_job *job)
{
    return job->inputs > job->outputs ? job->inputs : job->outputs;
}

static double samples_of(const struct backend_job *job)
{
    return job->frames * (double)job->inputs +
           (job->frames + (double)job->taps) * (double)job->outputs;
}

static size_t block_most(const struct backend_job *job)
{
    double frames = job->frames + (double)job->taps;
    size_t most = BLOCK_SAMPLES / widest(job);
    return frames < (double)most ? (size_t)frames : most;
}

/* ---- the CPU ---- */

/* Estimated ns of a step on the CPU. *sharers: number of threads that can share it. */
static double step_of_cpu(const struct backend_job *job, size_t *sharers)
{
    size_t rows = job->inputs < job->outputs ? job->inputs : job->outputs;
    struct partition_job plan_job = {.taps = job->taps,
                                     .pace = PARTITION_AVERAGE,
                                     .channels = widest(job),
                                     .paths =
                                         partition_paths(job->inputs, job->outputs, job->paths)};
    size_t block = partition_preferred_block(&plan_job, block_most(job));
    plan_job.block = block;
    plan_job.channels = rows;
    struct partition_plan plan = partition_plan(&plan_job);
    double factor = plan.algorithm == PARTITION_PARTITIONED ? CPU_ALONE : 1;
    double blocks = ceil((job->frames + (double)job->taps) / (double)block);
    double moved = (double)(job->inputs + job->outputs) * (double)block;
    *sharers = partition_sharers(&plan, widest(job), job->threads);
    return factor * CPU_STEP * blocks *
           (partition_step_cost(&plan, job->inputs, job->outputs, job->paths, block) +
            CPU_MOVE * moved);
}

double backend_cost_cpu(const struct backend_job *job)
{
    size_t sharers;
    double step = step_of_cpu(job, &sharers);
    double channels = (double)(job->inputs + job->outputs);
    double taps = ((double)job->columns + channels) * (double)job->taps + CPU_TAPS;
    return (CPU_SERIAL + (1 - CPU_SERIAL) / (double)sharers) * (step + CPU_TAP * taps);
}

/* ---- a GPU ---- */

static double slower_than_h200(double bandwidth)
{
    return bandwidth > 0 ? H200 / bandwidth : 1;
}

/* Points of a block's transforms for one channel, with the length that gives the fewest (*fft). */
static double points_of(size_t taps, double block, double *fft)
{
    double best = INFINITY;
    for (double n = GPU_FFT_LEAST; n == GPU_FFT_LEAST || n < 4 * (block + (double)taps); n *= 2) {
        double hop = n - (double)taps, points = hop > 0 ? n * ceil(block / hop) : INFINITY;
        if (points < best) {
            best = points;
            *fft = n;
        }
    }
    return best;
}

struct gpu_work {
    double block, blocks; /* frames, count */
    double spectra, points;
};

static struct gpu_work work_of_gpu(const struct backend_job *job)
{
    double least = larger(GPU_BLOCK_LEAST, (double)job->taps / GPU_BLOCK_TAPS);
    double most = (double)block_most(job), block = larger(most / GPU_BLOCKS, least);
    block = block < most ? block : most;
    double fft = GPU_FFT_LEAST, points = points_of(job->taps, block, &fft);
    double blocks = ceil((job->frames + (double)job->taps) / block);
    double rows = (double)(job->inputs + job->outputs) + (double)job->paths / GPU_PATHS;
    return (struct gpu_work){block, blocks, (double)job->columns * fft, blocks * points * rows};
}

double backend_cost_gpu(const struct backend_job *job, double bandwidth)
{
    const struct gpu_work work = work_of_gpu(job);
    double block = (double)(job->inputs + job->outputs) * work.block;
    double read = MASK_TAP * (double)job->columns * (double)job->taps;
    double compute = GPU_SPECTRUM * work.spectra + GPU_POINT * work.points;
    return larger(GPU_CONTEXT - read, 0) + GPU_LEAVE + GPU_SET_UP * (block + GPU_SAMPLES) +
           work.blocks * (GPU_CARRY * block + GPU_BLOCK) + slower_than_h200(bandwidth) * compute;
}

bool backend_cost_clearly_gpu(double cpu, double gpu)
{
    return gpu < CLEARLY * cpu;
}

/* ---- pictures ---- */

static double cells_of(const struct backend_picture *picture)
{
    return picture->rows * (double)picture->columns * (double)picture->channels;
}

double backend_cost_picture_cpu(const struct backend_picture *picture)
{
    return CPU_CELL_TAP * cells_of(picture) * (double)picture->taps / (double)picture->threads;
}

double backend_cost_picture_gpu(const struct backend_picture *picture, double bandwidth)
{
    double tap = slower_than_h200(bandwidth) * GPU_CELL_TAP;
    return GPU_CONTEXT + GPU_LEAVE + cells_of(picture) * (GPU_CELL + tap * (double)picture->taps);
}

/* ---- many sounds ---- */

void backend_set_add_file(struct backend_set *set, double samples, double compressed)
{
    set->files += FILE_COST + FILE_SAMPLE * samples + CODEC * compressed;
}

void backend_set_add(struct backend_set *set, const struct backend_job *job)
{
    size_t sharers;
    double samples = samples_of(job);
    set->convolve += step_of_cpu(job, &sharers);
    set->hand_over += HAND_OVER * samples;
    set->carried += GPU_CARRY / 2 * samples + DEVICE_TURN;
    set->computed += GPU_POINT * work_of_gpu(job).points + DEVICE_TURN;
}

double backend_set_cpu(const struct backend_set *set)
{
    return set->jobs * set->convolve / (double)set->processors;
}

/* Files are read and written while the GPU works, so only the longer of the two counts. */
double backend_set_gpu(const struct backend_set *set, double bandwidth)
{
    double each = set->jobs / (double)set->processors, files = each * set->files;
    double device = larger(set->carried, slower_than_h200(bandwidth) * set->computed);
    return GPU_CONTEXT + GPU_LEAVE + MASK_SENT * set->masks +
           larger(files + each * set->hand_over, set->jobs * device) - files;
}

/* The table of backends, and the choice of one for a mask. */

#ifdef HALO_NO_CUDA
/* create_side refuses a backend without `create` */
const struct convolver_backend convolver_cuda = {.name = "cuda"};
#endif

/* The first backend always works. */
static const struct convolver_backend *const backends[] = {&convolver_cpu, &convolver_cuda,
                                                           &convolver_direct};
enum { BACKENDS = sizeof backends / sizeof *backends };

enum { LIVE_BLOCK = 64 }; /* frames; preferred for live streams and --gpu modes */

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
        return &convolver_cuda; /* GPU options imply the GPU */
    if (settings->live || settings->frames <= 0) {
        snprintf(reason, size, "%s", settings->live ? "a live stream" : "unknown length");
        return &convolver_cpu;
    }
    if (!convolver_cuda.is_usable || !machine_may_have_gpu())
        return &convolver_cpu; /* only the CPU is possible, so no reason is given */
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
