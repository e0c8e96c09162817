/* Shaped dither at every rate: the filter as theory has it, and the noise of what is written,
 * weighted by a curve of hearing that is not the one it was designed by. */
#include "noise_spectrum.h"
#include "signal/noise_shaping.h"
#include "suite.h"

#include <complex.h>
#include <math.h>
#include <string.h>

enum {
    TAPS = NOISE_SHAPING_TAPS,
    FRAMES = 1 << 17, /* of a sound */
};

/* What the window lets through of the strongest bins. */
static const double LEAKAGE = 1e-7;

static const double PI = 3.14159265358979323846;

/* What theory and measurement give, in dB, with half a dB to spare. */
struct expected {
    uint32_t rate;
    double weighted; /* by Terhardt's curve, to TPDF; at most */
    double bass;     /* from 20 Hz to 15 kHz, unweighted; at most */
    double rise;     /* of all noise; at most */
};
static const struct expected expectations[] = {
    {8000, -1.7, 5, 5.3},       {11025, -1, 3.8, 4},        {16000, 0.4, 4, 4},
    {22050, -0.6, 4.8, 4.9},    {32000, -5, 6.8, 10.2},     {37800, -8.3, 2.5, 12.2},
    {64000, -19.6, -7.9, 12.2}, {88200, -29, -15.5, 12.2},  {96000, -31.9, -18.2, 12.2},
    {176400, -54, -38, 12.2},   {192000, -57.5, -41, 12.2}, {384000, -83, -68, 12.2},
};
enum { RATES = sizeof expectations / sizeof *expectations };

/* ---- the filter ---- */

static double response(const double taps[static TAPS], double turn)
{
    double complex sum = 1;
    for (size_t k = 0; k < TAPS; k++)
        sum -= taps[k] * cexp(-I * PI * turn * (double)(k + 1));
    return creal(sum * conj(sum));
}

/* A minimum-phase filter that begins with 1 takes as much as it gives; any other gives more
 * (Gerzon and Craven). */
START_TEST(the_filter_is_minimum_phase_and_its_rise_is_limited)
{
    enum { POINTS = 1 << 14 };
    for (size_t r = 0; r < RATES; r++) {
        double taps[TAPS], mean = 0, power = 0;
        noise_shaping_design(expectations[r].rate, taps);
        for (size_t i = 0; i < POINTS; i++) {
            double squared = response(taps, ((double)i + 0.5) / POINTS);
            mean += noise_db(squared) / POINTS;
            power += squared / POINTS;
        }
        ck_assert_double_eq_tol(mean, 0, 0.001);
        ck_assert_double_le(noise_db(power), expectations[r].rise);
        ck_assert_double_gt(noise_db(power), 1);
    }
}

/* The threshold of hearing at the thirds of an octave from 20 Hz: ISO 226:2003. */
static double iso_226(double hertz)
{
    static const double rows[] = {78.5, 68.7, 59.5, 51.1, 44.0, 37.5, 31.5, 26.5, 22.1, 17.9,
                                  14.4, 11.4, 8.6,  6.2,  4.4,  3.0,  2.2,  2.4,  3.5,  1.7,
                                  -1.3, -4.2, -6.0, -5.4, -1.5, 6.0,  12.6, 13.9, 12.3};
    double third = fmax(0, 10 * log10(hertz / 20));
    size_t row = (size_t)third;
    return rows[row] + (third - (double)row) * (rows[row + 1] - rows[row]);
}

static double weighted_response(const double taps[static TAPS], uint32_t rate)
{
    enum { POINTS = 1000 };
    double sum = 0;
    for (size_t i = 0; i < POINTS; i++) {
        double turn = ((double)i + 0.5) / POINTS;
        sum += pow(10, -iso_226(turn * rate / 2) / 10) * response(taps, turn);
    }
    return sum;
}

/* Where the rise is far from its limit, no other taps have less noise as the ear weighs it. */
START_TEST(no_other_taps_are_better)
{
    const uint32_t rates[] = {8000, 11025, 16000, 22050};
    for (size_t r = 0; r < 4; r++) {
        double taps[TAPS];
        noise_shaping_design(rates[r], taps);
        double least = weighted_response(taps, rates[r]);
        for (size_t k = 0; k < TAPS; k++) {
            double kept = taps[k];
            for (int sign = -1; sign <= 1; sign += 2) {
                taps[k] = kept + sign * 0.03;
                ck_assert_double_gt(weighted_response(taps, rates[r]), least);
            }
            taps[k] = kept;
        }
    }
}

/* Where nothing is audible, or all is alike, it is no filter; between them it is one. */
START_TEST(any_rate_has_one)
{
    const uint32_t rates[] = {1,     2,       39,      41,       100,       6000,
                              44100, 1536000, 5644800, 40000001, UINT32_MAX};
    for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
        double taps[TAPS], power = 1;
        noise_shaping_design(rates[r], taps);
        for (size_t k = 0; k < TAPS; k++) {
            ck_assert(isfinite(taps[k]));
            power += taps[k] * taps[k];
        }
        ck_assert_double_le(noise_db(power), NOISE_SHAPING_RISE + 0.01);
        if (rates[r] <= 39 || rates[r] == UINT32_MAX)
            ck_assert_double_eq(power, 1);
    }
}

/* ---- what is written ---- */

struct noise {
    double mean, power;          /* steps, steps squared */
    double bins[NOISE_PART / 2]; /* 1: as much as white noise of a step squared */
};

