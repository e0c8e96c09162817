#include "convolve/exact.h"

#include "base/simd.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    DIRECT_TAPS = 64,          /* up to as many taps, sums take less time than transforms */
    CHUNK = 2048,              /* frames of a sum; they stay in the cache */
    TRANSFORM_LEAST = 1 << 13, /* samples */
    TRANSFORM_MOST = 1 << 17,  /* samples; longer transforms leave the cache */
};

/* A textbook Fourier transform of n real samples: a transform of n / 2 complex points (Stockham),
 * then a pass that makes their spectrum that of the samples (Press et al., Numerical Recipes,
 * 12.3). */
struct transform {
    size_t n;
    double *samples;
    double complex *bins;           /* n / 2 + 1 */
    double complex *turns;          /* [k] e^(-2 pi i k / n), k < n / 2 */
    double complex *points, *spare; /* n / 2 + 1 each */
};

/* Transforms are of overlapping windows of the input, `hop` frames apart. Each window gives `hop`
 * outputs. A mask longer than half a transform is divided into partitions of `hop` taps. */
struct exact {
    size_t inputs, taps, frames;
    size_t hop, windows;   /* windows: of a stretch and of the frames before it */
    size_t partitions;     /* partitions of the longest mask */
    struct transform *fft; /* NULL: outputs are computed as sums */
    double *sum;           /* one output */
    double *wide;          /* inputs for direct sums, taps - 1 + frames each */
    double complex *bins;  /* spectra of all windows of each input */
};

struct exact_mask {
    size_t columns, taps;
    size_t path_count;
    struct mask_path *paths;
    double *coefficients;
    /* of all partitions of each column, scaled by 1 / n; NULL: outputs are computed as sums */
    double complex *spectra;
    bool is_transformed;
};

/* C11's CMPLX, which clang 14 lacks with glibc. a + b * I would be wrong for infinities. */
static double complex complex_of(double real, double imaginary)
{
    union {
        double pair[2];
        double complex value;
    } number = {{real, imaginary}};
    return number.value;
}

static void destroy_transform(struct transform *fft)
{
    if (!fft)
        return;
    free(fft->samples);
    free(fft->bins);
    free(fft->turns);
    free(fft->points);
    free(fft->spare);
    free(fft);
}

static enum status create_transform(size_t n, struct transform **result)
{
    struct transform *fft = calloc(1, sizeof *fft);
    if (!fft)
        return fail_memory("a proof");
    *fft = (struct transform){.n = n,
                              .samples = calloc(n, sizeof *fft->samples),
                              .bins = calloc(n / 2 + 1, sizeof *fft->bins),
                              .turns = calloc(n / 2, sizeof *fft->turns),
                              .points = calloc(n / 2 + 1, sizeof *fft->points),
                              .spare = calloc(n / 2 + 1, sizeof *fft->spare)};
    if (!fft->samples || !fft->bins || !fft->turns || !fft->points || !fft->spare) {
        destroy_transform(fft);
        return fail_memory("a proof");
    }
    for (size_t k = 0; k < n / 2; k++) {
        double angle = 2 * 3.14159265358979323846 * (double)k / (double)n;
        fft->turns[k] = complex_of(cos(angle), -sin(angle));
    }
    *result = fft;
    return STATUS_OK;
}

static size_t power_of_two_from(size_t least)
{
    size_t n = 2;
    while (n < least)
        n *= 2;
    return n;
}

static size_t bins_of(const struct exact *exact)
{
    return exact->fft->n / 2 + 1;
}

static enum status create_transforms(struct exact *exact)
{
    size_t taps = exact->taps, n = power_of_two_from(4 * taps);
    size_t enough = power_of_two_from(taps - 1 + exact->frames);
    n = n < TRANSFORM_LEAST ? TRANSFORM_LEAST : n > TRANSFORM_MOST ? TRANSFORM_MOST : n;
    n = n < enough ? n : enough;
    exact->hop = taps <= n / 2 ? n - taps + 1 : n / 2;
    exact->partitions = taps <= n / 2 ? 1 : (taps + exact->hop - 1) / exact->hop;
    exact->windows = exact->partitions - 1 + (exact->frames + exact->hop - 1) / exact->hop;
    TRY(create_transform(n, &exact->fft));
    exact->bins = calloc(exact->inputs * exact->windows * bins_of(exact), sizeof *exact->bins);
    return exact->bins ? STATUS_OK : fail_memory("a proof");
}

