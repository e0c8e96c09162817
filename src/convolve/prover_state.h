/* The state of a prover. Private to prover.c (control and own thread) and prover_step.c (step). */
#ifndef HALO_PROVER_STATE_H
#define HALO_PROVER_STATE_H

#include "base/ring.h"
#include "convolve/exact.h"
#include "convolve/prover.h"
#include "signal/audio.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    PROVER_OPEN = 4, /* the most stretches that are filled at a time */
    PROVER_RUNS = 4, /* runs of one mask that a stretch can note */
};

/* Which stretches are compared. */
struct prover_plan {
    size_t length;   /* frames of a stretch */
    uint64_t count;  /* number of stretches */
    uint64_t whole;  /* stretches at the beginning that follow each other without gaps */
    double period;   /* frames; each later stretch lies at a random place in a period of its own */
    uint64_t frames; /* frames of the sound; UINT64_MAX: unknown */
};
struct prover_plan prover_plan_make(const struct prover_settings *settings);

/* Frame at which stretch `index` begins; `index` is below `count`. Real-time. */
uint64_t prover_plan_start(const struct prover_plan *plan, uint64_t index);

/* Shared by the control thread, the step and the prover's thread; the last user frees it. */
struct proved_mask {
    atomic_size_t users;
    struct exact_mask *exact;
    double norm; /* the largest sum |h| of the paths to an output; see mask_norm */
};

/* Frames of a stretch that one mask made. */
struct proved_run {
    size_t from, to;
    struct proved_mask *mask;
};

/* A stretch and what was copied of it. */
struct proved_stretch {
    struct block_in_double in;  /* inputs: taps - 1 frames before the stretch, then its own */
    struct block_in_double out; /* outputs of the stretch */
    uint64_t start;
    size_t filled; /* frames of `out` that are filled */
    bool is_used;  /* The stretch was used before, so its memory is not all zero. */
    size_t run_count;
    struct proved_run runs[PROVER_RUNS];
};

struct prover {
    struct prover_settings settings;
    struct prover_plan plan;
    size_t stretch_count;
    struct proved_stretch *stretches;
    struct ring *spare; /* struct proved_stretch *, from the thread to the step */
    struct ring *ready; /* struct proved_stretch *, from the step to the thread */

    /* Members up to the thread: used by the step only. */
    uint64_t position; /* frames so far */
    uint64_t next;     /* number of the plan's next stretch */
    size_t open_count;
    struct proved_stretch *open[PROVER_OPEN];
    double input_peak; /* linear peak of the inputs so far */

    pthread_t thread;
    bool has_thread;
    atomic_bool leave;     /* asks the thread to end once no stretch is ready */
    atomic_bool is_wanted; /* false: the thread compares nothing more */

    /* Used by the thread only, until it has ended. */
    struct exact *exact;
    uint64_t frames;    /* frames compared so far */
    double worst;       /* largest error / norm so far */
    uint64_t worst_at;  /* frame of that error */
    double error, peak; /* largest error and largest output so far, linear */
};

#endif
