/* What rendering a file takes at the least: its bytes read and written, and its transforms.
 *
 * Errors: files, memory. STATUS_INTERRUPTED where a signal asked to stop.
 */
#ifndef HALO_RENDER_FLOOR_H
#define HALO_RENDER_FLOOR_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Seconds of reading the open file `from` and writing so many bytes of it, again from the
 * last ones where it has fewer, to a new file `path`, which is gone afterwards. */
MUST_CHECK enum status render_floor_copy(int from, const char *path, uint64_t bytes,
                                         double *seconds);

/* Seconds, on one thread, of the transforms there and back that the plan of a mask of `taps`
 * asks for in blocks of `block`, for `frames` of `channels`, and how many pairs these are.
 * Of many alike some are timed. The mask's own are left out. */
MUST_CHECK enum status render_floor_transforms(size_t taps, size_t block, uint64_t frames,
                                               size_t channels, uint64_t *pairs, double *seconds);

#endif
