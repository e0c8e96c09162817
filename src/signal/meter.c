#include "signal/meter.h"

#include "base/realtime.h"
#include "base/simd.h"
#include "signal/audio.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { CACHE_LINE = 64, LANES = 16 };

#define RMS_SECONDS 0.3
#define HOLD_SECONDS 1.5
#define HOLD_FALL_DB 20.0            /* dB per second */
#define NOTHING 1e-30                /* smaller mean squares become 0, to avoid denormals */
#define FULL_SCALE (1.0f - 0x1p-15f) /* the largest sample in 16 bits */
enum { FLAT_TOP = 3 };               /* equal samples in a row that make a flat top */

struct channel_meter {
    /* Read by another thread, which resets `peak` to 0. */
    _Alignas(CACHE_LINE) _Atomic float peak;
    _Atomic float rms, hold;
    _Atomic uint64_t clips, bad;
    /* Used by the step only. */
    double square; /* average of the squares */
    float held;
    double hold_left; /* frames until the held peak falls */
    bool beyond;      /* the last sample was part of a clip */
    float last;       /* the last sample */
    unsigned flat;    /* number of equal samples at full scale, up to the last one */
};

struct meter {
    size_t channels;
    double rate;
    bool counts_flat_tops;
    float plain;   /* peak up to which a block has nothing to count */
    size_t frames; /* frames of the last block, for which the factors are */
    double square_keep, hold_keep;
    struct channel_meter channel[];
};

/* Measurements of one channel of one block. */
struct survey {
    float peak;
    double squares;
    uint64_t clips, bad;
};

enum status meter_create(size_t channels, uint32_t rate, bool counts_flat_tops,
                         struct meter **result)
{
    size_t bytes = sizeof **result + channels * sizeof(struct channel_meter);
    struct meter *meter = aligned_alloc(CACHE_LINE, bytes);
    if (!meter)
        return fail_memory("a meter");
    memset(meter, 0, bytes);
    meter->channels = channels;
    meter->rate = rate;
    meter->counts_flat_tops = counts_flat_tops;
    meter->plain = counts_flat_tops ? nextafterf(FULL_SCALE, 0) : 1.0f;
    *result = meter;
    return STATUS_OK;
}

void meter_destroy(struct meter *meter)
{
    free(meter);
}

/* Sums the squares of samples within -1..1. */
SIMD_CLONES
HALO_REALTIME static double sum_squares(const float *samples, size_t frames)
{
    float lanes[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= frames; i += LANES)
        for (size_t l = 0; l < LANES; l++)
            lanes[l] += samples[i + l] * samples[i + l];
    for (; i < frames; i++)
        lanes[0] += samples[i] * samples[i];
    double squares = 0;
    for (size_t l = 0; l < LANES; l++)
        squares += (double)lanes[l];
    return squares;
}

/* Whether this sample completes a flat top. */
HALO_REALTIME static bool is_flat_top(struct channel_meter *channel, float sample)
{
    float magnitude = fabsf(sample);
    if (magnitude < FULL_SCALE || magnitude > 1.0f)
        channel->flat = 0;
    else if (channel->flat > 0 && sample != channel->last)
        channel->flat = 1;
    else if (channel->flat <= FLAT_TOP)
        channel->flat++;
    channel->last = sample;
    return channel->flat == FLAT_TOP;
}

/* Measures any samples. The squares of the largest floats fit a double. */
HALO_REALTIME static void survey_beyond(const struct meter *meter, struct channel_meter *channel,
                                        const float *samples, size_t frames, struct survey *survey)
{
    for (size_t i = 0; i < frames; i++) {
        float sample = samples[i];
        if (!isfinite(sample)) {
            survey->bad++;
            sample = 0.0f;
        }
        survey->peak = fmaxf(survey->peak, fabsf(sample));
        survey->squares += (double)sample * (double)sample;
        bool now = fabsf(sample) > 1.0f;
        survey->clips += now && !channel->beyond;
        channel->beyond = now;
        if (meter->counts_flat_tops)
            survey->clips += is_flat_top(channel, sample);
    }
}

HALO_REALTIME static struct survey survey_channel(const struct meter *meter,
                                                  struct channel_meter *channel,
                                                  const float *samples, size_t frames)
{
    struct survey survey = {.peak = audio_peak(samples, frames)};
    if (survey.peak <= meter->plain) {
        channel->beyond = false;
        channel->flat = 0;
        survey.squares = sum_squares(samples, frames);
    } else {
        survey.peak = 0; /* it may be NaN */
        survey_beyond(meter, channel, samples, frames, &survey);
    }
    return survey;
}

/* Raises a peak. If the reader sets it to 0 meanwhile, this peak begins the next reading. */
HALO_REALTIME static void raise_peak(_Atomic float *peak, float value)
{
    float before = atomic_load_explicit(peak, memory_order_relaxed);
    if (value > before && !atomic_compare_exchange_strong(peak, &before, value))
        atomic_store(peak, value);
}

HALO_REALTIME static void hold_peak(const struct meter *meter, struct channel_meter *channel,
                                    float peak, size_t frames)
{
    if (peak >= channel->held) {
        channel->held = peak;
        channel->hold_left = HOLD_SECONDS * meter->rate;
        return;
    }
    channel->hold_left -= (double)frames;
    if (channel->hold_left > 0)
        return;
    float fallen = (float)((double)channel->held * meter->hold_keep);
    channel->held = fallen < 1e-15f ? 0.0f : fallen;
    channel->held = peak > channel->held ? peak : channel->held;
}

HALO_REALTIME static void publish(const struct meter *meter, struct channel_meter *channel,
                                  const struct survey *survey, size_t frames)
{
    double mean = survey->squares / (double)frames;
    channel->square = mean + (channel->square - mean) * meter->square_keep;
    if (channel->square < NOTHING)
        channel->square = 0;
    hold_peak(meter, channel, survey->peak, frames);
    raise_peak(&channel->peak, survey->peak);
    atomic_store_explicit(&channel->rms, (float)sqrt(channel->square), memory_order_relaxed);
    atomic_store_explicit(&channel->hold, channel->held, memory_order_relaxed);
    atomic_fetch_add(&channel->clips, survey->clips);
    atomic_fetch_add(&channel->bad, survey->bad);
}

HALO_REALTIME void meter_process(struct meter *meter, const float *const *planar, size_t frames)
{
    if (frames == 0)
        return;
    if (meter->frames != frames) {
        double seconds = (double)frames / meter->rate;
        meter->frames = frames;
        meter->square_keep = exp(-seconds / RMS_SECONDS);
        meter->hold_keep = pow(10, -seconds * HOLD_FALL_DB / 20);
    }
    for (size_t c = 0; c < meter->channels; c++) {
        struct survey survey = survey_channel(meter, &meter->channel[c], planar[c], frames);
        publish(meter, &meter->channel[c], &survey, frames);
    }
}

void meter_read(struct meter *meter, struct meter_reading *readings)
{
    for (size_t c = 0; c < meter->channels; c++) {
        struct channel_meter *channel = &meter->channel[c];
        readings[c] = (struct meter_reading){
            .peak = atomic_exchange(&channel->peak, 0.0f),
            .rms = atomic_load_explicit(&channel->rms, memory_order_relaxed),
            .hold = atomic_load_explicit(&channel->hold, memory_order_relaxed),
            .clips = atomic_load_explicit(&channel->clips, memory_order_relaxed),
            .bad = atomic_load_explicit(&channel->bad, memory_order_relaxed)};
    }
}
