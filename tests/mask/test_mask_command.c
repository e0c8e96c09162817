/* halo mask show as a command. */
#include "command.h"
#include "sound.h"
#include "suite.h"
#include "truth.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WAVF = SF_FORMAT_WAV | SF_FORMAT_FLOAT };

/* A room response whose first tap follows `silence` frames: noise, -60 dB after 8000 frames. */
static void save_room(const char *name, uint32_t rate, size_t channels, size_t silence, double gain)
{
    struct sound room = sound_create(WAVF, rate, channels, silence + 20000);
    for (size_t c = 0; c < channels; c++) {
        float *taps = room.block.data[c] + silence;
        truth_noise(c + 1, taps, 20000);
        for (size_t k = 0; k < 20000; k++)
            taps[k] =
                (float)(gain *
                        (k == 0 ? 0.5 : 0.02 * (double)taps[k] * pow(10, -3 * (double)k / 8000)));
    }
    sound_save(&room, name);
}

START_TEST(nothing_is_wrong_with_filters)
{
    struct command_result result =
        command_done("\"$HALO\" mask show --json \"$FILTERS\"/*.wav \"$FILTERS\"/[a-z]*.txt");
    json_t *root = command_json(result.out), *mask;
    size_t m;
    json_array_foreach(json_object_get(root, "masks"), m, mask)
        ck_assert_msg(json_array_size(json_object_get(mask, "troubles")) == 0, "%s",
                      command_json_string(mask, "mask"));
}

START_TEST(everything_is_listed)
{
    struct command_result result = command_done("\"$HALO\" mask show \"$FILTERS/hall.wav\"");
    static const char *const expected[] = {
        "WAV",           "pcm24",    "48000 Hz",         "2 channels",    "124800 taps",
        "2600.00 ms",    "1>1 by 1", "46201 (962.52",    "96210",         "120202",
        "2569.1 (53.52", "mixed",    "9.3 dB at 626 Hz", "-1.2 dB",       "33.8 dB",
        "13494",         "none",     "headroom",         "nothing wrong", "channel 2",
    };
    for (size_t w = 0; w < sizeof expected / sizeof *expected; w++)
        command_expect(result.out, expected[w]);
    ck_assert_str_eq(result.err, "");
    result = command_done("\"$HALO\" mask show \"$FILTERS/lowpass-1k.wav\"");
    command_expect(result.out, "linear");
    command_expect(result.out, "600 (12.50 ms)");
    result = command_done("\"$HALO\" mask show \"$FILTERS/lowpass-1k.wav,phase=minimum\"");
    command_expect(result.out, "minimum");
    result = command_done("\"$HALO\" mask show \"$FILTERS/room-true-stereo.wav\"");
    command_expect(result.out, "1>1 by 1, 1>2 by 2, 2>1 by 3, 2>2 by 4");
}

/* Following the lint's advice leaves no warning. */
START_TEST(lint_remedies_work)
{
    static const struct {
        const char *mask, *trouble, *remedy;
    } rows[] = {
        {"late.wav", "480 samples of silence first", "trim=480"},
        {"loud.wav", "dB of headroom", "gain=-"},
        {"quiet.wav", "quiet: -", "gain="},
        {"inverted.wav", "inverted polarity", "invert"},
        {"cut.wav", "ends at -", "fade="},
    };
    save_room("late.wav", 48000, 2, 480, 1);
    save_room("loud.wav", 48000, 1, 0, 3);
    save_room("quiet.wav", 48000, 1, 0, 0.001);
    save_room("inverted.wav", 48000, 2, 0, -1);
    save_room("room.wav", 48000, 1, 0, 1);
    struct sound cut = sound_load("room.wav");
    cut.block.frames = 2000;
    sound_save(&cut, "cut.wav");
    cut.block.frames = 20000;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct command_result result = command_done("\"$HALO\" mask show %s", rows[r].mask);
        command_expect(result.out, rows[r].trouble);
        char *line = strstr(result.out, "LINT"), remedy[64];
        char *colon = strrchr(line, ':');
        ck_assert_msg(sscanf(colon, ": %63s", remedy) == 1, "%s", line);
        ck_assert_msg(strncmp(remedy, rows[r].remedy, strlen(rows[r].remedy)) == 0, "%s", line);
        result = command_done("\"$HALO\" mask show %s,%s", rows[r].mask, remedy);
        command_expect(result.out, "nothing wrong");
    }
}

