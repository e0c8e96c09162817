/* A delay of up to PRE_DELAY_MOST seconds, in whole frames. Changes are crossfaded. Threads: one.
 * pre_delay_set and pre_delay_process are real-time. */
#ifndef HALO_LV2_PRE_DELAY_H
#define HALO_LV2_PRE_DELAY_H

#include "signal/audio.h"

enum { PRE_DELAY_MOST = 1 }; /* seconds */

struct pre_delay {
    struct block ring; /* a power of two of frames */
    size_t at;         /* where the next frame goes */
    size_t delay;      /* frames */
    size_t next;       /* what it is to become */
    size_t faded;      /* frames of the way there */
    size_t fade;       /* its length */
};

/* Errors: memory. */
MUST_CHECK enum status pre_delay_init(struct pre_delay *delay, size_t channels, uint32_t rate,
                                      size_t fade);
void pre_delay_free(struct pre_delay *delay);

/* Silence before, and that delay at once. Not real-time. */
void pre_delay_reset(struct pre_delay *delay);

/* `frames` from now on, or `at_once`; while a change is under way this one waits to be asked for
 * again. */
void pre_delay_set(struct pre_delay *delay, size_t frames, bool at_once);

void pre_delay_process(struct pre_delay *delay, float *const *sound, size_t frames);

#endif
