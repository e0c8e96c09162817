/* The lower bound of rendering a file: reading and writing its bytes, and its transforms.
 * Errors: files, memory. STATUS_INTERRUPTED after a signal. */
#ifndef HALO_RENDER_FLOOR_H
#define HALO_RENDER_FLOOR_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Seconds to copy so many bytes of the open file `from`, the last ones repeated where it is
 * shorter, to a new file `path`, which is removed. */
MUST_CHECK enum status render_floor_copy(int from, const char *path, uint64_t bytes,
                                         double *seconds);

/* The transforms, forward and inverse, of a mask of `taps` in blocks of `block`, for `frames` of
 * `channels`: the number of pairs, and their seconds on one thread, extrapolated from some of each
 * length. The transforms of the mask itself are excluded. */
MUST_CHECK enum status render_floor_transforms(size_t taps, size_t block, uint64_t frames,
                                               size_t channels, uint64_t *pairs, double *seconds);

#endif
