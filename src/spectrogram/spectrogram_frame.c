#include "spectrogram/spectrogram_frame.h"

#include "base/simd.h"
#include "signal/audio.h"
#include "signal/fft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double kaiser_attenuation = 100; /* dB */

/* Every second bin is computed from those beside it, which takes less time than a transform of
 * twice the length. The transform is at least twice as long as the window, which is centred on its
 * first sample: these taps err by -43 dB at the window's ends, with Hann's value there by -87 dB.
 */
enum { MID_TAPS = 5, MARGIN = 16 /* floats: a cache line */ };
static const double MID_BETA = 8.5;

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
    float *spectrum; /* with MARGIN before and after */
    float taps[MID_TAPS];
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

/* Between two bins, from the nearest outwards: a sinc through a Kaiser window. */
static void make_taps(struct spectrogram_frame *frame)
{
    double taps[MID_TAPS], sum = 0;
    for (size_t i = 0; i < MID_TAPS; i++) {
        double at = M_PI * ((double)i + 0.5);
        taps[i] = sin(at) / at * window_at(WINDOW_KAISER, MID_BETA, MID_TAPS + i, 2 * MID_TAPS);
        sum += 2 * taps[i];
    }
    for (size_t i = 0; i < MID_TAPS; i++)
        frame->taps[i] = (float)(taps[i] / sum);
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
    size_t length = settings->size * settings->padding, transform = length / 2;
    struct spectrogram_frame *frame = calloc(1, sizeof *frame);
    if (!frame)
        return fail_memory("a spectrogram");
    frame->settings = *settings;
    frame->window = audio_alloc(settings->size);
    frame->samples = audio_alloc(transform); /* zero outside the window */
    frame->spectrum = audio_alloc(fft_spectrum_floats(transform) + 2 * MARGIN);
    frame->bins = audio_alloc(length / 2 + 2);
    frame->rows = calloc(settings->axis.rows, sizeof *frame->rows);
    enum status status =
        frame->window && frame->samples && frame->spectrum && frame->bins && frame->rows
            ? fft_create(transform, &frame->fft)
            : fail_memory("a spectrogram");
    if (status != STATUS_OK) {
        spectrogram_frame_destroy(frame);
        return status;
    }
    make_window(frame);
    make_taps(frame);
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

/* Conjugates of the bins at either end, which the spectrum of real samples goes on with. */
static void extend(float *spectrum, size_t last)
{
    for (size_t i = 1; i < MID_TAPS; i++) {
        spectrum[-2 * (ptrdiff_t)i] = spectrum[2 * i];
        spectrum[-2 * (ptrdiff_t)i + 1] = -spectrum[2 * i + 1];
        spectrum[2 * (last + i)] = spectrum[2 * (last - i)];
        spectrum[2 * (last + i) + 1] = -spectrum[2 * (last - i) + 1];
    }
}

/* Power of `last` bins, each followed by what is between it and the next; and of the last bin. */
SIMD_CLONES
static void square(const float *restrict spectrum, const float *restrict taps,
                   float *restrict power, size_t last)
{
    for (size_t b = 0; b <= last; b++) {
        const float *bin = spectrum + 2 * b;
        float re = 0, im = 0;
        for (size_t i = 0; i < MID_TAPS; i++) {
            const float *below = bin - 2 * (ptrdiff_t)i, *above = bin + 2 * (i + 1);
            re += taps[i] * (below[0] + above[0]);
            im += taps[i] * (below[1] + above[1]);
        }
        power[2 * b] = bin[0] * bin[0] + bin[1] * bin[1];
        power[2 * b + 1] = re * re + im * im;
    }
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
    size_t half = settings->size / 2, transform = fft_length(frame->fft);
    float *spectrum = frame->spectrum + MARGIN;
    apply_window(samples, frame->window, frame->samples + transform - half, half);
    apply_window(samples + half, frame->window + half, frame->samples, settings->size - half);
    fft_forward(frame->fft, frame->samples, spectrum);
    extend(spectrum, transform / 2);
    square(spectrum, frame->taps, frame->bins, transform / 2);
    if (!settings->mean) {
        gather_largest(frame->bins, frame->rows, settings->axis.rows, power);
        return;
    }
    for (size_t r = 0; r < settings->axis.rows; r++)
        power[r] = frame->rows[r].is_empty ? 0 : mean_in(frame->bins, &frame->rows[r]);
}
