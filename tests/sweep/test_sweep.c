/* Sweeps: length, synchrony, spectrum, another clock. */
#include "signal/fft_double.h"
#include "suite.h"
#include "sweep/sweep.h"

#include <math.h>

static struct sweep make(double seconds, double from, double to, uint32_t rate)
{
    struct sweep sweep;
    ck_assert_int_eq(sweep_init(&sweep, seconds, from, to, rate), STATUS_OK);
    return sweep;
}

static double *filled(const struct sweep *sweep, double stretch)
{
    double *samples = calloc(sweep_frames(sweep, stretch), sizeof *samples);
    sweep_fill(sweep, stretch, samples);
    return samples;
}

START_TEST(lengths_are_rounded_to_whole_cycles)
{
    static const double cases[][4] = {{8, 20, 22000, 48000},
                                      {1, 20, 20000, 44100},
                                      {0.3, 100, 8000, 16000},
                                      {30, 5, 96000, 192000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sweep sweep = make(cases[i][0], cases[i][1], cases[i][2], (uint32_t)cases[i][3]);
        double cycles = sweep.from * sweep.span;
        ck_assert_double_eq_tol(cycles, round(cycles), 1e-9);
        ck_assert_double_eq_tol(sweep.seconds, sweep.span * log(sweep.to / sweep.from), 1e-12);
        ck_assert_double_le(fabs(sweep.seconds - cases[i][0]),
                            0.5001 / sweep.from * log(sweep.to / sweep.from));
        ck_assert_uint_eq(sweep.frames, (size_t)ceil(sweep.seconds * cases[i][3]));
    }
}

START_TEST(impossible_sweeps_are_refused)
{
    struct sweep sweep;
    ck_assert_int_eq(sweep_init(&sweep, 8, 20, 24001, 48000), STATUS_USAGE);
    ck_assert_int_eq(sweep_init(&sweep, 8, 0, 20000, 48000), STATUS_USAGE);
    ck_assert_int_eq(sweep_init(&sweep, 8, 2000, 1000, 48000), STATUS_USAGE);
    ck_assert_int_eq(sweep_init(&sweep, 8, NAN, 1000, 48000), STATUS_USAGE);
    ck_assert_int_eq(sweep_init(&sweep, 0.01, 20, 20000, 48000), STATUS_USAGE);
    ck_assert_int_eq(sweep_init(&sweep, NAN, 20, 20000, 48000), STATUS_USAGE);
}

/* At a rate at which the second harmonic comes a whole number of frames earlier. */
START_TEST(harmonics_are_copies_of_the_sweep)
{
    uint32_t rate = 40000;
    struct sweep sweep = make(3, 50, 6400, rate);
    double advance = sweep_advance(&sweep, 2);
    while (fabs(advance * rate - round(advance * rate)) > 1e-3)
        rate++;
    ck_assert_uint_lt(rate, 60000);
    ck_assert_double_eq_tol(sweep_advance(&sweep, 4), 2 * advance, 1e-12);
    sweep = make(3, 50, 6400, rate);
    double *samples = filled(&sweep, 1);
    /* cos(2 phase) = 1 - 2 sin(phase)^2 */
    size_t later = (size_t)lround(advance * rate), last = sweep.frames - later - rate / 100;
    for (size_t i = rate / 20; i < last; i++) {
        double cosine = 1 - 2 * samples[i] * samples[i], sine = samples[i + later];
        ck_assert_double_eq_tol(cosine * cosine + sine * sine, 1, 0.002);
    }
    free(samples);
}

START_TEST(sound_is_where_it_should_be)
{
    struct sweep sweep = make(2, 50, 10000, 48000);
    struct fft_double *fft;
    double *samples = filled(&sweep, 1), peak = 0, powers[4] = {0};
    ck_assert_int_eq(fft_double_create(fft_double_fitting(sweep.frames), &fft), STATUS_OK);
    for (size_t i = 0; i < sweep.frames; i++) {
        peak = fmax(peak, fabs(samples[i]));
        fft_double_samples(fft)[i] = samples[i];
    }
    for (size_t i = sweep.frames; i < fft_double_length(fft); i++)
        fft_double_samples(fft)[i] = 0;
    ck_assert_double_le(peak, 1);
    ck_assert_double_ge(peak, 0.9999);
    ck_assert_double_le(fabs(samples[0]), 1e-9);
    ck_assert_double_le(fabs(samples[sweep.frames - 1]), 0.01);
    fft_double_forward(fft);
    for (size_t k = 0; k <= fft_double_length(fft) / 2; k++) {
        double hertz = (double)k * 48000 / (double)fft_double_length(fft);
        powers[hertz < 45      ? 0
               : hertz < 707   ? 1
               : hertz < 11000 ? 2
                               : 3] += pow(cabs(fft_double_bins(fft)[k]), 2);
    }
    /* as much in each octave: 3.8 octaves to 707 Hz, and 3.8 above */
    ck_assert_double_eq_tol(powers[1] / powers[2], 1, 0.05);
    ck_assert_double_le(powers[0] / powers[1], 0.03);
    ck_assert_double_le(powers[3] / powers[2], 1e-4);
    fft_double_destroy(fft);
    free(samples);
}

START_TEST(another_clock_takes_more_frames)
{
    struct sweep slow = make(1, 20, 20000, 48000), fast = make(1, 20, 20000, 96000);
    ck_assert_uint_eq(sweep_frames(&slow, 2), fast.frames);
    ck_assert_uint_eq(sweep_frames(&slow, 1.0001), (size_t)ceil(slow.seconds * 48000 * 1.0001));
    double *stretched = filled(&slow, 2), *truth = filled(&fast, 1), *plain = filled(&slow, 1);
    for (size_t i = 0; i < fast.frames; i++)
        ck_assert_double_eq_tol(stretched[i], truth[i], 1e-9);
    for (size_t i = 0; 2 * i < fast.frames; i++)
        ck_assert_double_eq_tol(plain[i], truth[2 * i], 1e-9);
    free(stretched);
    free(truth);
    free(plain);
}
