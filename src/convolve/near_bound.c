#include "convolve/near_bound.h"

#include "base/realtime.h"
#include "base/simd.h"
#include "signal/fft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of each precision: clang gives clones resolvers that the linker sees. */
#define energy_of REAL(energy_of)
#define multiply_add_double REAL(multiply_add_double)

/* Of the bound: up to there single precision stays below -132 dB. */
static const double NEAR = 0.25;
/* A sample's own error is up to 11 roundings of it; those of several taps average. */
static const double NEAR_DELTA = 0.35;

void near_bound_init(struct near_bound *bound, const struct mask *mask)
{
    *bound = (struct near_bound){.norm = mask_norm(mask)};
    for (size_t o = 0; o < mask->outputs; o++) {
        double energy = 0;
        for (size_t p = 0; p < mask->path_count; p++) {
            const double *taps = mask_column(mask, mask->paths[p].column);
            for (size_t k = 0; mask->paths[p].output == o && k < mask->taps; k++)
                energy += taps[k] * taps[k];
        }
        bound->delta = fmax(bound->delta, sqrt(energy));
    }
}

/* The largest magnitude in a spectrum, squared. */
static double largest_square(const real *spectrum, size_t n)
{
    real largest = 0;
    for (size_t i = 0; i < 2 * (n / 2 + 1); i += 2) {
        real square = spectrum[i] * spectrum[i] + spectrum[i + 1] * spectrum[i + 1];
        largest = square > largest ? square : largest;
    }
    return (double)largest;
}

void near_bound_include(struct near_bound *bound, const struct mask *mask, const real *spectra,
                        size_t partitions, size_t n)
{
    size_t floats = fft_spectrum_floats(n);
    for (size_t o = 0; o < mask->outputs; o++) {
        double gain = 0;
        for (size_t p = 0; p < mask->path_count; p++)
            for (size_t i = 0; mask->paths[p].output == o && i < partitions; i++)
                gain += (double)n *
                        sqrt(largest_square(
                            spectra + (mask->paths[p].column * partitions + i) * floats, n));
        bound->gain = fmax(bound->gain, gain);
    }
}

bool near_bound_is_possible(const struct near_bound *bound)
{
    return !REAL_IS_DOUBLE && bound->gain > NEAR * bound->norm;
}

/* The largest magnitude in a column's spectrum. */
static double largest_in_column(const struct fft_double *fft, const struct mask *mask, size_t c)
{
    size_t n = fft_double_length(fft);
    double *samples = fft_double_samples(fft), largest = 0;
    memset(samples, 0, n * sizeof *samples);
    memcpy(samples, mask_column(mask, c), mask->taps * sizeof *samples);
    fft_double_forward(fft);
    for (size_t i = 0; i <= n / 2; i++)
        largest = fmax(largest, cabs(fft_double_bins(fft)[i]));
    return largest;
}

bool near_bound_concerns(const struct mask *mask)
{
    struct near_bound bound;
    struct fft_double *fft = NULL;
    double *largest = calloc(mask->columns, sizeof *largest);
    bool concerns = true;
    near_bound_init(&bound, mask);
    if (largest && fft_double_create(fft_double_fitting(mask->taps), &fft) == STATUS_OK) {
        for (size_t c = 0; c < mask->columns; c++)
            largest[c] = largest_in_column(fft, mask, c);
        for (size_t o = 0; o < mask->outputs; o++) {
            double gain = 0;
            for (size_t p = 0; p < mask->path_count; p++)
                gain += mask->paths[p].output == o ? largest[mask->paths[p].column] : 0;
            bound.gain = fmax(bound.gain, gain);
        }
        concerns = near_bound_is_possible(&bound);
    }
    fft_double_destroy(fft);
    free(largest);
    return concerns;
}

SIMD_CLONES
HALO_REALTIME static real energy_of(const real *values, size_t count)
{
    real sums[16] = {0};
    size_t i = 0;
    for (; i + 16 <= count; i += 16)
        for (size_t k = 0; k < 16; k++)
            sums[k] += values[i + k] * values[i + k];
    for (; i < count; i++)
        sums[0] += values[i] * values[i];
    for (size_t k = 1; k < 16; k++)
        sums[0] += sums[k];
    return sums[0];
}

HALO_REALTIME bool near_bound_is_near(const struct near_bound *bound, const real *samples, size_t n,
                                      real peak)
{
    if (bound->delta > NEAR_DELTA * bound->norm)
        return true;
    double near = NEAR * bound->norm * (double)peak / bound->gain;
    return (double)energy_of(samples, n) > near * near * (double)n;
}

HALO_REALTIME void near_bound_forward(const struct fft_double *fft, const real *samples,
                                      real *spectrum)
{
    size_t n = fft_double_length(fft);
    double *wide = fft_double_samples(fft);
    for (size_t i = 0; i < n; i++)
        wide[i] = samples[i];
    fft_double_forward(fft);
    const double *bins = (const double *)fft_double_bins(fft);
    for (size_t i = 0; i < 2 * (n / 2 + 1); i++)
        spectrum[i] = (real)bins[i];
}

HALO_REALTIME void near_bound_clear(const struct fft_double *fft)
{
    memset(fft_double_bins(fft), 0, (fft_double_length(fft) / 2 + 1) * sizeof(double complex));
}

SIMD_CLONES
HALO_REALTIME static void multiply_add_double(double *restrict sum, const real *restrict a,
                                              const real *restrict b, size_t floats)
{
    for (size_t i = 0; i < floats; i += 2) {
        double ar = a[i], ai = a[i + 1], br = b[i], bi = b[i + 1];
        sum[i] = sum[i] + ar * br - ai * bi; /* this order: see fft.c */
        sum[i + 1] = sum[i + 1] + ar * bi + ai * br;
    }
}

HALO_REALTIME void near_bound_multiply_add(const struct fft_double *fft, const real *a,
                                           const real *b)
{
    multiply_add_double((double *)fft_double_bins(fft), a, b, 2 * (fft_double_length(fft) / 2 + 1));
}

HALO_REALTIME void near_bound_inverse(const struct fft_double *fft, real *samples)
{
    size_t n = fft_double_length(fft);
    fft_double_inverse(fft);
    const double *wide = fft_double_samples(fft);
    for (size_t i = 0; i < n; i++)
        samples[i] = (real)wide[i];
}
