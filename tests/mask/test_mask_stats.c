/* Mask statistics, lint messages, and the curves of plots. */
#include "acoustics/mask_stats.h"
#include "command.h"
#include "import/mask_load.h"
#include "plot/mask_curves.h"
#include "suite.h"
#include "truth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RATE = 48000 };

/* One column of `taps`, routed for a mono sound. */
static struct mask *mask_of(const double *values, size_t taps)
{
    struct mask *mask;
    ck_assert_int_eq(mask_create("m", 1, taps, &mask), STATUS_OK);
    mask->rate = RATE;
    for (size_t k = 0; k < taps; k++)
        mask->coefficients[k] = (float)values[k];
    ck_assert_int_eq(mask_route(mask, 1, 0, 0), STATUS_OK);
    return suite_mask(mask);
}

static struct mask *filter(const char *name)
{
    struct mask *mask;
    char file[512];
    snprintf(file, sizeof file, "%s/%s", getenv("FILTERS"), name);
    ck_assert_int_eq(mask_load_with(file, &(struct mask_load_options){0}, &mask), STATUS_OK);
    ck_assert_int_eq(mask_route(mask, mask->columns == 4 ? 2 : mask->columns, 0, 0), STATUS_OK);
    return suite_mask(mask);
}

static struct mask_stats stats_of(const struct mask *mask)
{
    struct mask_stats stats;
    ck_assert_int_eq(mask_stats_init(&stats, mask, RATE), STATUS_OK);
    return stats;
}

#define expect_near(value, want, most) ck_assert_double_eq_tol((double)(value), want, most)

START_TEST(dirac)
{
    struct mask *mask = mask_of((double[]){0, 0, -0.5, 0}, 4);
    struct mask_stats stats = stats_of(mask);
    const struct mask_column_stats *column = stats.column;
    expect_near(column->peak, -0.5, 1e-12);
    ck_assert_uint_eq(column->peak_at, 2);
    for (size_t i = 0; i < MASK_STATS_LEVELS; i++)
        ck_assert_uint_eq(column->taps[i], 3);
    expect_near(column->group_delay, 2, 1e-12);
    ck_assert_int_eq(column->symmetry, MASK_SYMMETRIC);
    expect_near(column->middle, 2, 1e-12);
    ck_assert(column->minimum_phase); /* except for its delay */
    expect_near(column->dc, -0.5, 1e-12);
    expect_near(column->gain, 0.5, 1e-9);
    expect_near(column->pink, 0.5, 1e-9);
    expect_near(column->magnitude, 0.5, 1e-12);
    expect_near(column->energy, 0.25, 1e-12);
    expect_near(column->rms, 0.25, 1e-12);
    ck_assert_uint_eq(column->silence_before, 2);
    ck_assert_uint_eq(column->silence_after, 1);
    expect_near(stats.output[0].headroom, 0, 1e-12);
    expect_near(stats.loudest, 20 * log10(0.5), 1e-4);
    mask_stats_free(&stats);
}

START_TEST(moving_average)
{
    double values[48];
    for (size_t k = 0; k < 48; k++)
        values[k] = 1 / 48.0;
    struct mask *mask = mask_of(values, 48);
    struct mask_stats stats = stats_of(mask);
    const struct mask_column_stats *column = stats.column;
    ck_assert_int_eq(column->symmetry, MASK_SYMMETRIC);
    ck_assert(column->minimum_phase); /* all its zeros lie on the circle */
    expect_near(column->group_delay, 23.5, 1e-9);
    expect_near(column->gain, 1, 1e-6);
    expect_near(column->gain_hz, 0, 1e-12);
    expect_near(column->energy, 1 / 48.0, 1e-7);
    expect_near(stats.output[0].headroom, 0, 1e-5); /* by its sum of magnitudes it cannot clip */
    mask_stats_free(&stats);
}

