#include "signal/taps.h"

#include "signal/fft_double.h"

#include <stdlib.h>
#include <string.h>

/* Up to so many products are summed; more go by FFT, unless one side has few taps, like a gain. */
enum { DIRECT_MOST = 1 << 20, DIRECT_TAPS = 32 };

static enum status convolve_direct(const double *a, size_t a_count, const double *b, size_t b_count,
                                   double *result)
{
    double *sum = calloc(a_count + b_count - 1, sizeof *sum);
    if (!sum)
        return fail_memory("a mask");
    for (size_t i = 0; i < a_count; i++)
        for (size_t k = 0; k < b_count; k++)
            sum[i + k] += a[i] * b[k];
    for (size_t i = 0; i < a_count + b_count - 1; i++)
        result[i] = sum[i];
    free(sum);
    return STATUS_OK;
}

static enum status convolve_fft(const double *a, size_t a_count, const double *b, size_t b_count,
                                double *result)
{
    struct fft_double *fft;
    size_t count = a_count + b_count - 1, n = fft_double_fitting(count < 2 ? 2 : count);
    TRY(fft_double_create(n, &fft));
    double complex *first = calloc(n / 2 + 1, sizeof *first);
    if (!first) {
        fft_double_destroy(fft);
        return fail_memory("a mask");
    }
    double *samples = fft_double_samples(fft);
    double complex *bins = fft_double_bins(fft);
    for (size_t i = 0; i < n; i++)
        samples[i] = i < a_count ? a[i] : 0;
    fft_double_forward(fft);
    memcpy(first, bins, (n / 2 + 1) * sizeof *first);
    for (size_t i = 0; i < n; i++)
        samples[i] = i < b_count ? b[i] : 0;
    fft_double_forward(fft);
    for (size_t i = 0; i <= n / 2; i++)
        bins[i] *= first[i];
    fft_double_inverse(fft);
    for (size_t i = 0; i < count; i++)
        result[i] = samples[i] / (double)n;
    fft_double_destroy(fft);
    free(first);
    return STATUS_OK;
}

enum status taps_convolve(const double *a, size_t a_count, const double *b, size_t b_count,
                          double *result)
{
    size_t fewer = a_count < b_count ? a_count : b_count;
    return fewer <= DIRECT_TAPS || fewer <= DIRECT_MOST / (a_count + b_count - 1)
               ? convolve_direct(a, a_count, b, b_count, result)
               : convolve_fft(a, a_count, b, b_count, result);
}
