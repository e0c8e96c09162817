/* Filters of equaliser listings: responses against the Audio EQ Cookbook computed by SciPy, numbers
 * as programs write them, and the rates they are made for. */
#include "command.h"
#include "mask_load.h"
#include "suite.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double complex response_at(const struct mask *mask, size_t column, double hertz)
{
    double complex sum = 0;
    for (size_t k = 0; k < mask->taps; k++)
        sum += mask_column(mask, column)[k] *
               cexp(-2 * M_PI * I * hertz * (double)k / (double)mask->rate);
    return sum;
}

/* scipy.signal.freqz of the cookbook's biquads, at 44.1 kHz */
START_TEST(filters)
{
    static const struct {
        const char *filter;
        double hertz, real, imaginary;
    } cases[] = {
        {"PK Fc 1000 Hz Gain -9.5 dB Q 5", 1300, 0.803286061, 0.303521324},
        {"PK Fc 1,155 Hz Gain -9.5 dB Q 5", 1501.5, 0.803707955, 0.303332206},
        {"PEQ Fc 63,5 Hz Gain 3,25 dB BW Oct 0,5", 82.55, 1.103702242, -0.190536881},
        {"LP Fc 8.000 Hz", 10400, -0.201395691, -0.391900933},
        {"LPQ Fc 10.000 Hz Q 0,400", 13000, -0.082109827, -0.230502529},
        {"HP Fc 30,0 Hz", 39, 0.302405234, 0.805743450},
        {"HPQ Fc 20.0 Hz Q .5", 26, 0.161150673, 0.607233316},
        {"BP Fc 1000 Hz BW Oct 2", 1300, 0.888598155, -0.314629105},
        {"BP Fc 1000 Hz Q .1", 1300, 0.997165117, -0.053168101},
        {"NO Fc 800 Hz", 1040, 0.996094154, 0.062374597},
        {"AP Fc 900 Hz Q 0,707", 1170, -0.751530915, 0.659697873},
        {"AP Fc 900 Hz BW Oct 1", 1170, -0.278464252, 0.960446594},
        {"LS Fc 300 Hz Gain 5 dB", 390, 1.106252412, -0.406430201},
        {"HS Fc 1.000 Hz Gain -3 dB", 1300, 0.762782520, -0.164222860},
        {"LS 12dB Fc 2.000 Hz Gain -5 dB", 2600, 0.739863106, 0.308208946},
        {"HS 6dB Fc 12.000 Hz Gain 10 dB", 15600, 2.786144476, 0.819651273},
        {"LSC 10.8 dB Fc 300 Hz Gain 5 dB", 390, 1.106252412, -0.406430201},
        {"HSC Fc 100 Hz Gain -6 dB Q .4272", 130, 0.635313138, -0.189363439},
        {"LS Fc 300 Hz Gain 5 dB Q 0.6", 390, 1.223691883, -0.435441039},
        {"HS Fc 3000 Hz Gain 5 dB Q 0.6", 3900, 1.513106628, 0.442639662},
        {"Modal Fc 100H z Gain 3,0 dB Q 5,41 T60 target 100 ms", 130, 1.032617224, -0.111319118},
        {"HP1 Fc 80 Hz", 104, 0.62825628, 0.48327045}, /* scipy.signal.butter */
        {"LP1 Fc 8000 Hz", 10400, 0.32923562, -0.46993566},
        {"PA Fc 36.8Hz ( 40 -7 ) Gain -15.5dB BW/60 10.0", 47.84, 0.55052466, 0.41471576},
        {"pk Fc 1000 gain -9,5 q 5", 1300, 0.803286061, 0.303521324},
        /* as REW writes them */
        {"LP Q     Fc   10000 Hz  Q 0.400", 13000, -0.082109827, -0.230502529},
        {"HP Q     Fc   20.00 Hz  Q  0.50", 26, 0.161150673, 0.607233316},
        {"HS\tQ  Fc 100.0 Hz  Gain -6.00 dB Q .4272", 130, 0.635313138, -0.189363439},
        {"LP Q .4 Fc 10000 Hz", 13000, -0.082109827, -0.230502529}, /* a value, not a name */
        {"LS Q .6 Fc 300 Hz Gain 5 dB", 390, 1.223691883, -0.435441039},
        {"Notch    Fc   800.0 Hz ", 1040, 0.996094154, 0.062374597},
        {"NOTCH    Fc   800.0 Hz  Q 30", 1040, 0.996094154, 0.062374597},
        {"Notch Q  Fc   800.0 Hz  Q 30.0", 1040, 0.996094154, 0.062374597},
        {"All pass  Fc   900.0 Hz  Q  0.707", 1170, -0.751530915, 0.659697873},
        {"L-T      Fc   50.00 Hz  Q   1.20 Fp 30 Qp 0.50", 39, 0.545028127, -0.563018302},
        {"PEQ Fc 63.5 Hz Gain 3.25 dB BW Oct 1/2", 82.55, 1.103702242, -0.190536881},
        {"AP Fc 900 Hz BW Oct 4/4", 1170, -0.278464252, 0.960446594},
        {"IIR Order 1 Coefficients 1 0 2 -1", 0, 1, 0},
        {"IIR Order 3 Coefficients 0 0 0 0.5 1 0 0 0", 11025, 0, 0.5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        snprintf(text, sizeof text, "Filter 1: ON %s\n", cases[i].filter);
        struct mask *mask = mask_loaded_text(text, 44100, 2);
        double complex got = response_at(mask, 0, cases[i].hertz);
        double complex wanted = cases[i].real + I * cases[i].imaginary;
        ck_assert_msg(cabs(got - wanted) < 1e-8, "%s: %g %+gi, not %g %+gi", cases[i].filter,
                      creal(got), cimag(got), creal(wanted), cimag(wanted));
    }
}

/* Keys that stand beside each other, in any order, and the listing without those that Equalizer APO
 * does not take. */
START_TEST(keys)
{
    static const char *const cases[][2] = {
        {"PK Fc 500 Hz Gain 4 dB BW Oct 2 Q 5", "PK Fc 500 Hz Gain 4 dB BW Oct 2"},
        {"PK Q 5 Fc 500 Hz BW Oct 2 Gain 4 dB", "PK Fc 500 Hz Gain 4 dB BW Oct 2"},
        {"HP Fc 90 Hz BW Oct 1.5 Q 4", "HP Fc 90 Hz BW Oct 1.5"},
        {"NO Fc 900 Hz BW Oct 0.5 Q 1", "NO Fc 900 Hz BW Oct 0.5"},
        {"AP Q 3 Fc 900 Hz BW Oct 0.5 Q 1", "AP Fc 900 Hz BW Oct 0.5"},
        {"HSC 8 dB Fc 2000 Hz Gain -5 dB Q 3", "HSC 8 dB Fc 2000 Hz Gain -5 dB"},
        {"LS 9dB Fc 200 Hz Q 0.4 Gain 5 dB BW Oct 1", "LS 9dB Fc 200 Hz Gain 5 dB"},
        {"LSC 0 dB Fc 200 Hz Gain 5 dB Q 2", "LSC Fc 200 Hz Gain 5 dB"},
        {"LS Fc 300 Hz Gain 5 dB Q 0.6 BW Oct 1", "LS Fc 300 Hz Gain 5 dB Q 0.6"},
        {"HSC Fc 300 Hz Gain 5 dB BW Oct 1 Q 0.6", "HSC Fc 300 Hz Gain 5 dB Q 0.6"},
        {"PK Fc 200 Hz Gain 5 dB Q 2 Gain -9 dB Q 7 Fc 90 Hz", "PK Fc 200 Hz Gain 5 dB Q 2"},
        {"PK Fc 200 Hz Gain 5 dB BW Oct 2 BW Oct 1", "PK Fc 200 Hz Gain 5 dB BW Oct 2"},
        {"HS Fc 200 Hz Gain 0 dB Gain 6 dB", "HS Fc 200 Hz Gain 0 dB"},
        {"BP Fc 200 Hz Q 0 Q 4", "BP Fc 200 Hz"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mask *masks[2];
        for (size_t m = 0; m < 2; m++) {
            char text[200];
            snprintf(text, sizeof text, "Filter 1: ON %s\n", cases[i][m]);
            masks[m] = mask_loaded_text(text, 44100, 2);
        }
        ck_assert_msg(masks[0]->taps == masks[1]->taps &&
                          memcmp(mask_column(masks[0], 0), mask_column(masks[1], 0),
                                 masks[0]->taps * sizeof(double)) == 0,
                      "%s", cases[i][0]);
    }
    mask_refused("e.txt", "Filter: ON PK Fc 100 Hz Gain 3 dB Q 2 BW Oct 0\n", "PK without Q or BW");
}

/* What Equalizer APO would pass over, by the word it is said of; NULL: nothing. */
START_TEST(foreign)
{
    static const struct {
        const char *text, *word;
    } cases[] = {
        {"Filter 1: ON PK Fc 100H z Gain 3,0 dB Q 5", NULL},
        {"Filter: ON LP Fc 100 Hz Gain 3", NULL},
        {"Filter 1: ON LS 6dB Fc 100 Hz Gain 3 dB", NULL},
        {" Preamp : -3", NULL},
        {"Delay: 3MS", NULL},
        {"Filter: off pk", NULL},
        {"preamp: -3 dB", "Preamp"},
        {"Preamp 2: -3 dB", "Preamp"},
        {"GraphicEq: 20 3", "GraphicEQ"},
        {"Filter: on PK Fc 100 Hz Gain 3 dB Q 5", "ON"},
        {"Filter: ON pk Fc 100 Hz Gain 3 dB Q 5", "PK"},
        {"Filter: ON PK FC 100 Hz Gain 3 dB Q 5", "Fc"},
        {"Filter: ON PK Fc 100 Gain 3 dB Q 5", "Hz"},
        {"Filter: ON PK Fc 100 HZ Gain 3 dB Q 5", "Hz"},
        {"Filter: ON PK Fc 100 Hz Gain 3 Q 5", "dB"},
        {"Filter: ON PK Fc 100 Hz Gain 3 dB q 5", "Q"},
        {"Filter: ON PK Fc 100 Hz Gain 3 dB BW oct 5", "Oct"},
        {"Filter: ON PK Fc 100 Hz Gain 3 dB BW/60 5", "BW/60"},
        {"Filter: ON HP1 Fc 100 Hz", "HP1"},
        {"Filter: ON LSQ Fc 100 Hz Gain 3 dB Q 0.7", "LSQ"},
        {"Filter: ON LS Q Fc 100 Hz Gain 3 dB Q 0.7", "LSQ"},
        {"Filter: ON LP Q Fc 100 Hz Q 0.7", NULL},
        {"Filter: ON Notch Fc 100 Hz", "Notch"},
        {"Filter: ON L-T Fc 50 Hz Q 1.2 Fp 30 Qp 0.5", "L-T"},
        {"Filter: ON BP Fc 100 Hz BW Oct 1/3", "Oct 1/N"},
        {"Filter: ON IIR Order 1 Coefficients 1 0 1 0  ", NULL},
        {"Filter: ON IIR Order 1 Coefficients 1  0 1 0", "wide blanks"},
        {"Filter: ON IIR Order 1 Coefficients  1 0 1 0", "wide blanks"},
        {"Filter: ON IIR Order 1 Coefficients 1 0\t1 0", "wide blanks"},
        {"Filter: ON iir Order 1 Coefficients 1 0 1 0", "IIR"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200], expected[100];
        snprintf(text, sizeof text, "# EQ\n%s\n%s\n", cases[i].text, cases[i].text);
        snprintf(expected, sizeof expected,
                 "line 2: Equalizer APO would pass over this or read it otherwise, for '%s'",
                 cases[i].word);
        mask_save_text("e.txt", text);
        const char *said = mask_said("e.txt,rate=44100", NULL);
        if (cases[i].word)
            command_expect(said, expected);
        const char *first = strstr(said, "would pass over");
        ck_assert_msg(!first == !cases[i].word, "%s: %s", cases[i].text, said);
        ck_assert(!first || !strstr(first + 1, "would pass over"));
    }
}

/* The same frequency as programs of all countries write it. */
START_TEST(frequencies)
{
    static const struct {
        const char *text;
        double hertz;
    } cases[] = {
        {"1,155 Hz", 1155},
        {"1.155 Hz", 1155},
        {"1'155 Hz", 1155},
        {"1,155.0 Hz", 1155},
        {"1.155,50 Hz", 1155.5},
        {"12\xC2\xA0"
         "345\xC2\xA0Hz",
         12345},
        {"1\xE2\x80\xAF"
         "155,5\xE2\x80\xAFHz",
         1155.5},
        {"1\xA0"
         "155 Hz",
         1155},
        {"1155.000 Hz", 1155},
        {"63,50 Hz", 63.5},
        {"63.5Hz", 63.5},
        {"1.1550e3 Hz", 1155},
        {"1155", 1155},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        snprintf(text, sizeof text,
                 "Filter 1: ON\xC2\xA0PK Fc %s Gain -9,5\xC2\xA0"
                 "dB Q 5\n",
                 cases[i].text);
        struct mask *mask = mask_loaded_text(text, 44100, 2);
        double level = mask_magnitude(mask, 0, cases[i].hertz);
        ck_assert_msg(fabs(level + 9.5) < 1e-6, "%s: %g dB", cases[i].text, level);
    }
}

/* What is noted of a frequency; NULL: nothing. */
START_TEST(other_frequencies)
{
    static const struct {
        const char *text, *note;
    } cases[] = {
        {"8.000", "line 2: the separator of 8.000 Hz is taken as one between thousands"},
        {"1155.000",
         "line 2: 1155.000 Hz is taken as 1155 Hz, where Equalizer APO takes 1155000 Hz"},
        {"0.125", "line 2: 0.125 Hz is taken as 0.125 Hz, where Equalizer APO takes 125 Hz"},
        {"1.155,50", "1.155,50 Hz is taken as 1155.5 Hz, where Equalizer APO takes 1.155 Hz"},
        {"1'155", "1'155 Hz is taken as 1155 Hz, where Equalizer APO takes 0 Hz"},
        {"1155.00", NULL},
        {"1,155.000", NULL},
        {"63,5", NULL},
        {"1155.000e0", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        snprintf(
            text, sizeof text,
            "# EQ\nFilter: ON PK Fc %s Hz Gain 3 dB Q 1\nFilter: ON PK Fc %s Hz Gain 1 dB Q 1\n",
            cases[i].text, cases[i].text);
        mask_save_text("e.txt", text);
        const char *said = mask_said("e.txt,rate=44100", NULL);
        if (cases[i].note)
            command_expect(said, cases[i].note);
        const char *first = strstr(said, " Hz is taken as");
        ck_assert_msg(cases[i].note || !strstr(said, "taken as"), "%s: %s", cases[i].text, said);
        ck_assert(!first || !strstr(first + 1, " Hz is taken as"));
    }
}

START_TEST(filters_refused)
{
    mask_refused("e.txt", "Filter: ON PK Fc 1,15,5 Hz Gain 3 dB Q 1\n", "a number is missing");
    mask_refused("e.txt", "Filter: ON PK Fc 1 155 Hz Gain 3 dB Q 1\n", "'155' is not Fc");
    mask_refused("e.txt", "Filter: ON PK Gain 3 dB Q 1\n", "PK has no frequency");
    mask_refused("e.txt", "Filter: ON AP Fc 100 Hz\n", "AP without Q");
    mask_refused("e.txt", "Filter: ON PK Fc 100 Hz Gain 3 dB Q -2\n",
                 "line 1: PK with a width of -2: Q, BW or slope must be above 0");
    mask_refused("e.txt", "Filter: ON LP2 Fc 100 Hz\n", "of the kind 'LP2'");
    mask_refused("e.txt", "Filter: ON PK Fc 100 Hz Gain 3 dB BW/30 1\n", "a number is missing");
    mask_refused("e.txt", "Filter: ON PK Fc 30000 Hz Gain 3 dB Q 1\n", "rate=48000, or another");
    mask_refused("e.txt", "Filter: ON PK Fc 105.000 Hz Gain 3 dB Q 1\n",
                 "the separator in 105.000 is one between thousands");
    mask_refused("e.txt", "Filter: ON IIR Order 2 Coefficients 1 2 3 4 5\n", "5 coefficients");
    mask_refused("e.txt", "Filter: ON IIR Order 1 Coefficients 1 0 1 -1.01\n", "is not stable");
    mask_refused("e.txt", "Filter: ON IIR Order 1 Coefficients 1 0 1 -1\n", "is not stable");
    mask_refused("e.txt", "Filter: ON IIR Order 1 Coefficients 1 0 0 1\n", "a0 of IIR");
    mask_refused("e.txt", "Filter: ON IIR Order 0 Coefficients 1 1\n", "an Order from 1");
}

/* ---- expressions ---- */

START_TEST(expressions)
{
    static const struct {
        const char *expression;
        double value;
    } cases[] = {
        {"1 + 2 * 3 ^ 2", 19},
        {"20 + -2^2", 16},
        {"2^-2", 0.25},
        {"2^3^0", 2},
        {"(1 + 2) * 3 - 8 / 4", 7},
        {"a = 3; a *= 2; a - 1", 5},
        {"1 > 2 ? 5 : 2 <= 2 and 1 != 1 or true ? 6 : 7", 6},
        {"min(4, 3) + max(1, 2, 3) + sum(1, 2)", 9},
        {"sqrt(16) + sin(pi) + ln(e) + log10(1e3)", 8},
        {"sampleRate / 44100", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        snprintf(text, sizeof text, "Eval: unused = 1\nPreamp: -`%s` dB # `\n",
                 cases[i].expression);
        struct mask *mask = mask_loaded_text(text, 44100, 2);
        double level = 20 * log10(mask_column(mask, 0)[0]);
        ck_assert_msg(fabs(level + cases[i].value) < 1e-9, "%s: %g", cases[i].expression, -level);
    }
    static const char *const refused[] = {"\"text\"", "foo(3)", "sqrt(", "deviceName",
                                          "{1,2}",    "1 2",    "3 +",   "b += 1"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char text[200];
        snprintf(text, sizeof text, "Preamp: 0 dB\nEval: x = %s\n", refused[i]);
        mask_refused("e.txt", text, "line 2: the expression cannot be read at");
    }
    mask_refused("e.txt", "Eval: x = 1/0\nPreamp: 0 dB\n", "has no value");
    mask_refused("e.txt", "Preamp: `1 dB\n", "a ` is missing");
    static const char *const logical[] = {"2 == 2", "1 > 2 or true", "is_loud = 1 < 2; is_loud",
                                          "2 > 1 ? false : 3", "1 ? 2 < 3 : 4"};
    for (size_t i = 0; i < sizeof logical / sizeof *logical; i++) {
        char text[200];
        snprintf(text, sizeof text, "Preamp: 0 dB\nDelay: `%s` ms\n", logical[i]);
        mask_refused("e.txt", text, "is true or false, which Equalizer APO does not take as");
    }
    mask_refused("e.txt", "Preamp: 0 dB\nEval: x = 1; sampleRate = 96000\n",
                 "line 2: the expression sets the rate, which is that of the sound or of rate=, at "
                 "'sampleRate = 96000'");
    mask_refused("e.txt", "Eval: abcdefghijklmnopqrstuvwxyzabcdefghi = 1\nPreamp: 0 dB\n",
                 "has too long a name");
}

/* As many as a file can hold: the time must not grow with their square, which was 12 s. */
START_TEST(many_expressions)
{
    enum { COUNT = 349000 };
    char *text = malloc(3 * COUNT + 20), *to = stpcpy(text, "Preamp: 0");
    for (size_t i = 0; i < COUNT; i++)
        to = stpcpy(to, "`0`");
    stpcpy(to, " dB");
    clock_t start = clock();
    mask_refused("e.txt", text, "line 1: Preamp: must be a number");
    ck_assert_int_lt(clock() - start, 3 * CLOCKS_PER_SEC);
    free(text);
}

/* A biquad by its formulas is the one by its name, at every rate. */
START_TEST(coefficients_by_expressions)
{
    for (uint32_t rate = 44100; rate < 200000; rate *= 2) {
        struct mask *mask =
            mask_loaded_text("# a low-pass\nEval: f = 2500\nEval: Q = 1/sqrt(2)\n"
                             "Eval: w = 2 * pi * f / sampleRate\n"
                             "Eval: c = cos(w); alpha = sin(w) / (2 * Q)\n"
                             "Filter: ON IIR Order 2 Coefficients `(1 - c) / 2` `1 - c` "
                             "`(1 - c) / 2` `1 + alpha` `-2 * c` `1 - alpha`\n",
                             rate, 2);
        struct mask *wanted = mask_loaded_text("Filter: ON LP Fc 2500 Hz\n", rate, 2);
        ck_assert_uint_eq(mask->rate, rate);
        ck_assert_uint_eq(mask->taps, wanted->taps);
        for (size_t k = 0; k < mask->taps; k++)
            ck_assert_double_eq_tol(mask_column(mask, 0)[k], mask_column(wanted, 0)[k], 1e-14);
    }
}

/* ---- rates ---- */

START_TEST(rates)
{
    mask_save_text("e.txt", "Filter 1: ON PK Fc 1000 Hz Gain -6 dB Q 1\n");
    static const uint32_t hertz[] = {8000, 44100, 48000, 96000, 192000};
    for (size_t i = 0; i < sizeof hertz / sizeof *hertz; i++) {
        struct mask *mask = mask_loaded(
            "e.txt", &(struct mask_load_options){.sound = {.rate = hertz[i], .channels = 2}});
        ck_assert_uint_eq(mask->rate, hertz[i]);
        ck_assert_double_eq_tol(mask_magnitude(mask, 0, 1000), -6, 1e-6);
        mask = mask_loaded("e.txt",
                           &(struct mask_load_options){.sound = {.rate = 44100, .channels = 2},
                                                       .raw.rate = hertz[i]});
        ck_assert_uint_eq(mask->rate, hertz[i]);
    }
    struct mask *mask = mask_loaded_text("Preamp: -6 dB\nDelay: 4 samples\n", 0, 0);
    ck_assert_uint_eq(mask->rate, 0); /* nothing depends on it */
}

START_TEST(rates_of_commands)
{
    mask_save_text("e.txt", "Filter 1: ON PK Fc 1000 Hz Gain -6 dB Q 1\n");
    command_expect(command_done("$HALO mask show e.txt,rate=44100").out, "44100 Hz");
    struct command_result result = command_done("$HALO mask show e.txt --rate 44100");
    command_expect(result.out, "44100 Hz");
    ck_assert_ptr_null(strstr(result.out, "resampled"));
    command_done("$HALO mask convert e.txt o.wav -f --rate 88200");
    command_expect(command_done("$HALO mask show o.wav").out, "88200 Hz");
    command_done("$HALO mask plot e.txt,rate=96000");
    command_expect(command_done("$HALO mask make invert:e.txt,rate=44100 -o i.wav").err, "44100");
    result = command_done("sox -n -r 44100 -c 2 s.wav trim 0 0.01; $HALO render s.wav o.wav -f "
                          "--mask e.txt --mask invert:e.txt -v");
    ck_assert_ptr_null(strstr(result.err, "resampled"));
    command_expect(mask_said("e.txt", NULL), "is made for 48000 Hz; rate=");
}

/* ---- GraphicEQ: ---- */

START_TEST(graphic)
{
    static const struct {
        const char *text;
        double hertz, level;
    } cases[] = {
        {"100 0; 1000 6; 10000 -6", 100, 0},
        {"100 0; 1000 6; 10000 -6", 316.2278, 3},
        {"100 0; 1000 6; 10000 -6", 3162.278, 0},
        {"100 0; 1000 6; 10000 -6", 30, 0},
        {"100 0; 1000 6; 10000 -6", 20000, -6},
        {" 10000 -6.0;1000 6 ; 100 0.0 ;", 316.2278, 3}, /* in any order */
        {"100 0,5; 1000 6,5", 316.2278, 3.5},
        {"1000 -7", 50, -7},
        {"", 50, 0},
        {"100 0; 1000 6; 10000 -6 # 5", 316.2278, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint32_t rate = 44100; rate < (i == 0 ? 200000 : 50000); rate *= 2) {
            char text[200];
            snprintf(text, sizeof text, "Preamp: -1 dB\nGraphicEQ: %s\n", cases[i].text);
            struct mask *mask = mask_loaded_text(text, rate, 1);
            double level = mask_magnitude(mask, 0, cases[i].hertz) + 1;
            ck_assert_msg(fabs(level - cases[i].level) < 0.03, "%s: %g dB at %g Hz, not %g",
                          cases[i].text, level, cases[i].hertz, cases[i].level);
            ck_assert_uint_le(mask->taps, 4 * 16384);
            ck_assert(!mask->has_own_paths);
        }
    mask_refused("e.txt", "GraphicEQ: 25 0; 40\n", "line 1: '40' is not a frequency and a gain");
    mask_refused("e.txt", "GraphicEQ: 25 0; 40 1 2\n", "'40 1 2' is not");
    mask_refused("e.txt", "GraphicEQ: 0 0; 40 1\n", "a gain of 0 dB at 0 Hz");
    mask_refused("e.txt", "GraphicEQ: 40 0; 40 1\n", "two gains at 40 Hz");
}

/* Cliffs, as older results of AutoEq begin with: every point is met, however near the next. */
START_TEST(steep)
{
    static const char *const curves[] = {
        "10 -84; 20 5; 22 5; 1000 0; 20000 -3",
        "10 -84; 20 -6.0; 21 -6.0; 22 -5.9; 23 -5.9; 25 -5.8; 40 -5; 5000 -9; 19871 -13.6",
        "31 10; 62 -10; 125 10; 250 -10; 500 10; 1000 -10; 2000 10",
    };
    for (size_t i = 0; i < sizeof curves / sizeof *curves; i++) {
        char text[200];
        snprintf(text, sizeof text, "GraphicEQ: %s\n", curves[i]);
        struct mask *mask = mask_loaded_text(text, 48000, 1);
        const char *at = curves[i];
        for (double hertz, level; sscanf(at, "%lf %lf", &hertz, &level) == 2; at++) {
            double got = mask_magnitude(mask, 0, hertz);
            ck_assert_msg(level < -40 ? got < -40 : fabs(got - level) < 0.1,
                          "%s: %g dB at %g Hz, not %g", curves[i], got, hertz, level);
            at += strcspn(at, ";");
            if (!*at)
                break;
        }
        ck_assert_uint_le(mask->taps, 65536);
    }
    mask_save_text("e.txt", "GraphicEQ: 100 0; 101 -60; 102 0\n");
    command_expect(mask_said("e.txt,rate=44100", NULL),
                   "line 1: GraphicEQ: is too steep for 131072 taps: at 101 Hz it is");
}
