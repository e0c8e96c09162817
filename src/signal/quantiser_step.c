/* The step of a quantiser. Compiled for each precision. */
#include "signal/quantiser_state.h"
#include "signal/real.h"

#include "base/noise.h"
#include "base/simd.h"

#include <math.h>
#include <string.h>

/* One name for each precision. For clones, clang makes resolvers that the linker sees. */
#define round_row REAL(round_row)
#define dither_row REAL(dither_row)
#define largest_fraction REAL(largest_fraction)
#define join_two REAL(join_two)

enum { QUANTISED = 256 }; /* frames converted at a time */

/* How far rounding may leave a sample from a whole step: in full scales, and the most in steps. */
static const double ROUNDING = REAL_IS_DOUBLE ? 0x1p-45 : 0x1p-22;
static const double ROUNDING_MOST = 1.0 / 16;

static const double ERROR_MOST = 1.5; /* steps; larger ones, from clipping, are not fed back */

/* A part of one channel. */
struct row {
    double scale;
    unsigned shift;
    uint32_t frame; /* number of its first frame, modulo 2^32, which is a day */
    uint32_t seed;  /* seed of the channel */
};

/* A hash of a frame: Wellons's lowbias32, whose multiplications vectorise. */
static inline uint32_t dither_bits(const struct row *row, uint32_t index)
{
    uint32_t bits = (row->frame + index) ^ row->seed;
    bits = (bits ^ (bits >> 16)) * UINT32_C(0x7FEB352D);
    bits = (bits ^ (bits >> 15)) * UINT32_C(0x846CA68B);
    return bits ^ (bits >> 16);
}

/* The sum of two uniform variables, which is triangular in -1..1. */
static inline double triangular(const struct row *row, size_t index)
{
    uint32_t bits = dither_bits(row, (uint32_t)index);
    int32_t sum = (int32_t)((bits >> 16) + (bits & 0xFFFF));
    return (double)(sum - 0xFFFF) * 0x1p-16;
}

static inline double saturated(double value, double scale)
{
    value = value > scale - 1.0 ? scale - 1.0 : value;
    return value < -scale ? -scale : value;
}

/* Whether the value to be rounded, with or without dither and feedback, is beyond full scale. */
static inline uint64_t is_clipped(double exact, double scale)
{
    return (uint64_t)(exact >= scale - 0.5) | (uint64_t)(exact < -scale - 0.5);
}

static inline int32_t justified(double value, unsigned shift)
{
    return (int32_t)((uint32_t)(int32_t)value << shift);
}

/* round_row and dither_row, branchless to vectorise, return the number of clipped samples. */
SIMD_CLONES
static uint64_t round_row(const struct row *row, const real *samples, size_t frames, int32_t *out)
{
    double scale = row->scale;
    uint64_t clipped = 0;
    for (size_t i = 0; i < frames; i++) {
        double exact = (double)samples[i] * scale;
        clipped += is_clipped(exact, scale);
        out[i] = justified(saturated(rint(exact), scale), row->shift);
    }
    return clipped;
}

SIMD_CLONES
static uint64_t dither_row(const struct row *row, const real *samples, size_t frames, int32_t *out)
{
    double scale = row->scale;
    uint64_t clipped = 0;
    for (size_t i = 0; i < frames; i++) {
        double exact = (double)samples[i] * scale;
        double noisy = exact + triangular(row, i);
        clipped += is_clipped(exact, scale) | is_clipped(noisy, scale);
        out[i] = justified(saturated(rint(noisy), scale), row->shift);
    }
    return clipped;
}

/* Shapes the errors, each of which depends on earlier ones. Saturated errors are bounded and the
 * filter has no poles, so it cannot become unstable. */
static inline uint64_t shape_row(const struct row *row, const double *taps, size_t tap_count,
                                 double *errors, const real *samples, size_t frames, int32_t *out)
{
    uint64_t clipped = 0;
    for (size_t i = 0; i < frames; i++) {
        double exact = (double)samples[i] * row->scale, wanted = exact;
        for (size_t k = 0; k < tap_count; k++)
            wanted -= taps[k] * errors[k];
        double noisy = wanted + triangular(row, i);
        double value = saturated(rint(noisy), row->scale);
        memmove(errors + 1, errors, (tap_count - 1) * sizeof *errors);
        errors[0] = fmax(-ERROR_MOST, fmin(ERROR_MOST, value - wanted));
        clipped += is_clipped(exact, row->scale) | is_clipped(noisy, row->scale);
        out[i] = justified(value, row->shift);
    }
    return clipped;
}

