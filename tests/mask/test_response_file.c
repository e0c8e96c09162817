/* Frequency responses as text: every form that they are written in, refused as taps, and masks made
 * of them. */
#include "import/response_file.h"

#include "command.h"
#include "design/design.h"
#include "mask_load.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { POINTS = 5 };
static const double hertz[POINTS] = {20, 63.5, 250, 1000, 20000};
static const double levels[POINTS] = {-3.25, -1.5, 0.5, 0, -4.75};

/* The same response as programs and makers of microphones write it. */
static const char *const forms[] = {
    "\"Sens Factor =-12.07dB, AGain =18dB, SERNO: 7000000\"\r\n"
    "20.0\t-3.25\r\n63.5\t-1.5\r\n250\t0.5\r\n1000\t0\r\n20000\t-4.75\r\n",
    "*1000Hz\t-41.4\n20 -3.25\n63.5 -1.5\n250 0.5\n1000 0\n20000 -4.75\n",
    "\"Transfer Function Mag - dB volts/volts (0.10 oct)\"\n  \"Hz\"  \"Data\"\n"
    "20,  -3.25\n63.5,  -1.5\n250,  .5\n1000,  0\n2e4,  -4.75\n",
    "* Measurement data saved by REW V5.20\n* Note: ; 12 34\n*\n"
    "* Freq(Hz) SPL(dB) Phase(degrees)\n"
    "20.0 -3.250 12.1\n63.5 -1.500 3.5\n250 0.5 -1\n1000 0.0 0\n20000 -4.75 -170\n",
    "* Freq(Hz), SPL(dB), Phase(degrees)\n"
    "20,0, -3,250, 12,1\n63,5, -1,500, 3,5\n250, 0,5, -1\n1000,0, 0,0, 0\n20000, -4,75, -170\n",
    "frequency,raw\n20,-3.25\n63.5,-1.5\n250,0.5\n1000,0\n20000,-4.75\n",
    "\"Freq\",\"dB\"\n\"20\",\"-3.25\"\n\"63.5\",\"-1.5\"\n\"250\",\"0.5\"\n\"1000\",\"0\"\n"
    "\"20000\",\"-4.75\"\n",
    "Hz;dB\n20;-3,25\n63,5;-1,5\n250;0,5\n1000;0\n20000;-4,75\n",
    "# decimal commas\n20,0 -3,25 # here\n63,5 -1,5\n\n250 0,5\n1000 0\n* end\n20000 -4,75\n",
    "20Hz -3.25 dB\n63.5 hz -1.5dB\n250Hz .5dB\n1 kHz 0 dB\n20kHz -4.75 dB\n",
    "20 \xE2\x88\x92"
    "3.25\n63.5 \xE2\x80\x93"
    "1.5\n250\xC2\xA0"
    "0.5\n1000 0\n20000 -4.75\n\x1A",
    "20000 -4.75\n1000 0\n250 .5\n63.5 -1.5\n20 -3.25\n",
    "250 .5\n20000 -4.75\n20 -3.25\n1000 0\n63.5 -1.5\n",
    "Hz,raw,a,b,c\n20,-3.25,0,0,1\n63.5,-1.5,0,0,1\n250,0.5,0,0,1\n1000,0,0,0,1\n20000,-4.75,0,0,1\n",
    "\xEF\xBB\xBF; of an editor of Windows\n0 -9\n20 -3.25\n63.5 -1.5\n250 +0.5\n1000 0\n"
    "20000 -4.75",
};
enum { FORMS = sizeof forms / sizeof *forms };

START_TEST(every_form_is_read)
{
    for (size_t f = 0; f < FORMS; f++) {
        struct response_file response;
        mask_save_text("a.txt", forms[f]);
        ck_assert_int_eq(response_file_load(command_path("a.txt"), NULL, &response), STATUS_OK);
        ck_assert_uint_eq(level_curve_count(&response.curve), POINTS);
        for (size_t i = 0; i < POINTS; i++) {
            ck_assert_double_eq_tol(level_curve_hertz(&response.curve, i), hertz[i],
                                    1e-9 * hertz[i]);
            ck_assert_double_eq(response.curve.levels.values[i], levels[i]);
        }
        response_file_free(&response);
    }
}

START_TEST(as_taps_every_form_is_refused)
{
    for (size_t f = 0; f < FORMS; f++)
        mask_refused("mic.txt", forms[f], "frequency response, not taps; response:");
}

/* Columns of taps do not rise to 100 and more. */
START_TEST(taps_stay_taps)
{
    static const char *const taps[] = {
        "0 1\n0.5 0.1\n0.25 0\n", "0 1\n1 2\n", "1 0\n2 0\n1 0\n",    "20\n1000\n20000\n",
        "-200 0\n300 1\n",        "5 1\n4 2\n", "0 0\n0 0\n32767 1\n"};
    for (size_t i = 0; i < sizeof taps / sizeof *taps; i++) {
        mask_save_text("a.txt", taps[i]);
        (void)mask_loaded("a.txt", NULL);
    }
    mask_save_text("a.mask", "20 -3\n1000 0\n20000 -4\n");
    (void)mask_loaded("a.mask", NULL);
}

