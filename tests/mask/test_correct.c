/* Crossovers and corrections of loudspeakers, against formulas and simulated rooms. */
#include "base/noise.h"
#include "command.h"
#include "import/mask_write.h"
#include "mask_load.h"
#include "signal/biquad.h"
#include "signal/fft_double.h"
#include "sound.h"
#include "suite.h"
#include "sweep/measurement.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>

enum { FREQUENCIES = 200, RATE = 48000 };

static const double PI = 3.14159265358979323846;
static const struct stream_format mono = {.rate = RATE, .channels = 1};

/* The response of a column relative to time zero. */
static double complex response(const struct mask *mask, size_t column, double hertz)
{
    double complex turn = cexp(-2 * PI * I * hertz / mask->rate), sum = 0,
                   phase = cexp(2 * PI * I * hertz * (double)mask->origin / mask->rate);
    for (size_t i = 0; i < mask->taps; i++, phase *= turn)
        sum += mask_column(mask, column)[i] * phase;
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
        ways[count++] = mask_of_spec(text, &mono);
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
        }
    }
}

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
}

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
}

START_TEST(wrong_crossovers_are_refused)
{
    mask_spec_refused(2, "way=", "crossover:80", &mono);
    mask_spec_refused(2, "one of low, high", "crossover:80,way=mid", &mono);
    mask_spec_refused(2, "three ways", "crossover:80:300:3000,way=low", &mono);
    mask_spec_refused(2, "increasing", "crossover:3000:300,way=low", &mono);
    mask_spec_refused(2, "slope=", "crossover:80,way=low,slope=18", &mono);
    mask_spec_refused(2, "half the rate", "crossover:24k,way=low", &mono);
    mask_spec_refused(2, "needs a value", "crossover,way=low", &mono);
}

/* ---- corrections ---- */

static void save(const struct mask *mask, const char *name)
{
    const struct mask_write_settings settings = {.force = true, .is_double = true};
    ck_assert_int_eq(mask_write_wav(mask, command_path(name), &settings), STATUS_OK);
}

/* Saves a column of a SPEC. */
static void save_spec(const char *name, const char *spec, size_t column)
{
    struct mask *mask = mask_of_spec(spec, &mono);
    if (mask->columns > 1)
        ck_assert_int_eq(mask_select(mask, column + 1), STATUS_OK);
    save(mask, name);
}

/* The gain of a column in dB. */
static double gain(const struct mask *mask, size_t column, double hertz)
{
    return decibels(cabs(response(mask, column, hertz)));
}

START_TEST(a_loudspeaker_becomes_flat)
{
    save_spec("a.wav", "parametric:HP 60 0.7; PK 200 5 1; PK 3000 -4 1", 0);
    struct mask *speaker = mask_of_spec("a.wav", &mono);
    static const char *const specs[] = {"correct:a.wav", "correct:a.wav,phase=linear",
                                        "correct:a.wav,cycles=20,smooth=12"};
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        struct mask *mask = mask_of_spec(specs[s], &mono);
        uint64_t state = s;
        double level = gain(speaker, 0, 1000) + gain(mask, 0, 1000);
        for (size_t f = 0; f < 60; f++) {
            double hertz = 100 * pow(150, 0.5 + 0.5 * (double)noise_next(&state));
            ck_assert_msg(fabs(gain(speaker, 0, hertz) + gain(mask, 0, hertz) - level) < 0.4,
                          "%s, %g Hz: %g", specs[s], hertz,
                          gain(speaker, 0, hertz) + gain(mask, 0, hertz) - level);
        }
        ck_assert_double_lt(gain(mask, 0, 15), 0.1); /* where the loudspeaker does not play */
    }
}

enum { SPECTRUM = 1 << 17 };

