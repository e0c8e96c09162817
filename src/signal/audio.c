#include "signal/audio.h"

#include "base/noise.h"
#include "base/realtime.h"
#include "base/simd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ALIGNMENT = 64, CHUNK_SAMPLES = 1 << 15 };

float *audio_alloc(size_t count)
{
    if (count > (SIZE_MAX - ALIGNMENT) / sizeof(float))
        return NULL;
    size_t bytes = (count * sizeof(float) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (bytes == 0)
        bytes = ALIGNMENT;
    float *samples = aligned_alloc(ALIGNMENT, bytes);
    if (samples)
        memset(samples, 0, bytes);
    return samples;
}

enum status block_init(struct block *block, size_t channels, size_t frames, const char *what)
{
    *block = (struct block){.channels = channels, .frames = frames};
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

void block_free(struct block *block)
{
    if (block->data)
        for (size_t c = 0; c < block->channels; c++)
            free(block->data[c]);
    free(block->data);
    *block = (struct block){0};
}

HALO_REALTIME void block_silence(struct block *block, size_t from, size_t frames)
{
    for (size_t c = 0; c < block->channels; c++)
        memset(block->data[c] + from, 0, frames * sizeof(float));
}

/* Without the sign bit, floats compare like integers, with infinity and then NaN as the largest:
 * a maximum of integers vectorises. */
SIMD_CLONES
HALO_REALTIME static uint32_t highest_bits(const float *samples, size_t count)
{
    uint32_t highest = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &samples[i], sizeof bits);
        bits &= INT32_MAX;
        highest = bits > highest ? bits : highest;
    }
    return highest;
}

HALO_REALTIME float audio_peak(const float *samples, size_t count)
{
    uint32_t bits = highest_bits(samples, count);
    float peak;
    memcpy(&peak, &bits, sizeof peak);
    return peak;
}

HALO_REALTIME size_t audio_find_nonfinite(const float *samples, size_t count)
{
    if (isfinite(audio_peak(samples, count)))
        return count;
    size_t i = 0;
    while (isfinite(samples[i]))
        i++;
    return i;
}

size_t audio_chunk_frames(size_t channels)
{
    return channels < CHUNK_SAMPLES ? CHUNK_SAMPLES / channels : 1;
}

/* Two known rows vectorise. */
SIMD_CLONES
HALO_REALTIME static void interleave_two(const float *restrict left, const float *restrict right,
                                         size_t frames, float *restrict interleaved)
{
    for (size_t i = 0; i < frames; i++) {
        interleaved[2 * i] = left[i];
        interleaved[2 * i + 1] = right[i];
    }
}

SIMD_CLONES
static void deinterleave_two(const float *restrict interleaved, size_t frames, float *restrict left,
                             float *restrict right)
{
    for (size_t i = 0; i < frames; i++) {
        left[i] = interleaved[2 * i];
        right[i] = interleaved[2 * i + 1];
    }
}

HALO_REALTIME void audio_interleave(const float *const *planar, size_t at, size_t channels,
                                    size_t frames, float *interleaved)
{
    if (channels == 2) {
        interleave_two(planar[0] + at, planar[1] + at, frames, interleaved);
        return;
    }
    for (size_t c = 0; c < channels; c++)
        for (size_t i = 0; i < frames; i++)
            interleaved[i * channels + c] = planar[c][at + i];
}

void audio_deinterleave(const float *interleaved, size_t channels, size_t frames,
                        float *const *planar, size_t at)
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

uint64_t audio_common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

HALO_REALTIME double audio_from_db(double db)
{
    return pow(10.0, db / 20.0);
}

HALO_REALTIME double audio_to_db(double amplitude)
{
    return 20.0 * log10(amplitude);
}

uint64_t audio_memory_limit(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0)
        return UINT64_MAX;
    return (uint64_t)pages * (uint64_t)page;
}