START_TEST(kilohertz_are_read)
{
    static const char *const files[] = {"Freq(kHz) dB\n.02 -3\n1 0\n20 -2\n",
                                        "* Frequency (kHz), Level (dB)\n.02,-3\n1,0\n20,-2\n",
                                        "* 96 kHz\n20 -3\n1000 0\n20000 -2\n"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct response_file response;
        mask_save_text("a.txt", files[i]);
        ck_assert_int_eq(response_file_load(command_path("a.txt"), NULL, &response), STATUS_OK);
        ck_assert_double_eq_tol(level_curve_hertz(&response.curve, 0), 20, 1e-9);
        ck_assert_double_eq_tol(level_curve_hertz(&response.curve, 2), 20000, 1e-6);
        ck_assert_int_eq(response.is_khz, i < 2);
        response_file_free(&response);
    }
}

START_TEST(few_frequencies_in_any_order_are_no_taps)
{
    static const char *const texts[] = {"1000 0\n", "10 3.0\n40 -1\n", "20 1\n1000 2\n500 3\n",
                                        "1000 1\n1001 2\n1002 3\n", "80 0\n40 -1\n20 -6\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        mask_refused("a.txt", texts[i], "frequency response, not taps; response:");
}

/* Of AutoEq's tables and others, what was read is said, and another column can be chosen. */
START_TEST(columns_have_names)
{
    static const struct {
        const char *column;
        size_t chosen;
        double level;
    } cases[] = {{NULL, 2, 1}, {"raw", 2, 1}, {"Error", 3, 2}, {"equalization", 4, 3}, {"4", 4, 3}};
    mask_save_text("a.csv", "frequency,raw,error,\"equalization\"\n20,1,2,3\n1000,1,2,3\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct response_file response;
        ck_assert_int_eq(response_file_load(command_path("a.csv"), cases[i].column, &response),
                         STATUS_OK);
        ck_assert_uint_eq(response.chosen, cases[i].chosen);
        ck_assert_double_eq(response.curve.levels.values[0], cases[i].level);
        response_file_free(&response);
    }
    command_expect(mask_said("response:a.csv", NULL),
                   "of its 4 columns the levels are those of number 2, raw; column=");
    ck_assert_ptr_null(strstr(mask_said("response:a.csv,column=equalization", NULL), "columns"));
    mask_spec_refused(2, "has no column 'x' of levels: they are 2 to 4: raw, error, equalization",
                      "inverse:a.csv,column=x", NULL);
    mask_spec_refused(2, "has no column '1' of levels", "inverse:a.csv,column=1", NULL);
    mask_spec_refused(2, "has no column '5' of levels", "inverse:a.csv,column=5", NULL);
    mask_save_text("b.txt", "1000 1\n20 1\n");
    command_expect(mask_said("response:b.txt", NULL),
                   "b.txt: its frequencies are not in rising order and were sorted");
}

static void expect_refused(const char *text, const char *expected)
{
    char message[1024] = "";
    struct response_file response;
    mask_save_text("a.txt", text);
    log_capture(message, sizeof message);
    enum status status = response_file_load(command_path("a.txt"), NULL, &response);
    log_capture(NULL, 0);
    ck_assert_msg(status == STATUS_FAILED, "read:\n%s", text);
    command_expect(message, expected);
}

START_TEST(what_may_be_two_things_is_refused)
{
    /* Named as one, though it falls, or ends low. */
    mask_refused("mic.cal", "20000 -3\n1000 0\n20 3\n", "frequency response, not taps; response:");
    mask_refused("sub.frd", "10 3.0\n15 -1\n", "frequency response, not taps; response:");
    expect_refused("20 -3\r1000 0\r", "line 1: lines end as on an old Macintosh");
    expect_refused("20,5,-3,1\n30,5,-2,1\n", "line 1: its commas may separate columns or decimals");
    expect_refused("1,000.0 -3\n2,000.0 -2\n", "line 1: it has decimal points and decimal commas");
    expect_refused("20.5 -3\n30,5 -2\n", "line 2: it has decimal points and decimal commas");
    expect_refused("20,-3.5\n30,5 -2\n", "line 2: its commas separate columns in one line");
    expect_refused("20 -3\n1000 0\n20 -2\n", "20 Hz stands in it twice");
    expect_refused("1000 -2\n", "it has a single frequency, 1000 Hz; a response has several");
    expect_refused("0 0\n1000 -2\n", "it has a single frequency, 1000 Hz; a response has several");
    expect_refused("20 -3\n1000 0\nend\n", "line 3: it is neither numbers nor a remark");
    expect_refused("20 -3\n1000\n", "line 2: it is not two numbers or more");
    expect_refused("20 -3\n1000 0 0\n", "line 2: it has more or fewer columns");
    expect_refused("20;-3;\n1000;;1\n", "line 2: other cells are empty");
    expect_refused("f,a,b\n20,,1.5\n1000,0.5,\n", "line 3: other cells are empty");
    expect_refused("20 -301\n", "line 1: a level of -301 dB is beyond 300");
    expect_refused("-20 -3\n20 0\n", "line 1: -20 Hz is no frequency");
    expect_refused("* Freq(Hz) SPL(dB)\n", "is not a frequency response");
    expect_refused("1\n0.5\n", "is not a frequency response");
    expect_refused("0 1\n", "is not a frequency response");
}

/* ---- masks made of them ---- */

static struct mask *made(const char *kind, const char *option, uint32_t rate)
{
    char spec[512], word[64], *words[3] = {spec, word, NULL};
    struct mask *mask = NULL;
    snprintf(spec, sizeof spec, "%s:%s", kind, command_path("a.txt"));
    snprintf(word, sizeof word, "%s", option);
    if (!*option)
        words[1] = NULL;
    ck_assert_int_eq(design_load(words, rate, &(const struct mask_load_options){0}, &mask),
                     STATUS_OK);
    ck_assert_ptr_null(words[1]);
    return suite_mask(mask);
}

/* The mask has these levels at the frequencies of the file, by the definition of its transform. */
static void expect_levels(const struct mask *mask, double factor, double offset, double most)
{
    for (size_t i = 0; i < POINTS && hertz[i] < mask->rate / 2.0; i++) {
        double wanted = fmin(factor * levels[i] + offset, most);
        double got = mask_magnitude(mask, 0, hertz[i]);
        ck_assert_msg(fabs(got - wanted) <= 0.1, "%s: %g dB at %g Hz, not %g", mask->name, got,
                      hertz[i], wanted);
    }
}

START_TEST(response_has_the_levels_of_the_file)
{
    static const uint32_t rates[] = {8000, 44100, 48000, 192000};
    mask_save_text("a.txt", forms[0]);
    for (size_t i = 0; i < 2 * sizeof rates / sizeof *rates; i++) {
        bool is_linear = i % 2;
        struct mask *mask = made("response", is_linear ? "phase=linear" : "", rates[i / 2]);
        ck_assert_uint_eq(mask->rate, rates[i / 2]);
        ck_assert_uint_eq(mask->origin, is_linear ? (mask->taps - 1) / 2 : 0);
        expect_levels(mask, 1, 0, INFINITY);
        /* level beyond its ends, and linear between them over the logarithm of frequency */
        ck_assert_double_eq_tol(mask_magnitude(mask, 0, 4), levels[0], 0.1);
        ck_assert_double_eq_tol(mask_magnitude(mask, 0, 500), 0.25, 0.1);
        if (mask->rate == 192000)
            ck_assert_double_eq_tol(mask_magnitude(mask, 0, 60000), levels[POINTS - 1], 0.1);
    }
}

START_TEST(inverse_corrects_up_to_its_limit)
{
    mask_save_text("a.txt", forms[0]);
    struct mask *mask = made("inverse", "", 48000);
    expect_levels(mask, -1, 0, 12);
    mask = made("inverse", "phase=linear", 48000);
    expect_levels(mask, -1, 0, 12);
    mask = made("inverse", "limit=2dB", 48000);
    expect_levels(mask, -1, 0, 2);
    mask = made("inverse", "reference=-1dB", 48000);
    expect_levels(mask, -1, -1, 12);
    mask = made("response", "taps=400", 48000);
    ck_assert_uint_eq(mask->taps, 400);
}

/* As gains, levels of sound pressure would be deafening. */
START_TEST(sound_pressure_is_relative_to_its_mean)
{
    mask_save_text("a.txt", "* Freq(Hz) SPL(dB)\n20 80\n2000 80\n20000 70\n");
    command_expect(mask_said("response:a.txt", NULL), "its mean level, 78.33 dB, is taken as 0 dB");
    struct mask *mask = mask_of_spec("response:a.txt", NULL);
    ck_assert_double_eq_tol(mask_magnitude(mask, 0, 200), 80 - 78.3333, 0.1);
    ck_assert_double_eq_tol(mask_magnitude(mask, 0, 20000), 70 - 78.3333, 0.1);
    mask = made("response", "reference=80", 48000);
    ck_assert_double_eq_tol(mask_magnitude(mask, 0, 200), 0, 0.1);
}

START_TEST(what_it_does_not_reach_is_said)
{
    mask_save_text("a.txt", "20 -30\n100 0\n1000 0\n20000 0\n");
    struct command_result result = command_done("$HALO mask make inverse:a.txt -o a.wav");
    command_expect(result.err, "at 1 of its 4 frequencies the correction is limited to 12 dB");
    command_expect(mask_said("response:a.txt,taps=256", NULL),
                   "dB from the file; more taps= come closer");
    mask_spec_refused(1, "it holds a frequency response, not taps", "invert:a.txt", NULL);
    mask_spec_refused(1, "no frequency response; invert:FILE", "inverse:a.wav", NULL);
    mask_spec_refused(1, "No such file", "inverse:none.cal", NULL);
    mask_spec_refused(2, "needs a value", "response:", NULL);
}
