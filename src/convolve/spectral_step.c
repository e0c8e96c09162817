/* The spectral filter's step. Real-time. */
#include "convolve/spectral_state.h"

#include "base/realtime.h"

#include <complex.h>
#include <math.h>
#include <string.h>

static const double SILENCE = 1e-30; /* full scales: below it a bin has no phase */
static const double FLOOR_DB = -120;
static const double GAIN_MOST = 1e30; /* avoids NaN */

/* magnitude: in full scales. */
static float spectral_cell(enum spectral_scale scale, double magnitude)
{
    if (scale == SPECTRAL_LINEAR)
        return (float)magnitude;
    return (float)fmax(audio_to_db(magnitude) - FLOOR_DB, 0);
}

/* A cell at the floor represents anything below it: unless raised, it keeps its value. */
static double replace_db(const struct spectral *spectral, double cell, const float *bin,
                         double convolved)
{
    double target = fmax(convolved, 0);
    if (cell > 0)
        return audio_from_db(target - cell);
    double magnitude = hypot((double)bin[0], (double)bin[1]) / spectral->full_scale;
    if (magnitude == 0 || target == 0)
        return magnitude == 0 ? 0 : 1;
    return audio_from_db(target + FLOOR_DB) / magnitude;
}

/* See mask2d.h. The power is taken of the quotient, as those of its parts leave the range of
 * numbers. In single precision pow() takes a quarter of the time. */
static double soft_mask(const struct separation *separation, double part, double rest)
{
    if (part <= 0 && rest <= 0)
        return separation->margin > 1 ? 0 : 0.5;
    double quotient = separation->margin * rest / part;
    return 1 / (1 + (double)powf((float)quotient, (float)separation->power));
}

static double share(const struct separation *separation, double along_time, double along_frequency)
{
    switch (separation->part) {
    case SEPARATION_HARMONIC:
        return soft_mask(separation, along_time, along_frequency);
    case SEPARATION_PERCUSSIVE:
        return soft_mask(separation, along_frequency, along_time);
    case SEPARATION_RESIDUAL:
        break;
    }
    return fmax(1 - soft_mask(separation, along_time, along_frequency) -
                    soft_mask(separation, along_frequency, along_time),
                0);
}

static double clamp(double value)
{
    return fmin(fmax(value, 0), 1);
}

/* Gains of one frame: `cells` are the picture's, `spectrum` its bins as pairs, `made` the
 * pictures made of it. `gains` may be one of them. */
static void spectral_gains(const struct spectral *spectral, const float *cells,
                           const float *spectrum, const float *const made[SPECTRAL_PICTURES],
                           float *gains)
{
    const struct spectral_settings *settings = &spectral->settings;
    bool is_db = settings->scale == SPECTRAL_DB;
    for (size_t b = 0; b < spectral->bins; b++) {
        double cell = (double)cells[b], to = (double)made[0][b], gain = 0;
        switch (settings->mode) {
        case SPECTRAL_MAGNITUDE:
            if (is_db)
                gain = replace_db(spectral, cell, spectrum + 2 * b, to);
            else if (cell > 0)
                gain = to > 0 ? to / cell : 0;
            break;
        case SPECTRAL_GAIN:
            gain = clamp(is_db ? to / -FLOOR_DB : to);
            break;
        case SPECTRAL_SEPARATE:
            gain = share(&settings->separation, to, (double)made[1][b]);
            break;
        }
        gains[b] = (float)(gain < GAIN_MOST ? gain : GAIN_MOST);
    }
}

struct spectral_job {
    struct spectral *spectral;
    size_t rows; /* per channel */
};

HALO_REALTIME static float *row_of(const struct spectral *spectral, size_t channel, size_t index)
{
    return spectral->rows.data[channel] + index * spectral->pitch;
}

HALO_REALTIME static float *spectrum_of(const struct spectral *spectral, size_t channel,
                                        size_t index)
{
    return spectral->spectra.data[channel] + index * spectral->spectrum_pitch;
}

