/* The conversion to integers: rounding, the three dithers by their spectra, and where there is
 * none. */
#include "noise_spectrum.h"
#include "signal/quantiser.h"
#include "suite.h"

#include <complex.h>
#include <math.h>
#include <string.h>

enum {
    RATE = 44100,
    FRAMES = 1 << 18, /* of a sound */
};

static const double PI = 3.14159265358979323846;

static struct quantiser *make(unsigned bits, enum dither dither, size_t channels)
{
    struct quantiser *quantiser = NULL;
    const struct quantiser_settings settings = {bits, dither, channels, RATE};
    ck_assert_int_eq(quantiser_create(&settings, &quantiser), STATUS_OK);
    return quantiser;
}

static void fill_tone(double *samples, size_t frames, double amplitude)
{
    for (size_t i = 0; i < frames; i++)
        samples[i] = amplitude * sin(2 * PI * 997 / RATE * (double)i);
}

/* ---- the error ---- */

struct figures {
    double mean;                 /* steps */
    double power;                /* steps squared */
    double bins[NOISE_PART / 2]; /* of the spectrum; 1: as much as white noise of a step squared */
    double with_the_sound;       /* correlation */
    double with_its_square;      /* of the error's square, with the sound's */
    double after_one_sample;     /* with the error before */
};

static double correlation(const double *a, const double *b, size_t count)
{
    double ab = 0, aa = 0, bb = 0, mean_a = 0, mean_b = 0;
    for (size_t i = 0; i < count; i++) {
        mean_a += a[i] / (double)count;
        mean_b += b[i] / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        double x = a[i] - mean_a, y = b[i] - mean_b;
        ab += x * y;
        aa += x * x;
        bb += y * y;
    }
    return ab / sqrt(aa * bb);
}

/* Of a tone, whose amplitude is in steps. */
static struct figures measure(enum dither dither, double amplitude)
{
    static double samples[FRAMES], error[FRAMES], square[FRAMES], sound_square[FRAMES];
    static int32_t out[FRAMES];
    static struct figures figures;
    memset(&figures, 0, sizeof figures);
    fill_tone(samples, FRAMES, amplitude / NOISE_STEPS);
    noise_quantise(dither, RATE, samples, FRAMES, out);
    for (size_t i = 0; i < FRAMES; i++) {
        error[i] = out[i] - samples[i] * NOISE_STEPS;
        square[i] = error[i] * error[i];
        sound_square[i] = samples[i] * samples[i];
        figures.mean += error[i] / FRAMES;
        figures.power += square[i] / FRAMES;
    }
    figures.with_the_sound = correlation(samples, error, FRAMES);
    figures.with_its_square = correlation(sound_square, square, FRAMES);
    figures.after_one_sample = correlation(error, error + 1, FRAMES - 1);
    noise_spectrum(error, FRAMES, figures.bins);
    return figures;
}

/* The mean of a band of the spectrum. */
static double band(const struct figures *figures, double from, double to)
{
    size_t first = (size_t)(from * NOISE_PART / RATE), end = (size_t)(to * NOISE_PART / RATE);
    double sum = 0;
    for (size_t k = first; k < end; k++)
        sum += figures->bins[k] / (double)(end - first);
    return sum;
}

/* How loud it is: weighted by the threshold of hearing, relative to white noise of a step squared.
 */
static double audible(const struct figures *figures)
{
    double sum = 0, all = 0;
    for (size_t k = 4; k < NOISE_PART / 2; k++) {
        double weight = pow(10, -noise_threshold((double)k * RATE / NOISE_PART) / 10);
        sum += figures->bins[k] * weight;
        all += weight;
    }
    return sum / all;
}

START_TEST(rounding_has_a_twelfth_and_follows_the_sound)
{
    const struct figures loud = measure(DITHER_NONE, 10000);
    ck_assert_double_eq_tol(noise_db(loud.power), noise_db(1.0 / 12), 0.1);
    const struct figures faint = measure(DITHER_NONE, 1);
    ck_assert_double_gt(fabs(faint.with_the_sound), 0.2); /* what dither is for */
}

