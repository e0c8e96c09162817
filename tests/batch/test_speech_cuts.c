/* Channels of recordings: --channel, and cuts of lhotse, which name some. The cuts were written by
 * lhotse 1.33 (LHOTSE_CUTS): five that halo takes, three that it does not. */
#include "command.h"
#include "sound.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>

enum { FLOAT = SF_FORMAT_WAV | SF_FORMAT_FLOAT, FLAC = SF_FORMAT_FLAC | SF_FORMAT_PCM_16 };

/* Channels of `whole`, from 0, from a frame on. */
struct expected {
    const char *sound, *whole;
    size_t channels[3], count, from, frames;
};

static void expect_channels(const struct expected *expected)
{
    struct sound part = sound_load(expected->sound), all = sound_load(expected->whole);
    ck_assert_uint_eq(part.block.frames, expected->frames);
    ck_assert_uint_eq(part.block.channels, expected->count);
    ck_assert_uint_eq(part.rate, all.rate);
    for (size_t c = 0; c < expected->count; c++)
        for (size_t i = 0; i < expected->frames; i++)
            ck_assert_float_eq(part.block.data[c][i],
                               all.block.data[expected->channels[c]][expected->from + i]);
}

static void begin(void)
{
    sound_noise_file("two.wav", 1, FLOAT, 16000, 2, 40009);
    sound_noise_file("three.flac", 2, FLAC, 44100, 3, 70001);
    sound_noise_file("m0.wav", 3, FLOAT, 16000, 1, 30000);
    sound_noise_file("m1.wav", 4, FLOAT, 16000, 1, 30000);
    sound_noise_file("room.wav", 5, FLOAT, 16000, 1, 700);
    sound_noise_file("room3.wav", 6, FLOAT, 16000, 3, 700);
}

START_TEST(channels_are_taken_in_any_order)
{
    static const struct {
        const char *options;
        struct expected expected;
    } rows[] = {
        {"two.wav out.wav --channel 2", {"out.wav", "two.wav", {1}, 1, 0, 40009}},
        {"two.wav out.wav --channel 2,1", {"out.wav", "two.wav", {1, 0}, 2, 0, 40009}},
        {"two.wav out.wav --channel 1,2 --precision double",
         {"out.wav", "two.wav", {0, 1}, 2, 0, 40009}},
        {"three.flac out.wav --channel 3,1 --start 0.5 --duration 0.25 --block 64",
         {"out.wav", "three.flac", {2, 0}, 2, 22050, 11025}},
        {"three.flac out.wav --channel 2 --precision double --start 1",
         {"out.wav", "three.flac", {1}, 1, 44100, 25901}},
        {"- out.wav --channel 3 --start 0.5 <three.flac",
         {"out.wav", "three.flac", {2}, 1, 22050, 47951}},
    };
    begin();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        command_done("$HALO render -q -f --gain 0 %s", rows[i].options);
        expect_channels(&rows[i].expected);
    }
}

/* A level, noise and the extension of a sound see those channels alone. */
START_TEST(a_channel_is_filtered_as_a_file_of_its_own)
{
    begin();
    command_done("$HALO render -q two.wav right.wav --channel 2");
    command_done(
        "for o in '--mask room.wav,level=input --noise m0.wav,snr=5' '--mask room.wav --edge wrap' "
        "'--mask room3.wav' '--normalize -1 --gain 3'; do "
        "$HALO render -q -f right.wav 1.wav $o && "
        "$HALO render -q -f two.wav 2.wav --channel 2 $o && cmp 1.wav 2.wav || "
        "exit 1; done");
}

