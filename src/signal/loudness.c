#include "signal/loudness.h"

#include "signal/audio.h"

#include <ebur128.h>
#include <math.h>
#include <stdlib.h>

enum {
    CHUNK = 1024,
    BLOCK_MS = 400,
    LAID_OUT_MOST = 6,
    PEAK_RATE = 48000, /* Hz; it sets the oversampling alone, and that is to be 4 at any rate */
    PEAK_DELAY = 24,   /* frames: at least half of libebur128's interpolation filter */
};

struct loudness {
    ebur128_state *state;
    uint32_t rate;
    size_t channels;
    float *interleaved;
    uint64_t frames;
    double energy; /* sum of squares over all channels */
};

void loudness_destroy(struct loudness *meter)
{
    if (!meter)
        return;
    if (meter->state)
        ebur128_destroy(&meter->state);
    free(meter->interleaved);
    free(meter);
}

enum status loudness_create(uint32_t rate, size_t channels, struct loudness **result)
{
    struct loudness *meter = calloc(1, sizeof *meter);
    if (!meter)
        return fail_memory("a meter");
    meter->rate = rate;
    meter->channels = channels;
    meter->interleaved = audio_alloc(CHUNK * channels);
    enum status status = STATUS_OK;
    if (!meter->interleaved)
        status = fail_memory("a meter");
    /* S for its longer window: with that of I alone libebur128 1.2.6 reads past it below 18 Hz. */
    else if (!(meter->state =
                   ebur128_init((unsigned)channels, rate, EBUR128_MODE_I | EBUR128_MODE_S)))
        status = fail(STATUS_FAILED, "cannot measure the loudness of %zu channels at %u Hz",
                      channels, rate);
    if (status != STATUS_OK) {
        loudness_destroy(meter);
        return status;
    }
    for (size_t c = 0; c < channels && channels > LAID_OUT_MOST; c++)
        ebur128_set_channel(meter->state, (unsigned)c, EBUR128_LEFT);
    *result = meter;
    return STATUS_OK;
}

enum status loudness_add(struct loudness *meter, const float *const *planar, size_t frames)
{
    for (size_t done = 0, part; done < frames; done += part) {
        part = frames - done < CHUNK ? frames - done : CHUNK;
        audio_interleave(planar, done, meter->channels, part, meter->interleaved);
        if (ebur128_add_frames_float(meter->state, meter->interleaved, part) != EBUR128_SUCCESS)
            return fail_memory("measuring loudness");
        for (size_t i = 0; i < part * meter->channels; i++)
            meter->energy += (double)meter->interleaved[i] * (double)meter->interleaved[i];
    }
    meter->frames += frames;
    return STATUS_OK;
}

double loudness_integrated(const struct loudness *meter)
{
    double level = -INFINITY;
    uint64_t milliseconds = meter->frames * 1000 / meter->rate;
    if (milliseconds >= BLOCK_MS)
        (void)ebur128_loudness_global(meter->state, &level);
    else if (meter->frames > 0)
        (void)ebur128_loudness_window(meter->state, milliseconds ? milliseconds : 1, &level);
    return level;
}

double loudness_rms(const struct loudness *meter)
{
    double samples = (double)meter->frames * (double)meter->channels;
    return samples > 0 ? 10 * log10(meter->energy / samples) : -INFINITY;
}

struct true_peak {
    size_t channels;
    ebur128_state *channel[];
};

enum status true_peak_create(size_t channels, struct true_peak **result)
{
    struct true_peak *meter = calloc(1, sizeof *meter + channels * sizeof *meter->channel);
    if (!meter)
        return fail_memory("a meter");
    meter->channels = channels;
    for (size_t c = 0; c < channels; c++) {
        meter->channel[c] = ebur128_init(1, PEAK_RATE, EBUR128_MODE_TRUE_PEAK);
        if (!meter->channel[c]) {
            true_peak_destroy(meter);
            return fail_memory("a meter");
        }
    }
    *result = meter;
    return STATUS_OK;
}

void true_peak_destroy(struct true_peak *meter)
{
    for (size_t c = 0; meter && c < meter->channels; c++)
        if (meter->channel[c])
            ebur128_destroy(&meter->channel[c]);
    free(meter);
}

void true_peak_add(struct true_peak *meter, const float *const *planar, size_t frames)
{
    for (size_t c = 0; c < meter->channels; c++)
        (void)ebur128_add_frames_float(meter->channel[c], planar[c], frames);
}

void true_peak_add_in_double(struct true_peak *meter, const double *const *planar, size_t frames)
{
    for (size_t c = 0; c < meter->channels; c++)
        (void)ebur128_add_frames_double(meter->channel[c], planar[c], frames);
}

double true_peak_finish(struct true_peak *meter)
{
    static const float silence[PEAK_DELAY];
    double highest = 0, peak = 0;
    for (size_t c = 0; c < meter->channels; c++) {
        (void)ebur128_add_frames_float(meter->channel[c], silence, PEAK_DELAY);
        (void)ebur128_true_peak(meter->channel[c], 0, &peak);
        highest = fmax(highest, peak);
    }
    return highest;
}