/* A power of a quarter: 4.77 dB above rounding. */
START_TEST(tpdf_is_white_and_knows_nothing_of_the_sound)
{
    const double amplitudes[] = {10000, 100, 1, 0.3};
    for (size_t a = 0; a < 4; a++) {
        const struct figures figures = measure(DITHER_TPDF, amplitudes[a]);
        ck_assert_double_eq_tol(figures.mean, 0, 0.005);
        ck_assert_double_eq_tol(noise_db(figures.power) - noise_db(1.0 / 12), 4.77, 0.06);
        ck_assert_double_eq_tol(figures.with_the_sound, 0, 0.01);
        ck_assert_double_eq_tol(figures.with_its_square, 0, 0.01);
        ck_assert_double_eq_tol(figures.after_one_sample, 0, 0.01);
        for (double from = 100; from < 21000; from += 1000)
            ck_assert_double_eq_tol(noise_db(band(&figures, from, from + 1000)), noise_db(0.25),
                                    0.5);
    }
}

/* The spectrum of TPDF times that of the filter. */
START_TEST(shaped_is_where_the_ear_is_dull)
{
    static const double taps[] = {1,      -2.412, 3.370,  -3.937, 4.174,
                                  -3.353, 2.205,  -1.281, 0.569,  -0.0847};
    const struct figures tpdf = measure(DITHER_TPDF, 10000);
    const struct figures shaped = measure(DITHER_SHAPED, 10000);
    ck_assert_double_eq_tol(shaped.mean, 0, 0.005);
    ck_assert_double_eq_tol(shaped.with_the_sound, 0, 0.01);
    for (double from = 200; from < 21000; from += 400) {
        double wanted = 0;
        size_t first = (size_t)(from * NOISE_PART / RATE),
               end = (size_t)((from + 400) * NOISE_PART / RATE);
        for (size_t k = first; k < end; k++) {
            double complex response = 0;
            for (size_t t = 0; t < 10; t++)
                response += taps[t] * cexp(-I * 2 * PI * (double)(k * t) / NOISE_PART);
            wanted += 0.25 * creal(response * conj(response)) / (double)(end - first);
        }
        ck_assert_double_eq_tol(noise_db(band(&shaped, from, from + 400)), noise_db(wanted), 1.2);
    }
    ck_assert_double_lt(noise_db(band(&shaped, 2500, 4500) / band(&tpdf, 2500, 4500)), -20);
    ck_assert_double_gt(noise_db(shaped.power / tpdf.power), 10);
    ck_assert_double_lt(noise_db(audible(&shaped) / audible(&tpdf)), -11);
}

START_TEST(channels_have_dithers_of_their_own)
{
    static double samples[2][FRAMES], error[2][FRAMES];
    static int32_t out[2 * FRAMES];
    const double *planar[] = {samples[0], samples[1]};
    fill_tone(samples[0], FRAMES, 0.1);
    fill_tone(samples[1], FRAMES, 0.1);
    struct quantiser *quantiser = make(16, DITHER_TPDF, 2);
    quantiser_interleave_in_double(quantiser, planar, 0, FRAMES, out);
    quantiser_destroy(quantiser);
    for (size_t i = 0; i < 2 * (size_t)FRAMES; i++)
        error[i % 2][i / 2] = (out[i] >> 16) - samples[i % 2][i / 2] * NOISE_STEPS;
    for (size_t late = 0; late < 4; late++)
        ck_assert_double_eq_tol(correlation(error[0] + late, error[1], FRAMES - late), 0, 0.01);
}

START_TEST(parts_of_any_length_give_the_same)
{
    enum { N = 30000 };
    static float samples[2][N];
    static int32_t whole[2 * N], parts[2 * N];
    const float *const planar[] = {samples[0], samples[1]};
    for (size_t i = 0; i < N; i++) { /* with silences longer than the hold */
        bool silent = (i / 9000) % 2;
        samples[0][i] = silent ? 0 : (float)sin((double)i) * 1.1F;
        samples[1][i] = i < 20000 ? (float)(i % 5) / NOISE_STEPS : samples[0][i];
    }
    for (int dither = DITHER_NONE; dither <= DITHER_SHAPED; dither++) {
        struct quantiser *one = make(16, (enum dither)dither, 2);
        struct quantiser *many = make(16, (enum dither)dither, 2);
        uint64_t clipped = quantiser_interleave(one, planar, 0, N, whole), sum = 0;
        for (size_t at = 0, step = 1, part; at < N; at += part, step = step * 7 % 1009) {
            part = N - at < step ? N - at : step;
            sum += quantiser_interleave(many, planar, at, part, parts + 2 * at);
        }
        ck_assert_mem_eq(whole, parts, sizeof whole);
        ck_assert_uint_eq(sum, clipped);
        ck_assert_uint_gt(sum, 100);
        quantiser_destroy(one);
        quantiser_destroy(many);
    }
}

