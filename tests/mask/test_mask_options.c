/* Mask options against plain arithmetic. */
#include "chain/mask_options.h"
#include "command.h"
#include "mask/mask.h"
#include "mask_load.h"
#include "render_call.h"
#include "sound.h"
#include "suite.h"
#include "truth.h"

#include <math.h>
#include <string.h>

enum { TAPS = 100, RATE = 48000, WAVF = SF_FORMAT_WAV | SF_FORMAT_FLOAT };

static struct mask *noise_mask(size_t columns)
{
    struct mask *mask;
    ck_assert_int_eq(mask_create("m", columns, TAPS, &mask), STATUS_OK);
    mask->rate = RATE;
    truth_noise_taps(1, mask->coefficients, columns * TAPS);
    return suite_mask(mask);
}

/* `words` separated by blanks; the status of the first that fails. */
static enum status apply(const char *spec, size_t channels, enum mask_align align,
                         struct mask *mask)
{
    char copy[128], *rest = copy;
    struct mask_options options = {0};
    struct stream_format format = {.rate = RATE, .channels = channels};
    snprintf(copy, sizeof copy, "%s", spec);
    for (char *option; (option = strsep(&rest, " "));) {
        enum status status = mask_options_parse(option, NULL, &options);
        if (status != STATUS_OK)
            return status;
    }
    return mask_options_apply(&options, &format, align, mask);
}

static struct mask *applied(const char *spec, size_t columns)
{
    struct mask *mask = noise_mask(columns);
    ck_assert_msg(apply(spec, columns == 4 ? 2 : columns, MASK_ALIGN_CAUSAL, mask) == STATUS_OK,
                  "%s", spec);
    return mask;
}

/* The mask has these taps, given as position and factor in the noise. */
static void expect_taps(const char *spec, size_t taps, size_t silence, size_t from, double factor)
{
    struct mask *whole = noise_mask(2), *mask = applied(spec, 2);
    ck_assert_msg(mask->taps == taps, "%s: %zu taps", spec, mask->taps);
    for (size_t c = 0; c < 2; c++)
        for (size_t k = 0; k < taps; k++) {
            double want = k < silence ? 0 : factor * mask_column(whole, c)[from + k - silence];
            ck_assert_msg(fabs(mask_column(mask, c)[k] - want) < 1e-6, "%s: tap %zu of %zu is %g",
                          spec, k, c, mask_column(mask, c)[k]);
        }
}

START_TEST(cuts_and_delays)
{
    expect_taps("trim=30", 70, 0, 30, 1);
    expect_taps("trim=1ms", 52, 0, 48, 1);
    expect_taps("trim=0.001s", 52, 0, 48, 1);
    expect_taps("trim=0", 100, 0, 0, 1);
    expect_taps("length=40", 40, 0, 0, 1);
    expect_taps("length=1000", 100, 0, 0, 1);
    expect_taps("delay=7", 107, 7, 0, 1);
    expect_taps("delay=0.5ms", 124, 24, 0, 1);
    expect_taps("invert", 100, 0, 0, -1);
    expect_taps("gain=-6", 100, 0, 0, pow(10, -6 / 20.0));
    expect_taps("gain=6dB invert", 100, 0, 0, -pow(10, 6 / 20.0));
}

/* trim, then length, then delay, in whatever order they are written. */
START_TEST(order_is_fixed)
{
    expect_taps("delay=5 length=20 trim=30", 25, 5, 30, 1);
    expect_taps("trim=30 length=20 delay=5", 25, 5, 30, 1);
}

START_TEST(fade_is_a_raised_cosine)
{
    struct mask *whole = noise_mask(1), *mask = applied("fade=20", 1);
    for (size_t k = 0; k < TAPS; k++) {
        double factor = k < 80 ? 1 : 0.5 * (1 + cos(M_PI * ((double)k - 80 + 0.5) / 20));
        ck_assert_double_eq_tol(mask_column(mask, 0)[k], factor * mask_column(whole, 0)[k], 1e-6);
    }
}