static enum status create_buffers(struct exact *exact)
{
    exact->sum = calloc(exact->frames, sizeof *exact->sum);
    if (!exact->sum)
        return fail_memory("a proof");
    if (exact->taps > DIRECT_TAPS)
        return create_transforms(exact);
    exact->wide = calloc(exact->inputs * (exact->taps - 1 + exact->frames), sizeof *exact->wide);
    return exact->wide ? STATUS_OK : fail_memory("a proof");
}

enum status exact_create(size_t inputs, size_t taps, size_t frames, struct exact **result)
{
    struct exact *exact = calloc(1, sizeof *exact);
    if (!exact)
        return fail_memory("a proof");
    *exact = (struct exact){.inputs = inputs, .taps = taps, .frames = frames};
    enum status status = create_buffers(exact);
    if (status != STATUS_OK) {
        exact_destroy(exact);
        return status;
    }
    *result = exact;
    return STATUS_OK;
}

void exact_destroy(struct exact *exact)
{
    if (!exact)
        return;
    destroy_transform(exact->fft);
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
        own->spectra =
            calloc(mask->columns * exact->partitions * bins_of(exact), sizeof *own->spectra);
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
    const double *column = mask->coefficients + path.column * mask->taps;
    const double *x = exact->wide + path.input * (exact->taps - 1 + exact->frames);
    for (size_t at = 0; at < exact->frames; at += CHUNK) {
        size_t count = exact->frames - at < CHUNK ? exact->frames - at : CHUNK;
        for (size_t k = 0; k < mask->taps; k++)
            add_scaled(exact->sum + at, x + exact->taps - 1 + at - k, column[k], count);
    }
}

/* ---- transforms ---- */

/* The product without the checks for NaN that C's own product makes. */
static inline double complex times(double complex a, double complex b)
{
    return complex_of(creal(a) * creal(b) - cimag(a) * cimag(b),
                      creal(a) * cimag(b) + cimag(a) * creal(b));
}

/* Transforms the points in place. */
SIMD_CLONES
static void transform_points(struct transform *fft)
{
    size_t turn = 2; /* the table is for n points, the first pass has n / 2 */
    for (size_t half = fft->n / 4, side = 1; half > 0; half /= 2, side *= 2, turn *= 2) {
        const double complex *x = fft->points;
        double complex *y = fft->spare;
        for (size_t j = 0; j < half; j++)
            for (size_t i = 0; i < side; i++) {
                double complex a = x[j * side + i], b = x[(j + half) * side + i];
                y[2 * j * side + i] = a + b;
                y[(2 * j + 1) * side + i] = times(a - b, fft->turns[j * turn]);
            }
        fft->spare = fft->points;
        fft->points = y;
    }
}

static void forward(struct transform *fft)
{
    size_t half = fft->n / 2;
    for (size_t k = 0; k < half; k++)
        fft->points[k] = complex_of(fft->samples[2 * k], fft->samples[2 * k + 1]);
    transform_points(fft);
    const double complex *z = fft->points;
    fft->bins[0] = creal(z[0]) + cimag(z[0]);
    fft->bins[half] = creal(z[0]) - cimag(z[0]);
    for (size_t k = 1; k < half; k++) {
        double complex mirror = conj(z[half - k]);
        double complex rest = times(z[k] - mirror, fft->turns[k]);
        fft->bins[k] = (z[k] + mirror + complex_of(cimag(rest), -creal(rest))) / 2;
    }
}

/* The inverse transform, n times too large. */
static void inverse(struct transform *fft)
{
    size_t half = fft->n / 2;
    const double complex *bins = fft->bins;
    for (size_t k = 0; k < half; k++) {
        double complex mirror = conj(bins[half - k]);
        double complex rest = times(bins[k] - mirror, conj(fft->turns[k]));
        fft->points[k] = conj(bins[k] + mirror + complex_of(-cimag(rest), creal(rest)));
    }
    transform_points(fft);
    for (size_t k = 0; k < half; k++) {
        fft->samples[2 * k] = creal(fft->points[k]);
        fft->samples[2 * k + 1] = -cimag(fft->points[k]);
    }
}

/* The spectrum of n samples. Samples `from` up to `to` are given, the others are zero. */
static void transform(const struct exact *exact, const double *given, size_t from, size_t to,
                      double scale, double complex *spectrum)
{
    size_t n = exact->fft->n;
    double *wide = exact->fft->samples;
    memset(wide, 0, from * sizeof *wide);
    for (size_t i = from; i < to; i++)
        wide[i] = scale * given[i - from];
    memset(wide + to, 0, (n - to) * sizeof *wide);
    forward(exact->fft);
    memcpy(spectrum, exact->fft->bins, bins_of(exact) * sizeof *spectrum);
}

