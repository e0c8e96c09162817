/* Configurations of other programs as masks, against paths computed by hand. */
#include "command.h"
#include "mask_load.h"
#include "render_call.h"
#include "sound.h"
#include "suite.h"

#include <math.h>
#include <string.h>

/* a.wav: 1 2 3 | 0 0.5 0; b.wav: -1 1 */
static void make_masks(void)
{
    static const float a[2][3] = {{0.1f, 0.2f, 0.3f}, {0, 0.5f, 0}}, b[2] = {-1, 1};
    struct sound sound = sound_create(SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 2, 3);
    memcpy(sound.block.data[0], a[0], sizeof a[0]);
    memcpy(sound.block.data[1], a[1], sizeof a[1]);
    sound_save(&sound, "a.wav");
    sound = sound_create(SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 1, 2);
    memcpy(sound.block.data[0], b, sizeof b);
    sound_save(&sound, "b.wav");
}

/* ---- jconvolver ---- */

START_TEST(jconvolver_by_hand)
{
    make_masks();
    mask_save_text("a.conf", "/convolver/new 2 2 256 1000\n"
                             "/impulse/read 1 1 2.0 1 1 0 1 a.wav\n"
                             "/impulse/read 1 1 1.0 0 0 2 2 a.wav\n"
                             "/impulse/copy 2 2 1 1\n");
    struct mask *mask = mask_loaded("a.conf", NULL);
    ck_assert_uint_eq(mask->rate, 48000);
    ck_assert_uint_eq(mask->columns, 1); /* a copy takes no memory */
    ck_assert_uint_eq(mask->path_count, 2);
    mask_expect_path(mask, 0, 0, 3, (double[]){0, 0.5 + 0.4, 0.6});
    mask_expect_path(mask, 1, 1, 3, (double[]){0, 0.5 + 0.4, 0.6});
}

/* A name ends at its blank, as in jconvolver, unless quotes hold it together. */
START_TEST(jconvolver_names)
{
    make_masks();
    command_done("cp a.wav 'a b.wav'; cp b.wav a; mkdir -p 'x y' x; cp b.wav 'x y/c.wav'");
    mask_save_text("a.conf",
                   "/convolver/new 2 2 256 1000\n/impulse/read 1 1 1 0 0 0 1 \"a b.wav\"\n"
                   "/impulse/read 2 2 1 0 0 0 1 a b.wav\n");
    struct mask *mask = mask_loaded("a.conf", NULL);
    mask_expect_path(mask, 0, 0, 3, (double[]){0.1f, 0.2f, 0.3f});
    mask_expect_path(mask, 1, 1, 2, (double[]){-1, 1});
    const char *said = mask_said("a.conf", NULL);
    command_expect(said, "line 3: the name is 'a', without 'b.wav' behind the blank");
    ck_assert(!strstr(said, "line 2: the name"));
    mask_refused("a.conf", "/cd x y\n/impulse/read 1 1 1 0 0 0 1 c.wav\n", "cannot open c.wav");
    mask_save_text("a.conf", "/cd \"x y\"\n/impulse/read 1 1 1 0 0 0 1 c.wav # near\n");
    mask = mask_loaded("a.conf", NULL);
    mask_expect_path(mask, 0, 0, 2, (double[]){-1, 1});
}

START_TEST(packed_matrix)
{
    struct sound sound = sound_create(SF_FORMAT_WAV | SF_FORMAT_FLOAT, 44100, 2, 6);
    for (size_t i = 0; i < 6; i++) {
        sound.block.data[0][i] = (float)(i + 1) / 8;
        sound.block.data[1][i] = -(float)(i + 1) / 8;
    }
    sound_save(&sound, "packed.wav");
    mask_save_text("a.conf", "# as mcfx writes it\n/cd \n#\n/impulse/packedmatrix 3 2.0 1 1 0 "
                             "packed.wav\n");
    struct mask *mask = mask_loaded("a.conf", NULL);
    ck_assert_uint_eq(mask->inputs, 3);
    ck_assert_uint_eq(mask->outputs, 2);
    mask_expect_path(mask, 0, 0, 2, (double[]){0, 0.5});
    mask_expect_path(mask, 2, 0, 2, (double[]){0, 1.5});
    mask_expect_path(mask, 1, 1, 2, (double[]){0, -1});
}

