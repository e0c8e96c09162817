#include "truth.h"

#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void truth_noise(uint64_t seed, float *samples, size_t count)
{
    uint64_t state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    for (size_t i = 0; i < count; i++) {
        state += UINT64_C(0x9E3779B97F4A7C15);
        uint64_t z = state;
        z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
        z ^= z >> 31;
        samples[i] = (float)((double)(z >> 11) * 0x1p-52 - 1.0);
    }
}

void truth_noise_taps(uint64_t seed, double *taps, size_t count)
{
    float *samples = malloc(count * sizeof *samples + 1);
    if (!samples)
        abort();
    truth_noise(seed, samples, count);
    for (size_t i = 0; i < count; i++)
        taps[i] = (double)samples[i];
    free(samples);
}

static void *must(void *memory)
{
    if (!memory) {
        perror("truth");
        abort();
    }
    return memory;
}

typedef double point[2];

/* Transforms of one length, as in textbooks (by two, Stockham's order); the last one is kept. */
static struct {
    size_t length;
    point *turns; /* [k] e^(-2 pi i k / length), k < length / 2 */
    point *x, *h, *spare;
} fft;

static void fft_of(size_t length)
{
    if (fft.length == length)
        return;
    free(fft.turns);
    free(fft.x);
    free(fft.h);
    free(fft.spare);
    fft.length = length;
    fft.turns = must(calloc(length / 2, sizeof *fft.turns));
    fft.x = must(calloc(length, sizeof *fft.x));
    fft.h = must(calloc(length, sizeof *fft.h));
    fft.spare = must(calloc(length, sizeof *fft.spare));
    for (size_t k = 0; k < length / 2; k++) {
        fft.turns[k][0] = cos(2 * M_PI * (double)k / (double)length);
        fft.turns[k][1] = -sin(2 * M_PI * (double)k / (double)length);
    }
}

/* *x and `spare` may change places. */
static void transform(point **x)
{
    for (size_t half = fft.length / 2, side = 1; half > 0; half /= 2, side *= 2) {
        for (size_t i = 0; i < half * side; i++) {
            size_t j = i / side;
            const double *a = (*x)[i], *b = (*x)[i + half * side], *turn = fft.turns[j * side];
            double *sum = fft.spare[i + j * side], *rest = fft.spare[i + (j + 1) * side];
            double re = a[0] - b[0], im = a[1] - b[1];
            sum[0] = a[0] + b[0];
            sum[1] = a[1] + b[1];
            rest[0] = re * turn[0] - im * turn[1];
            rest[1] = re * turn[1] + im * turn[0];
        }
        point *done = fft.spare;
        fft.spare = *x;
        *x = done;
    }
}

/* The real parts; and the imaginary ones, which another piece of sound has. */
static void place(point *x, size_t part, const float *samples, size_t count)
{
    for (size_t i = 0; i < fft.length; i++)
        x[i][part] = i < count ? (double)samples[i] : 0;
}

void truth_add_plain(const float *x, size_t n, const float *h, size_t taps, double *y)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < taps; k++)
            y[i + k] += (double)x[i] * (double)h[k];
}

void truth_add(const float *x, size_t n, const float *h, size_t taps, double *y)
{
    if (n * taps <= 1 << 18 || taps <= 32) {
        truth_add_plain(x, n, h, taps, y);
        return;
    }
    size_t length = 4096; /* pieces whose transform stays in the cache, where the mask lets them */
    while (length < 4 * taps && length < n + taps - 1)
        length *= 2;
    fft_of(length);
    place(fft.h, 0, h, taps);
    place(fft.h, 1, h, 0);
    transform(&fft.h);
    for (size_t at = 0, most = length - taps + 1; at < n; at += 2 * most) {
        size_t count = n - at < most ? n - at : most, left = n - at - count;
        size_t next = left < most ? left : most;
        place(fft.x, 0, x + at, count);
        place(fft.x, 1, x + at + count, next);
        transform(&fft.x);
        for (size_t k = 0; k < length; k++) {
            double re = fft.x[k][0], im = fft.x[k][1];
            fft.x[k][0] = re * fft.h[k][0] - im * fft.h[k][1];
            fft.x[k][1] = -(re * fft.h[k][1] + im * fft.h[k][0]); /* for the way back */
        }
        transform(&fft.x);
        for (size_t i = 0; i < count + taps - 1; i++)
            y[at + i] += fft.x[i][0] / (double)length;
        for (size_t i = 0; next > 0 && i < next + taps - 1; i++)
            y[at + count + i] -= fft.x[i][1] / (double)length;
    }
}

static void *kept(void *memory)
{
    suite_release(free, must(memory));
    return memory;
}

double **truth_render(const struct mask *mask, float *const *x, size_t n)
{
    double **rows = kept(calloc(mask->outputs, sizeof *rows));
    float *taps = must(mask_round(mask));
    for (size_t o = 0; o < mask->outputs; o++)
        rows[o] = kept(calloc(n + mask->taps, sizeof **rows));
    for (size_t p = 0; p < mask->path_count; p++)
        truth_add(x[mask->paths[p].input], n, taps + mask->paths[p].column * mask->taps, mask->taps,
                  rows[mask->paths[p].output]);
    free(taps);
    return rows;
}

struct mask *truth_noise_mask(uint64_t seed, size_t channels, size_t taps)
{
    struct mask *mask = NULL;
    size_t columns = channels > 1 ? 2 * channels : 1;
    if (mask_create("noise", columns, taps, &mask) != STATUS_OK)
        abort();
    truth_noise_taps(seed, mask->coefficients, columns * taps);
    mask->inputs = mask->outputs = channels;
    mask->paths = must(calloc(columns, sizeof *mask->paths));
    for (size_t c = 0; c < channels; c++)
        mask->paths[mask->path_count++] = (struct mask_path){c, c, c};
    for (size_t c = 0; channels > 1 && c < channels; c++)
        mask->paths[mask->path_count++] = (struct mask_path){c, (c + 1) % channels, channels + c};
    return suite_mask(mask);
}

static double ratio_db(double a, double b)
{
    return a == 0 ? -INFINITY : 20 * log10(a / b);
}

double truth_error_bound_db(const struct truth_error *error)
{
    return ratio_db(error->largest, error->input_peak * error->mask_norm);
}

double truth_error_peak_db(const struct truth_error *error)
{
    return ratio_db(error->largest, error->output_peak);
}
