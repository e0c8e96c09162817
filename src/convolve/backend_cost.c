#include "convolve/backend_cost.h"

#include "convolve/partition.h"

#include <math.h>

static const double NS = 1e-9;

/* Of the CPU's work, what does not become less with more threads: mostly memory. */
static const double SERIAL = 0.15;
static const double CPU_MOVE = 1.2;  /* ns a sample, in or out: histories, chunks */
static const double CPU_ALONE = 2;   /* times the estimate: transforms of millions of points */
static const double CPU_START = 1e7; /* taps of a mask that take as long as other preparations */

static const double GPU_START = 3e6; /* samples of a block: the same on a GPU */

/* A context is freed when the process ends: the part of what it took to make it. */
static const double GPU_LEAVE = 0.5;
static const double MASK_READ = 2; /* times as long as other samples: to double precision */
static const double TOUCH = 4;     /* ns a sample of new memory, of blocks */

/* Pictures, per cell: a coefficient on one core; the transfer to and from the GPU, and a
 * coefficient there. */
static const double CPU_CELL_TAP = 0.045;
static const double GPU_CELL = 0.3;
static const double GPU_CELL_TAP = 0.0001;
static const double GPU_CLEARLY = 1.2; /* files, which both read and write, are left out */

/* Many sounds: seconds a file apart from its samples, ns a sample of a compressed format (FLAC),
 * and ns a sample that is copied to where a GPU gets it, and back. */
static const double FILE_COST = 0.5e-3;
static const double CODEC = 11;
static const double HAND_OVER = 0.5;
static const double DEVICE_TURN = 0.07e-3; /* seconds a job that a GPU's own thread takes for it */
/* Seconds a mask: on a processor, and until a GPU has it, while others wait (1,600 rooms of 0.2 to
 * 1.2 s beside 50, docs/measurements.md). */
static const double MASK_COST = 1e-3;
static const double MASK_SENT = 0.2e-3;

static const double CLEARLY = 0.95; /* of the CPU's time */
static const double SHORT = 0.005;  /* seconds: less is no measurement */
static const double MAIN = 0.5;     /* of a loop, so that it measures the step */

enum {
    BLOCK_SAMPLES = 1 << 23, /* of a block: chain/stages.c */
    GPU_BLOCK_LEAST = 1 << 16,
    GPU_BLOCK_TAPS = 8, /* and a part of the mask */
    GPU_BLOCKS = 4,     /* at least, of a longer sound */
    GPU_FFT_LEAST = 1 << 10,
    GPU_PATHS = 8, /* products of a point that cost as much as its transform */
};

/* How much there is to do, in the units of machine_speed.h, and in how many blocks. */
struct work {
    double step, form;           /* CPU */
    double share;                /* of the CPU's time, with the threads that it can use */
    double read, write;          /* files */
    double set_up, taps;         /* GPU */
    double carry, point, blocks; /* GPU */
    double block;                /* samples, in and out */
};

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static size_t widest(const struct backend_job *job)
{
    return job->inputs > job->outputs ? job->inputs : job->outputs;
}

static double samples_in(const struct backend_job *job)
{
    return job->frames * (double)job->inputs;
}

static double samples_out(const struct backend_job *job)
{
    return (job->frames + (double)job->taps) * (double)job->outputs;
}

static size_t block_most(const struct backend_job *job)
{
    double frames = job->frames + (double)job->taps;
    size_t most = BLOCK_SAMPLES / widest(job);
    return frames < (double)most ? (size_t)frames : most;
}

/* Of the CPU's time with one thread, the part that `threads` take. */
static double share(size_t threads)
{
    return SERIAL + (1 - SERIAL) / (double)threads;
}

