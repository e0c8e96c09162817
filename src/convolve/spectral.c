#include "convolve/spectral.h"

#include "base/realtime.h"
#include "convolve/median2d.h"
#include "signal/audio.h"
#include "signal/fft.h"
#include "signal/fft_double.h"
#include "signal/window.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPECTRAL_PICTURES = 2 }; /* the most pictures made from one: its two medians */

struct spectral {
    struct filter filter;
    struct spectral_settings settings;
    struct convolve2d *convolution; /* NULL: medians are used */
    struct median2d *median;        /* NULL: a convolution is used */
    struct fft_double **fft;        /* one for each worker */
    size_t workers;
    size_t bins;
    size_t batch;      /* the most rows processed at a time */
    size_t before;     /* rows that the mask looks back, at most `after` */
    size_t after;      /* rows that the mask looks ahead */
    size_t grain;      /* frames: greatest common divisor of block and hop */
    double *window;    /* `size` values */
    double full_scale; /* magnitude of a sine at full scale */
    double scale;      /* factor of the inverse transform */
    int64_t first;     /* first row of the sound */
    int64_t last;      /* last row of the sound; INT64_MAX: unknown */

    struct block in; /* earlier input, then the new input */
    size_t in_count;
    struct block rows;    /* rows of the picture, after 2 * `after` earlier ones */
    size_t pitch;         /* floats from one row to the next */
    struct block spectra; /* bins (re, im), frame by frame; first `after` earlier frames */
    size_t spectrum_pitch;
    /* the convolved picture; or the medians along time, then along frequency */
    struct block made[SPECTRAL_PICTURES];
    struct block frames; /* transformed back, row by row */
    struct block out;    /* finished frames of output, then partial sums */
    size_t out_count;    /* finished frames */
    int64_t row;         /* next row */
};

/* The spectral filter's step. Real-time. */

static const double SILENCE = 1e-30; /* full scales; a quieter bin has no phase */
static const double FLOOR_DB = -120;
static const double GAIN_MOST = 1e30; /* avoids NaN */

/* A cell of the picture. magnitude: 1 is full scale. */
static float spectral_cell(enum spectral_scale scale, double magnitude)
{
    if (scale == SPECTRAL_LINEAR)
        return (float)magnitude;
    return (float)fmax(audio_to_db(magnitude) - FLOOR_DB, 0);
}

/* The new magnitude of a cell in decibels. A cell at the floor may be anywhere below it, so it
 * keeps its value unless it is raised. */
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

/* The gain of a part; see mask2d.h. The power is taken of the quotient: powers of `part` and `rest`
 * might overflow. In single precision pow() takes a quarter of the time. */
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

/* The gains of one frame. `cells` are the picture's cells, `spectrum` the bins as pairs, `made` the
 * pictures made of the cells. `gains` may be one of these pictures. */
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
    size_t rows; /* rows per channel */
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

/* Makes the row silent, since it is before the sound and may have a filter's pre-ringing. */
HALO_REALTIME static void silence_row(const struct spectral *spectral, size_t row)
{
    for (size_t c = 0; c < spectral->filter.inputs; c++)
        memset(spectrum_of(spectral, c, spectral->after + row), 0,
               2 * spectral->bins * sizeof(float));
}

/* Fills in the rows outside the sound. Rows after the last row are copies of earlier rows. Rows
 * before the first row are copied once the rows they copy are there. */
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

/* Index of the result for the sound's first row, if in this batch; else `rows`. Medians along time
 * of an earlier batch have read the rows before the sound, which are filled in only now. */
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
    /* overwrites the convolved row */
    float *gains = spectral->made[0].data[channel] + row * spectral->pitch;
    float *frame = spectral->frames.data[channel] + row * size;
    for (size_t k = 0; k < (spectral->median ? SPECTRAL_PICTURES : 1); k++)
        made[k] = spectral->made[k].data[channel] + row * spectral->pitch;
    spectral_gains(spectral, row_of(spectral, channel, spectral->after + row), spectrum, made,
                   gains);
    double *pairs = (double *)bins; /* pairs of real and imaginary part */
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

