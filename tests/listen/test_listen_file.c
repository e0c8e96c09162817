/* halo listen without a device: its output files, its matching, and its errors. */
#include "base/noise.h"
#include "command.h"
#include "plugin_rig.h"
#include "signal/audio.h"
#include "sound.h"
#include "suite.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RATE = 48000, FRAMES = 2 * RATE, FLOAT_WAV = SF_FORMAT_WAV | SF_FORMAT_FLOAT };

/* A number of one choice in the output of --to-file --json. */
static double figure(const struct command_result *result, size_t choice, const char *key)
{
    json_t *report = command_json(result->out);
    json_t *number =
        json_object_get(json_array_get(json_object_get(report, "choices"), choice), key);
    ck_assert(json_is_number(number));
    double value = json_number_value(number);
    return value;
}

/* The weight of the old mask in a crossfade that starts at frame `at`. */
static double share(const char *shape, double frame, double at, double fade, double *other)
{
    double t = fmin(1, fmax(0, (frame - at) / fade));
    double steep = strcmp(shape, "duck") == 0 ? 2 : 4;
    *other = strcmp(shape, "fade") == 0 ? t : fmax(0, 1 - steep * (1 - t));
    return strcmp(shape, "fade") == 0 ? 1 - t : fmax(0, 1 - steep * t);
}

/* The file against the two complete renders, weighted. */
static void check_switch(const char *shape, double fade)
{
    const size_t at = 3 * RATE / 4;
    struct command_result reported = command_done(
        "\"$HALO\" listen in.wav --mask a.txt --or --mask b.txt --to-file out.wav --force --json "
        "--no-align --switch %s --fade %g --script '0:A 0.75s:B'",
        shape, fade);
    double gains[2], peak = 0, error = 0;
    for (size_t i = 0; i < 2; i++)
        gains[i] = audio_from_db(figure(&reported, i, "gain_db"));
    struct sound out = sound_load("out.wav"), a = sound_load("a.wav"), b = sound_load("b.wav");
    sound_expect_format(&out, FLOAT_WAV, RATE, 2, FRAMES);
    for (size_t c = 0; c < 2; c++)
        for (size_t i = 0; i < FRAMES; i++) {
            double later, earlier = share(shape, (double)i, (double)at, fade * RATE, &later);
            double truth = earlier * gains[0] * (double)a.block.data[c][i] +
                           later * gains[1] * (double)b.block.data[c][i];
            peak = fmax(peak, fabs(truth));
            error = fmax(error, fabs(truth - (double)out.block.data[c][i]));
        }
    ck_assert_double_gt(peak, 0.1);
    ck_assert_msg(error <= 1e-6 * peak, "%s: %.1f dB off", shape, 20 * log10(error / peak));
}

START_TEST(a_switch_is_the_two_renders_weighted)
{
    sound_noise_file("in.wav", 1, FLOAT_WAV, RATE, 2, FRAMES);
    sound_noise_mask("a.txt", 2, 2, 700);
    sound_noise_mask("b.txt", 3, 2, 90);
    command_done("\"$HALO\" render in.wav a.wav --mask a.txt --tail none && "
                 "\"$HALO\" render in.wav b.wav --mask b.txt --tail none");
    check_switch("fade", 0.02);
    check_switch("duck", 0.05);
    check_switch("gap", 0.03);
}

/* A mask that is a softer, later copy of the other becomes identical: the switch leaves no
 * trace. */
