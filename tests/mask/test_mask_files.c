/* Mask files of other programs: read as those programs mean them, or refused with the reason. */
#include "command.h"
#include "mask_load.h"
#include "render_call.h"
#include "sound.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- REW ---- */

#define REW_HEAD(normalised, peak)                                                                 \
    "* Impulse Response data saved by REW V5.31.3\r\n" normalised                                  \
    "* IR window has not been applied\r\n"                                                         \
    "* IR is not the min phase version\r\n"                                                        \
    "* Source: UMIK-1, volume: 1.000\r\n"                                                          \
    "* Dated: 21.11.2026 11:02:44\r\n"                                                             \
    "* Excitation: 256k Log Swept Sine, 1 sweep at -12,0 dBFS\r\n" peak                            \
    " // Peak value before normalisation\r\n"                                                      \
    "2 // Peak index\r\n"                                                                          \
    "4 // Response length\r\n"                                                                     \
    "2,0833333333333333E-5 // Sample interval (seconds)\r\n"                                       \
    "-4,1666666666666665E-5 // Start time (seconds)\r\n"                                           \
    "* Data start\r\n"

START_TEST(rew_normalisation_is_undone)
{
    static const char text[] = REW_HEAD("* IR is normalised\r\n", "0,25") "0\r\n-0,5\r\n1,0\r\n"
                                                                          "2,5E-1\r\n";
    mask_save("rew.txt", text, sizeof text - 1);
    struct mask *mask = mask_loaded("rew.txt", NULL);
    ck_assert_uint_eq(mask->rate, 48000);
    ck_assert_uint_eq(mask->columns, 1);
    mask_expect_taps(mask, 0, 4, (double[]){0, -0.125, 0.25, 0.0625});
}

START_TEST(rew_not_normalised_stays)
{
    static const char text[] =
        REW_HEAD("* IR is not normalised\r\n", "0.25") "0\r\n-0.5\r\n1.0\r\n0.25\r\n";
    mask_save("rew.txt", text, sizeof text - 1);
    struct mask *mask = mask_loaded("rew.txt", NULL);
    mask_expect_taps(mask, 0, 4, (double[]){0, -0.5, 1, 0.25});
}

START_TEST(rew_is_refused_with_the_reason)
{
    mask_refused("a.txt", REW_HEAD("* IR is normalised\r\n", "0") "0\n1\n0\n0\n", "original peak");
    mask_refused("a.txt", REW_HEAD("", "1") "0\n1\n0\n", "states 4 samples and holds 3");
    mask_refused("a.txt", REW_HEAD("", "1") "0\n1\nx\n0\n", "line 15: 'x' is not a number");
    mask_refused("a.txt", "* Impulse Response data saved by REW\n1 // Peak index\n",
                 "no '* Data start'");
    mask_refused("a.txt", "* saved by REW\n* Data start\n1\n", "no valid sample interval");
}

/* ---- text ---- */

START_TEST(decimal_commas)
{
    static const char text[] = "0,00012\r\n-1,5000E-02\r\n0\r\n"; /* as rePhase writes, in Europe */
    mask_save("rephase.txt", text, sizeof text - 1);
    struct mask *mask = mask_loaded("rephase.txt", NULL);
    mask_expect_taps(mask, 0, 3, (double[]){0.00012, -0.015, 0});
    mask_save_text("a.txt", "1,0\r\n-0,1\r\n0,25\r\n7\r\n");
    mask = mask_loaded("a.txt", NULL);
    ck_assert_uint_eq(mask->columns, 1);
    mask_expect_taps(mask, 0, 4, (double[]){1, -0.1, 0.25, 7});
    mask_save_text("a.txt", "0,5\t0,25\n-0,1\t1,5E-1\n");
    mask = mask_loaded("a.txt", NULL);
    mask_expect_taps(mask, 0, 2, (double[]){0.5, -0.1});
    mask_expect_taps(mask, 1, 2, (double[]){0.25, 0.15});
    mask_refused("a.txt", "0.5\n0,25\n", "line 2: '0,25': decimals before it take a point");
    mask_refused("a.txt", "0,5\n0.25\n", "line 2: '0.25': decimals before it take a comma");
    mask_refused("a.txt", "0,5,0,25\n",
                 "'0,5,0,25' is not a number (separate columns by blanks or semicolons)");
}

/* What may have been meant otherwise is said. */
START_TEST(decimal_commas_are_said)
{
    mask_save_text("a.txt", "1,0\n0,1\n");
    command_expect(mask_said("a.txt", NULL), "a.txt: its commas are read as decimal marks");
}