static void expect_phase(const double *values, size_t taps, enum mask_symmetry symmetry,
                         bool minimum)
{
    struct mask *mask = mask_of(values, taps);
    struct mask_stats stats = stats_of(mask);
    ck_assert_msg(stats.column[0].symmetry == symmetry, "%g %g ...", values[0], values[1]);
    ck_assert_msg(stats.column[0].minimum_phase == minimum, "%g %g ...", values[0], values[1]);
    mask_stats_free(&stats);
}

/* A zero inside the circle, outside, on it, and both. */
START_TEST(phases)
{
    expect_phase((double[]){1, -0.5}, 2, MASK_ASYMMETRIC, true);
    expect_phase((double[]){1, -2}, 2, MASK_ASYMMETRIC, false);
    expect_phase((double[]){1, -1}, 2, MASK_ANTISYMMETRIC, true);
    expect_phase((double[]){1, -2.5, 1}, 3, MASK_SYMMETRIC, false);
    expect_phase((double[]){1, -0.98}, 2, MASK_ASYMMETRIC, true);
    expect_phase((double[]){0.98, -1}, 2, MASK_ASYMMETRIC, false);
    expect_phase((double[]){1, 0, -1, 0, 1, 0.5}, 6, MASK_ASYMMETRIC, false);
}

START_TEST(phases_of_filters)
{
    static const struct {
        const char *name;
        enum mask_symmetry symmetry;
        bool minimum;
    } rows[] = {
        {"lowpass-1k.wav", MASK_SYMMETRIC, false},   {"hilbert.txt", MASK_ANTISYMMETRIC, false},
        {"pre-emphasis.txt", MASK_ASYMMETRIC, true}, {"de-emphasis.wav", MASK_ASYMMETRIC, true},
        {"hum-notch-50.wav", MASK_ASYMMETRIC, true}, {"hall.wav", MASK_ASYMMETRIC, false},
        {"reverse.wav", MASK_ASYMMETRIC, false},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct mask *mask = filter(rows[r].name);
        struct mask_stats stats = stats_of(mask);
        ck_assert_msg(stats.column[0].symmetry == rows[r].symmetry &&
                          stats.column[0].minimum_phase == rows[r].minimum,
                      "%s", rows[r].name);
        mask_stats_free(&stats);
    }
}

START_TEST(twins_are_of_minimum_phase)
{
    struct mask *mask = filter("lowpass-1k.wav");
    ck_assert_int_eq(mask_minimum_phase(mask), STATUS_OK);
    struct mask_stats stats = stats_of(mask);
    ck_assert(stats.column[0].minimum_phase);
    mask_stats_free(&stats);
}

/* By GNU Octave:
 *   [h, fs] = audioread('hall.wav'); x = h(:, 1); p = max(abs(x));
 *   find(abs(x) >= p * 10 ^ (-60 / 20), 1, 'last')                     and -90, -120
 *   sum(x), sum(abs(x)), sum(x .^ 2), sqrt(mean(x .^ 2))
 *   sum((0:numel(x) - 1)' .* x .^ 2) / sum(x .^ 2)
 *   N = 2 ^ 22; H = abs(fft(x, N))(1:N / 2 + 1); [g, i] = max(H); (i - 1) * fs / N
 *   f = (0:N / 2)' * fs / N; k = f >= 20 & f <= 20000;
 *   sqrt(sum(H(k) .^ 2 ./ f(k)) / sum(1 ./ f(k)))
 *   numel(x) - find(abs(x) >= p * 1e-5, 1, 'last') */
START_TEST(hall_as_octave_has_it)
{
    struct mask *mask = filter("hall.wav");
    struct mask_stats stats = stats_of(mask);
    const struct mask_column_stats *column = stats.column;
    ck_assert_uint_eq(stats.columns, 2);
    ck_assert_uint_eq(stats.outputs, 2);
    expect_near(column->peak, 0.5, 1e-7);
    ck_assert_uint_eq(column->taps[0], 46201);
    ck_assert_uint_eq(column->taps[1], 96210);
    ck_assert_uint_eq(column->taps[2], 120202);
    expect_near(column->dc, 0.506183863, 1e-6);
    expect_near(column->magnitude, 48.804955, 1e-5);
    expect_near(column->energy, 0.511563386, 1e-6);
    expect_near(column->group_delay, 2569.103002, 1e-3);
    expect_near(column->rms, 0.00202461492, 1e-8);
    expect_near(column->gain, 2.912765, 3e-3);
    expect_near(column->gain_hz, 625.511, 0.1);
    expect_near(column->pink, 0.868367, 1e-3);
    ck_assert_uint_eq(column->silence_after, 13494);
    ck_assert_uint_eq(column->silence_before, 0);
    mask_stats_free(&stats);
}