START_TEST(a_softer_later_copy_is_indistinguishable)
{
    char text[1024] = "";
    struct sound in = sound_noise("in.wav", 4, FLOAT_WAV, RATE, 1, FRAMES);
    for (size_t i = 0; i < 100; i++)
        strcat(text, "0\n");
    strcat(text, "0.5\n");
    sound_text("soft.txt", text);
    sound_text("one.txt", "1\n");
    struct command_result reported = command_done(
        "\"$HALO\" listen in.wav --mask one.txt --or --mask soft.txt --to-file out.wav "
        "--script '0.1:b 300ms:1 0.5s:2 0.8s:dry 1s:a 1.6s:b'");
    ck_assert_msg(strstr(reported.err, "halo: A: -6.0 dB (one.txt)\n"), "%s", reported.err);
    ck_assert_msg(strstr(reported.err, "halo: B: 0.0 dB, 2.1 ms later, aligned (soft.txt)\n"), "%s",
                  reported.err);
    struct sound out = sound_load("out.wav");
    for (size_t i = 0; i < FRAMES; i++)
        ck_assert_double_eq_tol((double)out.block.data[0][i],
                                i < 100 ? 0 : 0.5 * (double)in.block.data[0][i - 100], 1e-4);
}

/* ---- several sounds ---- */

/* Another file with the same sound, softer and later, becomes identical; stages are for both. */
START_TEST(a_softer_later_sound_is_indistinguishable)
{
    enum { LATER = 1105 };
    sound_noise_file("in.wav", 4, FLOAT_WAV, RATE, 2, FRAMES);
    sound_text("late.txt", "-0.5\n");
    command_done("\"$HALO\" render in.wav soft.wav --mask late.txt,delay=%d --tail none", LATER);
    sound_text("echo.txt", "1\n0\n0.5\n");
    static const char *const stages[] = {"", "--mask echo.txt"};
    for (size_t s = 0; s < 2; s++) {
        struct command_result reported =
            command_done("\"$HALO\" listen in.wav --or soft.wav %s --to-file out.wav -f --fade 0 "
                         "--script '0:a 0.5s:b 0.8s:1 1.6s:2'",
                         stages[s]);
        command_expect(reported.err, "halo: A: -6.0 dB (in.wav)\n");
        command_expect(reported.err, "halo: B: 0.0 dB, 23.0 ms later, aligned (soft.wav)\n");
        command_done("\"$HALO\" render in.wav truth.wav -f --mask late.txt,delay=%d %s --tail none",
                     LATER, stages[s]);
        struct sound out = sound_load("out.wav"), truth = sound_load("truth.wav");
        sound_expect_format(&out, FLOAT_WAV, RATE, 2, FRAMES);
        /* soft.wav has the other sign, which is kept */
        const size_t switches[] = {RATE / 2, 4 * RATE / 5, 8 * RATE / 5, FRAMES};
        for (size_t c = 0; c < 2; c++)
            for (size_t i = 0, part = 0; i < FRAMES; i++) {
                part += i == switches[part];
                double sign = part % 2 ? 1 : -1;
                if (part > 0 && i < switches[part - 1] + 2) /* the echo of the sound before */
                    continue;
                ck_assert_double_eq_tol((double)out.block.data[c][i],
                                        sign * (double)truth.block.data[c][i], 1e-5);
            }
    }
}

/* A difference of two sounds that each begin their loop with silence is what was removed. */
START_TEST(sounds_of_any_rate_width_and_length_are_compared)
{
    sound_noise_file("in.wav", 4, FLOAT_WAV, RATE, 2, FRAMES);
    command_done("\"$HALO\" render in.wav low.wav --mask lowpass:15000 --align centre --tail none");
    command_done("\"$HALO\" render low.wav other.flac --rate 44100 --format pcm24");
    command_done("\"$HALO\" render low.wav one.wav --channel 1");
    sound_text("nothing.txt", "0\n");
    command_done("\"$HALO\" render low.wav silent.wav --mask nothing.txt --tail none");
    command_done("sox low.wav short.wav trim 0 1.25");
    struct command_result reported = command_done(
        "\"$HALO\" listen low.wav --or other.flac --or one.wav --or silent.wav --or short.wav "
        "--match none --to-file out.wav --fade 0 --script '0:A 0.25:B 0.5:C 0.75:D 1:E'");
    command_expect(reported.err, "other.flac: 44100 Hz, 2 channels, 2.000 s, played at 48000 Hz\n");
    command_expect(reported.err, "halo: one.wav makes one channel, which plays on both\n");
    command_expect(reported.err, "halo: short.wav: 48000 Hz, 2 channels, 1.250 s\n");
    struct sound out = sound_load("out.wav"), low = sound_load("low.wav");
    sound_expect_format(&out, FLOAT_WAV, RATE, 2, 5 * RATE / 4);
    for (size_t c = 0; c < 2; c++)
        for (size_t i = 0; i < 5 * RATE / 4; i++) {
            size_t part = i / (RATE / 4);
            double truth = (double)low.block.data[part == 2 ? 0 : c][i];
            if (part == 1 && i < RATE / 4 + 200) /* the resampled sound's edge is in A alone */
                continue;
            ck_assert_double_eq_tol((double)out.block.data[c][i], part == 3 ? 0 : truth,
                                    part == 1 ? 2e-3 : 1e-6);
        }
}

