#include "spectrogram/spectrogram_frame.h"

#include "signal/audio.h"
#include "signal/fft.h"

#include <math.h>
#include <stdlib.h>

static const double kaiser_attenuation = 100; /* dB */

struct spectrogram_frame {
    struct spectrogram_frame_settings settings;
    struct fft *fft;
    float *window; /* scaled, so that a bin's squared magnitude is the power */
    float *samples;
    float *spectrum;
    float *bins;    /* power */
    double *bounds; /* of the rows, in bins; one more than rows */
};

void spectrogram_frame_destroy(struct spectrogram_frame *frame)
{
    if (!frame)
        return;
    fft_destroy(frame->fft);
    free(frame->window);
    free(frame->samples);
    free(frame->spectrum);
    free(frame->bins);
    free(frame->bounds);
    free(frame);
}

/* Periodic: the value at `size` would be that at 0. */
static void make_window(struct spectrogram_frame *frame)
{
    const struct spectrogram_frame_settings *settings = &frame->settings;
    double beta = window_kaiser_beta(kaiser_attenuation), sum = 0;
    for (size_t i = 0; i < settings->size; i++)
        sum += window_at(settings->window, beta, i, settings->size + 1);
    for (size_t i = 0; i < settings->size; i++)
        frame->window[i] =
            (float)(2 / sum * window_at(settings->window, beta, i, settings->size + 1));
}

enum status spectrogram_frame_create(const struct spectrogram_frame_settings *settings,
                                     struct spectrogram_frame **result)
{
    size_t length = settings->size * settings->padding;
    struct spectrogram_frame *frame = calloc(1, sizeof *frame);
    if (!frame)
        return fail_memory("a spectrogram");
    frame->settings = *settings;
    frame->window = audio_alloc(settings->size);
    frame->samples = audio_alloc(length); /* zero beyond `size` */
    frame->spectrum = audio_alloc(fft_spectrum_floats(length));
    frame->bins = audio_alloc(length / 2 + 1);
    frame->bounds = calloc(settings->axis.rows + 1, sizeof *frame->bounds);
    enum status status =
        frame->window && frame->samples && frame->spectrum && frame->bins && frame->bounds
            ? fft_create(length, &frame->fft)
            : fail_memory("a spectrogram");
    if (status != STATUS_OK) {
        spectrogram_frame_destroy(frame);
        return status;
    }
    make_window(frame);
    double bin = (double)settings->rate / (double)length;
    for (size_t r = 0; r <= settings->axis.rows; r++)
        frame->bounds[r] = spectrogram_axis_hz(&settings->axis, (double)r) / bin;
    *result = frame;
    return STATUS_OK;
}

static float power_at(const float *bins, double place)
{
    size_t bin = (size_t)place;
    float part = (float)(place - (double)bin);
    return part > 0 ? bins[bin] + part * (bins[bin + 1] - bins[bin]) : bins[bin];
}

static float largest_between(const float *bins, double low, double high)
{
    float most = fmaxf(power_at(bins, low), power_at(bins, high));
    for (size_t b = (size_t)ceil(low); (double)b < high; b++)
        most = bins[b] > most ? bins[b] : most;
    return most;
}

static float mean_between(const float *bins, double low, double high)
{
    size_t from = (size_t)ceil(low), end = (size_t)ceil(high);
    float sum = 0;
    if (from >= end)
        return power_at(bins, (low + high) / 2);
    for (size_t b = from; b < end; b++)
        sum += bins[b];
    return sum / (float)(end - from);
}

void spectrogram_frame_measure(struct spectrogram_frame *frame, const float *samples, float *power)
{
    const struct spectrogram_frame_settings *settings = &frame->settings;
    const float *spectrum = frame->spectrum;
    for (size_t i = 0; i < settings->size; i++)
        frame->samples[i] = samples[i] * frame->window[i];
    fft_forward(frame->fft, frame->samples, frame->spectrum);
    for (size_t b = 0; b <= fft_length(frame->fft) / 2; b++)
        frame->bins[b] =
            spectrum[2 * b] * spectrum[2 * b] + spectrum[2 * b + 1] * spectrum[2 * b + 1];
    double last = floor((double)fft_length(frame->fft) / 2);
    for (size_t r = 0; r < settings->axis.rows; r++) {
        double low = frame->bounds[r], high = fmin(frame->bounds[r + 1], last);
        power[r] = low >= last      ? 0 /* above half the rate */
                   : settings->mean ? mean_between(frame->bins, low, high)
                                    : largest_between(frame->bins, low, high);
    }
}
