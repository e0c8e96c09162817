#include "noise_spectrum.h"

#include "signal/fft_double.h"
#include "suite.h"

#include <complex.h>
#include <math.h>

static const double PI = 3.14159265358979323846;

void noise_quantise(enum dither dither, uint32_t rate, const double *samples, size_t frames,
                    int32_t *out)
{
    struct quantiser *quantiser = NULL;
    const struct quantiser_settings settings = {16, dither, 1, rate};
    ck_assert_int_eq(quantiser_create(&settings, &quantiser), STATUS_OK);
    quantiser_interleave_in_double(quantiser, &samples, 0, frames, out);
    for (size_t i = 0; i < frames; i++)
        out[i] >>= 16;
    quantiser_destroy(quantiser);
}

void noise_spectrum(const double *error, size_t frames, double bins[static NOISE_PART / 2])
{
    struct fft_double *fft = NULL;
    ck_assert_int_eq(fft_double_create(NOISE_PART, &fft), STATUS_OK);
    size_t parts = frames / NOISE_PART;
    for (size_t k = 0; k < NOISE_PART / 2; k++)
        bins[k] = 0;
    for (size_t p = 0; p < parts; p++) {
        for (size_t i = 0; i < NOISE_PART; i++)
            fft_double_samples(fft)[i] =
                error[p * NOISE_PART + i] * (1 - cos(2 * PI * (double)i / NOISE_PART));
        fft_double_forward(fft);
        for (size_t k = 0; k < NOISE_PART / 2; k++) {
            double magnitude = cabs(fft_double_bins(fft)[k]);
            bins[k] += magnitude * magnitude / (1.5 * NOISE_PART * (double)parts);
        }
    }
    fft_double_destroy(fft);
}

double noise_threshold(double hertz)
{
    double kilohertz = hertz / 1000;
    return 3.64 * pow(kilohertz, -0.8) - 6.5 * exp(-0.6 * (kilohertz - 3.3) * (kilohertz - 3.3)) +
           1e-3 * pow(kilohertz, 4);
}

double noise_db(double power)
{
    return 10 * log10(power);
}