/* The remaining end fades, not the one that was cut off. */
START_TEST(fade_comes_after_length)
{
    struct mask *whole = noise_mask(1), *mask = applied("fade=1 length=50", 1);
    ck_assert_double_eq_tol(mask_column(mask, 0)[49], 0.5 * mask_column(whole, 0)[49], 1e-6);
    ck_assert_double_eq(mask_column(mask, 0)[48], mask_column(whole, 0)[48]);
}

static double magnitudes(const struct mask *mask, size_t column, int power)
{
    double sum = 0;
    for (size_t k = 0; k < mask->taps; k++)
        sum += pow(fabs((double)mask_column(mask, column)[k]), power);
    return sum;
}

START_TEST(normalize_peak)
{
    struct mask *whole = noise_mask(2), *mask = applied("normalize=peak", 2);
    double peak = 0, largest = 0;
    for (size_t i = 0; i < 2 * TAPS; i++) {
        peak = fmax(peak, fabs((double)mask->coefficients[i]));
        largest = fmax(largest, fabs((double)whole->coefficients[i]));
    }
    ck_assert_double_eq_tol(peak, 1, 1e-6);
    for (size_t i = 0; i < 2 * TAPS; i++) /* the balance of channels is kept */
        ck_assert_double_eq_tol(mask->coefficients[i] * largest, whole->coefficients[i], 1e-6);
}

/* With a true-stereo mask an output gets two columns: 0 and 2, 1 and 3. */
START_TEST(normalize_outputs)
{
    struct mask *mask = applied("normalize=l1", 4);
    double left = magnitudes(mask, 0, 1) + magnitudes(mask, 2, 1);
    double right = magnitudes(mask, 1, 1) + magnitudes(mask, 3, 1);
    ck_assert_double_eq_tol(fmax(left, right), 1, 1e-5);
    ck_assert_double_gt(fabs(left - right), 1e-4);
    mask = applied("normalize=energy", 4);
    left = magnitudes(mask, 0, 2) + magnitudes(mask, 2, 2);
    right = magnitudes(mask, 1, 2) + magnitudes(mask, 3, 2);
    ck_assert_double_eq_tol(fmax(left, right), 1, 1e-5);
    mask = applied("gain=-6 normalize=l1", 1); /* the gain is applied afterwards */
    ck_assert_double_eq_tol(magnitudes(mask, 0, 1), pow(10, -6 / 20.0), 1e-5);
}

START_TEST(silence_stays_silence)
{
    static const char *const spec[] = {"normalize=peak", "normalize=energy", "normalize=l1",
                                       "phase=minimum"};
    for (size_t w = 0; w < 4; w++) {
        struct mask *mask;
        ck_assert_int_eq(mask_create("m", 1, TAPS, &mask), STATUS_OK);
        ck_assert_int_eq(apply(spec[w], 1, MASK_ALIGN_CAUSAL, mask), STATUS_OK);
        for (size_t k = 0; k < TAPS; k++)
            ck_assert_msg(mask->coefficients[k] == 0, "%s", spec[w]);
        mask_destroy(mask);
    }
}

/* A delay makes the sound later, also where time zero is inside the mask. */
START_TEST(delay_keeps_time_zero)
{
    struct mask *mask = noise_mask(1);
    ck_assert_int_eq(apply("delay=10", 1, MASK_ALIGN_CENTRE, mask), STATUS_OK);
    ck_assert_uint_eq(mask->origin, (TAPS - 1) / 2);
}

/* A mask without a rate counts in frames of the sound. */
START_TEST(times_without_a_rate)
{
    struct mask *mask = noise_mask(1);
    mask->rate = 0;
    ck_assert_int_eq(apply("trim=1ms", 1, MASK_ALIGN_CAUSAL, mask), STATUS_OK);
    ck_assert_uint_eq(mask->taps, 52);
}

