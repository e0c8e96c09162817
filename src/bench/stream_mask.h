/* The masks of the stream bench: noise, for each channel of its own or for every pair of channels.
 *
 * Thousands of long masks in double precision do not fit most machines' memory. Beyond
 * STREAM_MASK_BYTES the columns repeat: the same memory follows itself in the address space, so
 * that a convolver sees columns that it cannot know to be equal. Threads: one.
 */
#ifndef HALO_STREAM_MASK_H
#define HALO_STREAM_MASK_H

#include "mask/mask.h"

enum { STREAM_MASK_BYTES = 1 << 30 };

struct stream_mask {
    struct mask *mask;
    void *repeated;  /* its coefficients, unless they are the mask's own; NULL */
    size_t bytes;    /* that are mapped there */
    size_t distinct; /* columns */
};

/* The magnitudes of all paths to an output sum to 1. matrix: a path from each channel to each.
 * Errors: memory. STATUS_INTERRUPTED after a signal. */
MUST_CHECK enum status stream_mask_create(size_t channels, bool matrix, size_t taps,
                                          uint64_t *random, struct stream_mask *mask);

/* Once a convolver has the mask: unmap what repeats, and let the paths lead through the rest. */
void stream_mask_fold(struct stream_mask *mask);

/* Safe on an empty one. */
void stream_mask_destroy(struct stream_mask *mask);

#endif
