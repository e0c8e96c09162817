/* Runs filters over complete sounds, block by block. Blocks are freed when the test ends. */
#ifndef HALO_TESTS_STREAM_H
#define HALO_TESTS_STREAM_H

#include "signal/audio.h"
#include "sound/filter.h"
#include "truth.h"

/* Silence. */
struct block stream_block(size_t channels, size_t frames);

/* `frames` frames of `filter`'s output; the input is followed by silence. */
struct block stream_through(struct filter *filter, float *const *x, size_t n, size_t frames);

/* Independent noise in every channel. */
struct block stream_noise(uint64_t seed, size_t channels, size_t frames);

/* The error of `out` against the truth of `mask` on `x`. */
struct truth_error stream_error(const struct block *out, double *const *truth,
                                const struct mask *mask, const struct block *x);

#endif