static struct work work_of_cpu(const struct backend_job *job)
{
    size_t rows = job->inputs < job->outputs ? job->inputs : job->outputs;
    struct partition_job plan_job = {.taps = job->taps,
                                     .pace = PARTITION_AVERAGE,
                                     .channels = widest(job),
                                     .threads = job->threads,
                                     .paths =
                                         partition_paths(job->inputs, job->outputs, job->paths)};
    size_t block = partition_preferred_block(&plan_job, block_most(job));
    plan_job.block = block;
    plan_job.channels = rows;
    struct partition_plan plan = partition_plan(&plan_job);
    bool alone = plan.algorithm == PARTITION_PARTITIONED;
    double channels = (double)(job->inputs + job->outputs), taps = (double)job->taps;
    double blocks = ceil((job->frames + taps) / (double)block);
    double step = partition_step_cost(&plan, job->inputs, job->outputs, job->paths, block) +
                  CPU_MOVE * channels * (double)block;
    double factor = alone ? CPU_ALONE : 1;
    return (struct work){.step = factor * NS * blocks * step,
                         .form = factor * ((double)job->columns + channels) * taps + CPU_START,
                         .share = share(partition_sharers(&plan, widest(job), job->threads)),
                         .read = samples_in(job),
                         .write = samples_out(job),
                         .blocks = blocks,
                         .block = channels * (double)block};
}

/* The points of a block's transforms, for one channel: the fewest, of any length. */
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

static struct work work_of_gpu(const struct backend_job *job)
{
    double least = larger(GPU_BLOCK_LEAST, (double)job->taps / GPU_BLOCK_TAPS);
    double most = (double)block_most(job), block = larger(most / GPU_BLOCKS, least);
    double frames = job->frames + (double)job->taps, fft = GPU_FFT_LEAST;
    block = block < most ? block : most;
    double blocks = ceil(frames / block), points = points_of(job->taps, block, &fft);
    double channels = (double)(job->inputs + job->outputs);
    return (struct work){.read = samples_in(job),
                         .write = samples_out(job),
                         .set_up = channels * block + GPU_START,
                         .taps = (double)job->columns * fft,
                         .carry = channels * block * blocks,
                         .point = blocks * points * (channels + (double)job->paths / GPU_PATHS),
                         .blocks = blocks,
                         .block = channels * block};
}

/* Reading and writing overlap with the step, except for the first block and the last. `busy`: the
 * processor time of the step. */
static double loop_time(const struct backend_job *job, const struct work *work,
                        const struct machine_speed *speed, double step, double busy)
{
    double read = work->read * speed->value[SPEED_READ];
    double write = work->write * speed->value[SPEED_WRITE];
    double together = larger(step, larger(read, write));
    double shared = (busy + read + write) / (double)job->threads;
    return NS * TOUCH * work->block + (read + write) / work->blocks + larger(together, shared);
}

double backend_cost_cpu(const struct backend_job *job, const struct machine_speed *speed)
{
    const struct work work = work_of_cpu(job);
    double step = work.step * speed->value[SPEED_STEP];
    double form = work.form * speed->value[SPEED_FORM];
    return form * work.share + loop_time(job, &work, speed, step * work.share, step);
}

static double mask_time(const struct backend_job *job, const struct machine_speed *speed)
{
    return MASK_READ * (double)job->columns * (double)job->taps * speed->value[SPEED_READ];
}

static double step_time(const struct work *work, const struct machine_speed *speed)
{
    return work->carry * speed->value[SPEED_CARRY] + work->point * speed->value[SPEED_POINT] +
           work->blocks * speed->value[SPEED_BLOCK];
}

double backend_cost_gpu(const struct backend_job *job, const struct machine_speed *speed)
{
    const struct work work = work_of_gpu(job);
    double context = speed->value[SPEED_CONTEXT];
    double busy = work.carry * speed->value[SPEED_CARRY];
    return GPU_LEAVE * context + larger(context - mask_time(job, speed), 0) +
           work.set_up * speed->value[SPEED_SET_UP] + work.taps * speed->value[SPEED_UPLOAD] +
           loop_time(job, &work, speed, step_time(&work, speed), busy);
}

/* ---- many sounds ---- */

