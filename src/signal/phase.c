#include "signal/phase.h"

#include <math.h>
#include <string.h>

enum {
    LENGTH_LEAST = 1 << 18,
    LENGTH_MOST = 1 << 22,
    OVERSAMPLING = 64, /* oversampling of the spectrum, up to LENGTH_MOST */
    OVERSAMPLING_LEAST = 8,
    FADE_FRACTION = 8, /* divides the taps: so many are faded */
};

static const double FLOOR = 1e-15; /* least magnitude relative to the largest; avoids log(0) */

size_t phase_transform_length(size_t count)
{
    size_t length = OVERSAMPLING * count;
    if (length < LENGTH_LEAST)
        length = LENGTH_LEAST;
    if (length > LENGTH_MOST)
        length = LENGTH_MOST;
    if (length < OVERSAMPLING_LEAST * count)
        length = OVERSAMPLING_LEAST * count;
    return fft_double_fitting(length);
}

double phase_linear_gain(const double *taps, size_t count, double frequency)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += taps[i] * cos(2 * M_PI * frequency * ((double)i - ((double)count - 1) / 2));
    return sum;
}

void phase_fade_out(double *taps, size_t count)
{
    for (size_t i = 0; i < count; i++)
        taps[i] *= 0.5 + 0.5 * cos(M_PI * ((double)i + 1) / ((double)count + 1));
}

void phase_fade_in(double *taps, size_t count)
{
    for (size_t i = 0; i < count; i++)
        taps[i] *= 0.5 - 0.5 * cos(M_PI * ((double)i + 1) / ((double)count + 1));
}

static void take_logarithms(double complex *bins, size_t count)
{
    double largest = 0;
    for (size_t k = 0; k < count; k++)
        largest = fmax(largest, creal(bins[k]));
    double least = largest > 0 ? largest * FLOOR : 1;
    for (size_t k = 0; k < count; k++)
        bins[k] = log(fmax(creal(bins[k]), least));
}

static void fold(double *cepstrum, size_t n)
{
    for (size_t i = 0; i < n; i++)
        cepstrum[i] *= (i == 0 || i == n / 2 ? 1.0 : i < n / 2 ? 2.0 : 0.0) / (double)n;
}

void phase_minimum_of(struct fft_double *fft)
{
    size_t n = fft_double_length(fft);
    double *samples = fft_double_samples(fft);
    double complex *bins = fft_double_bins(fft);
    take_logarithms(bins, n / 2 + 1);
    fft_double_inverse(fft);
    fold(samples, n);
    fft_double_forward(fft);
    for (size_t k = 0; k <= n / 2; k++)
        bins[k] = cexp(bins[k]);
    fft_double_inverse(fft);
    for (size_t i = 0; i < n; i++)
        samples[i] /= (double)n;
}

static void sample_magnitude(const struct phase_magnitude *magnitude, double rate,
                             struct fft_double *fft)
{
    size_t n = fft_double_length(fft);
    double complex *bins = fft_double_bins(fft);
    for (size_t k = 1; k <= n / 2; k++)
        bins[k] = magnitude->at(magnitude->context, rate * (double)k / (double)n);
    /* The product of |1 - exp(2 pi i k / n)| over k = 1..n-1 is n. So a zero or pole at 0 keeps the
     * mean of the logarithm right, if it is evaluated at 1 / n of a radian. */
    bins[0] = magnitude->at(magnitude->context, rate / (2 * M_PI * (double)n));
}

static void take_linear(struct fft_double *fft, double *taps, size_t count)
{
    size_t n = fft_double_length(fft), middle = (count - 1) / 2, fade = count / FADE_FRACTION;
    const double *samples = fft_double_samples(fft);
    fft_double_inverse(fft);
    for (size_t i = 0; i < count; i++)
        taps[i] = samples[(n + i - middle) % n] / (double)n;
    size_t symmetric = 2 * middle + 1; /* with an even count, the last tap is 0 */
    memset(taps + symmetric, 0, (count - symmetric) * sizeof *taps);
    phase_fade_in(taps, fade);
    phase_fade_out(taps + symmetric - fade, fade);
}

static void take_minimum(struct fft_double *fft, double *taps, size_t count)
{
    phase_minimum_of(fft);
    memcpy(taps, fft_double_samples(fft), count * sizeof *taps);
    phase_fade_out(taps + count - count / FADE_FRACTION, count / FADE_FRACTION);
}

enum status phase_design(const struct phase_magnitude *magnitude, double rate, enum phase phase,
                         double *taps, size_t count)
{
    struct fft_double *fft;
    TRY(fft_double_create(phase_transform_length(count), &fft));
    sample_magnitude(magnitude, rate, fft);
    if (phase == PHASE_LINEAR)
        take_linear(fft, taps, count);
    else
        take_minimum(fft, taps, count);
    fft_double_destroy(fft);
    return STATUS_OK;
}