/* Delays are found in bass, beside an offset, in a single click, and through encoders. */
START_TEST(any_sound_and_its_copy_are_aligned)
{
    static const char *const makes[] = {
        "sox -n -r 48000 -c 1 -e float -b 32 a.wav synth 2 sine 35-60 vol 0.3",
        "sox -n -r 48000 -c 1 -e float -b 32 a.wav synth 2 noise vol 0.1 dcshift 0.25",
        "cp \"$WAV/click.wav\" a.wav",
        "cp \"$WAV/voice.wav\" a.wav",
    };
    sound_text("one.txt", "1\n");
    for (size_t i = 0; i < sizeof makes / sizeof *makes; i++) {
        command_done("%s", makes[i]);
        command_done("\"$HALO\" render a.wav b.wav -f --mask one.txt,delay=700,gain=-3");
        struct command_result reported = command_done(
            "\"$HALO\" listen a.wav --or b.wav --match none --to-file out.wav -f --json");
        ck_assert_msg(fabs(figure(&reported, 1, "later") - 700) < 0.5, "%s: %s", makes[i],
                      reported.out);
    }
    static const char *const encoders[] = {"libmp3lame -b:a 96k b.mp3", "libopus -b:a 64k b.opus",
                                           "flac b.flac"};
    for (size_t i = 0; i < sizeof encoders / sizeof *encoders; i++) {
        command_done("cp \"$WAV/drums.wav\" a.wav && ffmpeg -v error -y -i a.wav -c:a %s",
                     encoders[i]);
        struct command_result reported =
            command_done("\"$HALO\" listen a.wav --or %s --to-file out.wav -f --json",
                         strrchr(encoders[i], ' ') + 1);
        ck_assert_msg(fabs(figure(&reported, 1, "later")) < 50, "%s: %s", encoders[i],
                      reported.out);
        ck_assert_double_lt(fabs(figure(&reported, 1, "gain_db") - figure(&reported, 0, "gain_db")),
                            1);
    }
}

START_TEST(unlike_sounds_are_not_aligned)
{
    sound_noise_file("in.wav", 4, FLOAT_WAV, RATE, 1, FRAMES);
    struct sound other = sound_noise("other.wav", 500, FLOAT_WAV, RATE, 1, FRAMES);
    struct command_result reported =
        command_done("\"$HALO\" listen in.wav --or other.wav --match none --to-file out.wav "
                     "--fade 0 --script '0:B'");
    command_expect(reported.err, "halo: other.wav differs too much from in.wav to be aligned");
    struct sound out = sound_load("out.wav");
    sound_expect_same(&out, &other);
}

