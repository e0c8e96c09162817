#include "convolve/backend_cost.h"

#include <math.h>

static const double NS = 1e-9;

/* CPU, one core, per frame: a transform in either direction, a path's products. */
static const double CPU_TRANSFORM = 0.18; /* times log2 of the taps */
static const double CPU_FAR = 1.4;        /* factor beyond the caches */
static const double CPU_PRODUCT = 0.8;

/* GPU: creating a context and pinning memory; per frame: transfer, mostly overlapped, and a path's
 * convolution; preparing a tap of a path. */
static const double GPU_START = 0.35; /* seconds */
static const double GPU_CARRY = 0.05;
static const double GPU_PATH = 0.025;
static const double GPU_TAP = 10;

/* Pictures, per cell: a coefficient on one core; the transfer to and from the GPU, and a
 * coefficient there. */
static const double CPU_CELL_TAP = 0.045;
static const double GPU_CELL = 0.3;
static const double GPU_CELL_TAP = 0.0001;

static const double CLEARLY = 0.8; /* of the CPU's time */

enum {
    TAPS_FAR = 1 << 17,
    TAPS_CHUNKED = 1 << 16, /* longer masks: threads share channels, not chunks of a block */
};

double backend_cost_cpu(const struct backend_job *job)
{
    double transforms = (double)(job->inputs + job->outputs);
    double transform = CPU_TRANSFORM * log2((double)job->taps + 1);
    if (job->taps > TAPS_FAR)
        transform *= CPU_FAR;
    size_t most = job->taps > TAPS_CHUNKED ? job->outputs : job->threads;
    double threads = (double)(job->threads < most ? job->threads : most);
    double frame = transforms * transform + (double)job->paths * CPU_PRODUCT;
    return NS * job->frames * frame / threads;
}

double backend_cost_gpu(const struct backend_job *job)
{
    double paths = (double)job->paths;
    double frame = (double)(job->inputs + job->outputs) * GPU_CARRY + paths * GPU_PATH;
    return GPU_START + NS * (job->frames * frame + paths * (double)job->taps * GPU_TAP);
}

static double cells_of(const struct backend_picture *picture)
{
    return picture->rows * (double)picture->columns * (double)picture->channels;
}

double backend_cost_picture_cpu(const struct backend_picture *picture)
{
    return NS * cells_of(picture) * (double)picture->taps * CPU_CELL_TAP / (double)picture->threads;
}

double backend_cost_picture_gpu(const struct backend_picture *picture)
{
    double cell = GPU_CELL + (double)picture->taps * GPU_CELL_TAP;
    return GPU_START + NS * cells_of(picture) * cell;
}

bool backend_cost_clearly_gpu(double cpu, double gpu)
{
    return gpu < CLEARLY * cpu;
}