START_TEST(the_layout_is_that_of_the_channels)
{
    begin();
    sound_noise_file("six.wav", 7, FLOAT, 48000, 6, 1000);
    static const char *const rows[][2] = {
        {"--layout 5.1 --channel 1,2", "\"stereo\""}, {"--layout 5.1 --channel 1,2,4", "\"2.1\""},
        {"--layout 5.1 --channel 5", "\"mono\""},     {"--layout 5.1 --channel 2,1", "null"},
        {"--layout none --channel 1,3,5", "null"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct command_result result =
            command_done("$HALO render -f six.wav out.wav --json %s", rows[i][0]);
        json_t *report = command_json(result.out);
        char *layout = json_dumps(json_object_get(report, "layout"), JSON_ENCODE_ANY);
        ck_assert_msg(layout, "no layout in %s", result.out);
        command_expect(layout, rows[i][1]);
        free(layout);
    }
}

START_TEST(channels_that_are_not_there_are_refused)
{
    static const char *const rows[][2] = {
        {"3", "no channel 3"}, {"1,1", "twice"},     {"0", "no channel"},
        {"a", "--channel"},    {"1,", "--channel"},  {"1025", "no channel"},
        {"''", "--channel"},   {"nan", "--channel"}, {"-1", "--channel"},
    };
    begin();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        command_refused(2, rows[i][1], "$HALO render two.wav out.wav --channel=%s", rows[i][0]);
    command_done("echo '{\"in\": \"two.wav\", \"channel\": [1, 2]}' >list");
    command_expect(command_run("$HALO batch list -O X --gain 0").err, "one value");
}

/* The choice is part of what a job is. */
START_TEST(a_job_of_another_channel_is_done_again)
{
    begin();
    command_done("echo '{\"in\": \"two.wav\", \"out\": \"o.wav\", \"channel\": 1}' >list; "
                 "$HALO batch list -O J -q --gain 0");
    expect_channels(&(struct expected){"J/o.wav", "two.wav", {0}, 1, 0, 40009});
    struct command_result result =
        command_done("echo '{\"in\": \"two.wav\", \"out\": \"o.wav\", \"channel\": \"2\"}' >list; "
                     "$HALO batch list -O J -q --gain 0 --json");
    ck_assert_double_eq(command_number(result.out, "made"), 1);
    expect_channels(&(struct expected){"J/o.wav", "two.wav", {1}, 1, 0, 40009});
}

/* Kaldi counts them from 0. */
START_TEST(segments_are_of_their_channel)
{
    begin();
    command_done("printf 'r two.wav\\ns three.flac\\n' >wav.scp; printf 'a r 0.5 1 1\\nb r 0 1\\n"
                 "c s 0.25 -1 2\\n' >segments; $HALO batch --from kaldi wav.scp --segments "
                 "segments -O K -q --gain 0");
    expect_channels(&(struct expected){"K/a.wav", "two.wav", {1}, 1, 8000, 8000});
    expect_channels(&(struct expected){"K/b.wav", "two.wav", {0, 1}, 2, 0, 16000});
    expect_channels(&(struct expected){"K/c.wav", "three.flac", {2}, 1, 11025, 58976});
    command_done("echo 'd r 0 1 2' >segments");
    command_expect(
        command_run("$HALO batch --from kaldi wav.scp --segments segments -O L --gain 0").err,
        "two.wav has no channel 3");
}

/* ---- lhotse ---- */

/* The cut of that id, in the listed outputs. */
static json_t *listed(const char *folder, const char *id)
{
    return command_json(
        command_done("gzip -dc %s/cuts.jsonl.gz | grep '^{\"id\":\"%s\"'", folder, id).out);
}

static void expect_json(const json_t *object, const char *key, const char *expected)
{
    char *text = json_dumps(json_object_get(object, key), JSON_ENCODE_ANY | JSON_COMPACT);
    ck_assert_msg(text, "no %s", key);
    ck_assert_str_eq(text, expected);
    free(text);
}

static void expect_cut(const char *folder, const char *id, const char *type, const char *channel,
                       const char *channels)
{
    json_t *cut = listed(folder, id), *recording = json_object_get(cut, "recording");
    const json_t *sources = json_object_get(recording, "sources");
    ck_assert_uint_eq(json_array_size(sources), 1);
    expect_json(cut, "type", type);
    expect_json(cut, "channel", channel);
    expect_json(recording, "channel_ids", channels);
    expect_json(json_array_get(sources, 0), "channels", channels);
    const json_t *supervision = json_array_get(json_object_get(cut, "supervisions"), 0);
    if (supervision)
        expect_json(supervision, "channel", channel);
}

START_TEST(cuts_are_of_their_channels)
{
    static const struct expected sounds[] = {
        {"L/two.wav", "two.wav", {0, 1}, 2, 0, 40009},
        {"L/right.wav", "two.wav", {1}, 1, 0, 40009},
        {"L/part.wav", "three.flac", {1}, 1, 12853, 14685},
        {"L/pair.wav", "three.flac", {1, 2}, 2, 11025, 22050},
        {"L/second.wav", "m1.wav", {0}, 1, 0, 30000},
    };
    begin();
    command_done("sed 5q " LHOTSE_CUTS " >cuts.jsonl && "
                 "$HALO batch --from lhotse cuts.jsonl -O L -q --gain 0");
    for (size_t i = 0; i < sizeof sounds / sizeof *sounds; i++)
        expect_channels(&sounds[i]);
    for (int run = 0; run < 2; run++) { /* the second finds them done */
        expect_cut("L", "two", "\"MultiCut\"", "[0,1]", "[0,1]");
        expect_cut("L", "right", "\"MonoCut\"", "1", "[1]");
        expect_cut("L", "part", "\"MonoCut\"", "1", "[1]");
        expect_cut("L", "pair", "\"MultiCut\"", "[1,2]", "[1,2]");
        expect_cut("L", "second", "\"MonoCut\"", "1", "[1]");
        command_done("rm L/cuts.jsonl.gz; $HALO batch --from lhotse cuts.jsonl -O L -q --gain 0");
    }
    json_t *cut = listed("L", "right");
    ck_assert_double_eq(command_json_number(json_object_get(cut, "custom"), "snr"), 12.5);
}

/* A room of three channels makes three of one. */
START_TEST(cuts_tell_the_channels_of_the_outputs)
{
    begin();
    command_done("sed -n '2p;5p' " LHOTSE_CUTS " >mono.jsonl");
    command_done("$HALO batch --from lhotse mono.jsonl -O R -q --tail none --mask room3.wav");
    for (int run = 0; run < 2; run++) {
        expect_cut("R", "right", "\"MultiCut\"", "[0,1,2]", "[0,1,2]");
        expect_cut("R", "second", "\"MultiCut\"", "[0,1,2]", "[0,1,2]");
        command_done("rm R/cuts.jsonl.gz; $HALO batch --from lhotse mono.jsonl -O R -q --tail none "
                     "--mask room3.wav");
    }
    struct sound sound = sound_load("R/right.wav");
    ck_assert_uint_eq(sound.block.channels, 3);
}

START_TEST(cuts_that_are_not_in_one_file_are_refused)
{
    static const char *const lines[][2] = {
        {"sed -n 6p " LHOTSE_CUTS, "cut array: its channels are not in one file"},
        {"sed -n 7p " LHOTSE_CUTS, "cut mixed is mixed of several"},
        {"sed -n 8p " LHOTSE_CUTS, "not JSON: invalid token near 'NaN'"},
        {"sed -n 2p " LHOTSE_CUTS " | sed 's/\"channel\": 1/\"channel\": 7/'", "not in one file"},
        {"sed -n 2p " LHOTSE_CUTS " | sed 's/\"type\": \"file\"/\"type\": \"command\"/'",
         "its recording is of type 'command', not a file"},
        {"sed -n 5p " LHOTSE_CUTS " | sed 's/\"channel\": 1, //'", "not in one file"},
        {"sed -n 2p " LHOTSE_CUTS " | sed 's/\"recording\"/\"x\"/'", "has an id and a recording"},
        {"echo '[' && sed -n 2p " LHOTSE_CUTS " && echo ']'", "a cut a line"},
    };
    begin();
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        command_done("{ %s; } >cuts.jsonl", lines[i][0]);
        command_refused(2, lines[i][1], "$HALO batch --from lhotse cuts.jsonl -O X --gain 0");
    }
    command_done("test ! -e X");
}
