/* Samples become integers: rounded, saturated, and dithered where bits are lost.
 *
 * Dither is triangular (TPDF), two steps wide and of another sequence in each channel, from a hash
 * of the sample's position: the result does not depend on the block length, and is the same each
 * time. Its error has no mean, a power of a quarter of a step squared, and neither depends on the
 * sound (Lipshitz, Wannamaker and Vanderkooy, "Quantization and Dither: A Theoretical Survey",
 * JAES 40, 1992). Shaped is the same with the error fed back: at 44.1 and 48 kHz by the nine taps
 * of Wannamaker, "Psychoacoustically Optimal Noise Shaping", JAES 40, 1992, which are for 44.1 kHz,
 * at other rates by those of noise_shaping.h.
 *
 * What is a whole number of steps needs no dither: a channel has none before its first sample that
 * is not, and none after QUANTISER_HOLD samples in a row that were, until the next one that is
 * not. So a sound that no stage has changed, and silence, stay as they are, and dither does not
 * come and go with single samples.
 * Threads: the caller serialises.
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

enum { QUANTISER_HOLD = 8192 }; /* frames */

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

/* The next `frames` frames, from planar[c][at] on, interleaved as left-justified 32-bit integers.
 * Returns the number of clipped samples, with those that dither alone carries beyond full scale. */
uint64_t quantiser_interleave(struct quantiser *quantiser, const float *const *planar, size_t at,
                              size_t frames, int32_t *out);
uint64_t quantiser_interleave_in_double(struct quantiser *quantiser, const double *const *planar,
                                        size_t at, size_t frames, int32_t *out);

#endif
