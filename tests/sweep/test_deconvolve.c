/* Responses from recordings of simulated rooms, against the rooms and against theory. */
#include "base/noise.h"
#include "design/design.h"
#include "signal/biquad.h"
#include "signal/fft_double.h"
#include "suite.h"
#include "sweep/deconvolve.h"

#include <math.h>

enum { RATE = 48000, KEPT = RATE / 2, BEFORE = RATE / 1000, RUNS = 40 };

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
    if (end > spectrum->length / 2)
        return NAN;
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
    double *room;  /* KEPT samples */
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

/* From 40 Hz to 18 kHz. */
static void play_through_loudspeaker(struct rig *rig)
{
    struct biquad low = biquad_make(BIQUAD_LOWPASS, 18000, 0, M_SQRT1_2, RATE),
                  high = biquad_make(BIQUAD_HIGHPASS, 40, 0, M_SQRT1_2, RATE);
    biquad_filter(&high, rig->room, KEPT);
    for (int i = 0; i < 4; i++)
        biquad_filter(&low, rig->room, KEPT);
    convolve(rig->played, rig->sweep.frames, rig->room, KEPT, rig->clean, rig->frames);
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
    ck_assert_int_eq(
        deconvolver_finish(rig->deconvolver, -BEFORE, BEFORE + KEPT, rig->taps, &rig->path),
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
    ck_assert_double_le(worst_third(rig), -110);
    rig_free(rig);
}

/* The energy of the error between two frequencies. */
static double error_energy(const struct rig *rig, double low, double high)
{
    static double error[BEFORE + KEPT];
    double sum = 0;
    find_error(rig, error);
    struct spectrum wrong = spectrum_of(error, BEFORE + KEPT, 1 << 16);
    for (size_t k = 0; k <= 1 << 15; k++)
        if ((double)k * RATE >= low * 65536 && (double)k * RATE <= high * 65536)
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
    double energy = energy_of(rig->room, KEPT), error = error_energy(rig, 20, 22000);
    ck_assert_double_le(decibels(error / energy), -65);
    ck_assert_double_eq_tol(rig->path.snr_all, decibels(energy / error), 1);
    /* beyond the sweep, noise stays below what is there */
    rig_free(rig);
}

/* A loudspeaker plays little beyond the sweep, and no noise from there is let in. */
START_TEST(nothing_is_let_in_where_nothing_was_played)
{
    struct rig *rig = rig_create(8, "0.4");
    play_through_loudspeaker(rig);
    for (double snr = 20; snr <= 80; snr += 20) {
        set_snr(rig, snr);
        deconvolver_begin(rig->deconvolver);
        record(rig);
        finish(rig);
        double error = error_energy(rig, 0, 24000) / energy_of(rig->room, KEPT);
        ck_assert_double_le(decibels(error), -4 - snr);
    }
    rig_free(rig);
}

/* Adds up the powers of the error by thirds, and the SNR that is told. */
struct tally {
    double error[MEASURED_THIRDS], told[MEASURED_THIRDS], told_all, error_all;
    size_t runs;
};

static void tally_run(struct tally *tally, struct rig *rig, size_t recordings)
{
    static double error[BEFORE + KEPT];
    deconvolver_begin(rig->deconvolver);
    for (size_t i = 0; i < recordings; i++)
        record(rig);
    finish(rig);
    find_error(rig, error);
    struct spectrum wrong = spectrum_of(error, BEFORE + KEPT, 1 << 16);
    for (size_t t = 0; t < MEASURED_THIRDS; t++) {
        tally->error[t] += third_mean(&wrong, measured_hz(t), 1);
        tally->told[t] += isnan(rig->path.snr[t]) ? 0 : pow(10, -rig->path.snr[t] / 10);
    }
    tally->error_all += error_energy(rig, 20, 22000);
    tally->told_all += pow(10, -rig->path.snr_all / 10);
    tally->runs++;
    fft_double_destroy(wrong.fft);
}

/* Theory: the error is E|noise|^2 / |sweep|^2, times the time kept, whose ends spread it a little:
 * the noise's autocorrelation is weighted by the overlap of the time with itself. */
static struct spectrum theory_of(const struct rig *rig)
{
    enum { LENGTH = 1 << 17 };
    struct spectrum theory = spectrum_of(rig->played, rig->sweep.frames, LENGTH);
    for (size_t k = 0; k <= LENGTH / 2; k++)
        theory.bins[k] =
            (double)k * RATE < 22000.0 * LENGTH ? pow(rig->noise, 2) / bin_power(&theory, k) : 0;
    fft_double_inverse(theory.fft);
    for (size_t i = 0; i < LENGTH; i++) {
        double overlap = BEFORE + KEPT - (double)(i < LENGTH / 2 ? i : LENGTH - i);
        fft_double_samples(theory.fft)[i] *= fmax(0, overlap) / LENGTH;
    }
    fft_double_forward(theory.fft);
    for (size_t k = 0; k <= LENGTH / 2; k++) /* third_mean squares */
        theory.bins[k] = sqrt(fabs(creal(theory.bins[k])));
    return theory;
}

START_TEST(each_third_has_the_noise_of_theory)
{
    struct rig *rig = rig_create(1, "0.4");
    struct tally single = {0}, twice = {0};
    set_snr(rig, 60);
    while (single.runs < RUNS) {
        tally_run(&single, rig, 1);
        tally_run(&twice, rig, 2);
    }
    struct spectrum expected = theory_of(rig), truth = spectrum_of(rig->room, KEPT, 1 << 16);
    for (size_t t = 2; t <= 29; t++) {
        double theory = third_mean(&expected, measured_hz(t), 1),
               level = third_mean(&truth, measured_hz(t), 1);
        ck_assert_double_eq_tol(decibels(single.error[t] / RUNS / theory), 0, 1);
        ck_assert_double_eq_tol(decibels(single.told[t] / RUNS * level / theory), 0, 1);
        ck_assert_double_eq_tol(rig->path.level[t], decibels(level), t < 8 ? 1 : 0.2);
    }
    ck_assert_double_eq_tol(decibels(single.error_all / twice.error_all), decibels(2), 0.3);
    ck_assert_double_eq_tol(
        decibels(single.told_all * energy_of(rig->room, KEPT) / single.error_all), 0, 1);
    fft_double_destroy(expected.fft);
    fft_double_destroy(truth.fft);
    rig_free(rig);
}

/* From little noise to much, the SNR that is told is that of theory. */
START_TEST(the_ratio_is_told)
{
    struct rig *rig = rig_create(4, "0.4");
    struct spectrum sound = spectrum_of(rig->played, rig->sweep.frames, 1 << 19),
                    truth = spectrum_of(rig->room, KEPT, 1 << 16);
    for (double snr = 10; snr <= 90; snr += 20) {
        struct tally tally = {0};
        set_snr(rig, snr);
        for (int i = 0; i < 4; i++)
            tally_run(&tally, rig, 1);
        for (size_t t = 8; t <= 29; t++) {
            double theory = decibels(third_mean(&truth, measured_hz(t), 1) /
                                     (rig->noise * rig->noise * (BEFORE + KEPT) *
                                      third_mean(&sound, measured_hz(t), -1)));
            if (theory >= 10 && theory <= 90)
                ck_assert_double_eq_tol(-decibels(tally.told[t] / 4), theory, 1);
        }
    }
    ck_assert(isnan(rig->path.snr[0]) || rig->path.snr[0] > 0);
    fft_double_destroy(sound.fft);
    fft_double_destroy(truth.fft);
    rig_free(rig);
}

/* ---- distortion ---- */

/* x + 0.2 x^2 + 0.15 x^3 + 0.1 x^4 + 0.3 x^5 at half of full scale, computed at four times the
 * rate, so that nothing folds back. Amplitudes of the harmonics: by multiple angles. */
static const double amplitudes[] = {0,
                                    0.5 + 0.15 * 3 / 4 / 8 + 0.3 * 10 / 16 / 32,
                                    0.2 / 2 / 4 + 0.1 / 2 / 16,
                                    0.15 / 4 / 8 + 0.3 * 5 / 16 / 32,
                                    0.1 / 8 / 16,
                                    0.3 / 16 / 32};

static void distort(struct rig *rig)
{
    struct sweep fine;
    size_t length = fft_double_fitting(rig->frames);
    ck_assert_int_eq(sweep_init(&fine, rig->sweep.seconds, 20, 22000, 4 * RATE), STATUS_OK);
    double *samples = calloc(fine.frames, sizeof *samples), *mixed = calloc(length, sizeof *mixed);
    sweep_fill(&fine, 1, samples);
    for (size_t i = 0; i < fine.frames; i++) {
        double x = samples[i] / 2;
        samples[i] = x + 0.2 * x * x + 0.15 * x * x * x + 0.1 * pow(x, 4) + 0.3 * pow(x, 5);
    }
    struct spectrum high = spectrum_of(samples, fine.frames, 4 * length),
                    low = spectrum_of(mixed, length, length);
    for (size_t k = 0; k < length / 2; k++)
        low.bins[k] = high.bins[k] / (4 * (double)length);
    fft_double_inverse(low.fft);
    convolve(fft_double_samples(low.fft), rig->sweep.frames, rig->room, KEPT, rig->clean,
             rig->frames);
    fft_double_destroy(high.fft);
    fft_double_destroy(low.fft);
    free(samples);
    free(mixed);
}

START_TEST(harmonics_are_told)
{
    struct rig *rig = rig_create(8, "0.25");
    play_through_loudspeaker(rig);
    struct spectrum truth = spectrum_of(rig->room, KEPT, 1 << 16);
    distort(rig);
    set_snr(rig, 90);
    record(rig);
    finish(rig);
    for (size_t order = 2; order <= 5; order++)
        for (size_t t = 0; t < MEASURED_THIRDS; t++) {
            double hertz = measured_hz(t), told = rig->path.distortion[order - 2][t];
            double theory = decibels(pow(amplitudes[order] / amplitudes[1], 2) *
                                     third_mean(&truth, hertz * (double)order, 1) /
                                     third_mean(&truth, hertz, 1));
            if (hertz > 150 && hertz * (double)order < 16000)
                ck_assert_double_eq_tol(told, theory, 0.3);
            else if (hertz * (double)order > 23000)
                ck_assert(isnan(told));
        }
    fft_double_destroy(truth.fft);
    rig_free(rig);
}

START_TEST(what_noise_hides_is_not_told)
{
    struct rig *rig = rig_create(4, "0.25");
    size_t told = 0;
    set_snr(rig, 50);
    record(rig);
    finish(rig);
    for (size_t order = 0; order < MEASURED_ORDERS; order++)
        for (size_t t = 8; t < MEASURED_THIRDS; t++)
            told += isnan(rig->path.distortion[order][t]) ? 0 : 1;
    ck_assert_uint_eq(told, 0);
    rig_free(rig);
}

/* ---- clocks and delays ---- */

enum { REACH = 100 };

static double bell(double inside)
{
    double square = inside * inside;
    return square * square * square;
}

/* The sound between its samples, by a long windowed sinc. */
static double between(const double *samples, size_t count, double time)
{
    long middle = lround(floor(time));
    double part = time - (double)middle, sum = 0;
    if (part == 0)
        return middle >= 0 && (size_t)middle < count ? samples[middle] : 0;
    for (long i = -REACH + 1; i <= REACH; i++) {
        double from = part - (double)i, sign = i % 2 ? -1 : 1;
        if (middle + i >= 0 && (size_t)(middle + i) < count)
            sum += samples[middle + i] * sign / (M_PI * from) *
                   bell(1 - from * from / (REACH * REACH));
    }
    return sum * sin(M_PI * part);
}

START_TEST(a_faster_clock_is_taken_out)
{
    const double stretch = 1.0001;
    struct rig *rig = rig_create(1, "0.4");
    play_through_loudspeaker(rig);
    /* the room as the faster clock sees it is the truth */
    for (size_t i = 0; i < rig->frames; i++)
        rig->noisy[i] = (float)between(rig->clean, rig->frames, (double)i / stretch);
    double *room = calloc(KEPT, sizeof *room);
    for (size_t i = 0; i < KEPT; i++)
        room[i] = between(rig->room, KEPT, (double)i / stretch) / stretch;
    free(rig->room);
    rig->room = room;
    size_t frames = sweep_frames(&rig->sweep, stretch);
    double *played = calloc(frames, sizeof *played);
    sweep_fill(&rig->sweep, stretch, played);
    deconvolver_destroy(rig->deconvolver);
    ck_assert_int_eq(
        deconvolver_create(played, frames, rig->frames, RATE, &rig->sweep, &rig->deconvolver),
        STATUS_OK);
    deconvolver_begin(rig->deconvolver);
    deconvolver_add(rig->deconvolver, rig->noisy, rig->frames, 0);
    finish(rig);
    ck_assert_double_le(worst_third(rig), -90);
    free(played);
    rig_free(rig);
}

START_TEST(delays_are_taken_out_and_found)
{
    struct rig *rig = rig_create(1, "0.4");
    double peak, later;
    play_through_loudspeaker(rig);
    deconvolver_add(rig->deconvolver, rig->clean, rig->frames, 0);
    ptrdiff_t direct = deconvolver_direct(rig->deconvolver, &peak);
    ck_assert_double_le(fabs(peak - (double)direct), 1);
    for (size_t i = 0; i < rig->frames; i++)
        rig->noisy[i] = between(rig->clean, rig->frames, (double)i - 7.3);
    deconvolver_begin(rig->deconvolver);
    deconvolver_add(rig->deconvolver, rig->noisy, rig->frames, 0);
    deconvolver_direct(rig->deconvolver, &later);
    ck_assert_double_eq_tol(later - peak, 7.3, 0.01);
    deconvolver_begin(rig->deconvolver);
    deconvolver_add(rig->deconvolver, rig->noisy, rig->frames, 7.3);
    deconvolver_add(rig->deconvolver, rig->clean, rig->frames, 0);
    finish(rig);
    ck_assert_double_le(worst_third(rig), -90);
    /* earlier than time zero */
    deconvolver_begin(rig->deconvolver);
    deconvolver_add(rig->deconvolver, rig->clean, rig->frames, (double)direct + 100);
    ck_assert_int_eq(deconvolver_direct(rig->deconvolver, &later), -100);
    rig_free(rig);
}

/* ---- sounds of others ---- */

/* Without a sweep's parameters: the same, in spite of a sound that has nothing beyond its band. */
START_TEST(any_sound_will_do)
{
    for (int noise = 0; noise < 2; noise++) {
        struct rig *rig = rig_create(4, "0.4");
        struct biquad low = biquad_make(BIQUAD_LOWPASS, 8000, 0, M_SQRT1_2, RATE);
        for (size_t i = 0; i < rig->sweep.frames && noise; i++)
            rig->played[i] = noise_next(&rig->seed);
        for (int i = 0; i < 8; i++)
            biquad_filter(&low, rig->played, rig->sweep.frames);
        convolve(rig->played, rig->sweep.frames, rig->room, KEPT, rig->clean, rig->frames);
        deconvolver_destroy(rig->deconvolver);
        ck_assert_int_eq(deconvolver_create(rig->played, rig->sweep.frames, rig->frames, RATE, NULL,
                                            &rig->deconvolver),
                         STATUS_OK);
        deconvolver_begin(rig->deconvolver);
        set_snr(rig, 60);
        record(rig);
        finish(rig);
        double energy = energy_of(rig->room, KEPT);
        ck_assert_double_le(decibels(error_energy(rig, 50, 5000) / energy), noise ? -40 : -60);
        ck_assert_double_le(decibels(error_energy(rig, 0, 24000) / energy), 0);
        ck_assert_double_ge(rig->path.snr_all, 25);
        ck_assert(isnan(rig->path.distortion[0][17]));
        rig_free(rig);
    }
}

START_TEST(silence_is_refused)
{
    struct deconvolver *deconvolver = NULL;
    const double silence[1000] = {0};
    ck_assert_int_eq(deconvolver_create(silence, 1000, 2000, RATE, NULL, &deconvolver),
                     STATUS_FAILED);
    ck_assert_ptr_null(deconvolver);
}
