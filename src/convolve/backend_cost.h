/* What a job costs on the CPU and on a GPU, as `auto` reckons it: plain arithmetic on
 * costs that were measured (docs/measurements.md, bench/auto_rule). */
#ifndef HALO_BACKEND_COST_H
#define HALO_BACKEND_COST_H

#include <stddef.h>

struct backend_job {
    double frames;
    size_t inputs;
    size_t outputs;
    size_t paths;
    size_t taps;
    size_t threads;
};

/* Seconds, reading and writing files apart. */
double backend_cost_cpu(const struct backend_job *job);
double backend_cost_gpu(const struct backend_job *job);

#endif