/* The same, with N = 2 ^ 20. */
START_TEST(lowpass_as_octave_has_it)
{
    struct mask *mask = filter("lowpass-1k.wav");
    struct mask_stats stats = stats_of(mask);
    expect_near(stats.column[0].magnitude, 2.090931, 1e-5);
    expect_near(stats.column[0].pink, 0.752576, 1e-3);
    expect_near(stats.column[0].energy, 0.041681935, 1e-7);
    expect_near(stats.column[0].gain, 1.000092, 1e-5);
    expect_near(stats.column[0].middle, 600, 1e-12);
    expect_near(stats.output[0].headroom, 20 * log10(0.752576) + 3, 0.02);
    mask_stats_free(&stats);
}

/* With equal inputs an output's level is that of the sum of its columns. */
START_TEST(outputs_add_their_inputs)
{
    struct mask *mask;
    ck_assert_int_eq(mask_create("m", 4, 1, &mask), STATUS_OK);
    for (size_t c = 0; c < 4; c++)
        mask->coefficients[c] = 0.9F;
    ck_assert_int_eq(mask_route(mask, 2, 0, 0), STATUS_OK);
    struct mask_stats stats = stats_of(mask);
    for (size_t o = 0; o < 2; o++) {
        expect_near(stats.output[o].magnitude, 1.8, 1e-6);
        expect_near(stats.output[o].gain, 1.8, 1e-6);
        expect_near(stats.output[o].pink, 1.8, 1e-6);
        expect_near(stats.output[o].headroom, 20 * log10(1.8), 1e-5);
    }
    mask_stats_free(&stats);
    mask_destroy(mask);
}

/* ---- lint ---- */

/* The lines "TEXT: REMEDY", each ended by a newline. */
static const char *diagnose(const struct mask *mask, struct stream_format sound)
{
    static char lines[4096];
    struct mask_trouble troubles[MASK_TROUBLES];
    struct mask_stats stats = stats_of(mask);
    size_t count;
    ck_assert_int_eq(mask_lint(mask, &stats, &sound, troubles, &count), STATUS_OK);
    FILE *stream = fmemopen(lines, sizeof lines, "w");
    for (size_t t = 0; t < count; t++)
        fprintf(stream, "%s: %s\n", troubles[t].text, troubles[t].remedy);
    fputc('\0', stream);
    fclose(stream);
    mask_stats_free(&stats);
    return lines;
}

/* Decaying noise: `taps` of it, -60 dB after `decay`, the first tap 0.5. */
static struct mask *room(size_t columns, size_t taps, double decay)
{
    struct mask *mask;
    ck_assert_int_eq(mask_create("room", columns, taps, &mask), STATUS_OK);
    mask->rate = RATE;
    truth_noise_taps(3, mask->coefficients, columns * taps);
    for (size_t c = 0; c < columns; c++)
        for (size_t k = 0; k < taps; k++)
            mask_column(mask, c)[k] *= k == 0 ? 0 : (float)(0.02 * pow(10, -3 * (double)k / decay));
    for (size_t c = 0; c < columns; c++)
        mask_column(mask, c)[0] = 0.5F;
    ck_assert_int_eq(mask_route(mask, columns == 4 ? 2 : columns, 0, 0), STATUS_OK);
    return suite_mask(mask);
}

#define NO_SOUND ((struct stream_format){0})

START_TEST(a_good_room_has_no_lint)
{
    struct mask *mask = room(2, 20000, 8000);
    ck_assert_str_eq(diagnose(mask, NO_SOUND), "");
    ck_assert_str_eq(diagnose(mask, (struct stream_format){.rate = RATE, .channels = 2}), "");
    ck_assert_str_eq(diagnose(mask, (struct stream_format){.rate = RATE, .channels = 1}), "");
}

