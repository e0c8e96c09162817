#include "convolve/spectral.h"

#include "convolve/spectral_state.h"
#include "signal/fft.h"
#include "signal/window.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH_MOST = 256,      /* rows */
    BATCH_CELLS = 1 << 20, /* of all channels */
};

enum { HOPS_NAMED = 4 };

/* Allowed variation of the sum of squared windows: -140 dB. */
static const double CONSTANT_WITHIN = 1e-7;

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

/* *sum: the mean over the samples of a hop. False: it varies. */
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

/* Rows of the frames that overlap [begin, end); those that end at or before begin do not count. */
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
    spectral->settings.mask = NULL; /* not kept */
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
