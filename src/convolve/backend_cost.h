/* Estimated time of a render on the CPU and on a GPU, for `auto`: how much work each phase has, by
 * plain arithmetic, and how fast this machine is at it (machine_speed.h; docs/measurements.md).
 *
 * Reading, the convolution and writing overlap, so that the slowest of them counts, or all of them
 * where there are fewer processors than that takes. The context of a GPU is made beside reading the
 * mask.
 */
#ifndef HALO_BACKEND_COST_H
#define HALO_BACKEND_COST_H

#include "convolve/machine_speed.h"

#include <stdbool.h>
#include <stddef.h>

struct backend_job {
    double frames;
    size_t inputs;
    size_t outputs;
    size_t paths;
    size_t columns; /* of the mask, which paths may share */
    size_t taps;
    size_t threads;
};

/* Many sounds in one process (halo batch): seconds of one processor for those that were looked at,
 * which stand for `jobs` times as many. */
struct backend_set {
    double jobs;
    size_t processors, devices;
    double files, convolve; /* on the CPU: each file read and written, and convolved */
    double hand_over;       /* to a GPU and back */
    double device;          /* seconds of a GPU */
    double masks;           /* different ones, of all jobs: each is read and prepared once */
};

struct backend_set_times {
    double cpu, gpu; /* all of it, with either */
    double files;    /* of both: decoding, encoding, journal */
};

/* A picture convolved with a 2-D mask that is not separable. */
struct backend_picture {
    double rows;
    size_t columns;
    size_t channels;
    size_t taps;
    size_t threads;
};

/* Seconds, without what both have: the program's start, opening files, reading the mask. */
double backend_cost_cpu(const struct backend_job *job, const struct machine_speed *speed);
double backend_cost_gpu(const struct backend_job *job, const struct machine_speed *speed);
double backend_cost_picture_cpu(const struct backend_picture *picture);
double backend_cost_picture_gpu(const struct backend_picture *picture,
                                const struct machine_speed *speed);

/* Add a file of the set, with so many samples read and written, and those of them that are of
 * compressed formats; and a convolution that it passes through (its threads: 1). */
void backend_set_add_file(struct backend_set *set, double in, double out, double compressed,
                          const struct machine_speed *speed);
void backend_set_add(struct backend_set *set, const struct backend_job *job,
                     const struct machine_speed *speed);
struct backend_set_times backend_set_cost(const struct backend_set *set,
                                          const struct machine_speed *speed);

/* Whether the GPU is faster by more than the estimates' error. */
bool backend_cost_clearly_gpu(double cpu, double gpu);

/* Seconds of phases in a render, as measured; 0: none. */
struct backend_times {
    double form; /* of the mask; on the CPU with the rest of the convolver */
    double read, write;
    double loop;                   /* from the first block to the last */
    double context, set_up;        /* GPU */
    double carry, compute, launch; /* GPU: parts of the loop */
};

/* What they say of the machine: adds to `speed`. Times too short to measure say nothing. */
void backend_cost_learn(const struct backend_job *job, bool on_gpu,
                        const struct backend_times *times, struct machine_speed *speed);

#endif