/* Calls shape_row so that the compiler knows the number of taps. */
static uint64_t shape_either(const struct quantiser *quantiser, struct quantiser_channel *channel,
                             const struct row *row, const real *samples, size_t frames,
                             int32_t *out)
{
    if (quantiser->tap_count == QUANTISER_TAPS_KNOWN)
        return shape_row(row, quantiser->taps, QUANTISER_TAPS_KNOWN, channel->errors, samples,
                         frames, out);
    return shape_row(row, quantiser->taps, QUANTISER_TAPS, channel->errors, samples, frames, out);
}

SIMD_CLONES
static double largest_fraction(const real *samples, size_t frames, double scale)
{
    double largest = 0;
    for (size_t i = 0; i < frames; i++) {
        double exact = (double)samples[i] * scale, fraction = fabs(exact - rint(exact));
        largest = fraction > largest ? fraction : largest;
    }
    return largest;
}

/* The number of samples from the first on that are whole steps, except for rounding. */
static size_t count_whole(const real *samples, size_t frames, double scale)
{
    double most = fmin(scale * ROUNDING, ROUNDING_MOST);
    size_t i = 0;
    if (largest_fraction(samples, frames, scale) <= most)
        return frames;
    while (largest_fraction(samples + i, 1, scale) <= most)
        i++;
    return i;
}

/* The number of samples up to the last one that are whole steps. */
static size_t count_whole_last(const real *samples, size_t frames, double scale)
{
    size_t count = 0;
    while (count < frames) {
        double exact = (double)samples[frames - count - 1] * scale;
        if (exact != rint(exact))
            break;
        count++;
    }
    return count;
}

/* Converts the samples up to the place where dither begins or ends. *part: their number. */
static uint64_t convert_part(const struct quantiser *quantiser, struct quantiser_channel *channel,
                             const struct row *row, const real *samples, size_t *part, int32_t *out)
{
    size_t left = QUANTISER_HOLD - channel->exact;
    if (!quantiser->dithered)
        return round_row(row, samples, *part, out);
    if (left == 0) {
        size_t whole = count_whole(samples, *part, row->scale);
        channel->exact = whole < *part ? 0 : QUANTISER_HOLD;
        *part = whole;
        return round_row(row, samples, whole, out);
    }
    *part = *part < left ? *part : left;
    uint64_t clipped = quantiser->tap_count
                           ? shape_either(quantiser, channel, row, samples, *part, out)
                           : dither_row(row, samples, *part, out);
    size_t whole = count_whole_last(samples, *part, row->scale);
    channel->exact = whole == *part ? channel->exact + whole : whole;
    if (channel->exact == QUANTISER_HOLD)
        memset(channel->errors, 0, sizeof channel->errors);
    return clipped;
}

static uint64_t convert_row(struct quantiser *quantiser, size_t c, uint64_t frame,
                            const real *samples, size_t frames, int32_t *out)
{
    uint64_t clipped = 0;
    for (size_t done = 0, part; done < frames; done += part) {
        const struct row row = {.scale = quantiser->scale,
                                .shift = quantiser->shift,
                                .frame = (uint32_t)(frame + done),
                                .seed = (uint32_t)noise_hash(c)};
        part = frames - done;
        clipped += convert_part(quantiser, &quantiser->channel[c], &row, samples + done, &part,
                                out + done);
    }
    return clipped;
}

/* For two channels, since two known rows vectorise. */
SIMD_CLONES
static void join_two(const int32_t *restrict left, const int32_t *restrict right, size_t frames,
                     int32_t *restrict out)
{
    for (size_t i = 0; i < frames; i++) {
        out[2 * i] = left[i];
        out[2 * i + 1] = right[i];
    }
}

uint64_t REAL(quantiser_interleave)(struct quantiser *quantiser, const real *const *planar,
                                    size_t at, size_t frames, int32_t *out)
{
    int32_t rows[2][QUANTISED];
    size_t channels = quantiser->channels;
    uint64_t clipped = 0;
    for (size_t done = 0, count; done < frames; done += count, out += count * channels) {
        count = frames - done < QUANTISED ? frames - done : QUANTISED;
        for (size_t c = 0; c < channels; c++) {
            int32_t *row = channels == 1 ? out : rows[c % 2];
            clipped += convert_row(quantiser, c, quantiser->frames + done, planar[c] + at + done,
                                   count, row);
            for (size_t i = 0; i < count && channels > 2; i++)
                out[i * channels + c] = row[i];
        }
        if (channels == 2)
            join_two(rows[0], rows[1], count, out);
    }
    quantiser->frames += frames;
    return clipped;
}