/* ---- where there is none ---- */

/* Off the steps by what single precision leaves of them. */
START_TEST(whole_steps_stay_without_dither)
{
    static double samples[FRAMES];
    static int32_t out[FRAMES];
    for (size_t i = 0; i < FRAMES; i++)
        samples[i] = (double)((int)(i * 7919 % 65536) - 32768) / NOISE_STEPS;
    for (int dither = DITHER_TPDF; dither <= DITHER_SHAPED; dither++) {
        noise_quantise((enum dither)dither, RATE, samples, FRAMES, out);
        for (size_t i = 0; i < FRAMES; i++)
            ck_assert_int_eq(out[i], (int)(i * 7919 % 65536) - 32768);
    }
    static float rounded[FRAMES];
    for (size_t i = 0; i < FRAMES; i++)
        rounded[i] = (float)(samples[i] / 2 + 1e-7 * sin((double)i));
    const float *planar = rounded;
    struct quantiser *quantiser = make(17, DITHER_TPDF, 1);
    quantiser_interleave(quantiser, &planar, 0, FRAMES, out);
    quantiser_destroy(quantiser);
    for (size_t i = 0; i < FRAMES; i++)
        ck_assert_int_eq(out[i] >> 15, (int)(i * 7919 % 65536) - 32768);
}

static size_t differing(const int32_t *out, size_t from, size_t to, int32_t value)
{
    size_t count = 0;
    for (size_t i = from; i < to; i++)
        count += out[i] != value;
    return count;
}

/* One sample between two steps begins it; it goes on to the end of the hold, and no whole sample
 * in between ends it. */
START_TEST(dither_does_not_come_and_go)
{
    enum { AT = 1000, END = AT + QUANTISER_HOLD };
    static double samples[3 * QUANTISER_HOLD];
    static int32_t out[3 * QUANTISER_HOLD];
    for (size_t i = 0; i < 3 * QUANTISER_HOLD; i++)
        samples[i] = 5.0 / NOISE_STEPS;
    samples[AT] = 5.5 / NOISE_STEPS;
    for (int dither = DITHER_TPDF; dither <= DITHER_SHAPED; dither++) {
        noise_quantise((enum dither)dither, RATE, samples, 3 * QUANTISER_HOLD, out);
        ck_assert_uint_eq(differing(out, 0, AT, 5), 0);
        ck_assert_uint_gt(differing(out, AT + 1, END + 1, 5), QUANTISER_HOLD / 5);
        ck_assert_uint_gt(differing(out, END - 100, END + 1, 5), 5);
        ck_assert_uint_eq(differing(out, END + 1, 3 * QUANTISER_HOLD, 5), 0);
    }
}

/* Half of the samples are whole steps, as after a gain of a half: the others' dither is not theirs
 * alone, or the noise would follow the last bit of the sound. */
START_TEST(half_of_whole_steps_has_even_noise)
{
    static double samples[FRAMES];
    static int32_t out[FRAMES];
    double power[2] = {0};
    for (size_t i = 0; i < FRAMES; i++)
        samples[i] = (double)(i * 7919 % 1000) / 2 / NOISE_STEPS;
    noise_quantise(DITHER_TPDF, RATE, samples, FRAMES, out);
    for (size_t i = 2; i < FRAMES; i++) {
        double error = out[i] - samples[i] * NOISE_STEPS;
        power[i * 7919 % 1000 % 2] += error * error * 2 / FRAMES;
    }
    ck_assert_double_eq_tol(power[0], 0.25, 0.01);
    ck_assert_double_eq_tol(power[1], 0.25, 0.01);
}

