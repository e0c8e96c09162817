/* Converts samples to integers. They are rounded, saturated, and dithered if bits are lost.
 *
 * Dither is triangular (TPDF), two steps wide, with another sequence in each channel, from a hash
 * of the sample's position. So the result does not depend on the block length and is the same each
 * time. The error has no mean and a power of a quarter of a step squared, and neither depends on
 * the sound (Lipshitz, Wannamaker and Vanderkooy, "Quantization and Dither: A Theoretical Survey",
 * JAES 40, 1992). Shaped dither also feeds the error back. At 44.1 and 48 kHz it uses the nine taps
 * of Wannamaker, "Psychoacoustically Optimal Noise Shaping", JAES 40, 1992, which are for 44.1 kHz;
 * at other rates the taps of noise_shaping.h.
 *
 * Samples that are whole steps need no dither. In each channel dither begins with the first sample
 * that is not a whole step. It ends after QUANTISER_HOLD whole steps in a row. So silence, and a
 * sound that no stage has changed, stay as they are, and dither does not come and go with single
 * samples. Threads: the caller serialises.
 */
#ifndef HALO_QUANTISER_H
#define HALO_QUANTISER_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dither {
    DITHER_NONE,
    DITHER_TPDF,
    DITHER_SHAPED,
    DITHER_AUTO, /* TPDF up to 16 bits, none above */
};
extern const char *const dither_names[]; /* NULL-terminated */

enum { QUANTISER_HOLD = 8192 }; /* frames of whole steps after which dither ends */

struct quantiser_settings {
    unsigned bits; /* 8..32 */
    enum dither dither;
    size_t channels;
    uint32_t rate; /* Hz */
};
struct quantiser;

/* Errors: memory. */
MUST_CHECK enum status quantiser_create(const struct quantiser_settings *settings,
                                        struct quantiser **quantiser);
void quantiser_destroy(struct quantiser *quantiser);

/* Converts the next `frames` frames, from planar[c][at] on, to interleaved, left-justified 32-bit
 * integers. Returns the number of clipped samples, with those that only dither clips. */
uint64_t quantiser_interleave(struct quantiser *quantiser, const float *const *planar, size_t at,
                              size_t frames, int32_t *out);
uint64_t quantiser_interleave_in_double(struct quantiser *quantiser, const double *const *planar,
                                        size_t at, size_t frames, int32_t *out);

#endif
