/* A progress bar on standard error, if that is a terminal. */
#ifndef HALO_PROGRESS_H
#define HALO_PROGRESS_H

#include <stdbool.h>
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

#endif