static void transform_mask(const struct exact *exact, struct exact_mask *mask)
{
    double scale = 1 / (double)exact->fft->n;
    size_t length = exact->partitions > 1 ? exact->hop : exact->taps;
    double complex *spectrum = mask->spectra;
    for (size_t c = 0; c < mask->columns; c++)
        for (size_t p = 0; p < exact->partitions; p++, spectrum += bins_of(exact)) {
            size_t at = p * length, left = at < mask->taps ? mask->taps - at : 0;
            transform(exact, mask->coefficients + c * mask->taps + (left ? at : 0), 0,
                      left < length ? left : length, scale, spectrum);
        }
    mask->is_transformed = true;
}

/* The spectrum of a window. A window ends with the `hop` frames of its outputs. Outside the given
 * frames there is silence. */
static void transform_window(const struct exact *exact, const double *in, size_t window,
                             double complex *spectrum)
{
    size_t n = exact->fft->n, length = exact->taps - 1 + exact->frames;
    int64_t first = (int64_t)(window * exact->hop + exact->hop + exact->taps - 1) -
                    (int64_t)((exact->partitions - 1) * exact->hop + n);
    size_t from = first < 0 ? (size_t)-first : 0, at = first < 0 ? 0 : (size_t)first;
    size_t count = length - at < n - from ? length - at : n - from;
    transform(exact, in + at, from, from + count, 1, spectrum);
}

/* sum += x h, with pairs of real and imaginary part. C's own product would check for NaN. */
SIMD_CLONES
static void add_product(double *restrict sum, const double *restrict x, const double *restrict h,
                        size_t bins)
{
    for (size_t i = 0; i < 2 * bins; i += 2) {
        sum[i] += x[i] * h[i] - x[i + 1] * h[i + 1];
        sum[i + 1] += x[i] * h[i + 1] + x[i + 1] * h[i];
    }
}

/* Multiplies and adds one path. `last`: the window of the newest frames. */
static void multiply_path(const struct exact *exact, const struct exact_mask *mask,
                          struct mask_path path, size_t last)
{
    size_t bins = bins_of(exact);
    const double complex *x = exact->bins + (path.input * exact->windows + last) * bins;
    const double complex *h = mask->spectra + path.column * exact->partitions * bins;
    for (size_t p = 0; p < exact->partitions; p++)
        add_product((double *)exact->fft->bins, (const double *)(x - p * bins),
                    (const double *)(h + p * bins), bins);
}

static void multiply(const struct exact *exact, const struct exact_mask *mask, size_t output)
{
    size_t n = exact->fft->n;
    for (size_t at = 0, last = exact->partitions - 1; at < exact->frames;
         at += exact->hop, last++) {
        size_t left = exact->frames - at;
        memset(exact->fft->bins, 0, bins_of(exact) * sizeof *exact->bins);
        for (size_t p = 0; p < mask->path_count; p++)
            if (mask->paths[p].output == output)
                multiply_path(exact, mask, mask->paths[p], last);
        inverse(exact->fft);
        memcpy(exact->sum + at, exact->fft->samples + n - exact->hop,
               (left < exact->hop ? left : exact->hop) * sizeof *exact->sum);
    }
}

/* ---- sums and transforms ---- */

void exact_take(struct exact *exact, const double *const *in)
{
    size_t length = exact->taps - 1 + exact->frames;
    for (size_t c = 0; c < exact->inputs; c++) {
        for (size_t w = 0; w < exact->windows; w++)
            transform_window(exact, in[c], w,
                             exact->bins + (c * exact->windows + w) * bins_of(exact));
        for (size_t i = 0; !exact->fft && i < length; i++)
            exact->wide[c * length + i] = in[c][i];
    }
}

const double *exact_output(struct exact *exact, struct exact_mask *mask, size_t output)
{
    if (exact->fft && !mask->is_transformed)
        transform_mask(exact, mask);
    if (exact->fft) {
        multiply(exact, mask, output);
        return exact->sum;
    }
    memset(exact->sum, 0, exact->frames * sizeof *exact->sum);
    for (size_t p = 0; p < mask->path_count; p++)
        if (mask->paths[p].output == output)
            sum_path(exact, mask, mask->paths[p]);
    return exact->sum;
}