START_TEST(masks_are_compared_with_a_sound)
{
    save_room("m.wav", 44100, 2, 0, 1);
    sound_noise_file("six.wav", 1, WAVF, 48000, 6, 100);
    sound_noise_file("two.wav", 1, WAVF, 44100, 2, 100);
    sound_text("t.txt", "1\n0.5\n");
    struct command_result result = command_done("\"$HALO\" mask show m.wav --for six.wav");
    command_expect(result.out, "rate 44100 but sound 48000: resampled");
    command_expect(result.out, "2 channels but sound 6: channel=1");
    result = command_done("\"$HALO\" mask show m.wav,channel=1 --for six.wav");
    command_expect(result.out, "1>1, 2>2, 3>3, 4>4, 5>5, 6>6");
    ck_assert_ptr_null(strstr(result.out, "channels but"));
    result = command_done("\"$HALO\" mask show m.wav --for two.wav");
    command_expect(result.out, "nothing wrong");
    result = command_done("\"$HALO\" mask show m.wav --rate 96000 --channels 2");
    command_expect(result.out, "rate 44100 but sound 96000: resampled");
    result = command_done("\"$HALO\" mask show t.txt --rate 96000");
    command_expect(result.out, "no rate but sound 96000: taken as 96000");
    command_expect(result.out, "0.02 ms"); /* two taps at 96 kHz */
}

START_TEST(json_is_complete)
{
    save_room("late.wav", 48000, 2, 480, 1);
    struct command_result result =
        command_done("\"$HALO\" mask show --json late.wav \"$FILTERS/swap-sides.txt\"");
    json_t *root = command_json(result.out);
    const json_t *masks = json_object_get(root, "masks");
    ck_assert_uint_eq(json_array_size(masks), 2);
    const json_t *mask = json_array_get(masks, 0);
    ck_assert_str_eq(json_string_value(json_object_get(mask, "mask")), "late.wav");
    ck_assert_double_eq(command_json_number(mask, "rate"), 48000);
    ck_assert_double_eq(command_json_number(mask, "channels"), 2);
    ck_assert_double_eq(command_json_number(mask, "taps"), 20480);
    ck_assert_uint_eq(json_array_size(json_object_get(mask, "paths")), 2);
    const json_t *column = json_array_get(json_object_get(mask, "columns"), 0);
    ck_assert_double_eq(command_json_number(column, "peak"), 0.5);
    ck_assert_double_eq(command_json_number(column, "peak_at"), 480);
    ck_assert_double_eq(command_json_number(column, "silence_before"), 480);
    ck_assert_str_eq(json_string_value(json_object_get(column, "symmetry")), "none");
    const json_t *trouble = json_array_get(json_object_get(mask, "troubles"), 0);
    ck_assert_str_eq(json_string_value(json_object_get(trouble, "remedy")), "trim=480");
    mask = json_array_get(masks, 1);
    column = json_array_get(json_object_get(mask, "columns"), 0);
    ck_assert(json_is_true(json_object_get(column, "silent")));
    ck_assert(json_is_null(json_object_get(column, "dc_db")));
    ck_assert_uint_eq(json_array_size(json_object_get(mask, "troubles")), 0);
}

START_TEST(bad_masks_are_refused)
{
    sound_text("nan.txt", "1\nnan\n");
    sound_text("good.txt", "1\n");
    sound_text("plain.txt", "hello\n");
    command_refused(2, "needs MASK", "\"$HALO\" mask show");
    command_refused(2, "--help", "\"$HALO\" mask");
    command_refused(2, "'paint'", "\"$HALO\" mask paint");
    command_refused(1, "nosuch", "\"$HALO\" mask show nosuch");
    command_refused(1, "plain.txt", "\"$HALO\" mask show plain.txt");
    command_refused(1, "nan.txt", "\"$HALO\" mask show nan.txt");
    command_refused(2, "trim", "\"$HALO\" mask show good.txt,trim=1");
    command_refused(1, "nosuch", "\"$HALO\" mask show good.txt --for nosuch");
    command_refused(2, "rate", "\"$HALO\" mask show good.txt --rate 0");
    struct command_result result = command_run("\"$HALO\" mask show nosuch good.txt");
    ck_assert_int_eq(result.code, 1); /* and the other one is shown */
    command_expect(result.out, "good.txt\n");
}

/* Nothing is transformed of what is silence; that would take a GiB, and 20 seconds. */
START_TEST(silence_before_costs_nothing)
{
    enum { KIB_MOST = 400000 };
    sound_text("delay.txt", "Delay: 16000000 samples\n");
    struct command_result result = command_done("\"$HALO\" mask show delay.txt");
    command_expect(result.out, "silence before   16000000");
    command_expect(result.out, "peak gain        0.0 dB at 0 Hz");
    ck_assert_int_lt(command_memory("\"$HALO\" mask show delay.txt"), KIB_MOST);
}

START_TEST(help_is_there)
{
    struct command_result result = command_done("\"$HALO\" mask --help");
    command_expect(result.out, "show");
    command_expect(result.out, "plot");
    result = command_done("\"$HALO\" mask show --help");
    command_expect(result.out, "--for SOUND");
    result = command_done("\"$HALO\" mask plot --help");
    command_expect(result.out, "--output FILE");
}
