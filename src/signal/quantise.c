#include "signal/quantise.h"

#include <math.h>

enum { LEAST_LOSSLESS_BITS = 32 }; /* of a float sample; above, dither has nothing to hide */

/* splitmix64's finaliser (Steele, Lea and Flood 2014): a good hash of a counter. */
static uint64_t hash(uint64_t x)
{
    x += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

/* The sum of two uniform variables: triangular in -1..1. */
static double triangular(uint64_t position)
{
    uint64_t bits = hash(position);
    double a = (double)(bits >> 32), b = (double)(bits & UINT32_MAX);
    return (a + b) * 0x1p-32 - 1.0;
}

uint64_t quantise_interleave(const float *const *planar, size_t at, size_t channels, size_t frames,
                             unsigned bits, bool dither, uint64_t position, int32_t *out)
{
    double scale = ldexp(1.0, (int)bits - 1);
    double most = scale - 1.0, least = -scale;
    unsigned shift = 32 - bits;
    bool dithered = dither && bits < LEAST_LOSSLESS_BITS;
    uint64_t clipped = 0;
    for (size_t c = 0; c < channels; c++) {
        for (size_t i = 0; i < frames; i++) {
            double exact = (double)planar[c][at + i] * scale;
            double value = rint(exact);
            clipped += value > most || value < least;
            if (dithered && value != exact)
                value = rint(exact + triangular(position + i * channels + c));
            value = value > most ? most : value < least ? least : value;
            out[i * channels + c] = (int32_t)((uint32_t)(int32_t)value << shift);
        }
    }
    return clipped;
}