/* Deviation by thirds of an octave from 40 Hz to 16 kHz, of a response through a filter. */
static double deviation(const struct mask *room, const struct mask *filter)
{
    double complex *product = calloc(SPECTRUM / 2 + 1, sizeof *product);
    const struct mask *masks[] = {room, filter};
    struct fft_double *fft;
    ck_assert_int_eq(fft_double_create(SPECTRUM, &fft), STATUS_OK);
    for (size_t k = 0; k <= SPECTRUM / 2; k++)
        product[k] = 1;
    for (size_t m = 0; m < (filter ? 2 : 1); m++) {
        for (size_t i = 0; i < SPECTRUM; i++)
            fft_double_samples(fft)[i] = i < masks[m]->taps ? masks[m]->coefficients[i] : 0;
        fft_double_forward(fft);
        for (size_t k = 0; k <= SPECTRUM / 2; k++)
            product[k] *= fft_double_bins(fft)[k];
    }
    double sum = 0, squares = 0, thirds = 27;
    for (int third = -14; third <= 12; third++) {
        double power = 0, middle = 1000 * pow(10, third / 10.0) * SPECTRUM / RATE;
        size_t first = (size_t)(middle * pow(10, -0.05)), end = (size_t)(middle * pow(10, 0.05));
        for (size_t k = first; k < end; k++)
            power += pow(cabs(product[k]), 2) / (double)(end - first);
        sum += 10 * log10(power);
        squares += pow(10 * log10(power), 2);
    }
    fft_double_destroy(fft);
    free(product);
    return sqrt(squares / thirds - pow(sum / thirds, 2));
}

START_TEST(rooms_become_flatter)
{
    for (int seed = 1; seed <= 2; seed++) {
        char spec[64];
        struct mask *rooms[2];
        snprintf(spec, sizeof spec, "room:rt60=0.3,size=%dx4x2.5,seed=%d", 4 + seed, seed);
        for (size_t c = 0; c < 2; c++) {
            const char *name = c == 0 ? "a.wav" : "b.wav";
            save_spec(name, spec, c);
            rooms[c] = mask_of_spec(name, &mono);
        }
        struct mask *one = mask_of_spec("correct:a.wav,boost=12", &mono),
                    *both = mask_of_spec("correct:a.wav*b.wav,boost=12", &mono);
        double before = deviation(rooms[0], NULL), other = deviation(rooms[1], NULL);
        ck_assert_double_lt(deviation(rooms[0], one), before / 2);
        ck_assert_double_lt(deviation(rooms[0], both) + deviation(rooms[1], both),
                            0.6 * (before + other));
    }
}

START_TEST(limits_hold)
{
    static const char *const phases[] = {"minimum", "linear", "mixed"};
    save_spec("a.wav", "parametric:PK 80 25 2; PK 500 -30 2; PK 4000 -30 8", 0);
    save_spec("b.wav", "room:rt60=0.4,seed=5", 0);
    for (size_t p = 0; p < 6; p++) {
        char spec[96];
        snprintf(spec, sizeof spec, "correct:%s.wav,boost=3,cut=10,from=60,to=6k,phase=%s",
                 p < 3 ? "a" : "b", phases[p % 3]);
        struct mask *mask = mask_of_spec(spec, &mono);
        double most = -100, least = 100;
        for (double hertz = 25; hertz < 20000; hertz *= hertz < 200 ? 1.005 : 1.02) {
            double db = gain(mask, 0, hertz);
            most = fmax(most, db);
            least = fmin(least, db);
            ck_assert_msg(hertz > 45 && hertz < 8000 ? db <= 3 && db >= -10 : fabs(db) < 0.1,
                          "%s at %g Hz: %g dB", spec, hertz, db);
        }
        ck_assert(p >= 3 || (most > 2.7 && least < -9.6)); /* used to the full */
    }
}

