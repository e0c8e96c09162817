/* The prover compares a convolver's outputs with convolution in double precision.
 *
 * It compares stretches of the sound, or all of it if that takes no longer:
 * - file of known length: the beginning, the end and random places between them, the same in each
 *   run; at least 1 % of the sound and 10 seconds;
 * - file of unknown length: the first 10 seconds, then 2 %;
 * - live stream: all.
 * Frames in which masks change are not compared.
 *
 * The step copies inputs and outputs into memory that was allocated before; a thread compares them.
 * Live, a stretch is left out if no memory is free. In files the step waits.
 *
 * Threads: prover_step on the step's thread; the rest on the control thread.
 */
#ifndef HALO_PROVER_H
#define HALO_PROVER_H

#include "mask/mask.h"

#include <stdbool.h>

struct prover;
struct proved_mask;

/* A command's request for a proof. */
struct proof_request {
    bool wanted;
    int64_t frames; /* frames of the output; 0 or less: unknown */
};

struct prover_settings {
    size_t inputs;
    size_t outputs;
    size_t taps; /* taps of the longest mask */
    size_t block;
    uint32_t rate;  /* Hz; 0: unknown */
    int64_t frames; /* frames of the output; 0 or less: unknown */
    bool live;
};

/* Ratios are linear: infinite if the output was not finite, 0 if there was no error. */
struct proof {
    uint64_t frames;   /* frames compared, summed over all outputs */
    double to_bound;   /* largest error / (max|x| sum|h|), where x is the whole sound so far */
    double to_peak;    /* largest error / max|y| of the compared frames */
    uint64_t worst_at; /* frame of the output at which the error relative to the bound is largest */
};

/* Errors: memory, a thread. */
MUST_CHECK enum status prover_create(const struct prover_settings *settings,
                                     struct prover **prover);
void prover_destroy(struct prover *prover);

/* Adds a mask that will be heard. Release it once it is silent for good. Errors: memory. */
MUST_CHECK enum status prover_add(struct prover *prover, const struct mask *mask,
                                  struct proved_mask **proved);
void proved_mask_release(struct proved_mask *proved); /* NULL is allowed */

/* Takes one block: `out` is what the convolver made of `in` with the mask. mask NULL: two masks
 * were active, during a change. Real-time; in files it may wait. */
void prover_step(struct prover *prover, const float *const *in, const float *const *out,
                 struct proved_mask *mask);
void prover_step_in_double(struct prover *prover, const double *const *in, const double *const *out,
                           struct proved_mask *mask);

/* Forgets everything and begins at frame 0. Call it between steps. */
void prover_reset(struct prover *prover);

/* Compares what is left, after the last step. May be called again. */
void prover_finish(struct prover *prover, struct proof *proof);

#endif
