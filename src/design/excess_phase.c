#include "design/excess_phase.h"

#include "signal/phase.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 50 };

static double complex unit(double complex value)
{
    double size = cabs(value);
    return size > 0 ? value / size : 1;
}

/* Bins of the filter: the conjugate of the excess phase, of magnitude 1. */
static void find_excess(struct fft_double *fft, const double complex *response, double rate,
                        double hertz, double complex *filter)
{
    size_t n = fft_double_length(fft);
    double complex *bins = fft_double_bins(fft);
    for (size_t k = 0; k <= n / 2; k++)
        bins[k] = cabs(response[k]);
    phase_minimum_of(fft);
    fft_double_forward(fft);
    for (size_t k = 0; k <= n / 2; k++) {
        double octaves = log2(fmax((double)k, 0.5) * rate / (double)n / hertz);
        double part = 0.5 + 0.5 * cos(M_PI * fmin(fmax(octaves, 0), 1));
        filter[k] = unit(part * unit(bins[k] * conj(response[k])) + 1 - part);
    }
}

/* Removes all that is `width` or more from time zero, after a fade over the last half. */
static void bound_time(double *samples, size_t n, size_t width)
{
    for (size_t i = 0; i < n; i++) {
        double time = 2 * (double)(i < n / 2 ? i : n - i) / (double)width - 1;
        samples[i] *= time < 1 ? (0.5 + 0.5 * cos(M_PI * fmax(time, 0))) / (double)n : 0;
    }
}

/* Finds a filter within `before` of time zero whose magnitude is nearly 1. */
static void bound_filter(struct fft_double *fft, size_t before, double complex *filter)
{
    size_t n = fft_double_length(fft), size = (n / 2 + 1) * sizeof *filter;
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t k = 0; round > 0 && k <= n / 2; k++)
            filter[k] = unit(filter[k]);
        memcpy(fft_double_bins(fft), filter, size);
        fft_double_inverse(fft);
        bound_time(fft_double_samples(fft), n, before);
        fft_double_forward(fft);
        memcpy(filter, fft_double_bins(fft), size);
    }
}

void excess_phase_undo(struct fft_double *fft, const double complex *response, double rate,
                       double hertz, double *taps, size_t before, size_t count,
                       double complex *scratch)
{
    size_t n = fft_double_length(fft), total = before + count;
    double *samples = fft_double_samples(fft);
    find_excess(fft, response, rate, hertz, scratch);
    bound_filter(fft, before, scratch);
    memset(samples, 0, n * sizeof *samples);
    memcpy(samples, taps, total * sizeof *samples);
    fft_double_forward(fft);
    for (size_t k = 0; k <= n / 2; k++)
        fft_double_bins(fft)[k] *= scratch[k] / (double)n;
    fft_double_inverse(fft);
    memcpy(taps, samples, total * sizeof *samples);
    phase_fade_out(taps + total - count / 8, count / 8);
}