/* Each is what it is alone, whatever the others have. */
START_TEST(each_choice_has_its_own_mix)
{
    enum { PART = RATE / 5 };
    static const char *const specs[] = {
        "two.txt,@mix=0.3", "four.txt,@mix=0.6",    "one.txt,@bypass",
        "two.txt",          "one.txt,@mix=0",       "centred.txt,align=peak,@mix=0.5",
        "one.txt,@mix=0.8", "four.txt,@bypass=off", "two.txt,@wet=-9dB",
    };
    enum { COUNT = sizeof specs / sizeof *specs };
    char choices[1024] = "", script[200] = "";
    sound_noise_file("in.wav", 5, FLOAT_WAV, RATE, 2, FRAMES);
    sound_noise_mask("one.txt", 2, 1, 700);
    sound_noise_mask("two.txt", 3, 2, 90);
    sound_noise_mask("four.txt", 4, 4, 300);
    sound_text("centred.txt", "0\n0\n0\n0\n1\n0.5\n0\n0\n0\n");
    for (size_t i = 0; i < COUNT; i++) {
        size_t length = strlen(choices), end = strlen(script);
        snprintf(choices + length, sizeof choices - length, "%s--mask %s ", i > 0 ? "--or " : "",
                 specs[i]);
        snprintf(script + end, sizeof script - end, "%g:%c ", (double)(i * PART) / RATE,
                 (char)('A' + i));
    }
    command_done(
        "\"$HALO\" listen in.wav %s --match none --no-align --ceiling 0 --fade 0 --gain -20 "
        "--to-file out.wav --script '%s'",
        choices, script);
    struct sound out = sound_load("out.wav");
    for (size_t i = 0; i < COUNT; i++) {
        command_done("\"$HALO\" render in.wav one.wav -f --mask %s --gain -20 --tail none",
                     specs[i]);
        struct sound one = sound_load("one.wav");
        for (size_t c = 0; c < 2; c++)
            for (size_t k = i * PART; k < (i + 1) * PART; k++)
                ck_assert_msg(fabs((double)(out.block.data[c][k] - one.block.data[c][k])) < 1e-5,
                              "%s, channel %zu, frame %zu: %g, not %g", specs[i], c, k,
                              (double)out.block.data[c][k], (double)one.block.data[c][k]);
    }
    command_refused(2, "at= is for files",
                    "\"$HALO\" listen in.wav --mask one.txt --or --mask "
                    "two.txt,at=1s:@mix=0.5 --to-file x.wav");
    command_refused(2, "this mask is none", "\"$HALO\" mask show one.txt,@mix=0.5");
}

/* A centred mask has latency; the file has none. */
START_TEST(the_file_begins_with_the_sound)
{
    struct sound in = sound_noise("in.wav", 5, FLOAT_WAV, RATE, 1, FRAMES);
    sound_text("centred.txt", "0\n0\n0\n0\n1\n0\n0\n0\n0\n");
    command_done("\"$HALO\" listen in.wav --mask centred.txt --align centre --to-file out.wav "
                 "--from 0.5s --to 1s --seconds 1.25");
    struct sound out = sound_load("out.wav");
    sound_expect_format(&out, FLOAT_WAV, RATE, 1, RATE * 5 / 4);
    for (size_t i = 0; i < out.block.frames; i++)
        ck_assert_double_eq_tol((double)out.block.data[0][i],
                                (double)in.block.data[0][RATE / 2 + i % (RATE / 2)], 1e-6);
}

/* A plugin adds latency to all choices; the file has none, and switches are at their times. */
START_TEST(plugins_keep_choices_aligned)
{
    struct plugin_info *info = plugin_rig_describe("lv2", "http://gareus.org/oss/lv2/nodelay");
    if (!info)
        return;
    plugin_info_destroy(info);
    command_clean();
    struct sound in = sound_noise("in.wav", 6, FLOAT_WAV, RATE, 1, FRAMES);
    sound_text("half.txt", "0.5\n");
    sound_text("one.txt", "1\n");
    command_done("\"$HALO\" listen in.wav --lv2 http://gareus.org/oss/lv2/nodelay,delay=480 "
                 "--mask one.txt --or --mask half.txt --match none --fade 0.01 --to-file out.wav "
                 "--script '0:A 0.5s:B'");
    struct sound out = sound_load("out.wav");
    sound_expect_format(&out, FLOAT_WAV, RATE, 1, FRAMES);
    for (size_t i = 0; i < FRAMES; i++) {
        double gain = i < RATE / 2 ? 1 : 0.5;
        if (i < RATE / 2 || i >= RATE / 2 + RATE / 100)
            ck_assert_double_eq_tol((double)out.block.data[0][i],
                                    gain * (double)in.block.data[0][i], 1e-6);
    }
}

