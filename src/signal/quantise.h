/* Float samples to integers: rounded, saturated, and where bits are lost dithered.
 *
 * Dither is triangular (TPDF) of two steps' width, from a hash of the sample's
 * position, so that the same sound always gives the same bytes whatever the
 * block length. A sample the integer format holds exactly loses no bit and gets
 * no dither: silence stays silence, an untouched file stays untouched.
 * Source: Lipshitz, Wannamaker and Vanderkooy, "Quantization and Dither", JAES 1992.
 */
#ifndef HALO_QUANTISE_H
#define HALO_QUANTISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Interleave `frames` frames, from planar[c][at] on, into left-justified 32-bit integers of `bits`
 * significant bits (8..32). `position`: of the first sample in the whole sound,
 * in samples of all channels. Returns how many samples were out of range. */
uint64_t quantise_interleave(const float *const *planar, size_t at, size_t channels, size_t frames,
                             unsigned bits, bool dither, uint64_t position, int32_t *out);

#endif
