/* Processors that share the outputs of one convolver, as GPUs do. They are the CPU's backends, with
 * their answers held back or spoilt where a test wants that. Threads: the shares', which abort
 * where something is wrong; Check is for one thread. */
#ifndef HALO_TESTS_SHARES_RIG_H
#define HALO_TESTS_SHARES_RIG_H

#include "cells.h"
#include "convolve/convolver.h"

#include <stdatomic.h>

enum {
    BLOCK = 64,
    SHARES_MOST = 8,
    PLACES = 2 * SHARES_MOST /* a share's spare is after all shares */
};

/* What happens in a share, by the number of its block from 0. */
struct deed {
    size_t late_from, late_until; /* answers that do not come in time */
    size_t late_every;            /* and every so many; 0: none */
    size_t lost_at;               /* from here on it has failed; SIZE_MAX: never */
    size_t arm_calls;             /* until a new mask is ready */
};

extern struct shares_rig {
    size_t wanted; /* shares */
    struct deed deed[PLACES];
    const struct convolution *of[PLACES];
    size_t inputs[PLACES], outputs[PLACES], destroyed;
    _Atomic size_t posted[PLACES];
    size_t collected[PLACES], armed[PLACES];
    int64_t until[PLACES];
    atomic_bool out_of_order; /* a share was waited for before all were sent */
} rig;

/* So many shares, and nothing happens to them. */
void rig_set(size_t shares);

/* The place of a processor: a share, or behind all of them the spare of one. */
size_t rig_share_of(const struct convolution *convolution);
enum status rig_share_out(const struct convolver_shape *shape, const struct mask *mask,
                          struct gpu_devices *devices, char why[CONVOLVER_WHY]);
enum status rig_create(const struct convolver_shape *shape, struct convolution **result);
void rig_spoil(const struct convolver_slot slots[CONVOLVER_SLOTS], size_t outputs);

/* Live; the second one's processors stand by for the shares before them. */
struct convolver_backend rig_backend(void);
struct convolver_backend rig_spared_backend(void);

/* ---- masks ---- */

/* Each output from one input or from all; or random paths, of which some share a column and some
 * outputs have none. */
enum paths { DIAGONAL, MATRIX, FROM_ONE, SPARSE, PATHS };
struct mask *rig_mask(uint64_t seed, enum paths paths, size_t inputs, size_t outputs, size_t taps);
struct convolver_settings rig_settings(struct workers *workers);

/* ---- streams ---- */

/* A rate at which the CPU can run along, and one at which no processor could. */
enum { RATE_EASY = 1000, RATE_HOPELESS = 2000000000 };

struct outcome {
    struct block out;
    uint64_t late, failures, began;
    char notice[200], backend[16];
    bool failed;
};

struct scene {
    struct mask *mask, *other;
    struct block x;
    double **truth, **after;
};

enum { CHANNELS = 6, FADE = 300, AT = 2 * 64 + 5, BLOCKS = 120 };

struct scene rig_scene_make(size_t taps);
void rig_scene_free(struct scene *scene);

/* The stream through `filter`, which is then destroyed, and from frame `at` on through another
 * mask. False: that mask was not changed to. */
bool rig_play(struct filter *filter, const struct mask *other, size_t at, size_t fade,
              const struct block *x, struct outcome *outcome);

/* CHANNELS channels crosswise, through one mask and, from frame `at` on, another. */
struct outcome rig_run(uint32_t rate, const struct mask *mask, const struct mask *other, size_t at,
                       size_t fade, const struct block *x, size_t threads);
void rig_expect_exact(struct scene *scene, const struct outcome *outcome, const char *what);

/* The same samples, as those of one share. */
void rig_expect_equal(const struct block *a, const struct block *b, const char *what);

#endif