/* The mask of each part of a file whose masks are gains of 0.5 and 0.25. */
static void expect_parts(const char *arguments, size_t frames, const char *parts, double each)
{
    command_done("\"$HALO\" listen in.wav --mask half.txt --or --mask quarter.txt --match none "
                 "--fade 0.01 --to-file out.wav --force %s",
                 arguments);
    struct sound in = sound_load("in.wav"), out = sound_load("out.wav");
    sound_expect_format(&out, FLOAT_WAV, RATE, 1, frames);
    for (size_t i = 0; i < frames; i++) {
        size_t part = (size_t)((double)i / (each * RATE));
        double gain = parts[part < strlen(parts) ? part : strlen(parts) - 1] == 'A' ? 0.5 : 0.25;
        if (i % (size_t)(each * RATE) > RATE / 100)
            ck_assert_double_eq_tol((double)out.block.data[0][i],
                                    gain * (double)in.block.data[0][i % FRAMES], 1e-6);
    }
}

/* Nothing that the script names is left out: the sound of 2 s repeats. */
START_TEST(scripts_outlast_the_sound)
{
    sound_noise_file("in.wav", 9, FLOAT_WAV, RATE, 1, FRAMES);
    sound_text("half.txt", "0.5\n");
    sound_text("quarter.txt", "0.25\n");
    expect_parts("--script '0:A 1s:B'", FRAMES, "AB", 1);
    expect_parts("--script '0:A 2s:B'", 2 * FRAMES, "AB", 2);
    expect_parts("--script '0:A 5s:B'", 4 * FRAMES, "AB", 5);
    expect_parts("--script '0:A 5s:B' --seconds 5.5s", 11 * FRAMES / 4, "AB", 5);
    struct command_result reported =
        command_done("\"$HALO\" listen in.wav --mask half.txt --or --mask quarter.txt --to-file "
                     "out.wav --force --script '0:A 5s:B'");
    ck_assert_msg(strstr(reported.err,
                         "halo: in.wav repeats, 4 passes of 2.000 s, since the script "
                         "switches at 5 s\n") != NULL,
                  "%s", reported.err);
    command_refused(2, "--script switches at 5 s, but --seconds ends the file at 5 s",
                    "\"$HALO\" listen in.wav --mask half.txt --or --mask quarter.txt --to-file "
                    "o.wav --script '0:A 5s:B' --seconds 5");
}

/* As it is, or as loud and as late as the masks; in stereo, where a mask makes that. */
START_TEST(the_dry_sound_is_a_choice)
{
    struct sound in = sound_noise("in.wav", 10, FLOAT_WAV, RATE, 1, FRAMES);
    sound_text("wide.txt", "0 0\n0.25 0.25\n");
    for (int matched = 0; matched < 2; matched++) {
        struct command_result result = command_done(
            "\"$HALO\" listen in.wav --mask wide.txt --fade 0.01 %s --to-file out.wav --force "
            "--json --script '0:dry 0.5s:A 1.5s:dry'",
            matched ? "" : "--match none --no-align");
        command_expect(result.out, "\"dry\":{\"name\"");
        struct sound out = sound_load("out.wav");
        sound_expect_format(&out, FLOAT_WAV, RATE, 2, FRAMES);
        for (size_t i = 1; i < FRAMES; i++) {
            bool is_dry = i < RATE / 2 || i > 3 * RATE / 2;
            double gain = is_dry && !matched ? 1 : 0.25;
            double of = (double)in.block.data[0][is_dry && !matched ? i : i - 1];
            for (size_t c = 0; c < 2 && (i % (RATE / 2) > RATE / 100 || i < RATE / 2); c++)
                ck_assert_double_eq_tol((double)out.block.data[c][i], gain * of, 1e-4);
        }
    }
}

