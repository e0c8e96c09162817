/* Crossovers against formulas. */
#include "base/noise.h"
#include "command.h"
#include "mask_load.h"
#include "suite.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>

enum { FREQUENCIES = 200, RATE = 48000 };

static const double PI = 3.14159265358979323846;
static const struct stream_format sound = {.rate = RATE, .channels = 1};

/* The response of a column relative to time zero. */
static double complex response(const struct mask *mask, size_t column, double hertz)
{
    double complex sum = 0;
    for (size_t i = 0; i < mask->taps; i++)
        sum += mask_column(mask, column)[i] *
               cexp(-2 * PI * I * hertz * ((double)i - (double)mask->origin) / mask->rate);
    return sum;
}

static double decibels(double magnitude)
{
    return 20 * log10(magnitude);
}

/* Random, evenly over the logarithm of frequency. */
static double random_hertz(uint64_t *state)
{
    return 20 * pow(1000, 0.5 + 0.5 * (double)noise_next(state));
}

/* ---- crossovers ---- */

static size_t load_ways(const char *spec, struct mask *ways[3])
{
    static const char *const names[] = {"low", "mid", "high"};
    size_t count = 0;
    for (size_t w = 0; w < 3; w++) {
        char text[128], *second = strchr(strchr(spec, ':') + 1, ':');
        if (w == 1 && !second)
            continue;
        snprintf(text, sizeof text, "%s,way=%s", spec, names[w]);
        ways[count++] = mask_of_spec(text, &sound);
    }
    return count;
}

START_TEST(ways_sum_to_a_delay)
{
    static const char *const specs[] = {
        "crossover:80",           "crossover:2k,slope=48",        "crossover:15k,slope=12",
        "crossover:80,taps=1000", "crossover:150,slope=steep",    "crossover:300:3000",
        "crossover:70:500",       "crossover:300:3k,slope=steep", "crossover:40:20k,slope=96",
    };
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        struct mask *ways[3];
        uint64_t state = s;
        size_t count = load_ways(specs[s], ways);
        for (size_t f = 0; f < FREQUENCIES; f++) {
            double complex sum = -1;
            double hertz = random_hertz(&state);
            for (size_t w = 0; w < count; w++)
                sum += response(ways[w], 0, hertz);
            ck_assert_msg(cabs(sum) < 1e-6, "%s at %g Hz: %g dB", specs[s], hertz,
                          decibels(cabs(sum)));
        }
        for (size_t w = 0; w < count; w++) {
            ck_assert_uint_eq(ways[w]->taps, ways[0]->taps);
            ck_assert_uint_eq(ways[w]->origin, (ways[0]->taps - 1) / 2);
            mask_destroy(ways[w]);
        }
    }
}
END_TEST

/* Linkwitz and Riley's magnitudes: squares of Butterworth's. The phase is linear. */
static double riley(double hertz, double edge, double slope)
{
    return 1 / (1 + pow(hertz / edge, slope / 6));
}

START_TEST(ways_have_the_slopes)
{
    struct mask *two[3], *three[3];
    uint64_t state = 7;
    load_ways("crossover:80,slope=24", two);
    load_ways("crossover:300:3000,slope=48", three);
    for (size_t f = 0; f < FREQUENCIES; f++) {
        double hertz = random_hertz(&state), low = riley(hertz, 80, 24),
               first = riley(hertz, 300, 48), second = riley(hertz, 3000, 48);
        ck_assert_double_eq_tol(cabs(response(two[0], 0, hertz) - low), 0, 1e-5);
        ck_assert_double_eq_tol(cabs(response(two[1], 0, hertz) - (1 - low)), 0, 1e-5);
        ck_assert_double_eq_tol(cabs(response(three[0], 0, hertz) - first), 0, 1e-5);
        ck_assert_double_eq_tol(cabs(response(three[1], 0, hertz) - (1 - first) * second), 0, 1e-5);
        ck_assert_double_eq_tol(cabs(response(three[2], 0, hertz) - (1 - first) * (1 - second)), 0,
                                1e-5);
    }
    ck_assert_double_eq_tol(decibels(cabs(response(two[0], 0, 80))), -6.0206, 0.001);
    for (size_t w = 0; w < 3; w++)
        mask_destroy(three[w]);
    mask_destroy(two[0]);
    mask_destroy(two[1]);
}
END_TEST

START_TEST(steep_ways_are_steep)
{
    struct mask *ways[3];
    uint64_t state = 3;
    load_ways("crossover:200:2000,slope=steep", ways);
    for (size_t f = 0; f < FREQUENCIES; f++) {
        double hertz = random_hertz(&state);
        bool is_low = hertz < 150, is_mid = hertz > 250 && hertz < 1500, is_high = hertz > 2500;
        if (!is_low && !is_mid && !is_high)
            continue;
        ck_assert_double_eq_tol(cabs(response(ways[0], 0, hertz) - is_low), 0, 3e-5);
        ck_assert_double_eq_tol(cabs(response(ways[1], 0, hertz) - is_mid), 0, 3e-5);
        ck_assert_double_eq_tol(cabs(response(ways[2], 0, hertz) - is_high), 0, 3e-5);
    }
    for (size_t w = 0; w < 3; w++)
        mask_destroy(ways[w]);
}
END_TEST

START_TEST(wrong_crossovers_are_refused)
{
    mask_spec_refused(2, "way=", "crossover:80", &sound);
    mask_spec_refused(2, "one of low, high", "crossover:80,way=mid", &sound);
    mask_spec_refused(2, "three ways", "crossover:80:300:3000,way=low", &sound);
    mask_spec_refused(2, "increasing", "crossover:3000:300,way=low", &sound);
    mask_spec_refused(2, "slope=", "crossover:80,way=low,slope=18", &sound);
    mask_spec_refused(2, "half the rate", "crossover:24k,way=low", &sound);
    mask_spec_refused(2, "needs a value", "crossover,way=low", &sound);
}
END_TEST

SUITE_MAIN("correct", ways_sum_to_a_delay, ways_have_the_slopes, steep_ways_are_steep,
           wrong_crossovers_are_refused)