/* A loudspeaker whose bass has an all-pass: with phase=mixed all frequencies come at one time. */
START_TEST(mixed_phase_mends_the_bass)
{
    struct mask *speaker;
    struct biquad turn = biquad_make(BIQUAD_ALLPASS, 80, 0, 1.5, RATE);
    ck_assert_int_eq(mask_create("speaker", 1, RATE / 2, &speaker), STATUS_OK);
    speaker->rate = RATE;
    speaker->origin = 500;             /* time zero for response() */
    speaker->coefficients[500] = -0.5; /* inverted, and stays so */
    biquad_filter(&turn, speaker->coefficients, speaker->taps);
    save(speaker, "a.wav");
    struct mask *mixed = mask_of_spec("correct:a.wav,phase=mixed", &mono),
                *minimum = mask_of_spec("correct:a.wav", &mono);
    ck_assert_uint_eq(mixed->origin, RATE / 25);
    for (double hertz = 30; hertz < 10000; hertz *= 1.1) {
        double complex before = response(speaker, 0, hertz) * response(minimum, 0, hertz),
                       after = response(speaker, 0, hertz) * response(mixed, 0, hertz);
        double error = fabs(carg(hertz < 300 ? -after : after / before));
        ck_assert_msg(error < 0.15 || (hertz > 200 && hertz < 400), "%g Hz: %g", hertz, error);
        ck_assert_double_eq_tol(decibels(cabs(after)), decibels(cabs(before)), 0.1);
        ck_assert(hertz < 75 || hertz > 85 || fabs(carg(-before)) > 2.5);
    }
    mask_spec_refused(2, "phase=mixed", "correct:a.wav,excess=100", &mono);
    mask_destroy(speaker);
}

START_TEST(targets_are_met)
{
    static const struct {
        const char *target;
        double hertz, less; /* dB relative to 1 kHz */
    } cases[] = {
        {"flat", 100, 0},        {"tilt:-0.8", 100, 0.8 * 3.3219}, {"tilt:-0.8", 8000, -2.4},
        {"house", 50, 4 + 0.5},  {"house", 20000 / 1.5, -2.148},   {"t.txt", 50, 3},
        {"t.txt", 2000, -1.505}, {"autoeq.csv", 200, 2},           {"autoeq.csv", 8000, -3},
    };
    mask_save_text("pulse.txt", "rate: 48000\n1\n0\n");
    mask_save_text("autoeq.csv", "frequency,raw\n20.00,4.00\n100.00,2.00\n250.00,2.00\n"
                                 "1000.00,0.00\n5000.00,-3.00\n20000.00,-3.00\n");
    mask_save_text("t.txt", "20 73\n100 73\n1000 70\n4000 67\n"); /* aligned in level */
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char spec[64];
        snprintf(spec, sizeof spec, "correct:pulse.txt,target=%s,smooth=24,taps=8192",
                 cases[c].target);
        struct mask *mask = mask_of_spec(spec, &mono);
        double less = gain(mask, 0, cases[c].hertz) - gain(mask, 0, 1000);
        ck_assert_msg(fabs(less - cases[c].less) < 0.06, "%s, %g Hz: %g", spec, cases[c].hertz,
                      less);
    }
}

static void expect_equal(const char *spec, size_t column, const char *other)
{
    struct mask *a = mask_of_spec(spec, &mono), *b = mask_of_spec(other, &mono);
    ck_assert_uint_eq(a->taps, b->taps);
    for (size_t i = 0; i < a->taps; i++)
        ck_assert_double_eq_tol(mask_column(a, column)[i], b->coefficients[i], 1e-9);
}

START_TEST(positions_are_weighed)
{
    save_spec("a.wav", "parametric:PK 1000 12 1", 0);
    save_spec("b.wav", "parametric:PK 100 -12 1,gain=-20", 0);
    expect_equal("correct:a.wav*b.wav,weights=2:0,taps=4096", 0, "correct:a.wav,taps=4096");
    expect_equal("correct:a.wav*b.wav,weights=0:0.1,taps=4096", 0, "correct:b.wav,taps=4096");
    struct mask *a = mask_of_spec("a.wav", &mono), *b = mask_of_spec("b.wav", &mono),
                *mask = mask_of_spec("correct:a.wav*b.wav,weights=3:1,smooth=24,cut=20,taps=8192",
                                     &mono);
    double mean_a = 0, mean_b = 0;
    enum { POINTS = 300 };
    for (double p = 0; p < POINTS; p++) {
        mean_a += gain(a, 0, 20 * pow(1000, p / POINTS)) / POINTS;
        mean_b += gain(b, 0, 20 * pow(1000, p / POINTS)) / POINTS;
    }
    double expected[2], hertz[2] = {1000, 8000};
    for (size_t i = 0; i < 2; i++)
        expected[i] = -10 * log10(3 * pow(10, (gain(a, 0, hertz[i]) - mean_a) / 10) +
                                  pow(10, (gain(b, 0, hertz[i]) - mean_b) / 10));
    ck_assert_double_eq_tol(gain(mask, 0, 1000) - gain(mask, 0, 8000), expected[0] - expected[1],
                            0.1);
}