/* Files through A and through B; the loudness of each. */
static void expect_equal_loudness(const char *sound, const char *masks, const char *options)
{
    double levels[2];
    for (size_t i = 0; i < 2; i++) {
        command_done("\"$HALO\" listen %s %s --to-file out.wav --force --script 0:%c %s", sound,
                     masks, (char)('A' + i), options);
        struct sound out = sound_load("out.wav");
        levels[i] = sound_libebur128_loudness(&out);
    }
    ck_assert_msg(isfinite(levels[0]) && fabs(levels[0] - levels[1]) < 0.02,
                  "%s %s %s: %.3f and %.3f LUFS", sound, masks, options, levels[0], levels[1]);
}

/* Masks that make one, two and three channels of a mono sound: one plays on both of a pair, and
 * later stages have all that the widest makes, wherever it stands. */
START_TEST(masks_of_other_widths_are_compared)
{
    static const double heard[][3] = {{0.25, 0.25, 0}, {0.5, -0.25, 0}, {0.125, 0.25, -0.5}};
    static const char *const masks[] = {"one.txt", "two.txt", "three.txt"};
    struct sound in = sound_noise("in.wav", 8, FLOAT_WAV, RATE, 1, FRAMES);
    sound_text("one.txt", "0.5\n");
    sound_text("two.txt", "1 -0.5\n");
    sound_text("three.txt", "0.25 0.5 -1\n");
    for (size_t first = 0; first < 3; first++) {
        struct command_result reported = command_done(
            "\"$HALO\" listen in.wav --mask %s --or --mask %s --or --mask %s --gain -6.0206 --match "
            "none --to-file out.wav --force --fade 0.01 --script '0:A 0.5s:B 1s:C'",
            masks[first], masks[(first + 1) % 3], masks[(first + 2) % 3]);
        ck_assert_msg(strstr(reported.err, "halo: mask one.txt makes one channel, which plays on "
                                           "channels 1 and 2 of 3\n") &&
                          strstr(reported.err, "halo: mask two.txt makes 2 channels of 3; the "
                                               "others are silent\n"),
                      "%s", reported.err);
        struct sound out = sound_load("out.wav");
        sound_expect_format(&out, FLOAT_WAV, RATE, 3, FRAMES);
        for (size_t i = 0; i < FRAMES; i++)
            for (size_t c = 0; c < 3 && i % (RATE / 2) > RATE / 100; c++) {
                size_t part = i / (RATE / 2) < 2 ? i / (RATE / 2) : 2;
                ck_assert_double_eq_tol((double)out.block.data[c][i],
                                        heard[(first + part) % 3][c] * (double)in.block.data[0][i],
                                        1e-5);
            }
    }
    expect_equal_loudness("in.wav", "--mask one.txt --or --mask two.txt", "");
}

/* ---- loudness, by libebur128 ---- */