START_TEST(the_default_is_tpdf_up_to_16_bits)
{
    enum { N = 4096 };
    static double samples[N];
    static int32_t chosen[N], named[N];
    const double *planar = samples;
    fill_tone(samples, N, 0.3);
    for (unsigned bits = 8; bits <= 32; bits += 8) {
        struct quantiser *of_auto = make(bits, DITHER_AUTO, 1);
        struct quantiser *of_name = make(bits, bits <= 16 ? DITHER_TPDF : DITHER_NONE, 1);
        quantiser_interleave_in_double(of_auto, &planar, 0, N, chosen);
        quantiser_interleave_in_double(of_name, &planar, 0, N, named);
        ck_assert_mem_eq(chosen, named, sizeof chosen);
        quantiser_destroy(of_auto);
        quantiser_destroy(of_name);
    }
}

/* ---- the ends of the range ---- */

START_TEST(quantising_saturates)
{
    const float samples[] = {0, 1, -1, 2, -2, 0.5f, 32767 / 32768.0f, 1e30f};
    const double wide[] = {1e300, -1e300, 5e-324, -0.0};
    const float *planar = samples;
    const double *wide_planar = wide;
    int32_t out[8];
    struct quantiser *quantiser = make(16, DITHER_TPDF, 1);
    uint64_t clipped = quantiser_interleave(quantiser, &planar, 0, 8, out);
    const int32_t expected[] = {0, 32767, -32768, 32767, -32768, 16384, 32767, 32767};
    for (size_t i = 0; i < 8; i++)
        ck_assert_int_eq(out[i] >> 16, expected[i]);
    ck_assert_uint_eq(clipped, 4); /* 1, 2, -2 and 1e30; -1 fits */
    ck_assert_uint_eq(quantiser_interleave_in_double(quantiser, &wide_planar, 0, 4, out), 2);
    ck_assert_int_eq(out[0] >> 16, 32767);
    ck_assert_int_eq(out[1] >> 16, -32768);
    quantiser_destroy(quantiser);
}

/* The dither is the same at the same place, 100 steps below, where all of it fits. */
START_TEST(what_dither_carries_beyond_full_scale_is_counted)
{
    static double samples[2][FRAMES];
    static int32_t high[FRAMES], low[FRAMES];
    for (size_t i = 0; i < FRAMES; i++) {
        samples[0][i] = (i % 2 ? 32767.2 : -32768.3) / 32768;
        samples[1][i] = samples[0][i] - (i % 2 ? 100.0 : -100.0) / 32768;
    }
    const double *at_end[] = {samples[0]}, *below[] = {samples[1]};
    struct quantiser *of_high = make(16, DITHER_TPDF, 1), *of_low = make(16, DITHER_TPDF, 1);
    struct quantiser *shaped = make(16, DITHER_SHAPED, 1);
    uint64_t clipped = quantiser_interleave_in_double(of_high, at_end, 0, FRAMES, high), beyond = 0;
    ck_assert_uint_eq(quantiser_interleave_in_double(of_low, below, 0, FRAMES, low), 0);
    for (size_t i = 0; i < FRAMES; i++) {
        int32_t fits = (low[i] >> 16) + (i % 2 ? 100 : -100);
        bool is_beyond = fits > 32767 || fits < -32768;
        beyond += is_beyond;
        ck_assert_int_eq(high[i] >> 16, is_beyond ? (i % 2 ? 32767 : -32768) : fits);
    }
    ck_assert_uint_gt(beyond, FRAMES / 10);
    ck_assert_uint_eq(clipped, beyond);
    ck_assert_uint_gt(quantiser_interleave_in_double(shaped, at_end, 0, FRAMES, high), FRAMES / 10);
    quantiser_destroy(of_high);
    quantiser_destroy(of_low);
    quantiser_destroy(shaped);
}

/* What was clipped is not made up for afterwards: the shaped error stays that of the filter. */
START_TEST(shaping_stays_stable_beyond_full_scale)
{
    static double samples[FRAMES];
    static int32_t out[FRAMES];
    fill_tone(samples, FRAMES, 1.5);
    for (size_t i = FRAMES / 2; i < FRAMES; i++)
        samples[i] *= 0.1;
    noise_quantise(DITHER_SHAPED, RATE, samples, FRAMES, out);
    for (size_t i = 0; i < FRAMES; i++) {
        double held = fmax(-NOISE_STEPS, fmin(NOISE_STEPS - 1, samples[i] * NOISE_STEPS));
        ck_assert_double_le(fabs(out[i] - held), 40); /* 1.5 times the sum of the taps */
    }
}
