/* Responses from recordings of simulated rooms, against the rooms and against theory. */
#include "base/noise.h"
#include "design/design.h"
#include "suite.h"
#include "sweep/deconvolve.h"
#include "signal/fft_double.h"

#include <math.h>

enum { RATE = 48000, KEPT = RATE / 2, BEFORE = RATE / 1000 };

/* ---- spectra ---- */

struct spectrum {
    struct fft_double *fft;
    double complex *bins;
    size_t length;
};

static struct spectrum spectrum_of(const double *samples, size_t count, size_t length)
{
    struct spectrum spectrum = {.length = length};
    ck_assert_int_eq(fft_double_create(length, &spectrum.fft), STATUS_OK);
    spectrum.bins = fft_double_bins(spectrum.fft);
    for (size_t i = 0; i < length; i++)
        fft_double_samples(spectrum.fft)[i] = i < count ? samples[i] : 0;
    fft_double_forward(spectrum.fft);
    return spectrum;
}

static double bin_power(const struct spectrum *spectrum, size_t bin)
{
    return pow(cabs(spectrum->bins[bin]), 2);
}

/* The mean over a third of an octave about a frequency, of the powers or of their inverses. */
static double third_mean(const struct spectrum *spectrum, double hertz, int exponent)
{
    double per_hertz = (double)spectrum->length / RATE, sum = 0;
    size_t first = (size_t)ceil(hertz * pow(10, -0.05) * per_hertz),
           end = (size_t)ceil(hertz * pow(10, 0.05) * per_hertz);
    for (size_t k = first; k < end; k++)
        sum += pow(bin_power(spectrum, k), exponent);
    return sum / (double)(end - first);
}

static double decibels(double ratio)
{
    return 10 * log10(ratio);
}

static double energy_of(const double *samples, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += samples[i] * samples[i];
    return sum;
}

/* ---- the simulated measurement ---- */

struct rig {
    struct sweep sweep;
    double *played;
    double *room; /* KEPT samples */
    double *clean; /* the recording without noise, rounded to single precision */
    double *noisy;
    size_t frames;
    double noise; /* its standard deviation */
    uint64_t seed;
    struct deconvolver *deconvolver;
    double taps[BEFORE + KEPT];
    struct measured_path path;
};

/* Both of these are convolved by transforms of twice the length. */
static void convolve(const double *a, size_t count, const double *b, size_t other, double *result,
                     size_t frames)
{
    size_t length = fft_double_fitting(count + other);
    struct spectrum first = spectrum_of(a, count, length), second = spectrum_of(b, other, length);
    for (size_t k = 0; k <= length / 2; k++)
        first.bins[k] *= second.bins[k] / (double)length;
    fft_double_inverse(first.fft);
    for (size_t i = 0; i < frames; i++)
        result[i] = i < length ? fft_double_samples(first.fft)[i] : 0;
    fft_double_destroy(first.fft);
    fft_double_destroy(second.fft);
}

static void load_room(double room[KEPT], const char *decay)
{
    char kind[] = "room:seed=7", option[32];
    struct mask *mask;
    snprintf(option, sizeof option, "rt60=%s", decay);
    char *spec[] = {kind, option, NULL};
    ck_assert_int_eq(design_load(spec, RATE, &(const struct mask_load_options){0}, &mask),
                     STATUS_OK);
    ck_assert_uint_le(mask->taps, KEPT);
    for (size_t i = 0; i < mask->taps; i++)
        room[i] = mask->coefficients[i];
    mask_destroy(mask);
}

static struct rig *rig_create(double seconds, const char *decay)
{
    struct rig *rig = calloc(1, sizeof *rig);
    ck_assert_int_eq(sweep_init(&rig->sweep, seconds, 20, 22000, RATE), STATUS_OK);
    rig->frames = rig->sweep.frames + KEPT + 2 * BEFORE;
    rig->played = calloc(rig->sweep.frames, sizeof(double));
    rig->room = calloc(KEPT, sizeof(double));
    rig->clean = calloc(rig->frames, sizeof(double));
    rig->noisy = calloc(rig->frames, sizeof(double));
    sweep_fill(&rig->sweep, 1, rig->played);
    load_room(rig->room, decay);
    convolve(rig->played, rig->sweep.frames, rig->room, KEPT, rig->clean, rig->frames);
    for (size_t i = 0; i < rig->frames; i++)
        rig->clean[i] = (float)rig->clean[i];
    ck_assert_int_eq(deconvolver_create(rig->played, rig->sweep.frames, rig->frames, RATE,
                                        &rig->sweep, &rig->deconvolver),
                     STATUS_OK);
    deconvolver_begin(rig->deconvolver);
    return rig;
}

