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
    double start;  /* seconds, of monotonic_seconds() */
    double next;
};

/* Shown only if standard error is a terminal and `wanted`. */
void progress_begin(struct progress *progress, uint32_t rate, bool wanted);

/* engine_run's callback; `context` is the struct progress. */
void progress_update(void *context, uint64_t frames, int64_t total);

/* The progress of many jobs on several threads: a line on standard error, if that is a terminal.
 *
 *   312 of 4000 files, 52.1 a second, 3 failed, about 1:11 left
 *
 * What is left is estimated from the work done so far, in bytes or whatever the jobs are weighed
 * by, and shown once there is enough of it. Threads: any.
 */

struct progress_of_many {
    pthread_mutex_t lock;
    bool shown;
    size_t count, done, failed;
    double weight, weight_done;
    double start, next; /* seconds of monotonic_seconds() */
};

/* `weight`: of all jobs. Shown only if standard error is a terminal and `wanted`. */
void progress_of_many_begin(struct progress_of_many *progress, size_t count, double weight,
                            bool wanted);
void progress_of_many_end(struct progress_of_many *progress);

/* A job of that weight has ended. */
void progress_of_many_add(struct progress_of_many *progress, double weight, bool failed);

/* A job of that weight has done a part of its frames; total 0 or less: unknown. *moved: what of its
 * weight is counted, 0 at first, and to be taken off where it has ended. */
void progress_of_many_move(struct progress_of_many *progress, double *moved, double weight,
                           uint64_t frames, int64_t total);

/* A job of that weight had nothing to do. */
void progress_of_many_skip(struct progress_of_many *progress, double weight);

#endif