START_TEST(choices_are_equally_loud_to_libebur128)
{
    static const char *const sounds[] = {"\"$WAV/voice.wav\"", "\"$WAV/drums.wav\"", "sparse.wav"};
    static const char *const masks[] = {
        "--mask \"$FILTERS/identity.txt,delay=2000\" --or --mask \"$FILTERS/identity.txt\"",
        "--mask \"$FILTERS/identity.txt\" --or --mask lowpass:3000,taps=1001",
        "--mask \"$FILTERS/telephone.wav\" --or --mask \"$FILTERS/hall.wav,channel=1,invert\"",
        "--mask \"$FILTERS/plate.wav,channel=1\" --or --mask \"$FILTERS/slap-echo.wav,delay=100ms\"",
    };
    static const char *const options[] = {"", "--from 0.5s --to 2s", "--seconds 7.3",
                                          "--from 0.2s --to 0.7s --align centre"};
    struct sound sparse = sound_create(FLOAT_WAV, RATE, 1, 3 * RATE);
    uint64_t state = 3;
    for (size_t i = 0; i < sparse.block.frames; i++) /* bursts, and noise about the gate */
        sparse.block.data[0][i] = noise_next(&state) * (i % RATE < RATE / 4 ? 0.2F : 4e-4F);
    sound_save(&sparse, "sparse.wav");
    for (size_t s = 0; s < sizeof sounds / sizeof *sounds; s++)
        for (size_t m = 0; m < sizeof masks / sizeof *masks; m++)
            expect_equal_loudness(sounds[s], masks[m], options[(s + m) % 4]);
}

/* What stands before and after the masks is heard, too, and may change the number of channels. */
START_TEST(whole_chains_are_matched)
{
    static const char *const chains[] = {
        "--mask sum.txt,map=matrix --mask \"$FILTERS/identity.txt\" --or --mask "
        "\"$FILTERS/hall.wav\"",
        "--mask two.txt,map=matrix --mask \"$FILTERS/identity.txt,delay=2000\" --or --mask "
        "\"$FILTERS/telephone.wav\" --mask lowpass:400,taps=301 --gain 24",
        "--mask \"$FILTERS/identity.txt\" --or --mask \"$FILTERS/slap-echo.wav\" --spectral "
        "median2d:31x31,part=percussive",
    };
    sound_text("sum.txt", "0.5 0.5\n");
    sound_text("two.txt", "1 0.5 -0.5 0.25 1 0.3\n");
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++)
        expect_equal_loudness("\"$WAV/drums.wav\"", chains[i], "");
}

/* ---- options ---- */

