/* Designed masks against published designs, SciPy, GNU Octave and standards. */
#include "command.h"
#include "design/design.h"
#include "mask_load.h"
#include "render_call.h"
#include "signal/remez.h"
#include "sound.h"
#include "suite.h"
#include "truth.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const double PI = 3.14159265358979323846;

/* ---- helpers ---- */

enum { SPEC_MOST = 16 };

/* A SPEC without options of the mask itself. */
static struct mask *make_at(const char *text, uint32_t rate)
{
    char copy[512], *fields[SPEC_MOST] = {NULL}, *rest;
    size_t count = 0;
    struct mask *mask = NULL;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *field = strtok_r(copy, ",", &rest); field; field = strtok_r(NULL, ",", &rest))
        fields[count++] = field;
    ck_assert_msg(design_load(fields, rate, &(const struct mask_load_options){0}, &mask) ==
                      STATUS_OK,
                  "%s", text);
    ck_assert_msg(fields[1] == NULL, "%s leaves '%s'", text, fields[1]);
    return suite_mask(mask);
}

static struct mask *make(const char *text)
{
    return make_at(text, 48000);
}

static double complex response(const struct mask *mask, size_t column, double hertz)
{
    double complex sum = 0;
    const double *taps = mask_column(mask, column);
    for (size_t i = 0; i < mask->taps; i++)
        sum +=
            taps[i] * cexp(-2 * PI * I * hertz * ((double)i - (double)mask->origin) / mask->rate);
    return sum;
}

static double decibels(const struct mask *mask, double hertz)
{
    return 20 * log10(cabs(response(mask, 0, hertz)));
}

static void expect_taps(const char *text, const double *taps, size_t count, double tolerance)
{
    struct mask *mask = make(text);
    ck_assert_msg(mask->taps >= count, "%s: %zu taps", text, mask->taps);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(fabs((double)mask->coefficients[i] - taps[i]) <= tolerance,
                      "%s: tap %zu is %.9g, not %.9g", text, i, (double)mask->coefficients[i],
                      taps[i]);
}

