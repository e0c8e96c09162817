#include "backend_cost.h"

#include <math.h>

static const double NS = 1e-9;

/* CPU, one processor: a transform there or back, and the products, of a frame. */
static const double CPU_TRANSFORM = 0.35; /* times log2 of the taps */
static const double CPU_PRODUCT = 0.8;

/* GPU: making a context and pinning memory; carrying a frame there or back, which
 * is mostly the host's copying; a path's convolution. */
static const double GPU_START = 0.35; /* seconds */
static const double GPU_CARRY = 0.6;
static const double GPU_PATH = 0.025;

double backend_cost_cpu(const struct backend_job *job)
{
    double transforms = (double)(job->inputs + job->outputs);
    double frame =
        transforms * CPU_TRANSFORM * log2((double)job->taps + 1) + (double)job->paths * CPU_PRODUCT;
    return NS * job->frames * frame / (double)job->threads;
}

double backend_cost_gpu(const struct backend_job *job)
{
    double frame = (double)(job->inputs + job->outputs) * GPU_CARRY + (double)job->paths * GPU_PATH;
    return GPU_START + NS * job->frames * frame;
}