static void rig_free(struct rig *rig)
{
    deconvolver_destroy(rig->deconvolver);
    free(rig->played);
    free(rig->room);
    free(rig->clean);
    free(rig->noisy);
    free(rig);
}

/* SNR: of the received sweep over its length. */
static void set_snr(struct rig *rig, double snr)
{
    double power = energy_of(rig->clean, rig->frames) / (double)rig->sweep.frames;
    rig->noise = sqrt(power * pow(10, -snr / 10));
}

static void record(struct rig *rig)
{
    for (size_t i = 0; i < rig->frames; i++)
        rig->noisy[i] = rig->clean[i] + rig->noise * sqrt(3) * noise_next(&rig->seed);
    deconvolver_add(rig->deconvolver, rig->noisy, rig->frames, 0);
}

/* The room begins at tap BEFORE. */
static void finish(struct rig *rig)
{
    ck_assert_int_eq(deconvolver_finish(rig->deconvolver, -BEFORE, BEFORE + KEPT, rig->taps,
                                        &rig->path),
                     STATUS_OK);
}

static void find_error(const struct rig *rig, double error[BEFORE + KEPT])
{
    for (size_t i = 0; i < BEFORE + KEPT; i++)
        error[i] = rig->taps[i] - (i < BEFORE ? 0 : rig->room[i - BEFORE]);
}

/* The largest error in a third from 31 Hz to 16 kHz, relative to the room. */
static double worst_third(const struct rig *rig)
{
    static double error[BEFORE + KEPT];
    find_error(rig, error);
    struct spectrum wrong = spectrum_of(error, BEFORE + KEPT, 1 << 16),
                    truth = spectrum_of(rig->room, KEPT, 1 << 16);
    double worst = -INFINITY;
    for (size_t t = 2; t <= 29; t++)
        worst = fmax(worst, decibels(third_mean(&wrong, measured_hz(t), 1) /
                                     third_mean(&truth, measured_hz(t), 1)));
    fft_double_destroy(wrong.fft);
    fft_double_destroy(truth.fft);
    return worst;
}

START_TEST(without_noise_the_room_is_found)
{
    struct rig *rig = rig_create(8, "0.4");
    deconvolver_add(rig->deconvolver, rig->clean, rig->frames, 0);
    finish(rig);
    double worst = worst_third(rig);
    fprintf(stderr, "worst third %g\n", worst);
    ck_assert_double_le(worst, -110);
    rig_free(rig);
}
END_TEST

/* The energy of the error in the sweep's band. */
static double error_energy(const struct rig *rig)
{
    static double error[BEFORE + KEPT];
    double sum = 0;
    find_error(rig, error);
    struct spectrum wrong = spectrum_of(error, BEFORE + KEPT, 1 << 16);
    for (size_t k = 0; k <= 1 << 15; k++)
        if ((double)k * RATE >= 20 * 65536.0 && (double)k * RATE <= 22000 * 65536.0)
            sum += bin_power(&wrong, k) * 2 / 65536;
    fft_double_destroy(wrong.fft);
    return sum;
}

START_TEST(noise_costs_no_more_than_it_must)
{
    struct rig *rig = rig_create(8, "0.4");
    set_snr(rig, 60);
    record(rig);
    finish(rig);
    double error = decibels(error_energy(rig) / energy_of(rig->room, KEPT));
    fprintf(stderr, "error %g, all %g\n", error, rig->path.snr_all);
    ck_assert_double_le(error, -65);
    rig_free(rig);
}
END_TEST

SUITE_MAIN("deconvolve", without_noise_the_room_is_found, noise_costs_no_more_than_it_must)