/* Outputs 3 and 5, each at two microphones. */
START_TEST(measured_columns_are_positions)
{
    static const double delays[] = {100, 120, 148, 130}, levels[] = {1, 0.9, 0.5, 0.6};
    static const char *const names[] = {"l1.wav", "l2.wav", "r1.wav", "r2.wav"};
    struct measurement *made;
    struct mask *room;
    ck_assert_int_eq(mask_create("room", 4, 4800, &room), STATUS_OK);
    ck_assert_int_eq(measurement_create(4, &made), STATUS_OK);
    room->rate = made->rate = RATE;
    for (size_t c = 0; c < 4; c++) {
        struct mask *alone;
        uint64_t state = c % 2; /* each microphone has its room */
        double *taps = mask_column(room, c), at = delays[c];
        for (double i = at; i < 4800; i++)
            taps[(size_t)i] =
                levels[c] * (i > at ? 0.2 * noise_next(&state) : 1) * exp((at - i) / 500);
        ck_assert_int_eq(mask_create("room", 1, 4800, &alone), STATUS_OK);
        alone->rate = RATE;
        memcpy(alone->coefficients, taps, 4800 * sizeof *taps);
        save(alone, names[c]);
        mask_destroy(alone);
        made->paths[c].output = c < 2 ? 3 : 5;
        made->paths[c].input = 1 + c % 2;
    }
    room->measured = measurement_text(made);
    save(room, "room.wav");
    expect_equal("correct:room.wav,align=no,taps=4096", 0, "correct:l1.wav*l2.wav,taps=4096");
    expect_equal("correct:room.wav,align=no,taps=4096", 1, "correct:r1.wav*r2.wav,taps=4096");
    struct mask *aligned = mask_of_spec("correct:room.wav,taps=4096", &mono),
                *own = mask_of_spec("correct:room.wav,align=no,taps=4096", &mono);
    ck_assert_uint_eq(aligned->columns, 2);
    double ratio = mask_column(aligned, 0)[48] / mask_column(own, 0)[0];
    ck_assert_double_eq_tol(decibels(ratio), decibels(sqrt(0.5 * 0.6 / 0.9)), 0.1);
    for (size_t i = 0; i < own->taps; i++) {
        ck_assert_double_eq_tol(mask_column(aligned, 0)[48 + i], ratio * mask_column(own, 0)[i],
                                1e-9);
        ck_assert_double_eq_tol(mask_column(aligned, 1)[i], mask_column(own, 1)[i], 1e-9);
    }
    mask_destroy(room);
    measurement_destroy(made);
}

/* A subwoofer and two loudspeakers of other levels and distances, each at two positions, with the
 * crossover and without a room: what arrives is flat across the crossover, at both positions. Only
 * the second position has noise, and to= is beyond the subwoofer. */