void backend_set_add_file(struct backend_set *set, double in, double out, double compressed,
                          const struct machine_speed *speed)
{
    set->files += FILE_COST + in * speed->value[SPEED_READ] + out * speed->value[SPEED_WRITE] +
                  NS * CODEC * compressed;
}

void backend_set_add(struct backend_set *set, const struct backend_job *job,
                     const struct machine_speed *speed)
{
    const struct work cpu = work_of_cpu(job), gpu = work_of_gpu(job);
    double samples = samples_in(job) + samples_out(job);
    double carry = samples * speed->value[SPEED_CARRY] / 2;
    double compute = gpu.point * speed->value[SPEED_POINT];
    set->convolve += cpu.step * speed->value[SPEED_STEP];
    set->hand_over += NS * HAND_OVER * samples;
    set->device += larger(carry, compute) + DEVICE_TURN;
}

struct backend_set_times backend_set_cost(const struct backend_set *set,
                                          const struct machine_speed *speed)
{
    double each = set->jobs / (double)set->processors;
    double masks = set->masks * MASK_COST / (double)set->processors;
    double beside = each * (set->files + set->hand_over);
    double device = set->devices ? set->jobs * set->device / (double)set->devices : INFINITY;
    double start = (1 + GPU_LEAVE) * speed->value[SPEED_CONTEXT] + MASK_SENT * set->masks;
    return (struct backend_set_times){.cpu = masks + each * (set->files + set->convolve),
                                      .gpu = masks + start + larger(beside, device),
                                      .files = each * set->files};
}

/* ---- measurements ---- */

static void learn(struct machine_speed *speed, enum machine_figure figure, double seconds,
                  double work)
{
    if (seconds > SHORT)
        (void)machine_speed_add(speed, figure, seconds / work);
}

/* The loop's time is that of its slowest part: turned round, what the step takes alone. */
static void learn_step(const struct backend_job *job, const struct work *work,
                       const struct backend_times *times, struct machine_speed *speed)
{
    double files = times->read + times->write;
    double loop = times->loop - files / work->blocks;
    double step = loop / work->share, rest = loop * (double)job->threads - files;
    step = step < rest ? step : rest;
    if (step * work->share > MAIN * loop)
        learn(speed, SPEED_STEP, step, work->step);
}

void backend_cost_learn(const struct backend_job *job, bool on_gpu,
                        const struct backend_times *times, struct machine_speed *speed)
{
    const struct work work = on_gpu ? work_of_gpu(job) : work_of_cpu(job);
    learn(speed, SPEED_READ, times->read, work.read);
    learn(speed, SPEED_WRITE, times->write, work.write);
    if (!on_gpu) {
        learn_step(job, &work, times, speed);
        learn(speed, SPEED_FORM, times->form / work.share, work.form);
        return;
    }
    learn(speed, SPEED_CONTEXT, times->context, 1);
    learn(speed, SPEED_SET_UP, times->set_up, work.set_up);
    learn(speed, SPEED_UPLOAD, times->form, work.taps);
    learn(speed, SPEED_CARRY, times->carry, work.carry);
    learn(speed, SPEED_POINT, times->compute, work.point);
    learn(speed, SPEED_BLOCK, times->launch, work.blocks);
}

/* ---- pictures ---- */

static double cells_of(const struct backend_picture *picture)
{
    return picture->rows * (double)picture->columns * (double)picture->channels;
}

double backend_cost_picture_cpu(const struct backend_picture *picture)
{
    return NS * cells_of(picture) * (double)picture->taps * CPU_CELL_TAP / (double)picture->threads;
}

double backend_cost_picture_gpu(const struct backend_picture *picture,
                                const struct machine_speed *speed)
{
    double cell = GPU_CELL + (double)picture->taps * GPU_CELL_TAP;
    double context = (1 + GPU_LEAVE) * speed->value[SPEED_CONTEXT];
    return GPU_CLEARLY * (context + NS * cells_of(picture) * cell);
}

bool backend_cost_clearly_gpu(double cpu, double gpu)
{
    return gpu < CLEARLY * cpu;
}