/* The same for symmetric taps, of which the first half is given. */
static void expect_symmetric(const char *text, const double *half, size_t count, double tolerance)
{
    struct mask *mask = make(text);
    expect_taps(text, half, count, tolerance);
    ck_assert_msg(mask->taps / 2 + mask->taps % 2 == count, "%s: %zu taps", text, mask->taps);
    ck_assert_uint_eq(mask->origin, (mask->taps - 1) / 2);
    for (size_t i = 0; i < count; i++)
        ck_assert_double_eq_tol(mask->coefficients[i], mask->coefficients[mask->taps - 1 - i],
                                1e-14);
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- windowed filters ---- */

/* scipy 1.17.1: firwin(31, 6000, window=('kaiser', kaiser_beta(60)), fs=48000) */
static const double lowpass_kaiser[] = {
    -0.000305766957, -0.001078251896, -0.001490637348, 0,
    0.004118630505,  0.008823778476,  0.009087755862,  0,
    -0.01784687424,  -0.03463809605,  -0.03359350201,  0,
    0.06761835759,   0.1519594081,    0.2224107898,    0.2498688163};
/* firwin(16, 6000, window='hamming', fs=48000) */
static const double lowpass_hamming[] = {-0.001296357712, -0.005406338183, -0.01238714427,
                                         -0.01074497386,  0.02042051928,   0.09036963618,
                                         0.178420923,     0.2406237356};
/* firwin(31, 6000, window='hann', pass_zero=False, fs=48000) */
static const double highpass_hann[] = {0,
                                       0.0002484337756,
                                       0.0007484607224,
                                       0,
                                       -0.003385232182,
                                       -0.007958102943,
                                       -0.008640709558,
                                       0,
                                       0.01775838317,
                                       0.03472430665,
                                       0.03376337134,
                                       0,
                                       -0.06786501393,
                                       -0.1522819174,
                                       -0.2226297733,
                                       0.7500335322};
/* firwin(31, [3000, 9000], window='blackman', pass_zero=False, fs=48000) */
static const double bandpass_blackman[] = {0,
                                           0,
                                           0.0005546693461,
                                           0.002207221863,
                                           0.003014872185,
                                           0,
                                           -0.003975973948,
                                           0,
                                           0.01003226017,
                                           0,
                                           -0.05421670764,
                                           -0.1228737924,
                                           -0.121805415,
                                           0,
                                           0.1750523801,
                                           0.2586557477};
/* firwin(31, [3000, 9000], window='hamming', pass_zero=True, fs=48000) */
static const double bandstop_hamming[] = {0.0009143011579, 0, -0.003813007178, -0.008861589453,
                                          -0.008736462353, 0, 0.007578264817,  0,
                                          -0.0144022782,   0, 0.06373631463,   0.1342762922,
                                          0.1258375331,    0, -0.1697082202,   0.7463577031};

START_TEST(windowed_filters_equal_scipy)
{
    expect_symmetric("lowpass:6000,taps=31,atten=60", lowpass_kaiser, COUNT(lowpass_kaiser), 2e-8);
    expect_symmetric("lowpass:6k,taps=16,window=hamming", lowpass_hamming, COUNT(lowpass_hamming),
                     2e-8);
    expect_symmetric("highpass:6kHz,taps=31,window=hann", highpass_hann, COUNT(highpass_hann),
                     5e-8);
    expect_symmetric("bandpass:3000-9000,taps=31,window=blackman", bandpass_blackman,
                     COUNT(bandpass_blackman), 2e-8);
    expect_symmetric("bandstop:3k-9k,taps=31,window=hamming", bandstop_hamming,
                     COUNT(bandstop_hamming), 5e-8);
}

/* A. V. Oppenheim, R. W. Schafer, "Discrete-Time Signal Processing", the example of a Kaiser
 * low-pass: band edges 0.4 pi and 0.6 pi, ripple 0.001, M = 37, that is 38 taps; and scipy's
 * kaiserord(80, 500 / 24000) is 483. An even number is increased by one. */
START_TEST(kaiser_sets_the_number_of_taps)
{
    static const struct {
        const char *text;
        size_t taps;
    } cases[] = {
        {"lowpass:12000,width=4800,atten=60", 39}, {"lowpass:1000,width=500", 483},
        {"lowpass:1000,width=500,atten=80", 483},  {"highpass:1000,width=500,atten=80", 483},
        {"lowpass:1000,width=500,taps=101", 101},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct mask *mask = make(cases[i].text);
        ck_assert_msg(mask->taps == cases[i].taps, "%s: %zu taps", cases[i].text, mask->taps);
    }
}

/* Outside the transition bands the error is within the attenuation. */
static void expect_kept(const char *text, double attenuation, const double *edges, size_t count,
                        bool passes, double width)
{
    struct mask *mask = make(text);
    double allowed = 1.3 * pow(10, -attenuation / 20);
    for (double hertz = 0; hertz <= 24000; hertz += 7.3) {
        bool now = passes, near = false;
        for (size_t e = 0; e < count; e++) {
            now ^= hertz > edges[e];
            near |= fabs(hertz - edges[e]) < width / 2;
        }
        double error = fabs(creal(response(mask, 0, hertz)) - now);
        ck_assert_msg(near || error < allowed, "%s at %.0f Hz: off by %g", text, hertz, error);
    }
}

START_TEST(filters_keep_their_attenuation)
{
    expect_kept("lowpass:6000,width=600,atten=50", 50, (const double[]){6000}, 1, true, 600);
    expect_kept("highpass:6000,width=600,atten=90", 90, (const double[]){6000}, 1, false, 600);
    expect_kept("bandpass:3k-9k,width=600,atten=70", 70, (const double[]){3000, 9000}, 2, false,
                600);
    expect_kept("bandstop:3k-9k,width=600,atten=60", 60, (const double[]){3000, 9000}, 2, true,
                600);
    struct mask *notch = make("notch:50");
    ck_assert_double_lt(decibels(notch, 50), -70);
    ck_assert_double_lt(fabs(decibels(notch, 40)), 0.01);
    ck_assert_double_lt(fabs(decibels(notch, 60)), 0.01);
}

/* ---- equiripple ---- */

/* J. H. McClellan, T. W. Parks, L. R. Rabiner, "A computer program for designing optimum FIR
 * linear phase digital filters", 1973, the first example: 24 taps, bands 0-0.08 and 0.16-0.5.
 * Its grid has 16 points per term, so that it misses the optimum by about 2e-5. */
static const double published[] = {0.33740917e-2,  0.14938299e-1,  0.10569360e-1,  0.25415067e-2,
                                   -0.15929087e-1, -0.34085343e-1, -0.38112177e-1, -0.14629169e-1,
                                   0.40089541e-1,  0.11540713e+0,  0.18850752e+0,  0.23354606e+0};
/* octave 7.3.0, signal 1.4.3: remez(23, [0 .16 .32 1], [1 1 0 0], [1 1], 'bandpass', 128) */
static const double octave_lowpass[] = {0.00336705070984, 0.0149473455868,  0.0105711765602,
                                        0.00255063760521, -0.0159132197449, -0.0340727774079,
                                        -0.0381129872367, -0.0146375651634, 0.0400778072278,
                                        0.115404382273,   0.188504248322,   0.23355150172};
/* remez(30, [0 4000 5000 9000 10000 24000] / 24000, [0 0 1 1 0 0], [10 1 10], 'bandpass', 128) */
static const double octave_bandpass[] = {
    0.004797443585, -0.01636458421, 0.006419973686, -0.0009773972224,
    -0.02625522674, -0.04572971972, -0.02478725592, 0.0424631184,
    0.1052451665,   0.09032105344,  -0.01957271598, -0.1455197431,
    -0.170043986,   -0.05075992963, 0.1241966009,   0.2065793973};

START_TEST(equiripple_equals_published_and_octave)
{
    expect_symmetric("equiripple:0-3840 1; 7680- 0,taps=24", published, COUNT(published), 2e-5);
    expect_symmetric("equiripple:0-3840 1; 7680-24000 0,taps=24", octave_lowpass,
                     COUNT(octave_lowpass), 1e-6);
    expect_symmetric("equiripple:0-4k 0 10; 5k-9k 1 1; 10k- 0 10,taps=31", octave_bandpass,
                     COUNT(octave_bandpass), 2e-5);
}

/* The alternation theorem: the optimum of n free terms has n + 1 errors of equal size and
 * alternating sign. */
START_TEST(long_equiripple_alternates)
{
    enum { TAPS = 1001, GRID = 200000 };
    static const struct remez_band bands[] = {{0, 0.02, 1, 1}, {0.0225, 0.5, 0, 3}};
    static double taps[TAPS];
    double ripple, last = 0, peak = 0;
    ck_assert_int_eq(remez_design(bands, 2, taps, TAPS, &ripple), STATUS_OK);
    ck_assert_double_lt(ripple, 1e-2);
    size_t alternations = 0;
    for (int i = 0; i <= GRID; i++) {
        double f = 0.5 * i / GRID, sum = taps[TAPS / 2];
        if (f > bands[0].to && f < bands[1].from)
            continue;
        double complex turn = cexp(2 * PI * I * f), now = 1;
        for (size_t k = 1; k <= TAPS / 2; k++)
            sum += 2 * taps[TAPS / 2 - k] * creal(now *= turn);
        double error = f <= bands[0].to ? sum - 1 : 3 * sum;
        peak = fmax(peak, fabs(error));
        if (fabs(error) > 0.98 * ripple && error * last <= 0) {
            alternations++;
            last = error;
        }
    }
    ck_assert_double_lt(peak, 1.01 * ripple);
    ck_assert_uint_ge(alternations, TAPS / 2 + 2);
}

/* ---- simple masks ---- */

START_TEST(simple_masks)
{
    struct mask *mask = make("moving:31");
    ck_assert_uint_eq(mask->taps, 31);
    ck_assert_uint_eq(mask->origin, 15);
    for (size_t i = 0; i < 31; i++)
        ck_assert_double_eq(mask->coefficients[i], 1.0 / 31);

    expect_taps("diff", (const double[]){1, -1}, 2, 0);
    expect_taps("preemphasis:0.97", (const double[]){1, -0.97}, 2, 1e-7);
    /* exp(-k^2 / 2) divided by its sum, k = -2..2 */
    expect_symmetric("gaussian:5,sigma=1",
                     (const double[]){0.0544886845, 0.2442013420, 0.4026199469}, 3, 3e-8);
    expect_symmetric("sharpen:5,sigma=1,amount=0.5",
                     (const double[]){-0.02724434225, -0.1221006710, 1.29869002655}, 3, 1e-7);

    mask = make("delay:10ms");
    ck_assert_uint_eq(mask->taps, 481);
    ck_assert_uint_eq(mask->origin, 0);
    ck_assert_double_eq(mask->coefficients[480], 1);

    mask = make("echo:250ms,feedback=0.4"); /* 0.4^12 is the last one above 1e-5 */
    ck_assert_uint_eq(mask->taps, 12 * 12000 + 1);
    for (size_t i = 0; i < mask->taps; i++)
        ck_assert_double_eq_tol(mask->coefficients[i],
                                i % 12000 ? 0 : pow(0.4, (double)(i / 12000)), 1e-15);

    mask = make("comb"); /* nulls at 500, 1500, ... */
    ck_assert_double_lt(cabs(response(mask, 0, 1500)), 1e-6);
    ck_assert_double_eq_tol(cabs(response(mask, 0, 2000)), 1, 1e-6);
}

/* A phase shift of 90 degrees at full level, away from the band edges. */
START_TEST(hilbert_shifts_by_90_degrees)
{
    struct mask *mask = make("hilbert:255");
    ck_assert_uint_eq(mask->origin, 127);
    for (double hertz = 1000; hertz <= 23000; hertz += 500) {
        double complex gain = response(mask, 0, hertz);
        ck_assert_double_lt(fabs(creal(gain)), 1e-6);
        ck_assert_double_lt(fabs(cimag(gain) + 1), 5e-3);
    }
}

/* ---- equalisers ---- */

struct level {
    double hertz, db;
};

static void expect_levels(const char *text, uint32_t rate, const struct level *levels, size_t count,
                          double tolerance)
{
    struct mask *mask = make_at(text, rate);
    for (size_t i = 0; i < count && levels[i].hertz < rate / 2.0; i++)
        ck_assert_msg(fabs(decibels(mask, levels[i].hertz) - levels[i].db) <= tolerance,
                      "%s at %u Hz: %.3f dB at %.1f Hz, not %.3f", text, rate,
                      decibels(mask, levels[i].hertz), levels[i].hertz, levels[i].db);
}

/* The playback curve as published in tables, to three decimals. */
static const struct level riaa[] = {
    {20, 19.274},    {30, 18.593},     {40, 17.792},     {50, 16.946},     {60, 16.096},
    {80, 14.506},    {100, 13.088},    {150, 10.270},    {200, 8.219},     {300, 5.484},
    {400, 3.781},    {500, 2.648},     {800, 0.751},     {1000, 0},        {1500, -1.400},
    {2000, -2.589},  {3000, -4.740},   {4000, -6.605},   {5000, -8.210},   {6000, -9.598},
    {8000, -11.894}, {10000, -13.734}, {15000, -17.157}, {20000, -19.620},
};

/* IEC 61672-1, table of A-weighting, at the exact frequencies 1000 * 10^(n / 10). */
static const double a_weighting[] = {-50.5, -44.7, -39.4, -34.6, -30.2, -26.2, -22.5, -19.1,
                                     -16.1, -13.4, -10.9, -8.6,  -6.6,  -4.8,  -3.2,  -1.9,
                                     -0.8,  0,     0.6,   1.0,   1.2,   1.3,   1.2,   1.0,
                                     0.5,   -0.1,  -1.1,  -2.5,  -4.3,  -6.6,  -9.3};

START_TEST(standard_curves)
{
    static const char *const phases[] = {"", ",phase=linear"};
    struct level weighting[COUNT(a_weighting)];
    for (size_t i = 0; i < COUNT(a_weighting); i++)
        weighting[i] = (struct level){1000 * pow(10, ((double)i - 17) / 10), a_weighting[i]};
    for (size_t p = 0; p < COUNT(phases); p++) {
        char text[64];
        snprintf(text, sizeof text, "riaa%s", phases[p]);
        for (uint32_t rate = 44100; rate <= 96000; rate += 51900)
            expect_levels(text, rate, riaa, COUNT(riaa), 0.02);
        snprintf(text, sizeof text, "aweight%s", phases[p]);
        expect_levels(text, 48000, weighting, COUNT(weighting), 0.06); /* tables round to 0.1 */
    }
}

START_TEST(drawn_curves)
{
    static const struct level tilt[] = {{31.25, 15}, {125, 9},   {500, 3},
                                        {1000, 0},   {4000, -6}, {16000, -12}};
    /* Linear over the logarithm of frequency: sqrt(100 * 1000) Hz is halfway. */
    static const struct level graphic[] = {{20, -6},  {100, -6}, {316.228, -2}, {1000, 2},
                                           {2000, 1}, {4000, 0}, {8000, 0},     {20000, 0}};
    expect_levels("tilt:-3dB/oct", 48000, tilt, COUNT(tilt), 0.05);
    expect_levels("tilt:-3,phase=linear", 48000, tilt, COUNT(tilt), 0.05);
    expect_levels("graphiceq:100 -6; 1000 2; 4k 0", 48000, graphic, COUNT(graphic), 0.05);
    expect_levels("graphiceq:100 -6; 1000 2; 4k 0,phase=linear", 48000, graphic, COUNT(graphic),
                  0.05);
}

/* The cookbook's formulas in Python, and scipy's sosfilt on an impulse. */
static const double peak_and_shelf[] = {
    1.126952036,    -0.2026095266,  -0.09423522817, -0.03219413808,  -0.01699048044,
    -0.01775125411, -0.01713714426, -0.01250168897, -0.006327433196, -0.0006150917917,
    0.004078278769, 0.007900287391, 0.01107031542,  0.01369274478,   0.01579556025,
    0.01739357258,  0.01851420735,  0.01919681729};
/* LS 200 4 0.7071, LP 9000 1, HP 40 0.7071, NO 3000 2, BP 2000 0.5 */
static const double five_sections[] = {
    0.03964134866,  0.1545210469,   0.2317256412,   0.1514065803,   0.001827436049, -0.07474322285,
    -0.05903732651, -0.00993848214, 0.02349036999,  0.03080741166,  0.02201459099,  0.006468379071,
    -0.01246884804, -0.03340574432, -0.05364893455, -0.06957793765, -0.07843126057, -0.07926695875};
/* scipy: lfilter(*butter(2, 2000, fs=48000), impulse) */
static const double butterworth[] = {0.01440144035, 0.0523203343,  0.08989456929, 0.1106648504,
                                     0.1186338512,  0.1173032413,  0.1096269809,  0.09801061812,
                                     0.08434239419, 0.07004452562, 0.05613546475, 0.04329615611};

START_TEST(parametric_equals_the_cookbook)
{
    static const struct level peak[] = {{1000, -6}, {20, 0}};
    expect_taps("parametric:PK 1000 -6 1.4; HS 8000 2", peak_and_shelf, COUNT(peak_and_shelf),
                1e-7);
    expect_taps("parametric:ls 200Hz 4dB; LP 9k 1;HP 40; NO 3000 2; BP 2000 0.5", five_sections,
                COUNT(five_sections), 1e-7);
    expect_taps("parametric:LP 2000", butterworth, COUNT(butterworth), 1e-7);
    expect_levels("parametric:PK 1000 -6 1.4,phase=linear", 48000, peak, COUNT(peak), 0.01);
}

/* ---- minimum phase ---- */

/* The magnitude is equal everywhere, and no mask of that magnitude has its energy earlier. */
static void expect_twin(const char *text, double tolerance)
{
    char other[256];
    snprintf(other, sizeof other, "%s,phase=minimum", text);
    struct mask *linear = make(text), *minimum = make(other);
    ck_assert_uint_eq(linear->taps, minimum->taps);
    ck_assert_uint_eq(minimum->origin, 0);
    for (double hertz = 0; hertz <= 24000; hertz += 51) {
        double a = cabs(response(linear, 0, hertz)), b = cabs(response(minimum, 0, hertz));
        ck_assert_msg(fabs(a - b) < tolerance, "%s: %g and %g at %.0f Hz", text, a, b, hertz);
    }
    double early = 0, late = 0;
    for (size_t i = 0; i < linear->taps; i++) {
        early += pow((double)minimum->coefficients[i], 2);
        late += pow((double)linear->coefficients[i], 2);
        ck_assert_msg(early >= late - 1e-6, "%s: %g before %g at tap %zu", text, early, late, i);
    }
}

START_TEST(minimum_phase_keeps_the_magnitude)
{
    expect_twin("lowpass:1000", 1e-5);
    expect_twin("highpass:500,taps=1023", 1e-5);
    expect_twin("bandstop:1000-4000,atten=60", 1e-5);
    expect_twin("equiripple:0-5k 1; 6k- 0,taps=101", 1e-5);
}

/* ---- rooms ---- */

/* Schroeder's decay, from -5 to -35 dB. */
static double decay_time(const struct mask *mask, size_t column)
{
    const double *taps = mask_column(mask, column);
    double *decay = calloc(mask->taps + 1, sizeof *decay);
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (size_t i = mask->taps; i > 0; i--)
        decay[i - 1] = decay[i] + taps[i - 1] * taps[i - 1];
    for (size_t i = 0; i < mask->taps; i++) {
        double level = 10 * log10(decay[i] / decay[0]), at = (double)i / mask->rate;
        if (!(level <= -5 && level >= -35))
            continue;
        n++, x += at, y += level, xx += at * at, xy += at * level;
    }
    free(decay);
    return -60 / ((n * xy - x * y) / (n * xx - x * x));
}

START_TEST(rooms_decay_as_asked)
{
    static const struct {
        const char *text;
        double rt60;
    } cases[] = {
        {"room:rt60=0.3", 0.3},
        {"room:rt60=0.8,size=6x5x3,seed=1", 0.8},
        {"room:rt60=800ms,size=12x9x4,seed=7", 0.8},
        {"room:rt60=1.6,size=30x20x10", 1.6},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct mask *mask = make(cases[i].text);
        ck_assert_uint_eq(mask->columns, 2);
        for (size_t c = 0; c < 2; c++) {
            double measured = decay_time(mask, c),
                   direct = (double)mask_column(mask, c)[mask->origin];
            ck_assert_msg(fabs(measured / cases[i].rt60 - 1) < 0.1, "%s: %g s", cases[i].text,
                          measured);
            ck_assert_msg(fabs(direct - 1) < 0.02, "%s: direct sound %g", cases[i].text, direct);
        }
    }
}

/* What a room's few echoes make of rt60= is said where it is not that. */
START_TEST(rooms_say_how_they_decay)
{
    static const char *const sizes[] = {"6x5x3", "30x3x3", "50x30x15"};
    static const double times[] = {0.1, 0.2, 0.4, 1};
    size_t said = 0;
    for (size_t i = 0; i < COUNT(sizes) * COUNT(times); i++) {
        char spec[64];
        double rt60 = times[i % COUNT(times)];
        snprintf(spec, sizeof spec, "room:rt60=%g,size=%s", rt60, sizes[i / COUNT(times)]);
        struct mask *mask = make(spec);
        double ratio = decay_time(mask, 0) / rt60;
        const char *notes = mask_said(spec, NULL);
        bool is_said = strstr(notes, "it decays as rt60=") != NULL;
        ck_assert_msg(is_said == (fabs(ratio - 1) > 0.15), "%s: %g, %s", spec, ratio, notes);
        said += is_said;
    }
    ck_assert(said > 2 && said < COUNT(sizes) * COUNT(times));
}

/* The first reflection in a room is where geometry puts it: from the nearest surface, the floor. */
START_TEST(rooms_reflect_at_their_walls)
{
    /* Source and ears as in design_rooms.c, first ear: 0.43 - 0.1 / 10 of the length. */
    struct mask *mask = make("room:rt60=0.5,size=10x10x10,seed=3");
    double across = 0.1, along = 4.1, direct = hypot(hypot(across, along), 0.8);
    double side = hypot(hypot(8.6 - 0.1, along), 0.8);    /* the wall at 0, of ear 0 */
    double floor_path = hypot(hypot(across, along), 9.8); /* 4.5 + 5.3 */
    double first = fmin(side, floor_path);
    size_t from = mask->origin + 40, at = from;
    size_t to = mask->origin + (size_t)((first - direct + 0.3) / 343 * 48000);
    for (size_t i = from; i < to; i++)
        if (fabs((double)mask->coefficients[i]) > fabs((double)mask->coefficients[at]))
            at = i;
    /* Images are displaced by up to 8 cm along each axis. */
    ck_assert_double_le(fabs((double)(at - mask->origin) / 48000 * 343 - (first - direct)), 0.16);
}

START_TEST(rooms_have_seeds)
{
    struct mask *one = make("room:rt60=0.2,seed=1"), *again = make("room:rt60=0.2,seed=1"),
                *other = make("room:rt60=0.2,seed=2");
    size_t bytes = 2 * one->taps * sizeof(double);
    ck_assert_mem_eq(one->coefficients, again->coefficients, bytes);
    ck_assert_mem_ne(one->coefficients, other->coefficients, bytes);
    ck_assert_mem_ne(one->coefficients, mask_column(one, 1), bytes / 2);
}

/* ---- masks made from others ---- */

START_TEST(cascades_are_convolved)
{
    struct mask *a = make("lowpass:3000,taps=101"), *b = make("echo:1ms,feedback=0.5"),
                *both = make("combine:lowpass:3000,taps=101*echo:1ms,feedback=0.5");
    ck_assert_uint_eq(both->taps, a->taps + b->taps - 1);
    ck_assert_uint_eq(both->origin, 50);
    double *truth = calloc(both->taps, sizeof *truth);
    float *first = mask_round(a), *second = mask_round(b);
    truth_add_plain(first, a->taps, second, b->taps, truth);
    free(first);
    free(second);
    for (size_t i = 0; i < both->taps; i++)
        ck_assert_double_lt(fabs(truth[i] - both->coefficients[i]), 1e-7);
    free(truth);
}

/* A mask convolved with its inverse is flat where the limit does not apply. */
static void expect_undone(const char *spec, const char *options, double from, double to)
{
    char text[256];
    struct mask *mask = make(spec), *inverse;
    snprintf(text, sizeof text, "invert:%s,%s", spec, options);
    inverse = make(text);
    for (double hertz = from; hertz <= to; hertz *= 1.03) {
        double complex product = response(mask, 0, hertz) * response(inverse, 0, hertz);
        double error = strstr(options, "full") ? cabs(product - 1) : fabs(cabs(product) - 1);
        ck_assert_msg(error < 0.01, "%s: %g off at %.0f Hz", text, error, hertz);
    }
}

START_TEST(inverses_flatten)
{
    expect_undone("parametric:PK 1000 -6 1.4; HS 8000 2", "limit=40dB", 20, 23000);
    expect_undone("parametric:PK 1000 -6 1.4; HS 8000 2", "limit=40dB,phase=full", 20, 23000);
    expect_undone("parametric:PK 1000 -6 1.4; HS 8000 2", "limit=40dB,phase=linear", 20, 23000);
    expect_undone("hilbert:255", "limit=40dB,phase=full,taps=8192", 400, 23600);
}

START_TEST(inverses_keep_their_limit)
{
    struct mask *mask = make("invert:lowpass:2000,limit=12dB");
    double most = -INFINITY, level = 0, sum = 0;
    struct mask *plain = make("lowpass:2000");
    for (double hertz = 20; hertz < 20000; hertz *= 1.01) {
        level += pow(cabs(response(plain, 0, hertz)), 2);
        sum++;
        most = fmax(most, decibels(mask, hertz));
    }
    most += 10 * log10(level / sum);
    ck_assert_double_le(most, 12.1);
    ck_assert_double_ge(most, 11.5); /* and reaches it, on the slope */
}

/* ---- specs ---- */

START_TEST(options_are_split)
{
    char spec[] = "lowpass:1000", taps[] = "taps=255", gain[] = "gain=-3", window[] = "window=hann";
    char *fields[] = {spec, taps, gain, window, NULL};
    struct mask *mask;
    ck_assert_int_eq(design_load(fields, 44100, &(const struct mask_load_options){0}, &mask),
                     STATUS_OK);
    ck_assert_uint_eq(mask->taps, 255);
    ck_assert_uint_eq(mask->rate, 44100);
    ck_assert_str_eq(fields[1], "gain=-3");
    ck_assert_ptr_null(fields[2]);
    ck_assert(design_is_spec("riaa"));
    ck_assert(design_is_spec("combine:a*b"));
    ck_assert(!design_is_spec("riaa.wav"));
    ck_assert(!design_is_spec("./riaa"));
    mask_destroy(mask);
}

START_TEST(bad_specs_are_refused)
{
    static const char *const cases[][2] = {
        {"lowpas:1000", "did you mean lowpass?"},
        {"lowpass", "such as lowpass:1000"},
        {"lowpass:24000", "half the rate of the mask"},
        {"lowpass:1000,taps=0", "from 1 to"},
        {"lowpass:1000,taps=99999999999999999999", "from 1 to"},
        {"lowpass:1000,width=0.01", "at most"},
        {"lowpass:1000,window=box", "kaiser, hann"},
        {"lowpass:1000,window=hann,atten=60", "atten="},
        {"lowpass:1000,bogus=1", "taps, width"},
        {"lowpass:1000,rate=1", "rate="},
        {"lowpass:1000x", "'x'"},
        {"highpass:80,taps=100", "odd"},
        {"hilbert:30", "odd"},
        {"sharpen:30", "odd"},
        {"bandpass:3000", "two edges"},
        {"bandpass:3000-300", "two increasing edges"},
        {"equiripple:0-1k 1", "bands"},
        {"equiripple:0-1k 1; 900- 0", "bands"},
        {"equiripple:0-5k 1; 6k- 0,taps=1501", "fewer"},
        {"equiripple:0-100 0; 200-20k 1; 21k- 0,taps=901", "gaps"},
        {"delay:1h", "'h'"},
        {"delay:1000", "20 s"},
        {"echo:1s,feedback=0.99", "echoes"},
        {"echo:1ms,feedback=1", "feedback="},
        {"tilt:3dB/dec", "octave"},
        {"graphiceq:31 -3; 20 2", "must increase"},
        {"graphiceq:31", "gain"},
        {"parametric:XX 100", "PK, LS"},
        {"parametric:PK 100 3 1 7", "unexpected"},
        {"room:rt60=9", "at most"},
        {"room:size=6x5", "6x5x3"},
        {"room:rt60=0.05,size=100x100x100", "a longer rt60= or a smaller"},
        {"combine:diff", "separated by"},
        {"combine:diff*", "beside"},
        {"combine:diff,gain=1*diff", "gain=1"},
        {"combine:diff*none.wav", "none.wav"},
        {"invert:none.wav", "none.wav"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        mask_spec_refused(0, cases[i][1], cases[i][0], NULL);
    command_refused(0, cases[0][1], "\"$HALO\" mask make '%s' -o out.wav", cases[0][0]);
    command_refused(0, "not a kind", "\"$HALO\" mask make none.wav -o out.wav");
    command_refused(0, "SPEC of halo mask make is empty", "\"$HALO\" mask make '' -o out.wav");
}

/* ---- in commands ---- */

START_TEST(a_mask_is_written)
{
    command_done("\"$HALO\" mask make lowpass:1000,taps=31,rate=44100,gain=-6.020599913 -o m.wav");
    struct sound written = sound_load("m.wav");
    struct mask *mask = make_at("lowpass:1000,taps=31", 44100);
    ck_assert_uint_eq(written.block.frames, 31);
    ck_assert_uint_eq(written.rate, 44100);
    for (size_t i = 0; i < 31; i++)
        ck_assert_double_eq_tol((double)written.block.data[0][i], mask->coefficients[i] / 2, 1e-8);
}

/* Made at the sound's rate, with time zero in the middle, unless --align says otherwise. */
START_TEST(a_spec_filters)
{
    enum { N = 4000 };
    struct sound in = sound_noise("in.wav", 1, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 44100, 2, N);
    struct mask *mask = make_at("lowpass:2000,taps=201", 44100);
    ck_assert_int_eq(mask_route(mask, 2, 0, 0), STATUS_OK);
    static const struct {
        const char *options;
        size_t origin;
    } cases[] = {{"", 100}, {"--align centre", 100}, {"--align causal", 0}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        render_done("in.wav", "out.wav", "--tail none --mask lowpass:2k,taps=201 %s",
                    cases[i].options);
        struct sound out = sound_load("out.wav");
        mask->origin = cases[i].origin;
        sound_expect_truth(&out, mask, &in.block, cases[i].origin);
    }
    /* The same mask from a file, with --align centre. */
    command_done("\"$HALO\" mask make lowpass:2k,taps=201,rate=44100 -o m.wav");
    render_done("in.wav", "out.wav", "--mask lowpass:2k,taps=201");
    render_done("in.wav", "other.wav", "--mask m.wav --align centre");
    command_done("cmp out.wav other.wav");
}

START_TEST(files_are_combined_at_their_rate)
{
    struct sound columns = sound_noise_mask("m.wav", 2, 2, 77);
    command_done("\"$HALO\" mask make 'combine:m.wav*delay:1ms,gain=0' -o c.wav");
    struct sound out = sound_load("c.wav");
    size_t delay = (size_t)lround(out.rate / 1000.0);
    ck_assert_uint_eq(out.rate, columns.rate);
    ck_assert_uint_eq(out.block.channels, 2);
    for (size_t c = 0; c < 2; c++)
        for (size_t i = 0; i < 77; i++)
            ck_assert_float_eq_tol(out.block.data[c][delay + i], columns.block.data[c][i], 1e-6f);
}

/* ---- GNU Octave, where installed ---- */

/* Run a script that prints numbers. Fewer than expected: Octave is not installed. */
static size_t run_octave(const char *script, double *numbers, size_t most)
{
    size_t count = 0;
    command_clean();
    struct command_result result =
        command_run("command -v octave-cli >/dev/null && octave-cli --no-gui -q --eval "
                    "'pkg load signal; %s' 2>/dev/null",
                    script);
    for (char *at = result.out, *end; count < most; at = end) {
        numbers[count] = strtod(at, &end);
        if (end == at)
            break;
        count++;
    }
    return count;
}

static void compare_with_octave(const char *text, const char *script, double tolerance)
{
    enum { MOST = 512 };
    double numbers[MOST];
    struct mask *mask = make(text);
    size_t count = run_octave(script, numbers, MOST);
    if (count == 0) {
        printf("no octave-cli with its signal package here: %s is not compared\n", text);
    } else {
        ck_assert_msg(count == mask->taps, "%s: %zu taps, Octave has %zu", text, mask->taps, count);
        expect_taps(text, numbers, count, tolerance);
    }
}

START_TEST(octave_agrees)
{
    compare_with_octave(
        "lowpass:3000,width=1500,atten=70",
        "n = 2 * floor(ceil((70 - 7.95) / (2.285 * 2 * pi * 1500 / 48000) + 1) / 2) + 1;"
        "t = (0:n-1) - (n-1)/2; w = kaiser(n, 0.1102 * (70 - 8.7));"
        "h = sinc(2*3000/48000*t) .* reshape(w, 1, n);"
        "printf(\"%.12g \", h / sum(h));",
        1e-7);
    compare_with_octave("equiripple:0-2k 1 5; 3k-8k 0; 9k- 1,taps=61",
                        "printf(\"%.12g \", remez(60, [0 2 3 8 9 24]/24, [1 1 0 0 1 1], [5 1 1],"
                        "\"bandpass\", 128));",
                        3e-5);
    compare_with_octave("lowpass:3000,taps=63,atten=40,phase=minimum",
                        "t = -31:31; w = kaiser(63, 0.5842*19^0.4 + 0.07886*19);"
                        "h = sinc(t/8) .* reshape(w, 1, 63);"
                        "[y, m] = rceps([h / sum(h), zeros(1, 2^18 - 63)]);"
                        "printf(\"%.12g \", m(1:63));",
                        1e-5);
    compare_with_octave("gaussian:31,sigma=6",
                        "h = exp(-(-15:15).^2 / 72); printf(\"%.12g \", h / sum(h));", 1e-8);
    compare_with_octave("hilbert:31",
                        "n = -15:15; h = (1 - cos(pi*n)) ./ (pi*n); h(16) = 0;"
                        "printf(\"%.12g \", h .* reshape(hamming(31), 1, 31));",
                        5e-8);
}