START_TEST(a_subwoofer_adds_to_the_others)
{
    enum { SPEAKERS = 3, POSITIONS = 2 };
    static const char *const bands[SPEAKERS] = {"HP 45 0.8", "HP 45 0.8",
                                                "HP 22 0.7; LP 110 0.6; LP 300 0.7"};
    static const char *const options[] = {"minimum,to=300", "linear,to=2000", "mixed"};
    for (uint64_t seed = 0; seed < 3; seed++) {
        struct mask *rooms[POSITIONS];
        uint64_t state = seed;
        double places[SPEAKERS], gains[SPEAKERS];
        for (size_t s = 0; s < SPEAKERS; s++) {
            places[s] = 0.008 + 0.007 * (double)noise_next(&state);
            gains[s] = -10 + 6 * (double)noise_next(&state);
        }
        for (size_t p = 0; p < POSITIONS; p++) {
            ck_assert_int_eq(mask_create("room", SPEAKERS, RATE / 4, &rooms[p]), STATUS_OK);
            rooms[p]->rate = RATE;
            for (size_t s = 0; s < SPEAKERS; s++) {
                char spec[128];
                snprintf(spec, sizeof spec, "parametric:%s,taps=8192,gain=%g,delay=%.3fms",
                         bands[s], gains[s], 1000 * places[s] + (double)p / 10);
                struct mask *one = mask_of_spec(spec, &mono);
                memcpy(mask_column(rooms[p], s), mask_column(one, 0), one->taps * sizeof(double));
                for (size_t i = 0; p == 1 && i < rooms[p]->taps; i++)
                    mask_column(rooms[p], s)[i] += 1e-5 * (double)noise_next(&state);
            }
            save(rooms[p], p == 0 ? "a.wav" : "b.wav");
        }
        char spec[96];
        snprintf(spec, sizeof spec, "correct:a.wav*b.wav,crossover=80,phase=%s", options[seed]);
        struct mask *mask = mask_of_spec(spec, &mono);
        ck_assert_uint_eq(mask->columns, SPEAKERS);
        for (size_t p = 0; p < POSITIONS; p++)
            for (size_t main = 0; main < 2; main++) {
                double level = NAN;
                for (double hertz = 290; hertz > 30; hertz /= 1.05) {
                    double db = decibels(
                        cabs(response(rooms[p], main, hertz) * response(mask, main, hertz) +
                             response(rooms[p], 2, hertz) * response(mask, 2, hertz)));
                    level = isnan(level) ? db : level;
                    ck_assert_msg(fabs(db - level) < 1, "%s, seed %d, %g Hz: %g dB", spec,
                                  (int)seed, hertz, db - level);
                }
            }
        for (size_t p = 0; p < POSITIONS; p++)
            mask_destroy(rooms[p]);
    }
}

/* A position of weight 0, where the subwoofer is later, changes nothing. */
START_TEST(positions_without_weight_do_not_count)
{
    static const char *const specs[2][2] = {
        {"parametric:HP 45 0.8,taps=8192,delay=9ms",
         "parametric:HP 22 0.7; LP 110 0.6; LP 300 0.7,taps=8192,delay=10ms"},
        {"parametric:HP 45 0.8,taps=8192,delay=9ms",
         "parametric:HP 30 0.7; LP 110 0.6; LP 300 0.7,taps=8192,delay=14ms,gain=9"},
    };
    for (size_t p = 0; p < 2; p++) {
        struct mask *room;
        ck_assert_int_eq(mask_create("room", 2, RATE / 4, &room), STATUS_OK);
        room->rate = RATE;
        for (size_t s = 0; s < 2; s++) {
            struct mask *one = mask_of_spec(specs[p][s], &mono);
            memcpy(mask_column(room, s), mask_column(one, 0), one->taps * sizeof(double));
        }
        save(room, p == 0 ? "a.wav" : "b.wav");
        mask_destroy(room);
    }
    struct mask *one = mask_of_spec("correct:a.wav,crossover=80", &mono),
                *both = mask_of_spec("correct:a.wav*b.wav,crossover=80,weights=1:0", &mono);
    ck_assert_uint_eq(one->taps, both->taps);
    for (size_t i = 0; i < 2 * one->taps; i++)
        ck_assert_double_eq_tol(one->coefficients[i], both->coefficients[i], 1e-9);
}

