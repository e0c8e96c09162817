/* Estimated cost of a job on the CPU and on a GPU, for `auto`: plain arithmetic on measured
 * costs (docs/measurements.md, bench/auto_rule). */
#ifndef HALO_BACKEND_COST_H
#define HALO_BACKEND_COST_H

#include <stdbool.h>
#include <stddef.h>

struct backend_job {
    double frames;
    size_t inputs;
    size_t outputs;
    size_t paths;
    size_t taps;
    size_t threads;
};

/* A picture convolved with a 2-D mask that is not separable. */
struct backend_picture {
    double rows;
    size_t columns;
    size_t channels;
    size_t taps;
    size_t threads;
};

/* Seconds, without reading and writing files. */
double backend_cost_cpu(const struct backend_job *job);
double backend_cost_gpu(const struct backend_job *job);
double backend_cost_picture_cpu(const struct backend_picture *picture);
double backend_cost_picture_gpu(const struct backend_picture *picture);

/* Whether the GPU is faster by more than the estimates' error. */
bool backend_cost_clearly_gpu(double cpu, double gpu);

#endif