START_TEST(the_sound_does_not_fit)
{
    struct mask *mask = room(2, 20000, 8000);
    ck_assert_str_eq(diagnose(mask, (struct stream_format){.rate = 44100, .channels = 6}),
                     "rate 48000 but sound 44100: resampled\n"
                     "2 channels but sound 6: channel=1\n");
    mask->rate = 0;
    ck_assert_str_eq(diagnose(mask, (struct stream_format){.rate = 44100, .channels = 0}),
                     "no rate but sound 44100: taken as 44100\n");
}

START_TEST(silence_is_found)
{
    struct mask *mask = room(1, 20000, 8000);
    ck_assert_int_eq(mask_pad(mask, 480), STATUS_OK);
    ck_assert_str_eq(diagnose(mask, NO_SOUND), "480 samples of silence first: trim=480\n");
    mask = room(2, 50000, 8000);
    for (size_t c = 0; c < 2; c++)
        memset(mask_column(mask, c) + 15000, 0, 35000 * sizeof(double));
    ck_assert_ptr_nonnull(strstr(diagnose(mask, NO_SOUND), "silence at the end: length="));
    memset(mask_column(mask, 1), 0, 50000 * sizeof(double));
    ck_assert_ptr_nonnull(strstr(diagnose(mask, NO_SOUND), "channel 2 is silent: channel=1\n"));
    memset(mask_column(mask, 0), 0, 50000 * sizeof(double));
    ck_assert_ptr_nonnull(strstr(diagnose(mask, NO_SOUND), "silent: all taps are zero"));
}

/* They end where they are below what single or double precision needs, as they were made; with
 * zeros behind them that is waste. */
START_TEST(equalisers_are_as_long_as_they_were_made)
{
    static const double radii[] = {0.9985, 0.9975, 0.996};
    for (size_t i = 0; i < 3; i++) {
        struct mask *mask;
        double length = -31 / log(radii[i]); /* -270 dB */
        ck_assert_int_eq(mask_create("eq", 1, (uint64_t)(2.5 * length), &mask), STATUS_OK);
        mask->rate = i == 2 ? 8000 : RATE;
        double *taps = mask_column(mask, 0);
        taps[0] = 1;
        for (size_t k = 1; k < (size_t)length; k++)
            taps[k] = (double)(float)(0.02 * pow(radii[i], (double)k) * cos(0.8 * (double)k));
        ck_assert_ptr_nonnull(strstr(diagnose(mask, NO_SOUND), "silence at the end: length="));
        mask->taps = (size_t)length;
        ck_assert_ptr_null(strstr(diagnose(mask, NO_SOUND), "silence"));
        mask_destroy(mask);
    }
}

START_TEST(a_cut_tail_is_found)
{
    struct mask *mask = room(1, 4000, 16000);
    const char *lines = diagnose(mask, NO_SOUND);
    ck_assert_msg(strncmp(lines, "ends at -", 9) == 0 &&
                      strstr(lines, " dB of its peak: fade=400\n"),
                  "%s", lines);
}

START_TEST(levels_are_found)
{
    struct mask *mask = room(1, 20000, 8000);
    mask_scale(mask, 8, NULL);
    ck_assert_ptr_nonnull(strstr(diagnose(mask, NO_SOUND), "gain=-1"));
    mask_scale(mask, 1e-3, NULL);
    ck_assert_ptr_nonnull(strstr(diagnose(mask, NO_SOUND), "quiet: -"));
    mask_scale(mask, -100, NULL);
    ck_assert_ptr_nonnull(strstr(diagnose(mask, NO_SOUND), "invert"));
    /* A resonance at 63 Hz: 20 dB at that frequency, while music as a whole gets hardly louder. */
    double values[48000] = {1};
    for (size_t k = 0; k < 48000; k++)
        values[k] += 0.0018 * sin(2 * M_PI * 63 * (double)k / RATE) * exp(-(double)k / 9000);
    mask = mask_of(values, 48000);
    const char *lines = diagnose(mask, NO_SOUND);
    ck_assert_msg(strstr(lines, " dB at 6") != NULL && strstr(lines, "Hz: gain=-1") != NULL, "%s",
                  lines);
}