START_TEST(own_paths)
{
    static const char text[] = "rate: 44100\norigin: 1\ninputs: 2\noutputs: 1\n"
                               "path: 1 1 2\npath: 2 1 1\n1 2\n3 4\n";
    mask_save("a.mask", text, sizeof text - 1);
    struct mask *mask = mask_loaded("a.mask", NULL);
    ck_assert_uint_eq(mask->origin, 1);
    ck_assert_int_eq(mask_route(mask, 2, MASK_ORDER_LL_LR_RL_RR, MASK_MAP_AUTO), STATUS_OK);
    ck_assert_uint_eq(mask->outputs, 1);
    ck_assert_uint_eq(mask->path_count, 2);
    ck_assert_uint_eq(mask->paths[0].column, 1);
    ck_assert_uint_eq(mask->paths[1].input, 1);
    ck_assert_int_eq(mask_route(mask, 1, MASK_ORDER_LL_LR_RL_RR, MASK_MAP_AUTO), STATUS_USAGE);
    ck_assert_int_eq(mask_route(mask, 2, MASK_ORDER_LL_LR_RL_RR, MASK_MAP_MATRIX), STATUS_USAGE);
    ck_assert_int_eq(mask_select(mask, 1), STATUS_USAGE);
    mask_refused("b.mask", "inputs: 1\noutputs: 1\npath: 1 2 1\n1\n", "path 1 goes from input 1");
    mask_refused("b.mask", "path: 1 2\n1\n", "line 1: a column must be a whole number");
    mask_refused("b.mask", "path: 1 1 1\n1\n", "no inputs: N");
    mask_refused("b.mask", "inputs: 2\n1\n", "no path:");
    mask_refused("b.mask", "origin: 1\n1\n", "no tap 1");
}

START_TEST(endless_line)
{
    enum { LONG = 1000000 };
    char *text = malloc(LONG + 1);
    memset(text, '1', LONG);
    text[LONG] = '\0';
    mask_refused("a.txt", text, "line 1: too long");
    free(text);
}

/* ---- samples without a header ---- */

START_TEST(raw_formats_and_their_names)
{
    static const struct {
        const char *names[3];
        size_t size;
        const char *bytes; /* of 0.5 and -1 */
    } formats[] = {
        {{"S16LE", "s16_le"}, 4, "\x00\x40\x00\x80"},
        {{"S24LE3", "S24_3_LE"}, 6, "\x00\x00\x40\x00\x00\x80"},
        {{"S24LE", "S24_4_RJ_LE"}, 8, "\x00\x00\x40\x00\x00\x00\x80\xFF"},
        {{"S24_4_LJ_LE"}, 8, "\x00\x00\x00\x40\x00\x00\x00\x80"},
        {{"S32LE", "S32_LE"}, 8, "\x00\x00\x00\x40\x00\x00\x00\x80"},
        {{"FLOAT32LE", "F32_LE"}, 8, "\x00\x00\x00\x3F\x00\x00\x80\xBF"},
        {{"FLOAT64LE", "F64_LE"}, 16, "\0\0\0\0\0\0\xE0\x3F\0\0\0\0\0\0\xF0\xBF"},
        {{"F32_BE", "FLOAT_BE"}, 8, "\x3F\x00\x00\x00\xBF\x80\x00\x00"},
    };
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        for (size_t n = 0; n < 3 && formats[i].names[n]; n++) {
            struct mask_load_options options = {
                .raw = {.format = raw_format_named(formats[i].names[n]), .rate = 96000}};
            ck_assert_msg(options.raw.format, "%s", formats[i].names[n]);
            mask_save("a.raw", formats[i].bytes, formats[i].size);
            struct mask *mask = mask_loaded("a.raw", &options);
            ck_assert_uint_eq(mask->rate, 96000);
            mask_expect_taps(mask, 0, 2, (double[]){0.5, -1});
            options.raw.channels = 2;
            mask = mask_loaded("a.raw", &options);
            mask_expect_taps(mask, 1, 1, (double[]){-1});
        }
    ck_assert_ptr_null(raw_format_named("S24_LE")); /* three bytes or four: ambiguous */
}