START_TEST(wrong_corrections_are_refused)
{
    save_spec("a.wav", "lowpass:1000", 0);
    mask_save_text("two.txt", "rate: 48000\n1 1\n0 0.5\n");
    mask_save_text("silent.txt", "rate: 48000\n1 0\n0 0\n");
    mask_save_text("far.txt", "rate: 1000\n1 0\n"
                              "0 0\n0 0\n0 0\n0 0\n0 0\n0 0\n0 0\n0 0\n0 1\n");
    mask_save_text("nan.txt", "1\nnan\n");
    mask_save("cut.wav", "RIFF\x40\0\0\0WAVEfmt ", 16);
    mask_spec_refused(0, "channel 2 of silent.txt is silent", "correct:silent.txt", &mono);
    mask_spec_refused(0, "cut.wav", "correct:a.wav*cut.wav", &mono);
    mask_spec_refused(0, "nan.txt", "correct:nan.txt", &mono);
    mask_spec_refused(0, "none.wav", "correct:none.wav", &mono);
    mask_spec_refused(2, "other loudspeakers", "correct:two.txt*a.wav", &mono);
    mask_spec_refused(2, "other loudspeakers", "correct:a.wav*two.txt", &mono);
    mask_spec_refused(2, "1 to 16 files", "correct:a.wav*", &mono);
    mask_spec_refused(2, "each of the 2 positions", "correct:a.wav*a.wav,weights=1", &mono);
    mask_spec_refused(2, "each of the 1 positions", "correct:a.wav,weights=1:2", &mono);
    mask_spec_refused(2, "must be below", "correct:a.wav,from=500,to=100", &mono);
    mask_spec_refused(2, "no file none.txt", "correct:a.wav,target=none.txt", &mono);
    mask_spec_refused(2, "tilt", "correct:a.wav,target=tilt:steep", &mono);
    mask_spec_refused(2, "smooth=", "correct:a.wav,smooth=much", &mono);
    mask_spec_refused(2, "align= is one of", "correct:a.wav,align=perhaps", &mono);
    mask_spec_refused(2, "needs a value", "correct", &mono);
}

/* Files of a correction travel with a chain; words of target= are no files. */
START_TEST(files_are_collected)
{
    save_spec("a.wav", "lowpass:1000", 0);
    save_spec("b.wav", "lowpass:2000", 0);
    mask_save_text("t.txt", "20 3\n1000 0\n");
    command_done("mkdir kept && $HALO mask convert a.wav in.wav && "
                 "$HALO render in.wav out.wav -q --mask 'correct:a.wav*b.wav,target=t.txt' "
                 "--mask 'correct:a.wav,target=house' --save-chain kept/c.yml --collect");
    ck_assert_int_eq(
        command_run("test $(find kept -name '*.wav' -o -name t.txt | wc -l) -ge 3").code, 0);
}

/* ---- tone ---- */

static void save_noise(const char *name, uint64_t seed, size_t frames, const char *filter)
{
    sound_noise_file("raw.wav", seed, SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE, 1, frames);
    command_done("$HALO render raw.wav %s -f -q --mask '%s'", name, filter);
}

START_TEST(a_sound_gets_the_tone_of_another)
{
    static const char filter[] = "parametric:PK 200 5 1; HS 4000 -8 0.7";
    save_noise("a.wav", 1, 30 * RATE, "delay:0");
    save_noise("b.wav", 2, 30 * RATE, filter);
    struct mask *wanted = mask_of_spec(filter, &mono);
    static const char *const specs[] = {"tone:a.wav,like=b.wav,smooth=12",
                                        "tone:a.wav,like=b.wav,phase=linear,smooth=12"};
    for (size_t s = 0; s < 2; s++) {
        struct mask *mask = mask_of_spec(specs[s], &mono);
        double level = gain(mask, 0, 1000) - gain(wanted, 0, 1000);
        for (double hertz = 60; hertz < 15000; hertz *= 1.3)
            ck_assert_double_eq_tol(gain(mask, 0, hertz) - gain(wanted, 0, hertz), level, 0.7);
    }
    mask_spec_refused(2, "like=", "tone:a.wav", &mono);
    mask_spec_refused(0, "none.wav", "tone:a.wav,like=none.wav", &mono);
    command_done("$HALO render a.wav silent.wav -q --gain -200 --format pcm16 --dither none");
    mask_spec_refused(0, "silent.wav is silent", "tone:a.wav,like=silent.wav", &mono);
}

