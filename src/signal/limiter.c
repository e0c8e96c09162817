#include "signal/limiter.h"

#include "base/realtime.h"
#include "base/simd.h"
#include "signal/audio.h"

#include <math.h>

enum { CHUNK = 64 };

#define RELEASE_SECONDS 0.15
#define NEARLY_ONE (1 - 1e-7) /* closer to 1 than half a step of a float */

void limiter_init(struct limiter *limiter, size_t channels, uint32_t rate, float ceiling)
{
    limiter->channels = channels;
    limiter->ceiling = ceiling;
    limiter->release = -expm1(-1 / (RELEASE_SECONDS * rate));
    limiter->gain = 1;
    atomic_init(&limiter->gain_shown, 1.0f);
}

/* Raises highest[i] to the magnitude of samples[i]. */
SIMD_CLONES
HALO_REALTIME static void raise_highest(const float *samples, size_t frames, float *highest)
{
    for (size_t i = 0; i < frames; i++) {
        float magnitude = fabsf(samples[i]);
        highest[i] = magnitude > highest[i] ? magnitude : highest[i];
    }
}

/* Scales and clamps, since rounding may exceed the ceiling. */
SIMD_CLONES
HALO_REALTIME static void scale(const double *gain, float ceiling, float *samples, size_t frames)
{
    for (size_t i = 0; i < frames; i++) {
        float scaled = (float)((double)samples[i] * gain[i]);
        scaled = scaled > ceiling ? ceiling : scaled;
        samples[i] = scaled < -ceiling ? -ceiling : scaled;
    }
}

HALO_REALTIME static void next_gains(struct limiter *limiter, const float *highest, size_t frames,
                                     double *gains)
{
    double gain = limiter->gain, ceiling = (double)limiter->ceiling;
    for (size_t i = 0; i < frames; i++) {
        gain += (1 - gain) * limiter->release;
        if (gain > NEARLY_ONE)
            gain = 1;
        if ((double)highest[i] * gain > ceiling)
            gain = ceiling / (double)highest[i];
        gains[i] = gain;
    }
    limiter->gain = gain;
}

HALO_REALTIME static void silence_bad(float *samples, size_t frames)
{
    for (size_t at = 0; (at += audio_find_nonfinite(samples + at, frames - at)) < frames;)
        samples[at] = 0.0f;
}

HALO_REALTIME static void limit_chunk(struct limiter *limiter, float *const *planar, size_t at,
                                      size_t frames)
{
    float highest[CHUNK] = {0};
    double gains[CHUNK];
    for (size_t c = 0; c < limiter->channels; c++) {
        silence_bad(planar[c] + at, frames);
        raise_highest(planar[c] + at, frames, highest);
    }
    next_gains(limiter, highest, frames, gains);
    for (size_t c = 0; c < limiter->channels; c++)
        scale(gains, limiter->ceiling, planar[c] + at, frames);
}

/* Whether the samples need no limiting. False if one is NaN. */
HALO_REALTIME static bool passes(const struct limiter *limiter, float *const *planar, size_t at,
                                 size_t frames)
{
    for (size_t c = 0; c < limiter->channels; c++)
        if (!(audio_peak(planar[c] + at, frames) <= limiter->ceiling))
            return false;
    return limiter->gain == 1;
}

HALO_REALTIME void limiter_process(struct limiter *limiter, float *const *planar, size_t frames)
{
    for (size_t at = 0; at < frames; at += CHUNK) {
        size_t part = frames - at < CHUNK ? frames - at : CHUNK;
        if (!passes(limiter, planar, at, part))
            limit_chunk(limiter, planar, at, part);
    }
    atomic_store_explicit(&limiter->gain_shown, (float)limiter->gain, memory_order_relaxed);
}

double limiter_reduction(const struct limiter *limiter)
{
    return 0 -
           audio_to_db((double)atomic_load_explicit(&limiter->gain_shown, memory_order_relaxed));
}
