#include "fft.h"

#include "audio.h"
#include "simd.h"

#include <fftw3.h>
#include <stdlib.h>

struct fft {
    size_t n;
    fftwf_plan forward;
    fftwf_plan inverse;
};

enum { FLOATS_PER_LINE = 16 };

size_t fft_spectrum_floats(size_t n)
{
    size_t floats = 2 * (n / 2 + 1);
    return (floats + FLOATS_PER_LINE - 1) / FLOATS_PER_LINE * FLOATS_PER_LINE;
}

enum status fft_create(size_t n, struct fft **result)
{
    struct fft *fft = calloc(1, sizeof *fft);
    float *samples = audio_alloc(n);
    float *spectrum = audio_alloc(fft_spectrum_floats(n));
    if (fft && samples && spectrum) {
        fft->n = n;
        fftwf_complex *bins = (fftwf_complex *)spectrum;
        fft->forward = fftwf_plan_dft_r2c_1d((int)n, samples, bins, FFTW_ESTIMATE);
        fft->inverse = fftwf_plan_dft_c2r_1d((int)n, bins, samples, FFTW_ESTIMATE);
    }
    free(spectrum);
    free(samples);
    if (!fft || !fft->forward || !fft->inverse) {
        fft_destroy(fft);
        return fail_memory("a Fourier transform");
    }
    *result = fft;
    return STATUS_OK;
}

void fft_destroy(struct fft *fft)
{
    if (!fft)
        return;
    fftwf_destroy_plan(fft->forward);
    fftwf_destroy_plan(fft->inverse);
    free(fft);
}

size_t fft_length(const struct fft *fft)
{
    return fft->n;
}

void fft_forward(const struct fft *fft, float *samples, float *spectrum)
{
    fftwf_execute_dft_r2c(fft->forward, samples, (fftwf_complex *)spectrum);
}

void fft_inverse(const struct fft *fft, float *spectrum, float *samples)
{
    fftwf_execute_dft_c2r(fft->inverse, (fftwf_complex *)spectrum, samples);
}

SIMD_CLONES
static void multiply_add(float *restrict sum, const float *restrict a, const float *restrict b,
                         size_t floats)
{
    for (size_t i = 0; i < floats; i += 2) {
        sum[i] += a[i] * b[i] - a[i + 1] * b[i + 1];
        sum[i + 1] += a[i] * b[i + 1] + a[i + 1] * b[i];
    }
}

void fft_multiply_add(float *restrict sum, const float *restrict a, const float *restrict b,
                      size_t floats)
{
    multiply_add(sum, a, b, floats);
}

const char *fft_library(void)
{
    return fftwf_version;
}