/* Silence between and quiet treble do not count; gains stay within the limits. */
START_TEST(tone_ignores_silence_and_keeps_limits)
{
    save_noise("a.wav", 1, 10 * RATE, "delay:0");
    save_noise("b.wav", 2, 10 * RATE, "lowpass:5000");
    command_done("$HALO render b.wav long.wav -q --tail 15s --mask delay:0");
    struct mask *mask = mask_of_spec("tone:a.wav,like=b.wav", &mono),
                *same = mask_of_spec("tone:a.wav,like=long.wav", &mono),
                *back = mask_of_spec("tone:b.wav,like=a.wav", &mono);
    for (double hertz = 30; hertz < 19000; hertz *= 1.2) {
        ck_assert_double_eq_tol(gain(mask, 0, hertz), gain(same, 0, hertz), 0.02);
        ck_assert(gain(mask, 0, hertz) > -15 && gain(back, 0, hertz) < 6);
    }
    ck_assert_double_lt(gain(mask, 0, 10000), -14.5);
    ck_assert_double_gt(gain(back, 0, 10000), 5.5);
}

/* ---- bands instead of taps ---- */

/* The difference of two masks' gains at 12 frequencies an octave: the root of the mean square. */
static double difference(const struct mask *mask, size_t column, const struct mask *other,
                         size_t other_column)
{
    double squares = 0, count = 0;
    for (double hertz = 25; hertz < 18000; hertz *= exp2(1.0 / 12), count++)
        squares += pow(gain(mask, column, hertz) -
                           (other ? gain(other, other_column, hertz) : gain(mask, column, 1000)),
                       2);
    return sqrt(squares / count);
}

START_TEST(bands_come_close)
{
    static const char known[] = "parametric:LS 150 4 0.7; PK 1000 -6 2; HS 6000 -5 0.8";
    save_spec("known.wav", known, 0);
    command_done("$HALO mask convert known.wav,gain=-3 eq.txt --to eqapo --bands 3");
    struct mask *mask = mask_of_spec("known.wav,gain=-3", &mono),
                *bands = mask_of_spec("eq.txt", &mono);
    ck_assert_double_lt(difference(mask, 0, bands, 0), 0.2);

    const struct stream_format stereo = {.rate = RATE, .channels = 2};
    command_done("$HALO mask convert room:rt60=0.3 room.wav -f && "
                 "$HALO mask convert correct:room.wav c.wav && "
                 "$HALO mask convert c.wav eq2.txt --to eqapo --bands 16");
    mask = mask_of_spec("c.wav", &stereo);
    bands = mask_of_spec("eq2.txt", &stereo);
    for (size_t c = 0; c < 2; c++) {
        ck_assert_double_lt(difference(mask, c, bands, bands->paths[c].column), 1.2);
        ck_assert_double_gt(difference(mask, c, NULL, 0), 2);
    }
    mask_save_text("cross.mask", "rate: 48000\ninputs: 2\noutputs: 2\npath: 1 2 1\n1\n");
    command_refused(0, "routes one channel to another",
                    "$HALO mask convert cross.mask x.txt --to eqapo --bands 3");
    command_refused(2, "--bands is for", "$HALO mask convert c.wav x.txt --bands 3");
    sound_text("slow.txt", "rate: 20\n1\n0.5\n");
    command_refused(2, "rate too low", "$HALO mask convert slow.txt eq3.txt --to eqapo --bands 3");
}

START_TEST(responses_are_smoothed)
{
    save_spec("a.wav", "parametric:PK 1000 -6 1", 0);
    command_done("$HALO mask convert a.wav a.frd --smooth 12");
    struct mask *mask = mask_of_spec("a.wav", &mono), *back = mask_of_spec("response:a.frd", &mono);
    ck_assert_double_lt(difference(mask, 0, back, 0), 0.1);
    save_noise("b.wav", 5, 20 * RATE, "tilt:-3dB/oct");
    command_done("$HALO mask convert b.wav b.frd --smooth 3");
    back = mask_of_spec("response:b.frd", &mono);
    ck_assert_double_eq_tol(gain(back, 0, 200) - gain(back, 0, 6400), 15, 0.6);
    command_refused(2, "--smooth is for", "$HALO mask convert a.wav x.txt --smooth 3");
}