static void analyse(void *context, size_t piece, size_t worker)
{
    const struct spectral_job *job = context;
    struct spectral *spectral = job->spectral;
    size_t channel = piece / job->rows, row = piece % job->rows;
    const struct spectral_window_settings *window = &spectral->settings.window;
    const float *in = spectral->in.data[channel] + row * window->hop;
    const struct fft_double *fft = spectral->fft[worker];
    double *samples = fft_double_samples(fft);
    const double complex *bins = fft_double_bins(fft);
    float *cells = row_of(spectral, channel, 2 * spectral->after + row);
    float *spectrum = spectrum_of(spectral, channel, spectral->after + row);
    for (size_t i = 0; i < window->size; i++)
        samples[i] = (double)in[i] * spectral->window[i];
    fft_double_forward(fft);
    for (size_t b = 0; b < spectral->bins; b++) {
        double re = creal(bins[b]), im = cimag(bins[b]);
        double magnitude = sqrt(re * re + im * im) / spectral->full_scale;
        bool sounds = magnitude > SILENCE;
        spectrum[2 * b] = sounds ? (float)re : 0;
        spectrum[2 * b + 1] = sounds ? (float)im : 0;
        cells[b] = spectral_cell(spectral->settings.scale, sounds ? magnitude : 0);
    }
}

HALO_REALTIME static void copy_row(const struct spectral *spectral, size_t from, size_t to)
{
    for (size_t c = 0; c < spectral->filter.inputs; c++)
        memcpy(row_of(spectral, c, to), row_of(spectral, c, from), spectral->bins * sizeof(float));
}

/* Drop what precedes the sound, such as a filter's pre-ringing: its cells are replaced. */
HALO_REALTIME static void silence_row(const struct spectral *spectral, size_t row)
{
    for (size_t c = 0; c < spectral->filter.inputs; c++)
        memset(spectrum_of(spectral, c, spectral->after + row), 0,
               2 * spectral->bins * sizeof(float));
}

/* Rows after the last are copies of earlier ones; rows before the first are copied as soon as
 * their sources are available. */
HALO_REALTIME static void lay_boundary(const struct spectral *spectral, size_t row)
{
    int64_t now = spectral->row + (int64_t)row;
    size_t here = 2 * spectral->after + row;
    bool reflects =
        spectral->settings.boundary == CONVOLVE2D_REFLECT && spectral->last > spectral->first;
    int64_t beyond = now - spectral->last, in = now - spectral->first;
    if (in < 0)
        silence_row(spectral, row);
    if (beyond > 0 && beyond <= (int64_t)spectral->after)
        copy_row(spectral, here - (reflects ? 2 * (size_t)beyond : 1), here);
    if (reflects && in > 0 && in <= (int64_t)spectral->before)
        copy_row(spectral, here, here - 2 * (size_t)in);
    for (size_t k = 1; !reflects && in == 0 && k <= spectral->before; k++)
        copy_row(spectral, here, here - k);
}

/* The first row of the sound, if the mask is there in this batch: the rows before it were laid
 * after the medians along time had read them. */
HALO_REALTIME static size_t changed_row(const struct spectral *spectral, size_t rows)
{
    int64_t at = spectral->first + (int64_t)spectral->after - spectral->row;
    return at >= 0 && at < (int64_t)rows ? (size_t)at : rows;
}

HALO_REALTIME static void make_pictures(struct spectral *spectral, size_t rows)
{
    size_t channels = spectral->filter.inputs, pitch = spectral->pitch;
    const float *in[channels];
    for (size_t c = 0; c < channels; c++)
        in[c] = row_of(spectral, c, spectral->after);
    if (spectral->median) {
        median2d_along_time(spectral->median, in, spectral->made[0].data, pitch, rows,
                            changed_row(spectral, rows));
        median2d_along_frequency(spectral->median, in, spectral->made[1].data, pitch, rows);
        return;
    }
    struct convolve2d *convolution = spectral->convolution;
    convolve2d_process(convolution, in, pitch, spectral->made[0].data, pitch, rows);
    if (convolution->notice)
        spectral->filter.notice = convolution->notice;
    convolution->notice = NULL;
}