START_TEST(wrong_arguments_are_refused)
{
    static const char *const spec[] = {
        "trim=100",     "trim=-1",      "trim=1.5",        "trim=1h",    "trim=",
        "trim=nan",     "trim=1e400",   "length=0",        "fade=101",   "delay=-1ms",
        "delay=1e300s", "phase=linear", "normalize=loud",  "normalize",  "invert=1",
        "channel=2",    "trim",         "fade=60 trim=50", "length=inf", "foo=1",
    };
    for (size_t w = 0; w < sizeof spec / sizeof *spec; w++) {
        struct mask *mask = noise_mask(1);
        ck_assert_msg(apply(spec[w], 1, MASK_ALIGN_CAUSAL, mask) != STATUS_OK, "%s", spec[w]);
    }
}

/* ---- minimum phase ---- */

static void expect_minimum_phase(const double *taps, size_t count, const double *want, double most)
{
    double got[16], error;
    ck_assert_int_eq(minimum_phase(taps, count, got, &error), STATUS_OK);
    ck_assert_double_lt(error, most);
    for (size_t k = 0; k < count; k++)
        ck_assert_msg(fabs(got[k] - want[k]) < most, "tap %zu is %.9f, not %.9f", k, got[k],
                      want[k]);
}

/* The zeros of these are known: those outside the unit circle are moved inside, to 1/z, and the
 * factor is multiplied by |z|. */
START_TEST(zeros_are_reflected)
{
    expect_minimum_phase((double[]){1, -2}, 2, (double[]){-2, 1}, 1e-9);
    expect_minimum_phase((double[]){1, -0.5}, 2, (double[]){1, -0.5}, 1e-9);
    /* (1 - 2 z)(1 - 3 z) -> 2 * 3 (1 - z/2)(1 - z/3); the largest tap is positive */
    expect_minimum_phase((double[]){1, -5, 6}, 3, (double[]){6, -5, 1}, 1e-9);
    /* (1 - 2 z)(1 - z/4) -> -2 (1 - z/2)(1 - z/4): the largest tap of the first is negative */
    expect_minimum_phase((double[]){1, -2.25, 0.5}, 3, (double[]){-2, 1.5, -0.25}, 1e-9);
    expect_minimum_phase((double[]){0, 0, 0, -1}, 4, (double[]){-1, 0, 0, 0}, 1e-9);
}

static double gain_at(const struct mask *mask, double hz)
{
    double re = 0, im = 0;
    for (size_t k = 0; k < mask->taps; k++) {
        re += mask_column(mask, 0)[k] * cos(2 * M_PI * hz * (double)k / RATE);
        im += mask_column(mask, 0)[k] * sin(2 * M_PI * hz * (double)k / RATE);
    }
    return hypot(re, im);
}

/* A linear-phase filter and its minimum-phase version: the same gains to -100 dB, and the energy
 * as early as possible. */
START_TEST(twins_have_the_same_gains)
{
    struct mask *linear, *twin;
    char file[512];
    snprintf(file, sizeof file, "%s/lowpass-1k.wav", getenv("FILTERS"));
    ck_assert_int_eq(mask_load_with(file, &(struct mask_load_options){0}, &linear), STATUS_OK);
    ck_assert_int_eq(mask_load_with(file, &(struct mask_load_options){0}, &twin), STATUS_OK);
    ck_assert_int_eq(apply("phase=minimum", 1, MASK_ALIGN_CAUSAL, twin), STATUS_OK);
    ck_assert_uint_eq(twin->taps, linear->taps);
    for (double hz = 0; hz <= RATE / 2.0; hz += 37)
        ck_assert_msg(fabs(gain_at(linear, hz) - gain_at(twin, hz)) < 1e-5, "%g Hz: %g, not %g", hz,
                      gain_at(twin, hz), gain_at(linear, hz));
    double early = 0, late = 0;
    for (size_t k = 0; k < 600; k++) {
        early += pow(mask_column(twin, 0)[k], 2);
        late += pow(mask_column(linear, 0)[k], 2);
        ck_assert_double_ge(early, late - 1e-9); /* at every tap: the definition */
    }
    mask_destroy(linear);
    mask_destroy(twin);
}