/* Taps far below the peak that add up to bass are no silence, wherever they are. */
START_TEST(quiet_taps_may_be_bass)
{
    static double values[48000];
    for (int i = 0; i < 2; i++) {
        bool is_bass = i;
        for (size_t k = 0; k < 48000; k++) /* its sum is 0.06, where the rest has 0.0013 at 10 Hz */
            values[k] = 2e-6 * exp(-(double)k / 50000) * (is_bass || k % 2 ? 1 : -1);
        values[0] = 1;
        values[1] = -1;
        struct mask *mask = mask_of(values, 48000);
        ck_assert_msg((strstr(diagnose(mask, NO_SOUND), "at the end") == NULL) == is_bass, "%s",
                      diagnose(mask, NO_SOUND));
        for (size_t k = 0; k < 9600; k++) /* 66 dB below the peak, but five times it at 0 Hz */
            values[k] = 5e-4 * (is_bass || k % 2 ? 1 : -1);
        memset(values + 9600, 0, sizeof values - 9600 * sizeof *values);
        values[9600] = 1;
        values[9700] = 0.5;
        mask = mask_of(values, 20000);
        ck_assert_msg((strstr(diagnose(mask, NO_SOUND), "trim=9600") == NULL) == is_bass, "%s",
                      diagnose(mask, NO_SOUND));
    }
}

START_TEST(unlike_channels_are_found)
{
    struct mask *mask = room(2, 20000, 8000);
    double *right = mask_column(mask, 1);
    for (size_t k = 0; k < 20000; k++)
        right[k] = -mask_column(mask, 0)[k];
    ck_assert_ptr_nonnull(strstr(diagnose(mask, NO_SOUND), "channel 2 is inverted, as others"));
    for (size_t k = 0; k < 20000; k++)
        right[k] *= -0.4;
    ck_assert_ptr_nonnull(strstr(diagnose(mask, NO_SOUND), "channel 2 is 8.0 dB quieter"));
    for (size_t k = 0; k < 20000; k++)
        right[k] *= 1.5;
    ck_assert_str_eq(diagnose(mask, NO_SOUND), "");
    memmove(right + 96, right, (20000 - 96) * sizeof *right);
    memset(right, 0, 96 * sizeof *right);
    ck_assert_ptr_nonnull(strstr(diagnose(mask, NO_SOUND), "channel 1 begins 2.0 ms earlier"));
    mask = room(4, 20000, 8000); /* true stereo: what crosses may differ */
    for (size_t k = 0; k < 20000; k++) {
        mask_column(mask, 1)[k] *= -0.1;
        mask_column(mask, 2)[k] *= -0.1;
    }
    ck_assert_str_eq(diagnose(mask, NO_SOUND), "");
    for (size_t k = 0; k < 20000; k++)
        mask_column(mask, 3)[k] *= -1;
    ck_assert_ptr_nonnull(strstr(diagnose(mask, NO_SOUND), "channel 4 is inverted"));
    mask = room(5, 20000, 8000);
    for (size_t k = 0; k < 20000; k++)
        mask_column(mask, 2)[k] *= 4;
    ck_assert_ptr_nonnull(strstr(diagnose(mask, NO_SOUND), "channel 3 is 1"));
    mask = room(6, 20000, 8000); /* an LFE may */
    for (size_t k = 0; k < 20000; k++)
        mask_column(mask, 3)[k] *= 0.3;
    ck_assert_str_eq(diagnose(mask, NO_SOUND), "");
}

