/* What `auto` chooses by: estimated seconds of a render on the CPU and on a GPU. An estimate is
 * amounts
 * of work times constants, which were fitted to one server with an H200 (docs/measurements.md). The
 * CPU's become less with more processors, the GPU's with more bandwidth.
 *
 * What both have is left out: the program's start, reading the mask, reading and writing sound.
 * Threads: any. */
#ifndef HALO_CONVOLVER_CHOICE_H
#define HALO_CONVOLVER_CHOICE_H

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

double backend_cost_cpu(const struct backend_job *job);

/* With the start of CUDA. `bandwidth`: of the GPU's memory, in bytes a second; 0: an H200's. */
double backend_cost_gpu(const struct backend_job *job, double bandwidth);

/* Whether the GPU is so much faster that no error of the estimates matters. */
bool backend_cost_clearly_gpu(double cpu, double gpu);

/* A picture convolved with a 2-D mask that is not separable. */
struct backend_picture {
    double rows;
    size_t columns;
    size_t channels;
    size_t taps;
    size_t threads;
};

double backend_cost_picture_cpu(const struct backend_picture *picture);
double backend_cost_picture_gpu(const struct backend_picture *picture, double bandwidth);

/* Many sounds in one process (halo batch): seconds of one processor, or of the GPU, for sounds that
 * stand for `jobs` times as many. */
struct backend_set {
    double jobs;
    size_t processors;
    double masks;     /* different ones, of all jobs */
    double files;     /* reading and writing, which overlap with the GPU's work */
    double convolve;  /* the CPU convolves */
    double hand_over; /* the CPU copies to a GPU and back */
    double carried;   /* a GPU gets and returns samples */
    double computed;  /* an H200 transforms and multiplies */
};

/* Add a file of the set, with so many samples read and written, and those of them that are of
 * compressed formats; and a convolution that it passes through (its threads: 1). */
void backend_set_add_file(struct backend_set *set, double samples, double compressed);
void backend_set_add(struct backend_set *set, const struct backend_job *job);

double backend_set_cpu(const struct backend_set *set);
double backend_set_gpu(const struct backend_set *set, double bandwidth);

#endif
