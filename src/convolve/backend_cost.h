/* What a job costs on the CPU and on a GPU, as `auto` reckons it: plain arithmetic on
 * costs that were measured (docs/measurements.md, bench/auto_rule). */
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

/* A picture through a mask of two dimensions that is no column times a row. */
struct backend_picture {
    double rows;
    size_t columns;
    size_t channels;
    size_t taps;
    size_t threads;
};

/* Seconds, reading and writing files apart. */
double backend_cost_cpu(const struct backend_job *job);
double backend_cost_gpu(const struct backend_job *job);
double backend_cost_picture_cpu(const struct backend_picture *picture);
double backend_cost_picture_gpu(const struct backend_picture *picture);

/* Whether a GPU is so much faster that rough estimates are enough to say so. */
bool backend_cost_clearly_gpu(double cpu, double gpu);

#endif
