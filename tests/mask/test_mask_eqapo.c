/* Configurations of Equalizer APO: paths against those computed by hand, and what is noted. */
#include "command.h"
#include "mask_load.h"
#include "suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is noted while a text is loaded for a sound of two channels. */
static const char *notes_of(const char *text)
{
    mask_save_text("e.txt", text);
    return mask_said("e.txt", &(struct stream_format){.rate = 44100, .channels = 2});
}

/* ---- Copy: and Channel: ---- */

START_TEST(copies)
{
    struct mask *mask = mask_loaded_text("Copy: M=0.5*L+0.5*R S=0.5*L+-0.5*R # mid and side\n"
                                         "Channel: S\nDelay: 2 samples\nPreamp: 6.0206 dB\n"
                                         "Copy: L=M+S R=M+-1*S\n",
                                         48000, 2);
    ck_assert_uint_eq(mask->inputs, 2);
    ck_assert_uint_eq(mask->outputs, 2);
    mask_expect_path(mask, 0, 0, 3, (double[]){0.5, 0, 0.5 * pow(10, 6.0206 / 20)});
    mask_expect_path(mask, 1, 0, 3, (double[]){0.5, 0, -0.5 * pow(10, 6.0206 / 20)});
    mask_expect_path(mask, 0, 1, 3, (double[]){0.5, 0, -0.5 * pow(10, 6.0206 / 20)});

    /* all copies of a line at once, channels by number, dB, silence */
    mask = mask_loaded_text("Copy: 1=R+-6dB*L 2=0.0\n", 48000, 2);
    mask_expect_path(mask, 0, 0, 1, (double[]){pow(10, -0.3)});
    mask_expect_path(mask, 1, 0, 1, (double[]){1});
    ck_assert_uint_eq(mask->path_count, 2);
    ck_assert_uint_eq(mask->outputs, 2);

    /* a created channel is of "all" from then on only */
    mask = mask_loaded_text("Copy: X=L\nPreamp: -20 dB\nChannel: all\nPreamp: -20 dB\nCopy: R=X\n",
                            0, 0);
    mask_expect_path(mask, 0, 0, 1, (double[]){0.01});
    mask_expect_path(mask, 0, 1, 1, (double[]){0.1});
}

START_TEST(selective_delay)
{
    struct mask *mask = mask_loaded_text("Copy: L2=L R2=R\nChannel: L2 R2\n"
                                         "Filter: ON HP Fc 300 Hz\nDelay: 10 ms\n"
                                         "Copy: L=0.5*L+0.5*L2 R=0.5*R+0.5*R2\n",
                                         48000, 2);
    ck_assert_uint_eq(mask->path_count, 2);
    ck_assert_uint_eq(mask->columns, 1);
    ck_assert_double_eq(mask_column(mask, 0)[0], 0.5);
    ck_assert_double_eq(mask_column(mask, 0)[479], 0);
    ck_assert_double_gt(mask_column(mask, 0)[480], 0.48);
}