static void synthesise(void *context, size_t piece, size_t worker)
{
    const struct spectral_job *job = context;
    struct spectral *spectral = job->spectral;
    size_t channel = piece / job->rows, row = piece % job->rows;
    size_t size = spectral->settings.window.size;
    const struct fft_double *fft = spectral->fft[worker];
    double complex *bins = fft_double_bins(fft);
    const double *samples = fft_double_samples(fft);
    const float *spectrum = spectrum_of(spectral, channel, row), *made[SPECTRAL_PICTURES] = {0};
    float *gains = spectral->made[0].data[channel] + row * spectral->pitch; /* in its place */
    float *frame = spectral->frames.data[channel] + row * size;
    for (size_t k = 0; k < (spectral->median ? SPECTRAL_PICTURES : 1); k++)
        made[k] = spectral->made[k].data[channel] + row * spectral->pitch;
    spectral_gains(spectral, row_of(spectral, channel, spectral->after + row), spectrum, made,
                   gains);
    double *pairs = (double *)bins; /* real and imaginary */
    for (size_t i = 0; i < 2 * spectral->bins; i++)
        pairs[i] = (double)spectrum[i] * (double)gains[i / 2];
    fft_double_inverse(fft);
    for (size_t i = 0; i < size; i++)
        frame[i] = (float)(samples[i] * spectral->window[i] * spectral->scale);
}

HALO_REALTIME static void overlap(struct spectral *spectral, size_t rows)
{
    size_t size = spectral->settings.window.size, hop = spectral->settings.window.hop;
    for (size_t c = 0; c < spectral->filter.inputs; c++)
        for (size_t r = 0; r < rows; r++) {
            const float *frame = spectral->frames.data[c] + r * size;
            float *out = spectral->out.data[c] + spectral->out_count + r * hop;
            for (size_t i = 0; i < size; i++)
                out[i] += frame[i];
        }
    spectral->out_count += rows * hop;
}

HALO_REALTIME static void forget(float *data, size_t gone, size_t kept)
{
    memmove(data, data + gone, kept * sizeof *data);
}

HALO_REALTIME static void process_rows(struct spectral *spectral, size_t rows)
{
    struct spectral_job job = {spectral, rows};
    size_t channels = spectral->filter.inputs, after = spectral->after;
    size_t used = rows * spectral->settings.window.hop;
    workers_run(spectral->settings.workers, channels * rows, analyse, &job);
    for (size_t r = 0; spectral->settings.boundary != CONVOLVE2D_ZERO && r < rows; r++)
        lay_boundary(spectral, r);
    make_pictures(spectral, rows);
    workers_run(spectral->settings.workers, channels * rows, synthesise, &job);
    overlap(spectral, rows);
    spectral->row += (int64_t)rows;
    spectral->in_count -= used;
    for (size_t c = 0; c < channels; c++) {
        forget(spectral->rows.data[c], rows * spectral->pitch, 2 * after * spectral->pitch);
        forget(spectral->spectra.data[c], rows * spectral->spectrum_pitch,
               after * spectral->spectrum_pitch);
        forget(spectral->in.data[c], used, spectral->in_count);
    }
}

HALO_REALTIME void spectral_process(struct filter *filter, const float *const *in,
                                    float *const *out)
{
    struct spectral *spectral = (struct spectral *)filter;
    const struct spectral_window_settings *window = &spectral->settings.window;
    size_t block = filter->block;
    for (size_t c = 0; c < filter->inputs; c++)
        memcpy(spectral->in.data[c] + spectral->in_count, in[c], block * sizeof **in);
    spectral->in_count += block;
    while (spectral->in_count >= window->size) {
        size_t rows = (spectral->in_count - window->size) / window->hop + 1;
        process_rows(spectral, rows < spectral->batch ? rows : spectral->batch);
    }
    size_t kept = spectral->out_count - block + window->size - window->hop;
    for (size_t c = 0; c < filter->inputs; c++) {
        float *ready = spectral->out.data[c];
        memcpy(out[c], ready, block * sizeof *ready);
        forget(ready, block, kept);
        memset(ready + kept, 0, block * sizeof *ready);
    }
    spectral->out_count -= block;
}