/* ---- in commands ---- */

START_TEST(render_takes_them)
{
    struct sound mask = sound_noise_mask("m.wav", 2, 1, 200);
    sound_noise_file("in.wav", 1, WAVF, 48000, 1, 500);
    struct sound cut = sound_create(WAVF, 48000, 1, 60);
    for (size_t k = 0; k < 60; k++)
        cut.block.data[0][k] = k < 10 ? 0 : -mask.block.data[0][20 + k - 10];
    sound_save(&cut, "cut.wav");
    render_done("in.wav", "out.wav", "--mask m.wav,delay=10,trim=20,length=50,invert");
    sound_expect_filtered("out.wav", "in.wav", "cut.wav");
    command_refused(2, "trim", "\"$HALO\" render in.wav x.wav --mask m.wav,trim=1000");
    mask_spec_refused(2, "phase", "m.wav,phase=odd", NULL);
}

/* Whoever writes an option expects something of it. */
START_TEST(options_without_effect_are_refused)
{
    static const struct {
        const char *mask, *expected;
    } refused[] = {
        {"one.txt,order=llrrlrrl", "order= sorts the four channels"},
        {"one.txt,order=lllrrlrr", "order= sorts the four channels"},
        {"two.txt,order=lllrrlrr", "order= sorts the four channels"},
        {"four.txt,channel=2,order=llrrlrrl", "order= sorts the four channels"},
        {"own.mask,order=llrrlrrl", "has its own routing; order="},
        {"own.mask,map=matrix", "has its own routing; map="},
        {"own.mask,channel=1", "has its own routing; channel=1"},
        {"lowpass:1000,order=llrrlrrl", "order= sorts the four channels"},
        {"lowpass:1000,raw=F32_LE", "is made by halo: raw="},
        {"lowpass:1000,folder=.", "is made by halo: folder="},
        {"lowpass:1000,trust-config=no", "is made by halo: trust-config="},
        {"invert:one.wav,trust-config=no", "is made by halo: trust-config="},
        {"one.wav,trust-config=no", "is sound: trust-config= is for configurations"},
        {"combine:lowpass:1000*one.txt,folder=.", "is made by halo: folder="},
        {"one.txt,folder=.", "is text: folder= is for configurations"},
        {"own.mask,folder=.", "is text: folder= is for configurations"},
        {"one.wav,folder=.", "is sound: folder= is for configurations"},
        {"one.txt,channels=2", "channels= needs raw="},
        {"one.txt,gain=-6,gain=-6", "mask option gain= is given twice"},
        {"one.txt,invert,trim=0,invert", "mask option invert is given twice"},
        {"lowpass:1000,taps=9,taps=11", "lowpass: taps= is given twice"},
    };
    const struct stream_format sound = {.rate = 48000, .channels = 2};
    command_done("printf '1\\n.5\\n' >one.txt; printf '1 2\\n3 4\\n' >two.txt;"
                 "printf '1 2 3 4\\n5 6 7 8\\n' >four.txt;"
                 "printf 'inputs: 2\\noutputs: 1\\npath: 1 1 1\\n1\\n' >own.mask;"
                 "$HALO mask convert one.txt one.wav --rate 48000");
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        mask_spec_refused(2, refused[i].expected, refused[i].mask, &sound);
    (void)mask_of_spec("four.txt,order=llrrlrrl", &sound);
    (void)mask_of_spec("four.txt,map=matrix,order=llrrlrrl", &sound);
}