START_TEST(jconvolver_refused)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"/convolver/new 2 2 256 1000\n/impulse/read 3 1 1 0 0 0 1 a.wav\n",
         "line 2: there is no input 3"},
        {"/convolver/new 2 2 256 1000\n/impulse/read 1 1 1 -5 0 0 1 a.wav\n",
         "line 2: the delay must be"},
        {"/convolver/new 2 2 256 1000\n/impulse/read 1 1 1 0 9 0 1 a.wav\n",
         "an offset of 9 exceeds 3"},
        {"/convolver/new 2 2 256 1000\n/impulse/read 1 1 1 0 0 0 3 a.wav\n", "no channel 3"},
        {"/convolver/new 2 2 256 1000\n/impulse/read 1 1 1 0 0 0 1 no.wav\n",
         "line 2: cannot open no.wav"},
        {"/convolver/new 2 2 256 1000\n/impulse/read 1 1 1 0 0 0 1 /etc/passwd\n",
         "line 2: cannot read"},
        {"/convolver/new 2 2 256 1000\n/impulse/read 1 1 1 0 0 0 1 /dev/zero\n",
         "it is not a regular file"},
        {"/convolver/new 2 2 256 1000\n/impulse/read 1 1 1 0 0 0 1 a.conf\n",
         "line 2: cannot read"},
        {"/convolver/new 1 1 256 2000000000\n/impulse/dirac 1 1 1 1000000000\n",
         "line 2: 1 taps after a delay of 1000000000 are too long"},
        {"/convolver/new 1 1 256 1000\n/impulse/hilbert 1 1 1 10 64\n", "half its length"},
        {"/convolver/new 2 2 256 1000\n/impulse/copy 1 1 2 2\n", "no response to copy"},
        {"/convolver/new 2 2 256 1000\n/impulse/dirac 1 1 1 0\n/impulse/copy 1 2 1 1\n/impulse/dirac 1 2 1 0\n",
         "line 4: the path from input 1 to output 2 is a copy"},
        {"/convolver/new 2 2 256 1000\n/impulse/gate 1 1\n", "line 2: jconvolver has no command"},
        {"/convolver/new 2 2 256 1000\nhello\n", "line 2: not a command"},
        {"/convolver/new 2 2 256 1000\n", "all responses are silent"},
        {"/convolver/new 999 2 256 1000\n", "line 1: there is no inputs 999"},
    };
    make_masks();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        mask_refused("a.conf", cases[i].text, cases[i].expected);
}

/* ---- how much ---- */

enum { LONG_TAPS = 16000000 }; /* which take no memory while they are silent */

