/* The state of a prover, private to its control side and thread (prover.c) and its step
 * (prover_step.c). */
#ifndef HALO_PROVER_STATE_H
#define HALO_PROVER_STATE_H

#include "base/ring.h"
#include "convolve/exact.h"
#include "convolve/prover.h"
#include "signal/audio.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    PROVER_OPEN = 4, /* stretches being filled at a time, at most */
    PROVER_RUNS = 4, /* of a stretch, between changes of the mask */
};

/* Which stretches are compared. */
struct prover_plan {
    size_t length;   /* frames of a stretch */
    uint64_t count;  /* of stretches */
    uint64_t whole;  /* the first ones follow each other */
    double period;   /* of the others, each at a random place in its own: frames */
    uint64_t frames; /* of the sound; UINT64_MAX: unknown */
};
struct prover_plan prover_plan_make(const struct prover_settings *settings);

/* Real-time. Where stretch `index` begins, below `count`. */
uint64_t prover_plan_start(const struct prover_plan *plan, uint64_t index);

/* Shared by the control thread, the step and the prover's thread; the last user frees it. */
struct proved_mask {
    atomic_size_t users;
    struct exact_mask *exact;
    double norm; /* see mask_norm */
};

/* Frames of a stretch that one mask made. */
struct proved_run {
    size_t from, to;
    struct proved_mask *mask;
};

struct proved_stretch {
    struct block_in_double in; /* taps - 1 frames before the stretch, then its own */
    struct block_in_double out;
    uint64_t start;
    size_t filled; /* frames of the output */
    bool is_used;  /* not all zero */
    size_t run_count;
    struct proved_run runs[PROVER_RUNS];
};

struct prover {
    struct prover_settings settings;
    struct prover_plan plan;
    size_t stretch_count;
    struct proved_stretch *stretches;
    struct ring *spare; /* struct proved_stretch *, from the thread to the step */
    struct ring *ready; /* from the step to the thread */

    /* The step's. */
    uint64_t position; /* frames so far */
    uint64_t next;     /* stretch of the plan */
    size_t open_count;
    struct proved_stretch *open[PROVER_OPEN];
    double input_peak; /* linear */

    pthread_t thread;
    bool has_thread;
    atomic_bool leave;     /* once nothing is ready */
    atomic_bool is_wanted; /* false: compare no more */

    /* The thread's, until it has left. */
    struct exact *exact;
    uint64_t frames;
    double worst; /* error / norm, so far */
    uint64_t worst_at;
    double error, peak; /* linear, the largest so far */
};

#endif
