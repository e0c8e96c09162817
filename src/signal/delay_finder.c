#include "signal/delay_finder.h"

#include "base/realtime.h"
#include "base/simd.h"
#include "signal/audio.h"
#include "signal/fft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A bin is silent below this power, and below this part of the loudest bin's power. */
#define SILENT 1e-18f
#define NEARLY_SILENT 1e-10f

enum { PEAK = 8 }; /* frames that belong to one peak */

struct delay_finder {
    size_t window, blocks, floats; /* floats: length of a spectrum */
    float decay;
    struct fft *fft;
    float *hann, *windowed, *spectrum, *lags;
    float **past;  /* a ring of the reference's spectra with unit magnitudes, conjugated */
    float **sums;  /* [block] sums of products */
    double *count; /* [block] windows in the sum */
    bool *filled;  /* which places of the ring have a spectrum */
    size_t newest; /* place of the newest spectrum */
    size_t next;   /* next block to search; `blocks`: all were searched */
    struct delay_found best;
};

static void free_rows(float **rows, size_t count)
{
    for (size_t i = 0; rows && i < count; i++)
        free(rows[i]);
    free(rows);
}

void delay_finder_destroy(struct delay_finder *finder)
{
    if (!finder)
        return;
    free_rows(finder->past, finder->blocks);
    free_rows(finder->sums, finder->blocks);
    free(finder->count);
    free(finder->filled);
    free(finder->hann);
    free(finder->windowed);
    free(finder->spectrum);
    free(finder->lags);
    fft_destroy(finder->fft);
    free(finder);
}

static bool alloc_rows(float ***rows, size_t count, size_t floats)
{
    *rows = calloc(count, sizeof **rows);
    for (size_t i = 0; *rows && i < count; i++)
        if (!((*rows)[i] = audio_alloc(floats)))
            return false;
    return *rows;
}

static bool alloc_all(struct delay_finder *finder)
{
    return (finder->hann = audio_alloc(finder->window)) &&
           (finder->windowed = audio_alloc(finder->window)) &&
           (finder->lags = audio_alloc(finder->window)) &&
           (finder->spectrum = audio_alloc(finder->floats)) &&
           (finder->count = calloc(finder->blocks, sizeof *finder->count)) &&
           (finder->filled = calloc(finder->blocks, sizeof *finder->filled)) &&
           alloc_rows(&finder->past, finder->blocks, finder->floats) &&
           alloc_rows(&finder->sums, finder->blocks, finder->floats);
}

enum status delay_finder_create(size_t window, size_t blocks, float decay,
                                struct delay_finder **result)
{
    struct delay_finder *finder = calloc(1, sizeof *finder);
    if (!finder)
        return fail_memory("a delay finder");
    *finder = (struct delay_finder){.window = window,
                                    .blocks = blocks,
                                    .floats = fft_spectrum_floats(window),
                                    .decay = decay,
                                    .next = blocks};
    enum status status = alloc_all(finder) ? STATUS_OK : fail_memory("a delay finder");
    if (status != STATUS_OK || (status = fft_create(window, &finder->fft))) {
        delay_finder_destroy(finder);
        return status;
    }
    for (size_t i = 0; i < window; i++)
        finder->hann[i] = (float)(0.5 - 0.5 * cos(2 * M_PI * (double)i / (double)window));
    *result = finder;
    return STATUS_OK;
}

HALO_REALTIME void delay_finder_reset(struct delay_finder *finder)
{
    for (size_t b = 0; b < finder->blocks; b++) {
        finder->count[b] = 0;
        finder->filled[b] = false;
    }
    finder->next = finder->blocks;
}

/* Scales all bins to magnitude 1. `sign` -1: conjugates them, too. */
SIMD_CLONES
HALO_REALTIME static void keep_phases(float *spectrum, size_t bins, float sign)
{
    float most = SILENT;
    for (size_t k = 0; k < bins; k++) {
        float re = spectrum[2 * k], im = spectrum[2 * k + 1],
              power = NEARLY_SILENT * (re * re + im * im);
        most = power > most ? power : most;
    }
    for (size_t k = 0; k < bins; k++) {
        float re = spectrum[2 * k], im = spectrum[2 * k + 1], power = re * re + im * im;
        float scale = power > most ? 1 / sqrtf(power) : 0; /* 0 also if the power is NaN */
        spectrum[2 * k] = re * scale;
        spectrum[2 * k + 1] = im * scale * sign;
    }
}

SIMD_CLONES
HALO_REALTIME static void fade(float *values, float by, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] *= by;
}

HALO_REALTIME static void transform(struct delay_finder *finder, const float *samples,
                                    float *phases, float sign)
{
    audio_multiply(samples, finder->hann, finder->windowed, finder->window);
    fft_forward(finder->fft, finder->windowed, phases);
    keep_phases(phases, finder->window / 2 + 1, sign);
}

HALO_REALTIME static void add(struct delay_finder *finder, size_t block)
{
    size_t from = (finder->newest + finder->blocks - block) % finder->blocks;
    if (!finder->filled[from])
        return;
    if (finder->count[block] == 0)
        memset(finder->sums[block], 0, finder->floats * sizeof *finder->sums[block]);
    else if (finder->decay < 1)
        fade(finder->sums[block], finder->decay, finder->floats);
    fft_multiply_add(finder->sums[block], finder->spectrum, finder->past[from], finder->floats);
    finder->count[block] = finder->count[block] * (double)finder->decay + 1;
}

HALO_REALTIME void delay_finder_write(struct delay_finder *finder, const float *reference,
                                      const float *signal)
{
    finder->newest = (finder->newest + 1) % finder->blocks;
    transform(finder, reference, finder->past[finder->newest], -1);
    finder->filled[finder->newest] = true;
    if (!signal)
        return;
    transform(finder, signal, finder->spectrum, 1);
    for (size_t b = 0; b < finder->blocks; b++)
        add(finder, b);
    finder->next = 0;
    finder->best = (struct delay_found){0};
}

HALO_REALTIME static void search_block(struct delay_finder *finder, size_t block, size_t least)
{
    size_t window = finder->window, reach = window / 4;
    double count = finder->count[block];
    struct delay_found *best = &finder->best;
    if (count == 0)
        return;
    memcpy(finder->spectrum, finder->sums[block], finder->floats * sizeof *finder->spectrum);
    fft_inverse(finder->fft, finder->spectrum, finder->lags);
    for (size_t i = block == 0 ? window + least : window - reach + 1; i <= window + reach; i++) {
        double likeness = (double)finder->lags[i % window] / ((double)window * count);
        size_t frames = block * (window / 2) + i - window;
        bool is_nearby = frames <= best->frames + PEAK;
        if (likeness > (is_nearby ? 1 : 3) * best->likeness)
            *best = (struct delay_found){likeness, frames};
    }
}

HALO_REALTIME bool delay_finder_search(struct delay_finder *finder, size_t least, size_t count,
                                       struct delay_found *best)
{
    if (finder->next == finder->blocks)
        return false;
    for (; count > 0 && finder->next < finder->blocks; count--)
        search_block(finder, finder->next++, least);
    *best = finder->best;
    return finder->next == finder->blocks;
}