START_TEST(raw_by_the_name_of_the_file)
{
    static const double doubles[] = {0.25, -1e-3, 0};
    static const float floats[] = {0.5f, 1e-5f};
    mask_save("Cor1L44.dbl", doubles, sizeof doubles);
    struct mask *mask = mask_loaded("Cor1L44.dbl", NULL);
    mask_expect_taps(mask, 0, 3, doubles);
    ck_assert_uint_eq(mask->rate, 0);
    mask_save("rps.PCM", floats, sizeof floats);
    mask = mask_loaded("rps.PCM", NULL);
    mask_expect_taps(mask, 0, 2, (double[]){0.5, 1e-5});
    mask_save("odd.dbl", doubles, 13);
    mask_spec_refused(1, "not a whole number of frames", "odd.dbl", NULL);
}

START_TEST(raw_on_the_command_line)
{
    static const float taps[] = {0, 0, 0.5f, 0.25f};
    struct sound in = sound_noise("in.wav", 1, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 2, 1000);
    mask_save("a.raw", taps, sizeof taps);
    render_done("in.wav", "out.wav", "--mask a.raw,raw=FLOAT32LE,channels=2,rate=48000");
    struct sound out = sound_load("out.wav");
    for (size_t i = 1; i < 1000; i++) {
        ck_assert_float_eq_tol(out.block.data[0][i], 0.5f * in.block.data[0][i - 1], 1e-6f);
        ck_assert_float_eq_tol(out.block.data[1][i], 0.25f * in.block.data[1][i - 1], 1e-6f);
    }
    mask_spec_refused(2, "raw= is one of", "a.raw,raw=S24_LE", NULL);
    mask_spec_refused(2, "needs raw=", "a.raw,channels=2", NULL);
    mask_spec_refused(1, "raw=FORMAT", "a.raw", NULL);
}

/* A comma in the name of a file that is there is no option. */
START_TEST(commas_in_names)
{
    static const char *const names[] = {"Hall, left.wav", "a,gain=-6.wav", "a,b", "a,b,c.wav"};
    sound_noise_file("in.wav", 1, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 1, 100);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char spec[64];
        mask_save_text(names[i], "0.25\n");
        snprintf(spec, sizeof spec, "%s,gain=%s", names[i], i % 2 ? "0,invert" : "0");
        struct mask *mask = mask_of_spec(spec, NULL);
        mask_expect_taps(mask, 0, 1, (double[]){i % 2 ? -0.25 : 0.25});
        ck_assert_int_eq(remove(command_path(names[i])), 0);
    }
    command_done("printf '0.5\\n' >m.txt && printf '1\\n' >m.txt,gain=0 && "
                 "$HALO render in.wav out.wav -f --mask m.txt,gain=0,invert --save-chain c.yml");
    command_expect(command_done("cat c.yml").out, "m.txt\n"); /* the shorter name was there */
    command_done(
        "mkdir 'a, b' && mv m.txt 'a, b/m, x.txt' && printf '20 0\\n20000 -6\\n' "
        ">'a, b/c, x.cal' && $HALO mask show 'inverse:a, b/c, x.cal,taps=64' && "
        "cd 'a, b' && $HALO render ../in.wav o1.wav --mask 'm, x.txt' --save-chain c.yml && "
        "$HALO render ../in.wav o2.wav --chain c.yml && cmp o1.wav o2.wav");
    mask_spec_refused(2, "' left.wav'", "No, left.wav", NULL);
}

START_TEST(rates_in_names)
{
    static const struct {
        const char *name, *said;
    } cases[] = {
        {"hall_44100.txt", "rate=44100"},
        {"96kHz/hall 44.1k.txt", "rate=44100"},
        {"44100/x-192K.txt", "rate=192000"},
        {"room.16000.txt", "rate=16000"},
        {"hall_48000.txt", NULL},
        {"44100/hall.txt", NULL},
        {"144100.txt", NULL},
        {"lowpass-8000.txt", NULL},
    };
    const struct stream_format sound = {.rate = 48000, .channels = 1};
    command_done("mkdir 44100 96kHz");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char spec[64];
        mask_save_text(cases[i].name, "1\n0.5\n");
        const char *said = mask_said(cases[i].name, &sound);
        if (cases[i].said)
            command_expect(said, cases[i].said);
        else
            ck_assert_msg(!strstr(said, "in its name"), "%s: %s", cases[i].name, said);
        snprintf(spec, sizeof spec, "%s,rate=44100", cases[i].name);
        said = mask_said(spec, &sound);
        ck_assert_msg(!strstr(said, "in its name"), "%s: %s", cases[i].name, said);
    }
}