START_TEST(wrong_arguments_are_refused)
{
    static const struct {
        int code;
        const char *expected, *line;
    } cases[] = {
        {2, "which sound", ""},
        {2, "which sound", "--mask a.txt"},
        {1, "nope.wav", "nope.wav --mask a.txt --to-file o.wav"},
        {1, "directory", ". --mask a.txt --to-file o.wav"},
        {2, "empty.wav from 0.000 s on: it is 0.000 s long",
         "empty.wav --mask a.txt --to-file o.wav"},
        {2, "takes SOUND, not also", "in.wav in.wav"},
        {2, "stands between two sounds", "in.wav --or --mask a.txt --to-file o.wav"},
        {2, "stands between two sounds", "--or in.wav --to-file o.wav"},
        {2, "not both", "in.wav --or in.wav --mask a.txt --or --mask b.txt --to-file o.wav"},
        {2, "not both", "in.wav --or in.wav --live-input"},
        {2, "single sound", "in.wav --or in.wav --layout mono --to-file o.wav"},
        {2, "must be files, not -", "in.wav --or - --to-file o.wav"},
        {2, "no dry sound", "in.wav --or in.wav --to-file o.wav --script 0:dry"},
        {2, "at most 9 sounds",
         "in.wav --or a --or b --or c --or d --or e --or f --or g --or h --or i --to-file o.wav"},
        {2, "two sounds, not 3", "in.wav --or in.wav --or in.wav --abx 3"},
        {1, "nope.wav", "in.wav --or nope.wav --to-file o.wav"},
        {2, "the shortest is 0.000 s long", "in.wav --or empty.wav --to-file o.wav"},
        {1, "a.txt", "in.wav --or a.txt --to-file o.wav"},
        {2, "--to 1 s is not after --from 2 s", "in.wav --from 2 --to 1"},
        {2, "it is 2.000 s long", "in.wav --from 9 --to-file o.wav"},
        {2, "not both", "in.wav --live-input"},
        {2, "--from", "--live-input --from 3"},
        {2, "--input-map", "in.wav --input-map 1"},
        {2, "two masks", "in.wav --abx 8 --mask a.txt"},
        {2, "two masks", "in.wav --abx 8"},
        {2, "two masks", "in.wav --abx 8 --mask a.txt --or --mask a.txt --or --mask a.txt"},
        {2, "2 to 9 masks", "in.wav --blind 8 --mask a.txt"},
        {2, "2 to 9 masks", "in.wav --prefer 8 --mask a.txt"},
        {2, "--prefer 4000 takes 12000 trials",
         "in.wav --prefer 4000 --mask a.txt --or --mask a.txt --or --mask b.txt"},
        {2, "--abx", "in.wav --abx 0 --mask a.txt --or --mask b.txt"},
        {2, "use one of --abx, --blind and --prefer",
         "in.wav --abx 3 --blind 3 --mask a.txt --or --mask b.txt"},
        {2, "reads answers from standard input", "- --abx 3 --mask a.txt --or --mask b.txt"},
        {2, "--feedback", "in.wav --mask a.txt --feedback"},
        {2, "--log", "in.wav --mask a.txt --log x.json"},
        {2, "--listener", "in.wav --mask a.txt --listener Eve"},
        {2, "the sound and masks of the test", "in.wav --mask a.txt --resume some.json"},
        {2, "either --log or --resume",
         "in.wav --abx 3 --mask a.txt --or --mask b.txt --log x.json --resume some.json"},
        {1, "no log of halo listen",
         "in.wav --abx 3 --mask a.txt --or --mask b.txt --resume some.json"},
        {2, "which log", "--verify"},
        {1, "x.json: No such file", "--verify x.json"},
        {1, "no log of halo listen", "--verify some.json"},
        {1, "in.wav: it is no log of halo listen", "--verify in.wav"},
        {2, "--match", "in.wav --match loud"},
        {2, "--switch", "in.wav --switch bang"},
        {2, "no effect in a test", "in.wav --mask a.txt --or --mask b.txt --abx 4 --switch fade"},
        {2, "--script needs", "in.wav --mask a.txt --script 0:A"},
        {2, "cannot be used with a test",
         "in.wav --to-file o.wav --abx 3 --mask a.txt --or --mask b.txt"},
        {2, "or --live-input", "--live-input --to-file o.wav --mask a.txt"},
        {2, "there is no choice 'C'",
         "in.wav --to-file o.wav --mask a.txt --or --mask b.txt --script 0:C"},
        {2, "TIME:CHOICE", "in.wav --to-file o.wav --mask a.txt --or --mask b.txt --script B"},
        {2, "too early",
         "in.wav --to-file o.wav --mask a.txt --or --mask b.txt --script '1:A .5:B'"},
        {2, "there are none", "in.wav --to-file o.wav --script 0:A"},
        {1, "in.wav", "in.wav --to-file in.wav --force --mask a.txt"},
    };
    sound_noise_file("in.wav", 6, FLOAT_WAV, RATE, 1, FRAMES);
    sound_noise_file("empty.wav", 6, FLOAT_WAV, RATE, 1, 0);
    sound_text("a.txt", "1\n");
    sound_text("b.txt", "0 \n1\n");
    sound_text("some.json", "{\"test\": \"abx\"}\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        command_refused(cases[i].code, cases[i].expected, "\"$HALO\" listen %s", cases[i].line);
}

START_TEST(help_lists_the_options)
{
    struct command_result help = command_done("\"$HALO\" listen --help all");
    static const char *const expected[] = {
        "--live-input", "--from",     "--match",  "--no-align", "--switch",   "--abx",
        "--blind",      "--feedback", "--verify", "--resume",   "--listener", "--to-file",
        "--script",     "--or",       "--fade",   "--driver",   "q leave"};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        ck_assert_msg(strstr(help.out, expected[i]) != NULL, "--help lacks %s", expected[i]);
}

int main(void)
{
    plugin_rig_prepare();
    return plugin_rig_code(suite_run());
}
