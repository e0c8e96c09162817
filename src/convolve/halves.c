#include "convolve/halves.h"

#include "base/simd.h"

#include <string.h>

enum { SIGN = 0x8000, REST = 0x7fff, QUIET = 0x40 };

static const uint32_t INFINITE = 0x7f800000; /* a float's bits; those of NaN are larger */

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The product corrects the exponent's bias, also of numbers below the normal ones. */
SIMD_CLONES
static void widen_halves(const uint16_t *from, size_t count, float *to)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = bits_of(float_of((uint32_t)(from[i] & REST) << 13) * 0x1p112f);
        bits |= bits >= bits_of(0x1p16f) ? INFINITE : 0;
        to[i] = float_of(bits | (uint32_t)(from[i] & SIGN) << 16);
    }
}

/* Below the normal halves, a sum with 0.5 puts the rounded half into the last bits. */
SIMD_CLONES
static void round_halves(const float *from, size_t count, uint16_t *to)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = bits_of(from[i]), rest = bits & 0x7fffffff;
        uint32_t normal = (rest - bits_of(0x1p-15f) + 0xfff + (rest >> 13 & 1)) >> 13;
        uint32_t tiny = bits_of(float_of(rest) + 0.5f) - bits_of(0.5f);
        uint32_t half = rest < bits_of(0x1p-14f) ? tiny : normal;
        half = rest >= bits_of(65520) ? 0x7c00 : half;
        half = rest > INFINITE ? 0x7e00 : half;
        to[i] = (uint16_t)(half | (bits >> 16 & SIGN));
    }
}

SIMD_CLONES
static void round_bfloats(const float *from, size_t count, uint16_t *to)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = bits_of(from[i]);
        uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
        to[i] = (uint16_t)((bits & 0x7fffffff) > INFINITE ? bits >> 16 | QUIET : rounded);
    }
}

void halves_widen(const uint16_t *from, size_t count, float *to)
{
    widen_halves(from, count, to);
}

void halves_round(const float *from, size_t count, uint16_t *to)
{
    round_halves(from, count, to);
}

void bfloats_widen(const uint16_t *from, size_t count, float *to)
{
    for (size_t i = 0; i < count; i++)
        to[i] = float_of((uint32_t)from[i] << 16);
}

void bfloats_round(const float *from, size_t count, uint16_t *to)
{
    round_bfloats(from, count, to);
}