START_TEST(clipping_is_found)
{
    struct mask *mask = room(2, 20000, 8000);
    double *right = mask_column(mask, 1);
    right[2] = right[3] = right[4] = -right[0];
    ck_assert_ptr_nonnull(
        strstr(diagnose(mask, NO_SOUND), "channel 2 is clipped: 3 taps are at its maximum"));
    right[3] = right[0] / 2; /* echoes as loud */
    ck_assert_ptr_null(strstr(diagnose(mask, NO_SOUND), "clipped"));
    double average[480];
    for (size_t k = 0; k < 480; k++)
        average[k] = 1 / 480.0;
    mask = mask_of(average, 480);
    ck_assert_ptr_null(strstr(diagnose(mask, NO_SOUND), "clipped"));
}

/* True stereo in the order of other programs: LL RR LR RL. */
START_TEST(another_order_is_found)
{
    struct mask *mask = room(4, 2000, 800);
    for (size_t c = 2; c < 4; c++)
        for (size_t k = 0; k < 2000; k++)
            mask_column(mask, c)[k] *= 0.3F;
    ck_assert_ptr_nonnull(strstr(diagnose(mask, NO_SOUND), "order=llrrlrrl"));
    for (size_t k = 0; k < 2000; k++) { /* in halo's order, channels 1 and 4 are the loud ones */
        double swap = mask_column(mask, 1)[k];
        mask_column(mask, 1)[k] = mask_column(mask, 3)[k];
        mask_column(mask, 3)[k] = swap;
    }
    ck_assert_ptr_null(strstr(diagnose(mask, NO_SOUND), "order="));
}

/* ---- curves ---- */

/* |sin(pi f n / r) / (n sin(pi f / r))|, and a delay of (n - 1) / 2. */
START_TEST(curves_of_a_moving_average)
{
    double values[48];
    for (size_t k = 0; k < 48; k++)
        values[k] = 1 / 48.0;
    struct mask *mask = mask_of(values, 48);
    struct mask_spectrum spectrum;
    struct curve curve;
    ck_assert_int_eq(mask_spectrum_init(&spectrum, mask, 0, RATE), STATUS_OK);
    ck_assert_int_eq(curve_magnitude(&spectrum, false, &curve), STATUS_OK);
    ck_assert_uint_gt(curve.count, 1000);
    for (size_t i = 0; i < curve.count; i++) {
        double x = M_PI * curve.x[i] / RATE;
        double want = fabs(sin(48 * x) / (48 * sin(x)));
        ck_assert_msg(i == 0 || curve.x[i] > curve.x[i - 1], "%g Hz", curve.x[i]);
        ck_assert_msg(fabs(pow(10, curve.y[i] / 20) - want) < 1e-6, "%g Hz: %g dB", curve.x[i],
                      curve.y[i]);
    }
    expect_near(curve.x[curve.count - 1], RATE / 2.0, 1);
    curve_free(&curve);
    ck_assert_int_eq(curve_group_delay(&spectrum, false, &curve), STATUS_OK);
    for (size_t i = 0; i < curve.count; i++)
        ck_assert(isnan(curve.y[i]) || fabs(curve.y[i] - 23.5 / 48) < 1e-3);
    curve_free(&curve);
    ck_assert_int_eq(curve_phase(&spectrum, &curve), STATUS_OK);
    for (size_t i = 0; i < curve.count && curve.x[i] < 990; i++)
        ck_assert_double_eq_tol(curve.y[i], 0, 1e-3);
    curve_free(&curve);
    mask_spectrum_free(&spectrum);
}

/* One zero: the phase and delay of 1 - a z in closed form. */
START_TEST(curves_of_one_zero)
{
    const double a = 0.9;
    struct mask *mask = mask_of((double[]){1, -0.9}, 2);
    struct mask_spectrum spectrum;
    struct curve curve;
    ck_assert_int_eq(mask_spectrum_init(&spectrum, mask, 0, RATE), STATUS_OK);
    ck_assert_int_eq(curve_phase(&spectrum, &curve), STATUS_OK);
    for (size_t i = 0; i < curve.count; i++) {
        double w = 2 * M_PI * curve.x[i] / RATE;
        double want = atan2(a * sin(w), 1 - a * cos(w)) * 180 / M_PI;
        ck_assert_msg(fabs(curve.y[i] - want) < 1e-3, "%g Hz: %g, not %g", curve.x[i], curve.y[i],
                      want);
    }
    curve_free(&curve);
    ck_assert_int_eq(curve_group_delay(&spectrum, false, &curve), STATUS_OK);
    for (size_t i = 0; i < curve.count; i++) {
        double w = 2 * M_PI * curve.x[i] / RATE;
        double want = (a * a - a * cos(w)) / (1 + a * a - 2 * a * cos(w)) / RATE * 1e3;
        ck_assert_msg(fabs(curve.y[i] - want) < 1e-3, "%g Hz: %g, not %g", curve.x[i], curve.y[i],
                      want);
    }
    curve_free(&curve);
    mask_spectrum_free(&spectrum);
}

