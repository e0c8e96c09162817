/* Estimates for `auto`: the seconds that a render takes on the CPU and on a GPU.
 *
 * An estimate is a sum of amounts of work times constants. The constants were fitted to one server
 * with an H200 (docs/measurements.md). More processors lower the CPU's estimate, more memory
 * bandwidth lowers the GPU's.
 *
 * Costs that both have are left out: the program's start, reading the mask, reading and writing
 * sound. Threads: any.
 */
#ifndef HALO_CONVOLVER_CHOICE_H
#define HALO_CONVOLVER_CHOICE_H

#include <stdbool.h>
#include <stddef.h>

struct backend_job {
    double frames;
    size_t inputs;
    size_t outputs;
    size_t paths;
    size_t columns; /* columns of the mask; several paths may share one */
    size_t taps;
    size_t threads;
};

double backend_cost_cpu(const struct backend_job *job);

/* Seconds on a GPU, with CUDA's start. `bandwidth`: of its memory, bytes a second; 0: an H200's. */
double backend_cost_gpu(const struct backend_job *job, double bandwidth);

/* Whether the GPU is so much faster that errors of the estimates do not matter. */
bool backend_cost_clearly_gpu(double cpu, double gpu);

/* A picture that is convolved with a 2-D mask that is not separable. */
struct backend_picture {
    double rows;
    size_t columns;
    size_t channels;
    size_t taps;
    size_t threads;
};

double backend_cost_picture_cpu(const struct backend_picture *picture);
double backend_cost_picture_gpu(const struct backend_picture *picture, double bandwidth);

/* Estimated seconds of many sounds in one process (halo batch). The sounds added stand for a set
 * that is `jobs` times as large. */
struct backend_set {
    double jobs;
    size_t processors;
    double masks;     /* number of different masks in the whole set */
    double files;     /* seconds of reading and writing files, in parallel with the GPU's work */
    double convolve;  /* seconds of convolving on the CPU */
    double hand_over; /* seconds of the CPU's copies to and from a GPU's buffers */
    double carried;   /* seconds of a GPU's transfers */
    double computed;  /* seconds of an H200's transforms and products */
};

/* Adds a file: `samples` are read or written, `compressed` of them in a compressed format. */
void backend_set_add_file(struct backend_set *set, double samples, double compressed);
/* Adds one of the convolutions that a file passes through; job->threads is 1. */
void backend_set_add(struct backend_set *set, const struct backend_job *job);

double backend_set_cpu(const struct backend_set *set);
double backend_set_gpu(const struct backend_set *set, double bandwidth);

#endif