/* A dirac at both ends of `count` responses. */
static void save_long(const char *name, size_t count)
{
    FILE *file = fopen(command_path(name), "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "/convolver/new 128 128 256 %d\n", LONG_TAPS + 1);
    for (size_t i = 0; i < count; i++)
        fprintf(file, "/impulse/dirac %zu %zu 1 0\n/impulse/dirac %zu %zu 0.5 %d\n", 1 + i % 128,
                1 + i / 128, 1 + i % 128, 1 + i / 128, LONG_TAPS);
    fclose(file);
}

/* More than 2 GiB of taps where there is memory for them; all are one column. */
START_TEST(matrices_as_large_as_memory)
{
    enum { COUNT = 18 };
    uint64_t most = mask_taps_most();
    if (most > (uint64_t)COUNT * (LONG_TAPS + 1)) {
        save_long("long.conf", COUNT);
        struct mask *mask = mask_loaded("long.conf", NULL);
        ck_assert_uint_eq(mask->columns, 1);
        ck_assert_uint_eq(mask->path_count, COUNT);
        ck_assert_uint_eq(mask->taps, LONG_TAPS + 1);
        ck_assert(mask_column(mask, 0)[0] == 1 && mask_column(mask, 0)[LONG_TAPS] == 0.5);
    }
    uint64_t cells = most / (LONG_TAPS + 1) + 1;
    if (cells < (uint64_t)128 * 128) { /* else memory for all there may be */
        char where[80];
        save_long("longer.conf", (size_t)cells);
        snprintf(where, sizeof where, "line %llu: its responses have",
                 (unsigned long long)(1 + 2 * cells));
        mask_spec_refused(1, where, "longer.conf", NULL);
    }
}

/* Of a process that may have less than the machine. */
START_TEST(matrices_are_refused_before_memory_ends)
{
    save_long("long.conf", 5);
    struct command_result result = command_run("ulimit -v 2500000 && \"$HALO\" --version");
    if (result.code != 0)
        return; /* sanitizers need more */
    command_refused(1, "line 11: its responses have 80000005 taps so far, more than the 71111111",
                    "ulimit -v 2500000; \"$HALO\" mask show long.conf");
    save_long("long.conf", 128); /* and never touches what it does not use */
    command_refused(1, "line 11: its responses have",
                    "ulimit -v 2500000; \"$HALO\" mask show long.conf");
}

/* ---- Convolver ---- */

START_TEST(convolver_by_hand)
{
    make_masks();
    mask_save_text("a.cfg", "48000 2 2 3\r\n0 0.0625\r\n0.020833333 0\r\n\r\n"
                            "a.wav\r\n0\r\n0.0 1.5\r\n1.0\r\n"
                            "a.wav\r\n1\r\n1.0\r\n-0.25\r\n");
    struct mask *mask = mask_loaded("a.cfg", NULL);
    ck_assert_uint_eq(mask->rate, 48000);
    ck_assert_uint_eq(mask->path_count, 3);
    mask_expect_path(mask, 0, 1, 3, (double[]){0.1, 0.2, 0.3});
    mask_expect_path(mask, 1, 1, 6, (double[]){0, 0, 0, 0.05, 0.1, 0.15});
    mask_expect_path(mask, 1, 0, 6, (double[]){0, 0, 0, 0, 0, -0.125});
    /* by what is in it, whatever its name; numbers alone are taps */
    static const char *const names[] = {"room.txt", "room", "48000.conf", "a.b.text"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        mask_save_text(names[i], "48000 1 2\n0.0625\n0\t0\n\na.wav\n1\n0.0\n0.0 1.5\n");
        mask = mask_loaded(names[i], NULL);
        ck_assert_uint_eq(mask->path_count, 2);
        mask_expect_path(mask, 0, 1, 5, (double[]){0, 0, 0, 0, 0.25});
    }
    mask_save_text("taps.txt", "48000 2 2 0\n0 0 1 1\n0 0 1 1\n");
    mask = mask_loaded("taps.txt", NULL);
    ck_assert_uint_eq(mask->columns, 4);
    mask_refused("b.txt", "48000 1 1 0\n0\n0\nno.wav\n0\n0\n0\n", "line 4: cannot open no.wav");
    mask_refused("b.cfg", "48000 2 2 0\n0 -1\n0 0\na.wav\n0\n0.0\n0.0\n", "line 2: a delay");
    mask_refused("b.cfg", "48000 2 2 0\n0 0\n0 0\na.wav\n2\n0.0\n0.0\n", "line 5: a.wav has");
    mask_refused("b.cfg", "48000 2 2 0\n0 0\n0 0\na.wav\n0\n2.0\n0.0\n", "line 6: '2.0'");
    mask_refused("b.cfg", "44100 2 2 0\n0 0\n0 0\na.wav\n0\n0.0\n0.0\n", "line 4: a rate of 48000");
    mask_refused("b.cfg", "48000 2 2 0\n0 0\n0 0\na.wav\n0\n", "it ends before inputs");
}

/* ---- BruteFIR ---- */

START_TEST(brutefir_refused)
{
#define CHANNELS "input 0 { channels: 1; };\noutput 0 { channels: 1; };\n"
    mask_save_text("t.txt", "1\n");
    mask_refused("a",
                 CHANNELS "filter 0 { from_filters: 1; to_outputs: 0; coeff: -1; };\n"
                          "filter 1 { from_filters: 0; coeff: -1; };\n",
                 "feeds itself");
    mask_refused("a", CHANNELS "filter 0 { from_inputs: 7; coeff: -1; };\n",
                 "line 3: there is no input 7");
    mask_refused("a", CHANNELS "filter 0 { from_inputs: 0; to_outputs: 0; coeff: \"x\"; };\n",
                 "line 3: there is no coeff x");
    mask_refused("a", "logic: \"eq\" { };\n" CHANNELS, "line 1: the module eq");
    mask_refused("a", "logic: \"cli\" { port: 3000; },\n\"eq\" { };\n" CHANNELS,
                 "line 2: the module eq");
    mask_refused("a", "logic: \"cli\" { script: \"cfc 0 0;\"; };\n" CHANNELS,
                 "script: varies over time");
    mask_refused("a", "input 0/6 { channels: 1; };\n", "0/: BruteFIR scales");
    mask_refused("a", CHANNELS "filter 0 { from_inputs: 0; to_filters: 1/6; coeff: -1; };\n",
                 "line 3: 1/: BruteFIR scales");
    mask_refused("a", CHANNELS "filter 0 { from_inputs: \"7\"; to_outputs: \"1\"; coeff: -1; };\n",
                 "there is no input 7");
    mask_refused("a",
                 CHANNELS "coeff 0 { filename: \"t.txt\"; format: \"processed\"; };\n"
                          "filter 0 { from_inputs: 0; to_outputs: 0; coeff: 0; };\n",
                 "'processed' cannot be read");
    mask_refused("a", "input 0 { subdelay: 50; };\n", "a fractional delay");
    mask_refused("a", "input 0,1 { channels: 2/1,2; };\n", "channel 2 of 2");
    mask_refused("a", "input 0,1 { channels: 4/3,3; };\n", "channel 3 is used twice");
    mask_refused("a", "input 0,1 { channels: 4/3; };\n", "channels: to channel 1 of 1");
    mask_refused("a", CHANNELS "filter 0 { from_inputs: 0\n", "';' is missing");
    mask_refused("a", "coeff \"a { };\n", "an unterminated string");
    mask_refused("a", CHANNELS "frobnicate: 1;\n", "line 3: BruteFIR has no setting");
}

/* A delay in blocks is part of filter_length: 3 of 4 blocks of 2 taps leave 2 taps. */
START_TEST(brutefir_lengths)
{
    static const char network[] =
        CHANNELS "filter_length: 2,4; sdf_length: %d, 9.5;\n"
                 "coeff 0 { filename: \"t.txt\"; format: \"text\"; %s };\n"
                 "filter 0 { from_inputs: 0; to_outputs: 0; coeff: 0; delay: %d; };\n";
    static const struct {
        const char *blocks;
        int delay;
        size_t taps;
    } cases[] = {{"", 0, 6}, {"", 1, 8}, {"", 2, 8}, {"", 3, 8}, {"blocks: 1;", 2, 6}};
    mask_save_text("t.txt", "0,1\n0,2\n0,3\n0,4\n0,5\n0,6\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1000];
        double taps[8] = {0};
        for (size_t k = 2 * (size_t)cases[i].delay; k < cases[i].taps; k++)
            taps[k] = (double)(k + 1 - 2 * (size_t)cases[i].delay) / 10;
        snprintf(text, sizeof text, network, -1, cases[i].blocks, cases[i].delay);
        mask_save_text("a", text);
        struct mask *mask = mask_loaded("a", NULL);
        mask_expect_path(mask, 0, 0, cases[i].taps, taps);
        snprintf(text, sizeof text, network, 15, cases[i].blocks, cases[i].delay);
        mask_save_text("a", text);
        const char *said = mask_said("a", NULL);
        command_expect(said, "line 3: sdf_length: 15: BruteFIR delays all channels by 30 samples");
        command_expect(said, "t.txt: its commas are read as decimal marks");
    }
    char text[1000];
    snprintf(text, sizeof text, network, 0, "", 4);
    mask_refused("a", text, "line 5: a delay of 4 blocks, but filter_length has 4, and one");
}

/* ---- Equalizer APO ---- */

START_TEST(eqapo_channels)
{
    make_masks();
    mask_save_text("e.txt", "# comment\r\nPreamp: -6.0206 dB\r\nChannel: R\r\n"
                            "Convolution: a.wav\r\nDelay: 2 samples\r\nChannel: L R\r\n"
                            "Convolution: a.wav\r\n");
    struct mask *mask = mask_loaded("e.txt", NULL);
    ck_assert_uint_eq(mask->inputs, 2);
    mask_expect_path(mask, 0, 0, 3, (double[]){0.05, 0.1, 0.15});
    /* 0.1 0.2 0.3 by 0 0.5 0, delayed by 2, halved */
    const double *taps = mask_column(mask, mask->paths[1].column);
    static const double wanted[] = {0, 0, 0, 0.025, 0.05, 0.075};
    for (size_t k = 0; k < 6; k++)
        ck_assert_double_eq_tol(taps[k], wanted[k], 1e-7);
}

START_TEST(eqapo_includes)
{
    mask_save_text("e.txt", "Include: e2.txt\nChannel: R\nPreamp: 6 dB\n");
    mask_save_text("e2.txt", "Channel: L\nPreamp: -6 dB\n");
    struct mask *mask = mask_loaded("e.txt", NULL);
    mask_expect_path(mask, 0, 0, 1, (double[]){pow(10, -0.3)});
    mask_expect_path(mask, 1, 1, 1, (double[]){pow(10, 0.3)});
    mask_refused("e.txt", "Include: e.txt\n", "circular");
    mask_refused("e.txt", "Preamp: 0 dB\nInclude: /dev/zero\n", "line 2: ");
}

START_TEST(eqapo_refused)
{
    mask_refused("e.txt", "Filter 1: ON XX Fc 100 Hz Q 1\n",
                 "line 1: an equaliser's filter of the kind 'XX'");
    mask_refused("e.txt", "Filter 1: ON PK Fc 300 Hz Gain 3 dB\n", "without Q");
    mask_refused("e.txt", "Filter 1: ON PK Fc 300 Hz Gain 3 dB Q 0\n", "without Q");
    mask_refused("e.txt", "Filter 1: ON PK Fc 300 Hz Gain 3 dB Q 1 Wobble 3\n", "'Wobble'");
    mask_refused("e.txt", "Preamp: 0 dB\nDelay: -3 ms\n", "line 2: Delay:");
    mask_refused("e.txt", "Channel: L XX\nPreamp: 0 dB\n", "line 1: there is no channel 'XX'");
}

/* Properties that do not depend on the cookbook's formulas. */
START_TEST(equaliser_listing)
{
    static const struct {
        const char *filter;
        double frequency, decibel;
    } cases[] = {
        {"PK Fc 1000 Hz Gain -6 dB Q 1.41", 1000, -6},
        {"PK Fc 1000 Hz Gain -6 dB Q 1.41", 0, 0},
        {"PK Fc 63,0 Hz Gain 4,5 dB BW Oct 0.5", 63, 4.5},
        {"LP Fc 500 Hz", 500, -3.0103},
        {"LPQ Fc 500 Hz Q 2", 500, 6.0206},
        {"HP Fc 500 Hz", 500, -3.0103},
        {"HPQ Fc 500 Hz Q 2", 24000, 0},
        {"BP Fc 800 Hz Q 3", 800, 0},
        {"LSC Fc 105 Hz Gain 6.4 dB Q 0.70", 105, 3.2},
        {"LSC Fc 105 Hz Gain 6.4 dB Q 0.70", 0, 6.4},
        {"LSC Fc 105 Hz Gain 6.4 dB Q 0.70", 24000, 0},
        {"HSC 12 dB Fc 8000 Hz Gain -4 dB", 8000, -2},
        {"HSC Fc 8000 Hz Gain -4 dB Q 0.7", 24000, -4},
        {"LS Fc 300 Hz Gain 5 dB", 300, 2.5},
        /* the corner of a 12 dB per octave slope lies 10^(5/80) below the middle */
        {"LS 12dB Fc 300 Hz Gain 5 dB", 300 * 1.15478198, 2.5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        snprintf(text, sizeof text, "Preamp: -2 dB\nFilter 1: ON %s\nFilter: OFF PK Fc 9 Hz\n",
                 cases[i].filter);
        mask_save_text("eq.txt", text);
        struct mask *mask = mask_loaded("eq.txt", NULL);
        ck_assert_uint_eq(mask->columns, 1);
        ck_assert(!mask->has_own_paths); /* for every channel */
        double decibel = mask_magnitude(mask, 0, cases[i].frequency);
        ck_assert_msg(fabs(decibel + 2 - cases[i].decibel) < 2e-3, "%s: %g dB at %g Hz, not %g",
                      cases[i].filter, decibel + 2, cases[i].frequency, cases[i].decibel);
    }
}

START_TEST(rew_filter_settings)
{
    mask_save_text("rew.txt", "Filter Settings file\r\n\r\nRoom EQ V5.20.13\r\n"
                              "Dated: 21.11.2026 10:00:00\r\n\r\nNotes:left\r\n\r\n"
                              "Equaliser: Generic\r\nRoom 1\r\n"
                              "Filter  1: ON  PK       Fc    63,0 Hz  Gain  -5,00 dB  Q  4,000\r\n"
                              "Filter  2: ON  Modal    Fc    30,0 Hz  Gain  -8,00 dB  Q 10,00  "
                              "T60 target   300 ms\r\n"
                              "Filter  3: ON  None\r\n");
    struct mask *mask = mask_loaded(
        "rew.txt", &(struct mask_load_options){.sound = {.rate = 44100, .channels = 2}});
    ck_assert_uint_eq(mask->rate, 44100);
    ck_assert_double_eq_tol(mask_magnitude(mask, 0, 63), -5.3, 0.3);
    ck_assert_double_eq_tol(mask_magnitude(mask, 0, 30), -8.2, 0.3);
}

/* ---- channels that are filtered alike ---- */

#define DEVICES "devices: {samplerate: 48000, capture: {channels: 2}}\n"
#define HALF "filters: {f: {type: Gain, parameters: {gain: 0.5, scale: linear}}}\n"

START_TEST(alike_for_any_number_of_channels)
{
    static const char *const texts[] = {
        DEVICES HALF "pipeline: [{type: Filter, channels: [0, 1], names: [f]}]\n",
        "filter.graph = { nodes = [ { type = builtin label = linear control = { Mult = 0.5 } } ] }\n"
        "audio.position = [ FL FR ]\n",
        "{\"output\": {\"plugins_order\": [\"equalizer#0\"], \"equalizer#0\": {\"num-bands\": 1,\n"
        "\"output-gain\": -6.0205999132796239, \"left\": {\"band0\": {\"type\": \"Off\"}}}}}\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        mask_save_text("a.conf", texts[i]);
        for (size_t channels = 1; channels <= 6; channels++) {
            struct sound in =
                sound_noise("in.wav", 1, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, channels, 100);
            struct command_result result =
                render_done("in.wav", "out.wav", "--tail none --format float --mask a.conf");
            ck_assert((strstr(result.err, "is for 2 channels, filtered alike") != NULL) ==
                      (channels != 2));
            struct sound out = sound_load("out.wav");
            ck_assert_uint_eq(out.block.channels, channels);
            for (size_t k = 0; k < 100; k++)
                ck_assert_float_eq_tol(out.block.data[channels - 1][k],
                                       0.5f * in.block.data[channels - 1][k], 1e-7f);
        }
    }
    sound_noise_file("in.wav", 1, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 1, 100);
    mask_save_text("a.conf",
                   DEVICES HALF "pipeline: [{type: Filter, channels: [0], names: [f]}]\n");
    command_done("rm out.wav");
    command_refused(2, "filters sound of 2 channels, but the sound has 1",
                    "\"$HALO\" render in.wav out.wav --mask a.conf");
}
