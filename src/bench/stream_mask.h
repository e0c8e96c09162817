/* The masks of the stream bench: noise, for each channel or for each pair of channels.
 *
 * Thousands of long masks in double precision do not fit most machines' memory. Beyond
 * STREAM_MASK_BYTES the columns repeat: the same memory is mapped several times. A convolver cannot
 * know that such columns are equal. Threads: one. */
#ifndef HALO_STREAM_MASK_H
#define HALO_STREAM_MASK_H

#include "mask/mask.h"

enum { STREAM_MASK_BYTES = 1 << 30 };

struct stream_mask {
    struct mask *mask;
    void *repeated;  /* the coefficients, if they repeat; else NULL */
    size_t bytes;    /* bytes mapped at `repeated` */
    size_t distinct; /* number of distinct columns */
};

/* Makes a mask. The magnitudes of all paths to an output sum to 1. matrix: a path from each channel
 * to each. Errors: memory. STATUS_INTERRUPTED after a signal. */
MUST_CHECK enum status stream_mask_create(size_t channels, bool matrix, size_t taps,
                                          uint64_t *random, struct stream_mask *mask);

/* Unmaps repeated columns once a convolver has taken the mask; paths use the distinct ones then. */
void stream_mask_fold(struct stream_mask *mask);

/* Does nothing if the mask is empty. */
void stream_mask_destroy(struct stream_mask *mask);

#endif
