/* Blocks of samples and their conversion; compiled for each precision. */
#include "signal/real.h"

#include "base/noise.h"
#include "base/realtime.h"
#include "base/simd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of each precision: clang gives clones resolvers that the linker sees. */
#define highest_bits REAL(highest_bits)
#define interleave_two REAL(interleave_two)
#define deinterleave_two REAL(deinterleave_two)

enum { ALIGNMENT = 64 };

#ifdef HALO_DOUBLE
#define real_bits uint64_t
#else
#define real_bits uint32_t
#endif

real *audio_alloc(size_t count)
{
    if (count > (SIZE_MAX - ALIGNMENT) / sizeof(real))
        return NULL;
    size_t bytes = (count * sizeof(real) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (bytes == 0)
        bytes = ALIGNMENT;
    real *samples = aligned_alloc(ALIGNMENT, bytes);
    if (samples)
        memset(samples, 0, bytes);
    return samples;
}

enum status block_init(struct real_block *block, size_t channels, size_t frames, const char *what)
{
    *block = (struct real_block){.channels = channels, .frames = frames};
    block->data = calloc(channels ? channels : 1, sizeof *block->data);
    if (!block->data)
        goto fail;
    for (size_t c = 0; c < channels; c++) {
        block->data[c] = audio_alloc(frames);
        if (!block->data[c])
            goto fail;
    }
    return STATUS_OK;
fail:
    block_free(block);
    return fail_memory(what);
}

void block_free(struct real_block *block)
{
    if (block->data)
        for (size_t c = 0; c < block->channels; c++)
            free(block->data[c]);
    free(block->data);
    *block = (struct real_block){0};
}

HALO_REALTIME void block_silence(struct real_block *block, size_t from, size_t frames)
{
    for (size_t c = 0; c < block->channels; c++)
        memset(block->data[c] + from, 0, frames * sizeof(real));
}

/* Without the sign bit, floats compare like integers, with infinity and then NaN as the largest:
 * a maximum of integers vectorises. */
SIMD_CLONES
HALO_REALTIME static real_bits highest_bits(const real *samples, size_t count)
{
    real_bits highest = 0;
    for (size_t i = 0; i < count; i++) {
        real_bits bits;
        memcpy(&bits, &samples[i], sizeof bits);
        bits &= (real_bits)-1 >> 1;
        highest = bits > highest ? bits : highest;
    }
    return highest;
}

HALO_REALTIME real audio_peak(const real *samples, size_t count)
{
    real_bits bits = highest_bits(samples, count);
    real peak;
    memcpy(&peak, &bits, sizeof peak);
    return peak;
}

HALO_REALTIME size_t audio_find_nonfinite(const real *samples, size_t count)
{
    if (isfinite(audio_peak(samples, count)))
        return count;
    size_t i = 0;
    while (isfinite(samples[i]))
        i++;
    return i;
}

/* Two known rows vectorise. */
SIMD_CLONES
HALO_REALTIME static void interleave_two(const real *restrict left, const real *restrict right,
                                         size_t frames, real *restrict interleaved)
{
    for (size_t i = 0; i < frames; i++) {
        interleaved[2 * i] = left[i];
        interleaved[2 * i + 1] = right[i];
    }
}

SIMD_CLONES
static void deinterleave_two(const real *restrict interleaved, size_t frames, real *restrict left,
                             real *restrict right)
{
    for (size_t i = 0; i < frames; i++) {
        left[i] = interleaved[2 * i];
        right[i] = interleaved[2 * i + 1];
    }
}

HALO_REALTIME void audio_interleave(const real *const *planar, size_t at, size_t channels,
                                    size_t frames, real *interleaved)
{
    if (channels == 2) {
        interleave_two(planar[0] + at, planar[1] + at, frames, interleaved);
        return;
    }
    for (size_t c = 0; c < channels; c++)
        for (size_t i = 0; i < frames; i++)
            interleaved[i * channels + c] = planar[c][at + i];
}

void audio_deinterleave(const real *interleaved, size_t channels, size_t frames,
                        real *const *planar, size_t at)
{
    if (channels == 2) {
        deinterleave_two(interleaved, frames, planar[0] + at, planar[1] + at);
        return;
    }
    for (size_t c = 0; c < channels; c++)
        for (size_t i = 0; i < frames; i++)
            planar[c][at + i] = interleaved[i * channels + c];
}

enum { LEAST_LOSSLESS_BITS = 32 }; /* no dither from here on */

/* The sum of two uniform variables: triangular in -1..1. */
static double triangular(uint64_t position)
{
    uint64_t bits = noise_hash(position);
    double a = (double)(bits >> 32), b = (double)(bits & UINT32_MAX);
    return (a + b) * 0x1p-32 - 1.0;
}

uint64_t quantise_interleave(const real *const *planar, size_t at, size_t channels, size_t frames,
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