static void measure(enum dither dither, uint32_t rate, const double *samples, struct noise *noise)
{
    static double error[FRAMES];
    static int32_t out[FRAMES];
    memset(noise, 0, sizeof *noise);
    noise_quantise(dither, rate, samples, FRAMES, out);
    for (size_t i = 0; i < FRAMES; i++) {
        error[i] = out[i] - samples[i] * NOISE_STEPS;
        noise->mean += error[i] / FRAMES;
        noise->power += error[i] * error[i] / FRAMES;
    }
    noise_spectrum(error, FRAMES, noise->bins);
}

static double audible(const struct noise *noise, uint32_t rate)
{
    double sum = 0;
    for (size_t k = 1; k < NOISE_PART / 2; k++)
        sum += noise->bins[k] * pow(10, -noise_threshold((double)k * rate / NOISE_PART) / 10);
    return sum;
}

static double band(const struct noise *noise, uint32_t rate, double from, double to)
{
    double sum = 0;
    for (size_t k = 1; k < NOISE_PART / 2; k++) {
        double hertz = (double)k * rate / NOISE_PART;
        sum += hertz >= from && hertz < to ? noise->bins[k] : 0;
    }
    return sum;
}

static void fill_tone(double *samples, double amplitude)
{
    for (size_t i = 0; i < FRAMES; i++)
        samples[i] = amplitude * sin(0.1270 * (double)i);
}

START_TEST(the_noise_is_where_the_ear_is_dull)
{
    static double samples[FRAMES];
    static struct noise tpdf, shaped;
    fill_tone(samples, 0.1);
    for (size_t r = 0; r < RATES; r++) {
        const struct expected *expected = &expectations[r];
        measure(DITHER_TPDF, expected->rate, samples, &tpdf);
        measure(DITHER_SHAPED, expected->rate, samples, &shaped);
        double below = band(&shaped, expected->rate, 20, 15000);
        double weighted =
            noise_db(audible(&shaped, expected->rate) / audible(&tpdf, expected->rate));
        double bass = noise_db(below / band(&tpdf, expected->rate, 20, 15000));
        double rise = noise_db(shaped.power / tpdf.power);
        ck_assert_double_le(weighted, expected->weighted);
        ck_assert_double_le(bass, expected->bass);
        ck_assert_double_le(rise, expected->rise);
        ck_assert_double_eq_tol(shaped.mean, 0, 0.03);
        if (expected->rate > 80000) /* where there is room above what is heard */
            ck_assert_double_gt(band(&shaped, expected->rate, 20000, expected->rate),
                                0.95 * band(&shaped, expected->rate, 0, expected->rate));
    }
}

/* The spectrum follows the filter, bin by bin, and has no line: neither of the constant nor of a
 * loop of errors. */
START_TEST(a_constant_makes_no_tones)
{
    static double samples[FRAMES];
    static struct noise noise;
    const double constants[] = {0.5, 1.0 / 3, 0.001, 1000.25, -0.75, NOISE_STEPS - 40.5};
    for (size_t r = 0; r < RATES; r++) {
        double taps[TAPS];
        noise_shaping_design(expectations[r].rate, taps);
        for (size_t c = 0; c < sizeof constants / sizeof *constants; c++) {
            for (size_t i = 0; i < FRAMES; i++)
                samples[i] = constants[c] / NOISE_STEPS;
            measure(DITHER_SHAPED, expectations[r].rate, samples, &noise);
            ck_assert_double_eq_tol(noise.mean, 0, 0.03);
            double share = 0, count = 0;
            for (size_t k = 4; k < NOISE_PART / 2 - 4; k++) {
                double wanted = response(taps, 2.0 * (double)k / NOISE_PART) / 4;
                ck_assert_double_lt(noise.bins[k], 5 * (wanted + LEAKAGE));
                share += wanted > 100 * LEAKAGE ? noise.bins[k] / wanted : 0;
                count += wanted > 100 * LEAKAGE;
            }
            ck_assert_double_eq_tol(noise_db(share / count), 0, 0.1);
        }
    }
}

START_TEST(silence_and_whole_steps_stay)
{
    static double samples[FRAMES];
    static int32_t out[FRAMES];
    for (size_t r = 0; r < RATES; r++)
        for (int step = -1; step <= 1; step++) {
            for (size_t i = 0; i < FRAMES; i++)
                samples[i] = (double)(step * (int)(i % 7)) / NOISE_STEPS;
            noise_quantise(DITHER_SHAPED, expectations[r].rate, samples, FRAMES, out);
            for (size_t i = 0; i < FRAMES; i++)
                ck_assert_int_eq(out[i], step * (int)(i % 7));
        }
}

/* Errors are bounded by the dither's and the rounding's, so that the noise is by the taps' sum;
 * what was clipped is not made up for. */
START_TEST(it_stays_stable_at_and_beyond_full_scale)
{
    static double samples[FRAMES];
    static int32_t out[FRAMES];
    for (size_t r = 0; r < RATES; r++) {
        double taps[TAPS], bound = 1;
        noise_shaping_design(expectations[r].rate, taps);
        for (size_t k = 0; k < TAPS; k++)
            bound += fabs(taps[k]);
        ck_assert_double_le(1.5 * bound, 17); /* as docs/numbers.md has it */
        fill_tone(samples, 1);
        for (size_t i = 0; i < FRAMES; i++) {
            samples[i] = i < FRAMES / 4       ? samples[i]
                         : i < FRAMES / 2     ? (samples[i] > 0 ? 3e9 : -1e300)
                         : i < 3 * FRAMES / 4 ? 1 + samples[i]
                                              : samples[i] / 10;
        }
        noise_quantise(DITHER_SHAPED, expectations[r].rate, samples, FRAMES, out);
        for (size_t i = 0; i < FRAMES; i++) {
            double held = fmax(-NOISE_STEPS, fmin(NOISE_STEPS - 1, samples[i] * NOISE_STEPS));
            ck_assert_double_le(fabs(out[i] - held), 1.5 * bound);
        }
    }
}
