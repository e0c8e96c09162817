/* A progress bar on standard error, if that is a terminal. */
#ifndef HALO_PROGRESS_H
#define HALO_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress {
    bool shown;
    uint32_t rate; /* frames per second */
    double start;  /* time of the start in monotonic_seconds() */
    double next;   /* time of the next picture */
};

/* Shows a bar only if `wanted` and if standard error is a terminal. */
void progress_begin(struct progress *progress, uint32_t rate, bool wanted);

/* The callback of engine_run. `context` is the struct progress. */
void progress_update(void *context, uint64_t frames, int64_t total);

/* The progress of many jobs on several threads: a line on standard error, if that is a terminal.
 *
 *   312 of 4000 files, 52.1 a second, 3 failed, about 1:11 left
 *
 * The time left is estimated from the work done so far, once there is enough of it. Jobs are
 * weighted by bytes or another measure. Threads: any.
 */

struct progress_of_many {
    pthread_mutex_t lock;
    bool shown;
    size_t count, done, failed;
    double weight, weight_done;
    double start, next; /* times in monotonic_seconds() */
};

/* `weight`: of all jobs together. Shown only if `wanted` and if standard error is a terminal. */
void progress_of_many_begin(struct progress_of_many *progress, size_t count, double weight,
                            bool wanted);
void progress_of_many_end(struct progress_of_many *progress);

/* Counts a job that has ended. */
void progress_of_many_add(struct progress_of_many *progress, double weight, bool failed);

/* Counts a part of a job: `frames` of `total` frames; total 0 or less: unknown. *moved: its weight
 * counted so far, 0 at first, which the caller subtracts when the job ends. */
void progress_of_many_move(struct progress_of_many *progress, double *moved, double weight,
                           uint64_t frames, int64_t total);

/* Counts a job that had nothing to do. */
void progress_of_many_skip(struct progress_of_many *progress, double weight);

#endif