static HALO_REALTIME void spectral_process(struct filter *filter, const float *const *in,
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

enum {
    BATCH_MOST = 256,      /* rows */
    BATCH_CELLS = 1 << 20, /* cells of all channels */
};

enum { HOPS_NAMED = 4 };

static const double CONSTANT_WITHIN = 1e-7; /* variation of the sum of squared windows: -140 dB */

const char *const spectral_shape_names[SPECTRAL_SHAPES + 1] = {
    [SPECTRAL_HANN] = "hann", [SPECTRAL_HAMMING] = "hamming",     [SPECTRAL_BLACKMAN] = "blackman",
    [SPECTRAL_SINE] = "sine", [SPECTRAL_RECTANGLE] = "rectangle",
};

static double value_at(enum spectral_shape shape, size_t i, size_t size)
{
    switch (shape) {
    case SPECTRAL_HAMMING:
        return window_at(WINDOW_HAMMING, 0, i, size + 1);
    case SPECTRAL_BLACKMAN:
        return window_at(WINDOW_BLACKMAN, 0, i, size + 1);
    case SPECTRAL_SINE: /* symmetric and never 0 */
        return sin(M_PI * ((double)i + 0.5) / (double)size);
    case SPECTRAL_RECTANGLE:
        return 1;
    case SPECTRAL_HANN:
    case SPECTRAL_SHAPES:
        break;
    }
    return window_at(WINDOW_HANN, 0, i, size + 1);
}

static void window_fill(const struct spectral_window_settings *settings, double *window)
{
    for (size_t i = 0; i < settings->size; i++)
        window[i] = value_at(settings->shape, i, settings->size);
}

/* Whether the sum of squared windows is constant. *sum: its mean over a hop. */
static bool reconstructs(const double *window, size_t size, size_t hop, double *sum)
{
    double least = INFINITY, most = 0;
    for (size_t at = 0; at < hop; at++) {
        double here = 0;
        for (size_t i = at; i < size; i += hop)
            here += window[i] * window[i];
        least = fmin(least, here);
        most = fmax(most, here);
    }
    *sum = (least + most) / 2;
    return least > 0 && most - least <= CONSTANT_WITHIN * most;
}

static enum status refuse(const struct spectral_window_settings *settings, const double *window)
{
    char hops[96] = "";
    size_t length = 0, named = 0;
    double sum;
    for (size_t parts = 1; parts <= settings->size && named < HOPS_NAMED; parts++) {
        size_t hop = settings->size / parts;
        if (hop * parts == settings->size && reconstructs(window, settings->size, hop, &sum))
            length += (size_t)snprintf(hops + length, sizeof hops - length, "%s%zu",
                                       named++ ? ", " : "", hop);
    }
    return fail(CAUSE_USAGE,
                "hop=%zu does not reconstruct the sound with window=%s, size=%zu; hops that do: "
                "%s%s",
                settings->hop, spectral_shape_names[settings->shape], settings->size, hops,
                named == HOPS_NAMED ? ", ..." : "");
}

enum status spectral_window_check(const struct spectral_window_settings *settings, double *sum)
{
    size_t size = settings->size;
    if (size < SPECTRAL_SIZE_LEAST || size > SPECTRAL_SIZE_MOST || size % 2)
        return fail(CAUSE_USAGE, "size= must be an even number from %d to %d, not %zu",
                    SPECTRAL_SIZE_LEAST, SPECTRAL_SIZE_MOST, size);
    if (settings->hop < 1 || settings->hop > size)
        return fail(CAUSE_USAGE, "hop= must be from 1 to size=%zu, not %zu", size, settings->hop);
    double *window = malloc(size * sizeof *window);
    if (!window)
        return fail_memory("a window");
    window_fill(settings, window);
    enum status status =
        reconstructs(window, size, settings->hop, sum) ? STATUS_OK : refuse(settings, window);
    free(window);
    return status;
}

static enum status make_convolution(struct spectral *spectral)
{
    const struct spectral_settings *settings = &spectral->settings;
    struct convolve2d_settings own = {.backend = settings->backend,
                                      .channels = settings->channels,
                                      .columns = spectral->bins,
                                      .rows_most = spectral->batch,
                                      .rows =
                                          (double)settings->frames / (double)settings->window.hop,
                                      .boundary = settings->boundary,
                                      .live = settings->live,
                                      .workers = settings->workers};
    TRY(convolve2d_create(&own, settings->mask, &spectral->convolution));
    spectral->before = spectral->convolution->before;
    spectral->after = spectral->convolution->after;
    return STATUS_OK;
}

static enum status make_medians(struct spectral *spectral)
{
    const struct spectral_settings *settings = &spectral->settings;
    struct median2d_settings own = {.channels = settings->channels,
                                    .columns = spectral->bins,
                                    .over_rows = settings->separation.rows,
                                    .over_columns = settings->separation.columns,
                                    .boundary = settings->boundary,
                                    .workers = settings->workers};
    spectral->before = spectral->after = settings->separation.rows / 2;
    return median2d_create(&own, &spectral->median);
}

static enum status make_window(struct spectral *spectral)
{
    const struct spectral_window_settings *window = &spectral->settings.window;
    double squares = 0, sum = 0;
    TRY(spectral_window_check(window, &squares));
    spectral->window = calloc(window->size, sizeof *spectral->window);
    if (!spectral->window)
        return fail_memory("a window");
    window_fill(window, spectral->window);
    for (size_t i = 0; i < window->size; i++)
        sum += spectral->window[i];
    spectral->full_scale = sum / 2;
    spectral->scale = 1 / (squares * (double)window->size);
    return STATUS_OK;
}

static enum status make_transforms(struct spectral *spectral)
{
    const struct spectral_settings *settings = &spectral->settings;
    size_t workers = workers_count(settings->workers), size = settings->window.size;
    spectral->fft = calloc(workers, sizeof(struct fft_double *));
    if (!spectral->fft)
        return fail_memory("a Fourier transform");
    for (; spectral->workers < workers; spectral->workers++)
        TRY(fft_double_create(size, &spectral->fft[spectral->workers]));
    return STATUS_OK;
}

static enum status make_blocks(struct spectral *spectral)
{
    static const char what[] = "a spectrogram";
    const struct spectral_settings *settings = &spectral->settings;
    size_t size = settings->window.size, hop = settings->window.hop, channels = settings->channels;
    size_t after = spectral->after, batch = spectral->batch;
    const struct {
        struct block *block;
        size_t frames;
    } blocks[] = {{&spectral->in, size + settings->block},
                  {&spectral->rows, (2 * after + batch) * spectral->pitch},
                  {&spectral->spectra, (after + batch) * spectral->spectrum_pitch},
                  {&spectral->frames, batch * size},
                  {&spectral->out, settings->block + 2 * hop + size}};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        TRY(block_init(blocks[i].block, channels, blocks[i].frames, what));
    for (size_t k = 0; k < (spectral->median ? SPECTRAL_PICTURES : 1); k++)
        TRY(block_init(&spectral->made[k], channels, batch * spectral->pitch, what));
    return STATUS_OK;
}

static void spectral_reset(struct filter *filter)
{
    struct spectral *spectral = (struct spectral *)filter;
    size_t size = spectral->settings.window.size, hop = spectral->settings.window.hop;
    struct block *blocks[] = {&spectral->in, &spectral->rows, &spectral->spectra, &spectral->out};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        block_silence(blocks[i], 0, blocks[i]->frames);
    if (spectral->median)
        median2d_reset(spectral->median);
    spectral->in_count = size - hop;
    spectral->out_count = hop - spectral->grain;
    spectral->row = 0;
}

static void spectral_destroy(struct filter *filter)
{
    struct spectral *spectral = (struct spectral *)filter;
    convolve2d_destroy(spectral->convolution);
    median2d_destroy(spectral->median);
    for (size_t k = 0; k < SPECTRAL_PICTURES; k++)
        block_free(&spectral->made[k]);
    for (size_t w = 0; w < spectral->workers; w++)
        fft_double_destroy(spectral->fft[w]);
    free(spectral->fft);
    block_free(&spectral->in);
    block_free(&spectral->rows);
    block_free(&spectral->spectra);
    block_free(&spectral->frames);
    block_free(&spectral->out);
    free(spectral->window);
    free(spectral);
}

static const struct filter_kind spectral_kind = {.name = "spectral",
                                                 .process = spectral_process,
                                                 .reset = spectral_reset,
                                                 .destroy = spectral_destroy};

/* Finds the first and the last row whose frames overlap the sound, [begin, end). */
static void find_sound(struct spectral *spectral)
{
    const struct spectral_settings *settings = &spectral->settings;
    uint64_t overlap = settings->window.size - settings->window.hop;
    spectral->first = (int64_t)(settings->begin / settings->window.hop);
    spectral->last = INT64_MAX;
    if (settings->end > settings->begin)
        spectral->last = (int64_t)((settings->end - 1 + overlap) / settings->window.hop);
}

static void set_sizes(struct spectral *spectral)
{
    const struct spectral_settings *settings = &spectral->settings;
    size_t size = settings->window.size, hop = settings->window.hop;
    spectral->bins = size / 2 + 1;
    spectral->pitch = (spectral->bins + 15) / 16 * 16;
    spectral->spectrum_pitch = 2 * spectral->pitch;
    spectral->grain = audio_common_divisor(settings->block, hop);
    size_t rows = settings->block / hop + 1;
    size_t most = BATCH_CELLS / (spectral->pitch * settings->channels);
    most = most < 1 ? 1 : most > BATCH_MOST ? BATCH_MOST : most;
    spectral->batch = rows < most ? rows : most;
}

enum status spectral_create(const struct spectral_settings *settings, struct filter **result)
{
    struct spectral *spectral = calloc(1, sizeof *spectral);
    if (!spectral)
        return fail_memory("a spectrogram");
    spectral->settings = *settings;
    spectral->settings.workers = settings->live ? NULL : settings->workers;
    enum status status = make_window(spectral);
    if (status != STATUS_OK)
        goto fail;
    set_sizes(spectral);
    find_sound(spectral);
    status =
        settings->mode == SPECTRAL_SEPARATE ? make_medians(spectral) : make_convolution(spectral);
    if (status || (status = make_transforms(spectral)) || (status = make_blocks(spectral)))
        goto fail;
    spectral->settings.mask = NULL; /* the filter does not keep it */
    const struct spectral_window_settings *window = &spectral->settings.window;
    spectral->filter =
        (struct filter){.kind = &spectral_kind,
                        .inputs = settings->channels,
                        .outputs = settings->channels,
                        .block = settings->block,
                        .latency = window->size - spectral->grain + spectral->after * window->hop,
                        .tail = window->size - 1};
    spectral_reset(&spectral->filter);
    *result = &spectral->filter;
    return STATUS_OK;
fail:
    spectral_destroy(&spectral->filter);
    return status;
}

const char *spectral_backend(const struct filter *filter)
{
    const struct spectral *spectral = (const struct spectral *)filter;
    return spectral->convolution ? spectral->convolution->kind->name : convolve2d_cpu.name;
}
