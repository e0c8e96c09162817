/* The prover: compares what a convolver does with convolution in double precision.
 *
 * It compares stretches of the sound, whole where that takes no longer: of a file of known length
 * the beginning, the end and random places between them (the same in each run), at least 1 % and 10
 * seconds; of an unknown length the first 10 seconds and from then on 2 %; of a live stream all.
 * The step copies inputs and outputs into memory made before; a thread compares them. Live, a
 * stretch for which no memory is free is left out; in files the step waits.
 * Frames in which masks change are not compared.
 *
 * Threads: prover_step on the step's; the rest on the control thread.
 */
#ifndef HALO_PROVER_H
#define HALO_PROVER_H

#include "mask/mask.h"

#include <stdbool.h>

struct prover;
struct proved_mask;

/* What a command asks for. */
struct proof_request {
    bool wanted;
    int64_t frames; /* of the output, to choose from; 0 or less: unknown */
};

struct prover_settings {
    size_t inputs;
    size_t outputs;
    size_t taps; /* of the longest mask */
    size_t block;
    uint32_t rate;  /* Hz; 0: unknown */
    int64_t frames; /* as above */
    bool live;
};

/* Ratios are linear; infinite if the output was not finite, 0 without any error. */
struct proof {
    uint64_t frames;   /* compared, of all outputs */
    double to_bound;   /* largest error / (max|x| sum|h|); x: the sound so far, also between them */
    double to_peak;    /* largest error / max|y| of these frames */
    uint64_t worst_at; /* frame of the convolver's output with the largest error to the bound */
};

/* Errors: memory, a thread. */
MUST_CHECK enum status prover_create(const struct prover_settings *settings,
                                     struct prover **prover);
void prover_destroy(struct prover *prover);

/* Each mask that will be heard. Release it once it is silent for good. Errors: memory. */
MUST_CHECK enum status prover_add(struct prover *prover, const struct mask *mask,
                                  struct proved_mask **proved);
void proved_mask_release(struct proved_mask *proved); /* NULL is allowed */

/* Real-time, but for files, where it may wait. The block that the convolver made of `in` with this
 * mask; NULL: with two, during a change. */
void prover_step(struct prover *prover, const float *const *in, const float *const *out,
                 struct proved_mask *mask);
void prover_step_in_double(struct prover *prover, const double *const *in, const double *const *out,
                           struct proved_mask *mask);

/* Between steps: forget everything, and begin at frame 0. */
void prover_reset(struct prover *prover);

/* After the last step: compare what is left. May be called again. */
void prover_finish(struct prover *prover, struct proof *proof);

#endif
