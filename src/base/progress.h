/* A progress bar on the terminal, and silence where there is none. */
#ifndef HALO_PROGRESS_H
#define HALO_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool shown;
    uint32_t rate; /* frames a second */
    double start;  /* seconds, as monotonic_seconds has them */
    double next;
};

/* Shows only where standard error is a terminal and `wanted`. */
void progress_begin(struct progress *progress, uint32_t rate, bool wanted);

/* engine_run's callback; `context` is the struct progress. */
void progress_update(void *context, uint64_t frames, int64_t total);

#endif