/* As many channels as the names need, where the sound's number is unknown. */
START_TEST(layouts)
{
    static const struct {
        const char *channels;
        size_t sound, count, index;
    } cases[] = {
        {"L", 0, 2, 0},  {"R", 2, 2, 1},    {"RL", 0, 4, 2},    {"C", 0, 6, 2},  {"SUB", 0, 6, 3},
        {"SR", 6, 6, 5}, {"RR", 6, 6, 5},   {"SL RL", 0, 8, 4}, {"RC", 0, 7, 4}, {"3", 0, 4, 2},
        {"SL", 8, 8, 6}, {"12", 0, 12, 11}, {"C", 1, 1, 0},     {"RR", 4, 4, 3}, {"SL", 4, 4, 2},
        {"rr", 5, 5, 4}, {"2", 16, 16, 1},  {"SR", 16, 16, 7},  {"RL", 0, 4, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[100];
        snprintf(text, sizeof text, "Preamp: 0 dB\nChannel: %s\nPreamp: -6 dB\n",
                 cases[i].channels);
        struct mask *mask = mask_loaded_text(text, 48000, cases[i].sound);
        ck_assert_msg(mask->inputs == cases[i].count, "%s: %zu channels", cases[i].channels,
                      mask->inputs);
        mask_expect_path(mask, cases[i].index, cases[i].index, 1, (double[]){pow(10, -0.3)});
    }
}

START_TEST(channels_of_other_sounds)
{
    command_expect(notes_of("Channel: 2 C\nPreamp: -6 dB\n"),
                   "line 1: there is no channel C in a sound of 2: it is passed over");
    command_expect(notes_of("Copy: L=L+0.7*C R=R+0.7*C\n"), "it is taken as silent");
    command_expect(notes_of("Copy: LFE=L\n"), "it can be copied, but is not heard");
    mask_refused("e.txt", "Copy: L=0.5\n", "line 1: the constant '0.5'");
    mask_refused("e.txt", "Copy: L=0.5*L+X\n", "there is no channel 'X' to copy");
    mask_refused("e.txt", "Copy: A=L L=A\n", "there is no channel 'A' to copy");
    mask_refused("e.txt", "Copy: L = R\n", "'L' is not a copy such as");
    mask_refused("e.txt", "Copy: L=\n", "'L=' is not a copy such as");
    mask_refused("e.txt", "Copy: L=0,5*R\n", "'0,5' is no factor");
    mask_refused("e.txt", "Copy: L=R*0.5\n", "'R' is no factor");
    mask_refused("e.txt", "Copy: L=0.7*(L+R)\n", "line 1: Copy: takes no parentheses: write");
    mask_refused("e.txt", "Preamp: 0 dB\nChannel: L2\n", "line 2: there is no channel 'L2'");
}

/* Names of Copy: mind the case, as in Equalizer APO; those of Channel: are taken in capitals. */
START_TEST(spelling_of_channels)
{
    struct mask *mask = mask_loaded_text("Copy: r=L\nChannel: r\nPreamp: -20 dB\n", 48000, 2);
    mask_expect_path(mask, 0, 0, 1, (double[]){1});
    mask_expect_path(mask, 1, 1, 1, (double[]){0.1});
    ck_assert_uint_eq(mask->path_count, 2);
    mask = mask_loaded_text("Copy: x=R X=L\nChannel: x\nPreamp: 20 dB\nCopy: L=X R=x\n", 48000, 2);
    mask_expect_path(mask, 0, 0, 1, (double[]){10});
    mask_expect_path(mask, 1, 1, 1, (double[]){1});
    command_expect(notes_of("Copy: l=R\n"),
                   "there is no channel l in a sound of 2: it can be copied");
    mask_refused("e.txt", "Copy: mid=L\nChannel: mid\n", "line 2: there is no channel 'MID', as");
    mask_refused("e.txt", "Preamp: 0 dB\nChannel: L\tR\n",
                 "line 2: a tab or quotes: Equalizer APO");
    mask_refused("e.txt", "Preamp: 0 dB\nChannel:\tR\n", "line 2: a tab or quotes");
    mask_refused("e.txt", "Copy: L=R\tR=L\n", "line 1: a tab or quotes: Equalizer APO");
    mask_refused("e.txt", "Preamp: 0 dB\nChannel: \"R\"\n", "line 2: a tab or quotes");
}

/* What Equalizer APO reads behind a #, which is left out. */
START_TEST(tails)
{
    static const char *const read_on[] = {
        "Channel: R # LFE", "Copy: R=L # L=R", "GraphicEQ: 100 1; 200 0 # 4000 -10",
        "Filter: ON PK Fc 90 Hz Gain 1 dB Q 2 # was BW Oct 2", "Stage: post-mix # pre-mix"};
    for (size_t i = 0; i < sizeof read_on / sizeof *read_on; i++) {
        char text[200], expected[100];
        snprintf(text, sizeof text, "Preamp: 0 dB\n%s\n%s\n", read_on[i], read_on[i]);
        snprintf(expected, sizeof expected, "line 2: Equalizer APO reads '%s' as well",
                 strchr(read_on[i], '#'));
        const char *said = notes_of(text), *first = strstr(said, "as well");
        command_expect(said, expected);
        ck_assert(!strstr(first + 1, "as well"));
    }
    ck_assert(!strstr(notes_of("Preamp: -3 dB # loud\nDelay: 2 ms # near\n# L\n"
                               "Channel: L\n"),
                      "as well"));
}

/* ---- files ---- */

/* A listing within a configuration, in a folder of Windows; the selection is its own. */
START_TEST(includes)
{
    command_done("mkdir -p Presets");
    mask_save_text("Presets/bass.txt",
                   "Filter Settings file\r\n\r\nRoom EQ V5,01\r\nDated: 1.2.2026\r\n"
                   "Notes:anything\r\nEqualiser: Generic\r\nNo measurement\r\n"
                   "Filter  1: ON  PK       Fc    45,0 Hz  Gain   2,0 dB  Q  1,00\r\n"
                   "Filter  2: OFF None   \r\nFilter  3: ON  None   \r\n");
    mask_save_text("Presets/sides.txt", "Channel: R\nInclude: bass.txt\nPreamp: -20 dB\n");
    struct mask *mask = mask_loaded_text("Preamp: -6 dB # of all\nInclude: Presets\\bass.txt\n"
                                         "GraphicEQ: 25 0; 40 0; 63 0\n",
                                         48000, 2);
    ck_assert(!mask->has_own_paths);
    ck_assert_double_eq_tol(mask_magnitude(mask, 0, 45), -4, 1e-4);
    mask = mask_loaded_text("Channel: L\nInclude: Presets/sides.txt\nPreamp: -6 dB\n", 48000, 2);
    mask_expect_path(mask, 0, 0, 1, (double[]){pow(10, -0.3)});
    ck_assert_double_eq_tol(mask_magnitude(mask, mask->paths[1].column, 45), -18, 1e-4);
    mask_refused("e.txt", "Include: Presets\\none.txt\n", "line 1: cannot open Presets/none.txt");
    /* a path of the machine that it was written on, into a folder below its own */
    command_expect(notes_of("Include: C:\\Program Files\\config\\Presets\\bass.txt\n"),
                   "line 1: using Presets/bass.txt beside it for C:/Program Files/config/Pre");
    char text[1000];
    snprintf(text, sizeof text, "Include: %s\n", command_path("Presets/bass.txt"));
    mask_save_text("e.txt", text);
    mask = mask_loaded("e.txt", &(struct mask_load_options){.distrusts_configs = true});
    ck_assert_double_eq_tol(mask_magnitude(mask, 0, 45), 2, 1e-4);
}

/* Of two columns: two channels, unless the sound has others; in turn. */
START_TEST(convolution)
{
    mask_save_text("two.txt", "rate: 48000\n1 0.5\n0 0.25\n");
    mask_save_text("one.txt", "rate: 44100\n1\n0.5\n");
    mask_save_text("e.inc", "Preamp: 1 dB\n");
    struct mask *mask = mask_loaded_text("Convolution: two.txt\n", 48000, 0);
    ck_assert_uint_eq(mask->inputs, 2);
    mask_expect_path(mask, 1, 1, 2, (double[]){0.5, 0.25});
    mask = mask_loaded_text("Channel: 2 3 4\nConvolution: two.txt\n", 48000, 4);
    mask_expect_path(mask, 2, 2, 2, (double[]){0.5, 0.25});
    mask_expect_path(mask, 3, 3, 1, (double[]){1});
    /* the file has the rate, wherever it stands */
    mask = mask_loaded_text("Filter: ON PK Fc 1000 Hz Gain 3 dB Q 1\nConvolution: one.txt\n", 48000,
                            2);
    ck_assert_uint_eq(mask->rate, 44100);
    ck_assert(!strstr(notes_of("Convolution: one.txt\n"), "would pass over"));
    command_expect(notes_of("Convolution: \"one.txt\"\n"),
                   "would pass over this or read it otherwise, for '\"'");
    command_expect(notes_of("Preamp: 0 dB\nInclude: \"e.inc\"\n"),
                   "line 2: Equalizer APO would pass");
    mask_refused("e.txt", "Convolution: two.txt\nConvolution: one.txt\n",
                 "line 2: a rate of 44100 Hz, where it was 48000 before");
}

START_TEST(delays)
{
    struct mask *mask = mask_loaded_text("Delay: 1,5 ms\nDelay: 2.5 samples\n", 44100, 1);
    ck_assert_uint_eq(mask->taps, 66 + 3 + 1); /* 66.15 and 2.5, rounded */
    mask_refused("e.txt", "Preamp: 0 dB\nDelay: 3\n", "must be in ms or samples");
    mask_refused("e.txt", "Delay: 10 samples, 5 ms\n", "line 1: Delay: must be in ms or samples");
    mask_refused("e.txt", "Delay: 3 ms; 4 ms\n", "line 1: Delay: must be in ms or samples");
    mask_refused("e.txt", "Delay: -3 ms\n", "line 1: Delay: -3 would be before the sound");
}

/* Before the mix is before it, wherever it stands in the file; capture is of microphones. */
START_TEST(stages)
{
    mask_save_text("h.txt", "Channel: L\nPreamp: -20 dB\n");
    struct mask *mask =
        mask_loaded_text("Include: h.txt\nStage: pre-mix\nCopy: L=R R=L X=L\n"
                         "Stage: capture\nPreamp: -99 dB\nStage: post-mix\n"
                         "Delay: 1 samples\nStage: pre-mix post-mix\nPreamp: -40 dB\n",
                         48000, 2);
    ck_assert_uint_eq(mask->path_count, 2);
    mask_expect_path(mask, 0, 1, 2, (double[]){0, 1e-4});
    mask_expect_path(mask, 1, 0, 2, (double[]){0, 1e-5});
    mask_refused("e.txt", "Preamp: 0 dB\nStage: after\n", "line 2: there is no stage 'after'");
}

START_TEST(devices)
{
    struct mask *mask =
        mask_loaded_text("Device: all\nPreamp: -20 dB\nDevice: Speakers; Benchmark\n"
                         "Preamp: -20 dB\nDevice: X Y; all\nPreamp: -20 dB\n",
                         48000, 2);
    mask_expect_taps(mask, 0, 1, (double[]){1e-3});
    command_expect(notes_of("Device: Speakers\nPreamp: -6 dB\n"),
                   "line 1: the settings for the device 'Speakers' are used");
    mask_refused("e.txt", "Device: A\nPreamp: 0 dB\nDevice: B\nPreamp: 1 dB\n",
                 "line 3: it has settings for several devices, 'A' and 'B'");
}

/* The most commands, and one more. */
START_TEST(many_lines)
{
    static const char line[] = "Eval:1\n", command[] = "Preamp: -6 dB\n";
    enum { MOST = 100000, LENGTH = sizeof line - 1 };
    char *text = malloc(sizeof command + (size_t)LENGTH * MOST), *at = text;
    ck_assert_ptr_nonnull(text);
    for (int i = 0; i < MOST - 1; i++, at += LENGTH)
        memcpy(at, line, LENGTH);
    memcpy(at, command, sizeof command);
    struct mask *mask = mask_loaded_text(text, 48000, 2);
    mask_expect_taps(mask, 0, 1, (double[]){pow(10, -0.3)});
    memcpy(at, line, LENGTH);
    memcpy(at + LENGTH, command, sizeof command);
    mask_refused("e.txt", text, "line 100001: it has more than 100000 commands");
    free(text);
}

/* ---- what is one ---- */

/* Remarks that are words of CamillaDSP do not make it CamillaDSP's. */
START_TEST(remarks_of_others)
{
    static const char *const remarks[] = {
        "filters: my set",       "filters:",       "devices:\n",
        "devices:\n# for these", "mixers: none",   "pipeline:\nas it was",
        "filters:\n  remark",    "filters: {mine}"};
    for (size_t i = 0; i < sizeof remarks / sizeof *remarks; i++)
        for (size_t indent = 0; indent < 2; indent++) {
            char text[200];
            if (indent && strpbrk(remarks[i], "{k"))
                continue;
            snprintf(text, sizeof text, "%s\n%sPreamp: -6 dB\n", remarks[i], indent ? "  " : "");
            struct mask *mask = mask_loaded_text(text, 48000, 2);
            mask_expect_taps(mask, 0, 1, (double[]){pow(10, -0.3)});
        }
}

/* Names of CamillaDSP's filters that are words of Equalizer APO, too, as in flow style. */
START_TEST(not_its_own)
{
    static const char *const texts[] = {
        "title: |\n  Preamp: -6 dB\n  Filter 1: ON PK Fc 100 Hz Gain 1 dB Q 1\npipeline:\n- x\n",
        "# c\n\nfilters:\r\n\n  # c\r\n  preamp: {type: Gain}\npipeline:\n  - 1\n",
        "devices: {samplerate: 48000}\npipeline: [{type: Filter}]\n",
        "pipeline:\n- Preamp: 3 dB\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        mask_refused("c.yml", texts[i], "channels");
}

/* Which branches are applied: the sum of the preamps in them. */
START_TEST(branches)
{
#define RATES                                                                                      \
    "If: sampleRate == 44100\nPreamp: -1 dB\nElseIf: sampleRate == 48000\nPreamp: -2 dB\n"         \
    "Else:\nPreamp: -4 dB\nEndIf:\n"
    static const struct {
        const char *text;
        uint32_t rate;
        size_t channels;
        double gain;
    } cases[] = {
        {RATES, 44100, 2, -1},
        {RATES, 48000, 2, -2},
        {RATES, 96000, 2, -4},
        {RATES RATES, 48000, 2, -4},
        {"If: inputChannelCount > 2\nPreamp: -1 dB\nEndIf:\nPreamp: -8 dB\n", 48000, 2, -8},
        {"If: inputChannelCount > 2\nPreamp: -1 dB\nEndIf:\nPreamp: -8 dB\n", 48000, 6, -9},
        {"If: not (outputChannelCount == 2) && true\nPreamp: -1 dB\nElse:\nPreamp: -2 dB\nEndIf:\n",
         48000, 2, -2},
        /* what is nested in a branch that is left out is not even read */
        {"If: 0\nIf: 1\nPreamp: -1 dB\nElse:\nPreamp: -2 dB\nEndIf:\nVSTPlugin: Library a.dll\n"
         "Include: no.txt\nEval: deviceName + 1\nElse:\nPreamp: -4 dB\nEndIf:\n",
         48000, 2, -4},
        {"If: 1\nIf: 0\nPreamp: -1 dB\nElse:\nPreamp: -2 dB\nEndIf:\nPreamp: -4 dB\nElseIf: 1\n"
         "Preamp: -8 dB\nEndIf:\n",
         48000, 2, -6},
        {"Eval: x = 3\nIf: x >= 4\nPreamp: -1 dB\nElseIf: x == 3\nPreamp: -2 dB\nElseIf: x == 3\n"
         "Preamp: -4 dB\nElse:\nPreamp: -8 dB\nEndIf:\n",
         48000, 2, -2},
        {"If: 0\nEval: x = 5\nElse:\nEval: x = 6\nEndIf:\nPreamp: -`x` dB\n", 48000, 2, -6},
        {"Include: part.txt\nPreamp: -2 dB\n", 48000, 2, -3}, /* its If: ends with it */
        {"If: 1\nInclude: part.txt\nPreamp: -2 dB\nElse:\nPreamp: -4 dB\nEndIf:\n", 48000, 2, -3},
    };
    mask_save_text("part.txt", "Preamp: -1 dB\nIf: 0\nPreamp: -8 dB\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mask *mask = mask_loaded_text(cases[i].text, cases[i].rate, cases[i].channels);
        double gain = 20 * log10(mask_column(mask, 0)[0]);
        ck_assert_msg(fabs(gain - cases[i].gain) < 1e-9, "%s: %g dB", cases[i].text, gain);
    }
    mask_refused("e.txt", "Preamp: 0 dB\nElse:\nPreamp: 1 dB\n", "line 2: Else: without If:");
    mask_refused("e.txt", "Preamp: 0 dB\nElseIf: 1\n", "line 2: ElseIf: without If:");
    mask_refused("e.txt", "Preamp: 0 dB\nEndIf:\n", "line 2: EndIf: without If:");
    mask_refused("e.txt", "Preamp: 0 dB\nIf: deviceName == \"x\"\nEndIf:\n",
                 "line 2: the expression cannot be read at");
    mask_refused("e.txt", "Preamp: 0 dB\nIf:\nEndIf:\n", "line 2: the expression cannot be read");
    command_expect(notes_of("If: 1\nPreamp: 0 dB\n"), "an If: is not closed by EndIf:");
    mask_save_text("e.txt", "Preamp: 0 dB\nIf: inputChannelCount == 2\nEndIf:\n");
    command_expect(mask_said("e.txt", NULL), "line 2: the channels of the sound are taken as 2");
}

START_TEST(other_programs)
{
    mask_refused("c.yml",
                 "filters:\n  filter1:\n    type: Gain\n  convolution: {type: Conv}\n"
                 "  delay: {delay: 3}\npipeline:\n  - type: Filter\n    channel: 0\n",
                 "it has no devices:"); /* CamillaDSP's reader */
    static const char *const refused[] = {"VSTPlugin: Library a.dll",
                                          "LoudnessCorrection: State 1"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char text[100], expected[100];
        snprintf(text, sizeof text, "Preamp: 0 dB\n  %s\n", refused[i]);
        snprintf(expected, sizeof expected, "line 2: %.*s: cannot be read",
                 (int)strcspn(refused[i], ":"), refused[i]);
        mask_refused("e.txt", text, expected);
    }
    command_expect(notes_of("Filter: ON PK Fc 8.000 Hz Gain -3 dB Q 1\n"),
                   "line 1: the separator of 8.000 Hz is taken as one between thousands");
    command_expect(notes_of("Preamp: -6 dB\rDelay: 3 ms\r"), "Equalizer APO takes all as one line");
    ck_assert(!strstr(notes_of("Preamp: -6 dB\r"), "as one line"));
    ck_assert(!strstr(notes_of("Preamp: -6 dB\r\nDelay: 3 ms\r\n"), "as one line"));
    mask_refused("e.txt", "GraphicEQ: 100 6,5; 1000 0.5; 4000 -3\n",
                 "line 1: GraphicEQ: with commas and points");
    command_expect(notes_of("Made by hand\nPreamp: 0 dB\n"),
                   "line 1: 'Made by hand' is no command of Equalizer APO");
}

/* The four texts of an AutoEq result; the fifth, a WAV, is a sound. */
START_TEST(autoeq)
{
    static const char *const texts[] = {
        ("Preamp: -6.1 dB\nFilter 1: ON LSC Fc 105.0 Hz Gain 5.5 dB Q 0.70\n"
         "Filter 2: ON PK Fc 154.8 Hz Gain -2.9 dB Q 0.55\n"
         "Filter 10: ON HSC Fc 10000.0 Hz Gain -1.9 dB Q 0.70"),
        ("Preamp: -6.31 dB\nFilter 1: ON PK Fc 31 Hz Gain 6.0 dB Q 1.41\n"
         "Filter 10: ON PK Fc 16000 Hz Gain -6.5 dB Q 1.41\n"),
        "GraphicEQ: 20 0.0; 21 0.1; 22 0.1; 23 -0.2; 19871 -7.5",
        "GraphicEQ: 10 -84; 20 -6.0; 21 -6.0; 22 -5.9; 19871 -13.6",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (uint32_t rate = 44100; rate <= 48000; rate += 3900) {
            struct mask *mask = mask_loaded_text(texts[i], rate, 2);
            ck_assert_uint_eq(mask->columns, 1);
            ck_assert(!mask->has_own_paths);
        }
}
