#include "spectrogram/spectrogram_frame.h"

#include "base/simd.h"
#include "signal/audio.h"
#include "signal/fft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double kaiser_attenuation = 100; /* dB */

/* Powers are not negative: their bits compare as integers, which vectors can do. */
typedef int32_t powers __attribute__((vector_size(32)));
enum { POWERS = sizeof(powers) / sizeof(int32_t) };

/* A place between two bins; `part` of the second. */
struct bin_place {
    size_t bin;
    float part;
};

struct bin_row {
    struct bin_place low, middle, high;
    size_t from, end; /* the bins within */
    bool is_empty;    /* above half the rate */
};

struct spectrogram_frame {
    struct spectrogram_frame_settings settings;
    struct fft *fft;
    float *window; /* scaled, so that a bin's squared magnitude is the power */
    float *samples;
    float *spectrum;
    float *bins; /* power */
    struct bin_row *rows;
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
    free(frame->rows);
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

static struct bin_place bin_place_of(double place)
{
    size_t bin = (size_t)place;
    return (struct bin_place){bin, (float)(place - (double)bin)};
}

static void make_rows(struct spectrogram_frame *frame)
{
    const struct spectrogram_frame_settings *settings = &frame->settings;
    size_t length = settings->size * settings->padding;
    double bin = (double)settings->rate / (double)length, last = floor((double)length / 2);
    for (size_t r = 0; r < settings->axis.rows; r++) {
        double low = spectrogram_axis_hz(&settings->axis, (double)r) / bin;
        double high = fmin(spectrogram_axis_hz(&settings->axis, (double)r + 1) / bin, last);
        frame->rows[r] = (struct bin_row){.is_empty = low >= last};
        if (low < last)
            frame->rows[r] = (struct bin_row){
                .low = bin_place_of(low),
                .middle = bin_place_of((low + high) / 2),
                .high = bin_place_of(high),
                .from = (size_t)ceil(low),
                .end = (size_t)ceil(high),
            };
    }
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
    frame->rows = calloc(settings->axis.rows, sizeof *frame->rows);
    enum status status =
        frame->window && frame->samples && frame->spectrum && frame->bins && frame->rows
            ? fft_create(length, &frame->fft)
            : fail_memory("a spectrogram");
    if (status != STATUS_OK) {
        spectrogram_frame_destroy(frame);
        return status;
    }
    make_window(frame);
    make_rows(frame);
    *result = frame;
    return STATUS_OK;
}

static float power_at(const float *bins, struct bin_place place)
{
    const float *at = bins + place.bin;
    return place.part > 0 ? at[0] + place.part * (at[1] - at[0]) : at[0];
}

static inline void keep_larger(powers *most, const float *bins)
{
    powers now, is_larger;
    memcpy(&now, bins, sizeof now);
    is_larger = now > *most;
    *most = (now & is_larger) | (*most & ~is_larger);
}

/* Of at least POWERS bins; the last ones may be read twice. */
static inline float largest_of_many(const float *bins, size_t count)
{
    powers most = {0};
    float largest = 0, each[POWERS];
    for (size_t b = 0; b + POWERS < count; b += POWERS)
        keep_larger(&most, bins + b);
    keep_larger(&most, bins + count - POWERS);
    memcpy(each, &most, sizeof each);
    for (size_t i = 0; i < POWERS; i++)
        largest = each[i] > largest ? each[i] : largest;
    return largest;
}

static inline float largest_in(const float *bins, const struct bin_row *row)
{
    float low = power_at(bins, row->low), most = power_at(bins, row->high);
    most = low > most ? low : most;
    if (row->end >= row->from + POWERS) {
        float inner = largest_of_many(bins + row->from, row->end - row->from);
        return inner > most ? inner : most;
    }
    for (size_t b = row->from; b < row->end; b++)
        most = bins[b] > most ? bins[b] : most;
    return most;
}

static float mean_in(const float *bins, const struct bin_row *row)
{
    float sum = 0;
    if (row->from >= row->end)
        return power_at(bins, row->middle);
    for (size_t b = row->from; b < row->end; b++)
        sum += bins[b];
    return sum / (float)(row->end - row->from);
}

SIMD_CLONES
static void apply_window(const float *restrict samples, const float *restrict window,
                         float *restrict out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = samples[i] * window[i];
}

SIMD_CLONES
static void square(const float *restrict spectrum, float *restrict power, size_t bins)
{
    for (size_t b = 0; b < bins; b++)
        power[b] = spectrum[2 * b] * spectrum[2 * b] + spectrum[2 * b + 1] * spectrum[2 * b + 1];
}

SIMD_CLONES
static void gather_largest(const float *bins, const struct bin_row *rows, size_t count,
                           float *power)
{
    for (size_t r = 0; r < count; r++)
        power[r] = rows[r].is_empty ? 0 : largest_in(bins, &rows[r]);
}

void spectrogram_frame_measure(struct spectrogram_frame *frame, const float *samples, float *power)
{
    const struct spectrogram_frame_settings *settings = &frame->settings;
    apply_window(samples, frame->window, frame->samples, settings->size);
    fft_forward(frame->fft, frame->samples, frame->spectrum);
    square(frame->spectrum, frame->bins, fft_length(frame->fft) / 2 + 1);
    if (!settings->mean) {
        gather_largest(frame->bins, frame->rows, settings->axis.rows, power);
        return;
    }
    for (size_t r = 0; r < settings->axis.rows; r++)
        power[r] = frame->rows[r].is_empty ? 0 : mean_in(frame->bins, &frame->rows[r]);
}
