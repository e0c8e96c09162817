#include "truth.h"

#include <complex.h>
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

/* CMPLX of C11, which clang's headers lack on some systems. */
static double complex pair(double re, double im)
{
    union {
        double parts[2];
        double complex number;
    } pair = {{re, im}};
    return pair.number;
}

static void *must(void *memory)
{
    if (!memory) {
        perror("truth");
        abort();
    }
    return memory;
}

/* Iterative radix 2, in place; twiddles from one table. */
static void transform(double complex *a, size_t n, const double complex *roots, int inverse)
{
    for (size_t i = 1, j = 0; i < n; i++) {
        size_t bit = n >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            double complex swap = a[i];
            a[i] = a[j];
            a[j] = swap;
        }
    }
    for (size_t half = 1; half < n; half *= 2) {
        size_t stride = n / 2 / half;
        for (size_t start = 0; start < n; start += 2 * half) {
            for (size_t k = 0; k < half; k++) {
                double complex root = roots[k * stride];
                if (inverse)
                    root = conj(root);
                double complex u = a[start + k], v = a[start + k + half];
                double vr = creal(v) * creal(root) - cimag(v) * cimag(root);
                double vi = creal(v) * cimag(root) + cimag(v) * creal(root);
                a[start + k] = u + pair(vr, vi);
                a[start + k + half] = u - pair(vr, vi);
            }
        }
    }
}

static double complex *roots_of(size_t n)
{
    static double complex *roots = NULL;
    static size_t length = 0;
    if (length != n) {
        free(roots);
        roots = must(malloc(n / 2 * sizeof *roots));
        for (size_t k = 0; k < n / 2; k++) {
            double angle = -2 * acos(-1.0) * (double)k / (double)n;
            roots[k] = pair(cos(angle), sin(angle));
        }
        length = n;
    }
    return roots;
}

void truth_add_plain(const float *x, size_t n, const float *h, size_t taps, double *y)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < taps; k++)
            y[i + k] += (double)x[i] * (double)h[k];
}

/* One piece of x by a transform of `length`. */
static void add_piece(const float *x, size_t n, const float *h, size_t taps, double complex *a,
                      size_t length, double *y)
{
    /* One complex transform of both: x real, h imaginary; (x + ih)^2 has 2 x*h imaginary. */
    for (size_t i = 0; i < length; i++)
        a[i] = pair(i < n ? (double)x[i] : 0, i < taps ? (double)h[i] : 0);
    const double complex *roots = roots_of(length);
    transform(a, length, roots, 0);
    for (size_t i = 0; i < length; i++) {
        double re = creal(a[i]), im = cimag(a[i]);
        a[i] = pair(re * re - im * im, 2 * re * im);
    }
    transform(a, length, roots, 1);
    for (size_t i = 0; i < n + taps - 1; i++)
        y[i] += cimag(a[i]) / 2 / (double)length;
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
    double complex *a = must(malloc(length * sizeof *a));
    for (size_t at = 0, most = length - taps + 1; at < n; at += most)
        add_piece(x + at, n - at < most ? n - at : most, h, taps, a, length, y + at);
    free(a);
}

double **truth_render(const struct mask *mask, float *const *x, size_t n)
{
    double **rows = must(calloc(mask->outputs, sizeof *rows));
    for (size_t o = 0; o < mask->outputs; o++)
        rows[o] = must(calloc(n + mask->taps, sizeof **rows));
    for (size_t p = 0; p < mask->path_count; p++)
        truth_add(x[mask->paths[p].input], n, mask_column(mask, mask->paths[p].column), mask->taps,
                  rows[mask->paths[p].output]);
    return rows;
}

void truth_free(double **rows, size_t count)
{
    for (size_t r = 0; rows && r < count; r++)
        free(rows[r]);
    free(rows);
}

struct mask *truth_noise_mask(uint64_t seed, size_t channels, size_t taps)
{
    struct mask *mask = NULL;
    size_t columns = channels > 1 ? 2 * channels : 1;
    if (mask_create("noise", columns, taps, &mask) != STATUS_OK)
        abort();
    truth_noise(seed, mask->coefficients, columns * taps);
    mask->inputs = mask->outputs = channels;
    mask->paths = must(calloc(columns, sizeof *mask->paths));
    for (size_t c = 0; c < channels; c++)
        mask->paths[mask->path_count++] = (struct mask_path){c, c, c};
    for (size_t c = 0; channels > 1 && c < channels; c++)
        mask->paths[mask->path_count++] = (struct mask_path){c, (c + 1) % channels, channels + c};
    return mask;
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
