#include "convolve/exact.h"

#include "base/simd.h"
#include "signal/fft_double.h"

#include <stdlib.h>
#include <string.h>

enum {
    DIRECT_TAPS = 64, /* up to there sums take less time than transforms */
    CHUNK = 2048,     /* frames of a sum, which stay in the cache */
};

struct exact {
    size_t inputs, taps, frames;
    struct fft_double *fft; /* NULL: sums */
    double *sum;            /* these two are for sums: an output, */
    double *wide;           /* and inputs of taps - 1 + frames */
    double complex *bins;   /* of the inputs */
};

struct exact_mask {
    size_t columns, taps;
    size_t path_count;
    struct mask_path *paths;
    float *coefficients;
    double complex *spectra; /* of the columns, scaled by 1 / n; NULL: sums */
    bool is_transformed;
};

/* A power of two, or 5/8 or 3/4 of one. */
static size_t transform_length(size_t least)
{
    size_t n = fft_double_fitting(least < 16 ? 16 : least);
    if (n / 8 * 5 >= least)
        return n / 8 * 5;
    return n / 4 * 3 >= least ? n / 4 * 3 : n;
}

static size_t bins_of(const struct exact *exact)
{
    return fft_double_length(exact->fft) / 2 + 1;
}

enum status exact_create(size_t inputs, size_t taps, size_t frames, struct exact **result)
{
    struct exact *exact = calloc(1, sizeof *exact);
    if (!exact)
        return fail_memory("a proof");
    enum status status = STATUS_OK;
    size_t length = taps - 1 + frames;
    *exact = (struct exact){.inputs = inputs, .taps = taps, .frames = frames};
    if (taps > DIRECT_TAPS) {
        if ((status = fft_double_create(transform_length(length), &exact->fft)))
            goto fail;
        exact->bins = calloc(inputs * bins_of(exact), sizeof *exact->bins);
    } else {
        exact->sum = calloc(frames, sizeof *exact->sum);
        exact->wide = calloc(inputs * length, sizeof *exact->wide);
    }
    if (!exact->bins && (!exact->sum || !exact->wide)) {
        status = fail_memory("a proof");
        goto fail;
    }
    *result = exact;
    return STATUS_OK;
fail:
    exact_destroy(exact);
    return status;
}

void exact_destroy(struct exact *exact)
{
    if (!exact)
        return;
    fft_double_destroy(exact->fft);
    free(exact->sum);
    free(exact->wide);
    free(exact->bins);
    free(exact);
}

static void *copy(const void *from, size_t bytes)
{
    void *to = malloc(bytes + 1);
    if (to && bytes > 0)
        memcpy(to, from, bytes);
    return to;
}

enum status exact_mask_create(const struct exact *exact, const struct mask *mask,
                              struct exact_mask **result)
{
    struct exact_mask *own = calloc(1, sizeof *own);
    if (!own)
        return fail_memory("a proof");
    *own = (struct exact_mask){
        .columns = mask->columns, .taps = mask->taps, .path_count = mask->path_count};
    own->paths = copy(mask->paths, mask->path_count * sizeof *mask->paths);
    own->coefficients =
        copy(mask->coefficients, mask->columns * mask->taps * sizeof *mask->coefficients);
    if (exact->fft)
        own->spectra = calloc(mask->columns * bins_of(exact), sizeof *own->spectra);
    if (!own->paths || !own->coefficients || (exact->fft && !own->spectra)) {
        exact_mask_destroy(own);
        return fail_memory("a proof");
    }
    *result = own;
    return STATUS_OK;
}

void exact_mask_destroy(struct exact_mask *mask)
{
    if (!mask)
        return;
    free(mask->paths);
    free(mask->coefficients);
    free(mask->spectra);
    free(mask);
}

/* ---- sums ---- */

SIMD_CLONES
static void add_scaled(double *restrict sum, const double *restrict x, double scale, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sum[i] += scale * x[i];
}

static void sum_path(const struct exact *exact, const struct exact_mask *mask,
                     struct mask_path path)
{
    const float *column = mask->coefficients + path.column * mask->taps;
    const double *x = exact->wide + path.input * (exact->taps - 1 + exact->frames);
    for (size_t at = 0; at < exact->frames; at += CHUNK) {
        size_t count = exact->frames - at < CHUNK ? exact->frames - at : CHUNK;
        for (size_t k = 0; k < mask->taps; k++)
            add_scaled(exact->sum + at, x + exact->taps - 1 + at - k, (double)column[k], count);
    }
}

/* ---- transforms ---- */

static void transform(const struct exact *exact, const float *samples, size_t count, double scale,
                      double complex *spectrum)
{
    double *wide = fft_double_samples(exact->fft);
    for (size_t i = 0; i < count; i++)
        wide[i] = scale * (double)samples[i];
    memset(wide + count, 0, (fft_double_length(exact->fft) - count) * sizeof *wide);
    fft_double_forward(exact->fft);
    memcpy(spectrum, fft_double_bins(exact->fft), bins_of(exact) * sizeof *spectrum);
}

static void transform_mask(const struct exact *exact, struct exact_mask *mask)
{
    double scale = 1 / (double)fft_double_length(exact->fft);
    for (size_t c = 0; c < mask->columns; c++)
        transform(exact, mask->coefficients + c * mask->taps, mask->taps, scale,
                  mask->spectra + c * bins_of(exact));
    mask->is_transformed = true;
}

/* sum += x h, pairs of real and imaginary part; C's own product asks for NaN in each. */
SIMD_CLONES
static void add_product(double *restrict sum, const double *restrict x, const double *restrict h,
                        size_t bins)
{
    for (size_t i = 0; i < 2 * bins; i += 2) {
        sum[i] += x[i] * h[i] - x[i + 1] * h[i + 1];
        sum[i + 1] += x[i] * h[i + 1] + x[i + 1] * h[i];
    }
}

static void multiply_path(const struct exact *exact, const struct exact_mask *mask,
                          struct mask_path path)
{
    size_t bins = bins_of(exact);
    add_product((double *)fft_double_bins(exact->fft),
                (const double *)(exact->bins + path.input * bins),
                (const double *)(mask->spectra + path.column * bins), bins);
}

/* ---- both ---- */

void exact_take(struct exact *exact, const float *const *in)
{
    size_t length = exact->taps - 1 + exact->frames;
    for (size_t c = 0; c < exact->inputs; c++) {
        if (exact->fft)
            transform(exact, in[c], length, 1, exact->bins + c * bins_of(exact));
        for (size_t i = 0; !exact->fft && i < length; i++)
            exact->wide[c * length + i] = in[c][i];
    }
}

const double *exact_output(struct exact *exact, struct exact_mask *mask, size_t output)
{
    if (!exact->fft) {
        memset(exact->sum, 0, exact->frames * sizeof *exact->sum);
        for (size_t p = 0; p < mask->path_count; p++)
            if (mask->paths[p].output == output)
                sum_path(exact, mask, mask->paths[p]);
        return exact->sum;
    }
    if (!mask->is_transformed)
        transform_mask(exact, mask);
    memset(fft_double_bins(exact->fft), 0, bins_of(exact) * sizeof *exact->bins);
    for (size_t p = 0; p < mask->path_count; p++)
        if (mask->paths[p].output == output)
            multiply_path(exact, mask, mask->paths[p]);
    fft_double_inverse(exact->fft);
    return fft_double_samples(exact->fft) + exact->taps - 1;
}