/* However long a mask is, its peaks are in the curve. */
START_TEST(long_impulses_keep_their_peaks)
{
    struct mask *mask = room(1, 100000, 40000);
    mask->coefficients[77777] = -0.25F;
    const struct time_axis axis = {.to = (double)mask->taps / RATE};
    struct curve curve;
    ck_assert_int_eq(curve_time(mask, 0, RATE, TIME_CURVE_IMPULSE, &axis, &curve), STATUS_OK);
    ck_assert_uint_le(curve.count, 4000);
    double least = 0, at = 0;
    for (size_t i = 0; i < curve.count; i++)
        if (curve.y[i] < least) {
            least = curve.y[i];
            at = curve.x[i];
        }
    expect_near(least, -0.25, 1e-7);
    expect_near(at, 77777.0 / RATE, 1e-9);
    curve_free(&curve);
    ck_assert_int_eq(curve_time(mask, 0, RATE, TIME_CURVE_STEP, &axis, &curve), STATUS_OK);
    double sum = 0;
    for (size_t k = 0; k < 100000; k++)
        sum += (double)mask->coefficients[k];
    expect_near(curve.y[curve.count - 1], sum, 1e-4);
    curve_free(&curve);
}

/* A 1 kHz tone burst from 100 to 200 ms appears there, and nowhere else. */
START_TEST(spectrograms_show_when_and_where)
{
    static double values[24000];
    for (size_t k = 4800; k < 9600; k++)
        values[k] = sin(2 * M_PI * 1000 * (double)k / RATE);
    struct mask *mask = mask_of(values, 24000);
    const struct time_axis time = {.to = 0.5};
    struct spectrogram picture;
    ck_assert_int_eq(mask_spectrogram_init(mask, 0, RATE, 20, 24000, &time, &picture), STATUS_OK);
    size_t rows = picture.axis.rows;
    for (size_t c = 0; c < picture.columns; c++) {
        double seconds = picture.from + ((double)c + 0.5) * picture.step;
        const float *power = picture.power + c * rows;
        size_t loudest = 0;
        for (size_t r = 0; r < rows; r++)
            loudest = power[r] > power[loudest] ? r : loudest;
        double hz = spectrogram_axis_hz(&picture.axis, (double)loudest + 0.5);
        double db = spectrogram_db((double)power[loudest], -200);
        if (seconds > 0.12 && seconds < 0.18)
            ck_assert_msg(db > -1 && fabs(hz / 1000 - 1) < 0.06, "%g s: %g dB at %g Hz", seconds,
                          db, hz);
        if (seconds < 0.07 || seconds > 0.23)
            ck_assert_msg(db < -80, "%g s: %g dB", seconds, db);
    }
    spectrogram_free(&picture);
}

START_TEST(roughness)
{
    static const struct {
        const char *name;
        bool rough;
    } rows[] = {{"hall.wav", true},          {"reverse.wav", true},   {"lowpass-1k.wav", false},
                {"hum-notch-50.wav", false}, {"identity.txt", false}, {"comb.txt", false}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct mask *mask = filter(rows[r].name);
        struct mask_spectrum spectrum;
        ck_assert_int_eq(mask_spectrum_init(&spectrum, mask, 0, RATE), STATUS_OK);
        ck_assert_msg(mask_spectrum_is_rough(&spectrum) == rows[r].rough, "%s", rows[r].name);
        mask_spectrum_free(&spectrum);
    }
}
