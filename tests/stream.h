/* Runs filters over whole sounds, block by block, for the tests. */
#ifndef HALO_TESTS_STREAM_H
#define HALO_TESTS_STREAM_H

#include "signal/audio.h"
#include "sound/filter.h"
#include "truth.h"

/* `frames` frames of `filter`'s output, silence fed in after the input's end.
 * The caller frees the block. */
struct block stream_through(struct filter *filter, float *const *x, size_t n, size_t frames);

/* Noise of its own in every channel. */
struct block stream_noise(uint64_t seed, size_t channels, size_t frames);

/* How far `out` is from the truth of `mask` on `x`. */
struct truth_error stream_error(const struct block *out, double *const *truth,
                                const struct mask *mask, const struct block *x);

#endif
