/* halo live as used by people and scripts: errors, screen and keys, line output, mask files that
 * change, and signals. The device records a tone. */
#include "alsa_rig.h"
#include "live_rig.h"
#include "suite.h"
#include "tmux.h"

#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { RATE = LIVE_RIG_RATE };

/* Margin at the end of a recording, which comes some milliseconds after the request. */
#define REAL_TIME "--device null:in=in.wav "

static void begin(void)
{
    command_clean();
    live_rig_save_square(60 * RATE, "in.wav");
    sound_text("a.txt", "0.5\n");
    sound_text("b.txt", "0.25\n");
}

/* ---- errors ---- */

START_TEST(wrong_arguments_are_refused)
{
    static const struct {
        int code;
        const char *expected, *options;
    } cases[] = {
        {1, "cannot open mask nix.wav", "--mask nix.wav"},
        {1, "it is empty", "--mask empty.wav"},
        {1, "it is a directory", "--mask folder"},
        {1, "'nan' is not a number", "--mask nan.txt"},
        {1, "cannot open mask nix.wav", "--mask a.txt --or --mask nix.wav"},
        {2, "--or follows a --mask", "--or --mask a.txt"},
        {2, "--or is followed by --mask", "--mask a.txt --or"},
        {2, "--or is followed by --mask, not by --gain", "--mask a.txt --or --gain 3"},
        {2, "only one stage can have masks to choose from",
         "--mask a.txt --or --mask b.txt --mask a.txt --or --mask b.txt"},
        {2, "there is no input 'kazoo'", "--device kazoo"},
        {2, "there is no output 'kazoo'", "--output kazoo"},
        {2, "there is no driver or host API 'kazoo'", "--driver kazoo"},
        {1, "does not run at 44100 Hz", "--rate 44100"},
        {2, "no channel 3", "--channels 3"},
        {2, "--input-map names 2 channels, --channels 1", "--input-map 1,2 --channels 1"},
        {1, "--output-map names 1", "--output-map 1 --mask a.txt"},
        {2, "need different files", "--record r.wav --record-dry r.wav"},
        {2, "use .wav, .w64 or .caf", "--record r.mp3"},
        {1, "there.wav exists; --force replaces it", "--record there.wav"},
        {1, "there.wav exists; --force replaces it", "--record r.wav --record-dry there.wav"},
        {1, "cannot write nowhere/r.wav", "--record r.wav --record-dry nowhere/r.wav"},
        {1, "log.wav.log exists", "--record log.wav --record-dry r.wav"},
        {2, "--osc takes a number from 0 to 65535", "--record r.wav --osc 65536"},
        {2, "--latency is low, high or milliseconds", "--latency fast"},
        {2, "--block takes a number from 32 to 4096", "--block 31"},
        {2, "--fade takes seconds from 0 to 10", "--fade 11s"},
        {2, "--ceiling must be a number of dB from -60 to 0", "--ceiling 1"},
        {2, "not 'a.wav'; a mask is named with --mask", "a.wav"},
    };
    begin();
    alsa_rig_cards(NULL, 0);
    sound_text("nan.txt", "0.5\nnan\n");
    command_done("mkdir folder; touch empty.wav there.wav log.wav.log");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        command_refused(cases[i].code, cases[i].expected,
                        "timeout -s KILL 20 \"$HALO\" live --plain --driver null "
                        "--seconds 0.05 %s",
                        cases[i].options);
}

START_TEST(missing_device_is_reported)
{
    alsa_rig_cards(NULL, 0);
    command_refused(1, "", "timeout -s KILL 20 \"$HALO\" live --plain --record r.wav");
}

/* ---- the screen ---- */

START_TEST(keys_do_what_the_screen_shows)
{
    if (!tmux_there())
        return;
    begin();
    tmux_open(110, 30,
              "\"$HALO\" live " LIVE_RIG_DEVICE
              "--no-feedback-guard --block 256 --mask a.txt --or --mask b.txt --record rec.wav "
              "--record-dry dry.wav; echo ended with $?");
    const char *screen = tmux_wait("-12.0  -12.0");
    command_expect(tmux_row(screen, " in    1"), "-6.0   -6.0   -6.0");
    command_expect(tmux_row(screen, " out   2"), "-12.0  -12.0  -12.0");
    command_expect(screen, "halo live  null: null");
    command_expect(screen, "48000 Hz  256 frames (5.33 ms)");
    command_expect(screen, "▶ 1  a.txt");
    command_expect(screen, "  2  b.txt");
    command_expect(screen, "gain    +0.0 dB");
    command_expect(screen, "ceiling -1.0");
    command_expect(tmux_row(screen, " load "), "worst");
    command_expect(tmux_row(screen, " latency "), "mask 0  plugins 0  output");
    command_expect(tmux_row(screen, " blocks "), "REC 00:0");
    command_expect(
        screen,
        "1-9 mask  space dry  [ ] gain  m mute  q leave  p preset  s save  u undo  r reload  w write");
    tmux_type("2");
    tmux_wait("▶ 2  b.txt");
    command_expect(tmux_row(tmux_wait("-18.1"), "-18.1"), " out   1");
    tmux_type("]");
    tmux_type("]");
    tmux_wait("gain    +2.0 dB");
    tmux_type("[");
    tmux_wait("gain    +1.0 dB");
    tmux_type("Space");
    tmux_wait("▶ 0  dry");
    tmux_wait("  -5.0 ");
    tmux_type("Space");
    tmux_wait("▶ 2  b.txt");
    tmux_type("0");
    tmux_wait("▶ 0  dry");
    tmux_type("1");
    tmux_wait("▶ 1  a.txt");
    tmux_type("m");
    tmux_wait("MUTED");
    tmux_wait("-inf");
    tmux_type("m");
    tmux_wait_gone("MUTED");
    tmux_type("r");
    tmux_wait("mask a.txt is loaded");
    tmux_type("w");
    tmux_wait("s written");
    tmux_type("7");
    tmux_wait("there is no mask 7");
    tmux_type("q");
    screen = tmux_wait("ended with");
    command_expect(screen, "ended with 0");
    command_expect(screen, "blocks of 256 frames at 48000 Hz");
    command_expect(screen, "rec.wav: ");
    tmux_close();
    live_rig_expect_replay();
}

START_TEST(ctrl_c_at_the_screen_ends_it)
{
    if (!tmux_there())
        return;
    begin();
    tmux_open(100, 30, "\"$HALO\" live --device null --block 256 --mask a.txt; echo ended with $?");
    tmux_wait("q leave");
    tmux_type("C-c");
    command_expect(tmux_wait("ended with"), "ended with 130");
    tmux_close();
}

/* ---- line output ---- */

START_TEST(every_line_is_json_and_the_last_reports)
{
    begin();
    struct command_result result =
        command_done("\"$HALO\" live " LIVE_RIG_DEVICE
                     "--json --meter-interval 0.05 --seconds 0.7 --block 256 --mask a.txt "
                     "--or --mask b.txt --mute");
    size_t lines = 0;
    json_t *line = NULL;
    for (char *at = result.out, *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
        json_decref(line);
        line = json_loadb(at, (size_t)(end - at), JSON_REJECT_DUPLICATES, NULL);
        ck_assert_msg(line != NULL, "no JSON: %s", at);
        if (lines++ > 0 || strcmp(command_json_string(line, "event"), "status") != 0)
            continue;
        ck_assert(command_json_number(line, "rate") == RATE);
        ck_assert(command_json_number(line, "block") == 256);
        ck_assert(command_json_number(line, "chosen") == 1);
        ck_assert(json_is_true(json_object_get(line, "muted")));
        ck_assert_uint_eq(json_array_size(json_object_get(line, "in")), 2);
        ck_assert_uint_eq(json_array_size(json_object_get(line, "choices")), 2);
    }
    ck_assert_uint_ge(lines, 4);
    ck_assert_str_eq(command_json_string(line, "event"), "report");
    ck_assert_str_eq(command_json_string(line, "device"), "null: null");
    ck_assert_str_eq(command_json_string(line, "backend"), "cpu");
    ck_assert(json_is_false(json_object_get(line, "feedback_guard"))); /* it hears a file */
    ck_assert(command_json_number(line, "frames") >= 0.7 * RATE);
    ck_assert(command_json_number(line, "blocks") == command_json_number(line, "frames") / 256);
    ck_assert(command_json_number(line, "load_p99") > 0);
    ck_assert(command_json_number(line, "load_worst") >= command_json_number(line, "load_p99"));
    double entries = command_json_number(line, "late") + command_json_number(line, "lost");
    ck_assert(json_is_array(json_object_get(line, "ledger")));
    ck_assert((double)json_array_size(json_object_get(line, "ledger")) <= entries);
    json_decref(line);
}

/* ---- mask files that change ---- */

/* The gain of the output at a frame. */
static double ratio_at(const struct sound *output, const struct sound *dry, size_t frame)
{
    return (double)output->block.data[0][frame] / (double)dry->block.data[0][frame];
}

static void move(const char *from, const char *to)
{
    char old_path[128], new_path[128];
    snprintf(old_path, sizeof old_path, "%s/%s", command_folder(), from);
    snprintf(new_path, sizeof new_path, "%s/%s", command_folder(), to);
    ck_assert_int_eq(rename(old_path, new_path), 0);
}

START_TEST(a_mask_that_changes_fades_in)
{
    begin();
    pid_t process = live_rig_start(REAL_TIME "--block 256 --watch --mask a.txt --or --mask b.txt "
                                             "--record rec.wav --record-dry dry.wav");
    live_rig_rest(700);
    sound_text("new.txt", "0.75\n");
    move("new.txt", "a.txt");
    live_rig_wait("mask a.txt is loaded");
    live_rig_rest(200);
    sound_text("a.txt", "what is this\n");
    live_rig_wait("cannot read mask a.txt");
    live_rig_rest(200);
    live_rig_keys("q");
    struct command_result result = live_rig_end(process);
    ck_assert_int_eq(result.code, 0);
    const char *refusal = strstr(result.err, "halo: cannot read mask a.txt");
    ck_assert_msg(strstr(refusal + 30, "a.txt") == NULL, "%s", result.err);
    struct sound output = sound_load("rec.wav"), dry = sound_load("dry.wav");
    size_t end = live_rig_frames_before_end(&output.block);
    ck_assert(fabs(ratio_at(&output, &dry, RATE * 6 / 10) - 0.5) < 1e-6);
    ck_assert(fabs(ratio_at(&output, &dry, end) - 0.75) < 1e-6);
    size_t between = 0; /* during a fade: 20 ms of neither */
    for (size_t i = RATE * 6 / 10; i < end; i++) {
        double ratio = ratio_at(&output, &dry, i);
        between += ratio > 0.5001 && ratio < 0.7499;
    }
    ck_assert_uint_ge(between, RATE / 50 - 4);
    ck_assert_uint_le(between, RATE / 50);
}

/* A mask becomes longer than any that there was, and the chain is another one, with what was set.
 */
START_TEST(a_mask_that_becomes_long_fades_in)
{
    enum { FAR = 70000 };
    begin();
    pid_t process = live_rig_start(REAL_TIME "--block 256 --watch --mask a.txt --or --mask b.txt "
                                             "--record rec.wav --record-dry dry.wav");
    live_rig_keys("2]");
    live_rig_wait("gain +1.0 dB");
    FILE *file = fopen(command_path("new.txt"), "w");
    ck_assert_ptr_nonnull(file);
    for (size_t i = 0; i <= FAR; i++)
        fprintf(file, "%s\n", i == 0 ? "0.125" : i == FAR ? "0.25" : "0");
    fclose(file);
    move("new.txt", "b.txt");
    live_rig_wait("the masks are loaded");
    live_rig_record(2000);
    live_rig_keys("q");
    struct command_result result = live_rig_end(process);
    ck_assert_msg(result.code == 0, "%s", result.err);
    ck_assert_ptr_null(strstr(result.err, "does not fit"));
    struct sound output = sound_load("rec.wav"), dry = sound_load("dry.wav");
    size_t end = live_rig_frames_before_end(&output.block);
    const float *in = dry.block.data[0];
    for (size_t i = end - RATE / 10; i < end; i++) {
        double truth = pow(10, 1.0 / 20) * (0.125 * (double)in[i] + 0.25 * (double)in[i - FAR]);
        ck_assert_double_eq_tol((double)output.block.data[0][i], truth, 1e-6);
    }
}

/* ---- signals ---- */

START_TEST(ctrl_c_fades_out_and_reports)
{
    begin();
    pid_t process = live_rig_start(REAL_TIME "--block 256 --mask a.txt --record rec.wav");
    live_rig_rest(700);
    kill(process, SIGINT);
    struct command_result result = live_rig_end(process);
    ck_assert_int_eq(result.code, 128 + SIGINT);
    ck_assert_msg(strstr(result.err, "blocks of 256 frames") != NULL, "%s", result.err);
    ck_assert_msg(strstr(result.err, "rec.wav: ") != NULL, "%s", result.err);
    struct sound output = sound_load("rec.wav");
    const float *samples = output.block.data[0];
    size_t frames = output.block.frames;
    ck_assert(fabsf(samples[frames - 1]) < 1e-3f);
    ck_assert(fabsf(samples[frames - RATE / 4]) > 0.2f);
    for (size_t i = frames - RATE / 4; i + 1 < frames; i++) /* nothing is truncated */
        ck_assert(fabsf(fabsf(samples[i]) - fabsf(samples[i + 1])) < 1e-3f);
}

/* A stream that a signal ends has not failed: its report is the last line, in the form of all. */
START_TEST(a_signal_is_the_end_of_the_lines)
{
    static const int signals[] = {SIGINT, SIGTERM};
    for (size_t i = 0; i < 2; i++) {
        begin();
        pid_t process = live_rig_start("--json --meter-interval 0.1 --device null --block 256 "
                                       "--mask a.txt");
        live_rig_rest(300);
        kill(process, signals[i]);
        struct command_result result = live_rig_end(process);
        ck_assert_int_eq(result.code, 128 + signals[i]);
        ck_assert_str_eq(live_rig_errors(&result), "");
        const char *event = NULL;
        json_t *root = NULL;
        for (char *line = strtok(result.out, "\n"); line; line = strtok(NULL, "\n")) {
            ck_assert_msg(strncmp(line, "{\"event\":", 9) == 0, "%s", line);
            root = command_json(line);
            event = command_json_string(root, "event");
        }
        ck_assert_str_eq(event, "report");
    }
}

START_TEST(a_second_ctrl_c_ends_it_at_once)
{
    bool at_once = false;
    for (int i = 0; i < 10 && !at_once; i++) { /* a busy machine may deliver both as one */
        begin();
        pid_t process = live_rig_start("--device null --block 256 --mask a.txt");
        kill(process, SIGINT);
        live_rig_rest(30);
        kill(process, SIGINT);
        struct command_result result = live_rig_end(process);
        ck_assert_int_eq(result.code, 128 + SIGINT);
        at_once = strcmp(live_rig_errors(&result), "") == 0;
    }
    ck_assert(at_once);
}

/* timeout(1) sends its signal to the child and to the group that the child is in. On a busy machine
 * the second comes too late to be the same. */
START_TEST(a_signal_that_comes_twice_is_one)
{
    bool reported = false;
    begin();
    for (int tried = 0; tried < 10 && !reported; tried++) {
        pid_t process = live_rig_start("--json --meter-interval 0.1 --device null --block 256");
        kill(process, SIGTERM);
        kill(process, SIGTERM);
        struct command_result result = live_rig_end(process);
        ck_assert_int_eq(result.code, 128 + SIGTERM);
        reported = strstr(result.out, "{\"event\":\"report\"") != NULL;
    }
    ck_assert(reported);
}

START_TEST(a_recording_is_readable_after_a_crash)
{
    begin();
    pid_t process = live_rig_start(LIVE_RIG_DEVICE "--block 256 --mask a.txt --or --mask b.txt "
                                                   "--record rec.wav --record-dry dry.wav");
    live_rig_rest(300);
    live_rig_keys("2");
    live_rig_rest(700); /* headers are updated twice a second */
    kill(process, SIGKILL);
    ck_assert_int_eq(live_rig_end(process).code, 128 + SIGKILL);
    struct sound output = sound_load("rec.wav");
    ck_assert_uint_gt(output.block.frames, RATE / 2);
    /* Only the last line may be incomplete. */
    command_done("printf '{\"frame\":12' >>rec.wav.log; "
                 "\"$HALO\" render dry.wav again.wav --replay rec.wav.log");
    /* Without the outages of a busy machine. */
    command_done("{ grep -v '\"outage\"' rec.wav.log; printf '\\n'; } >broken.log");
    command_refused(2, "broken.log: line 3 is damaged",
                    "\"$HALO\" render dry.wav more.wav --replay broken.log");
    command_done("sed '2s/{/{\"frame\": 0, /' rec.wav.log >twice.log");
    command_refused(2, "twice.log: line 2 is damaged",
                    "\"$HALO\" render dry.wav more.wav --replay twice.log");
    command_refused(2, "it is not a log of a recording",
                    "\"$HALO\" render dry.wav more.wav --replay dry.wav");
    struct sound again = sound_load("again.wav");
    size_t frames =
        output.block.frames < again.block.frames ? output.block.frames : again.block.frames;
    live_rig_expect(&output.block, &again.block, 0, frames);
}

START_TEST(what_spoils_sound_is_said_when_quiet)
{
    begin();
    struct command_result result =
        command_done("\"$HALO\" live " LIVE_RIG_DEVICE "-q --plain --no-feedback-guard --gain 40 "
                     "--ceiling 0 --seconds 1 --record-dry dry.wav");
    command_expect(result.err, "the limiter reduced up to ");
    ck_assert_ptr_null(strstr(result.err, " recorded"));
    result = command_done("\"$HALO\" render dry.wav again.wav -q --format pcm16 "
                          "--replay dry.wav.log");
    command_expect(result.err, " clipped\n");
}

/* And in no list. */
START_TEST(a_former_name_is_understood)
{
    command_done("\"$HALO\" live -q --plain --device null:pace=0 --seconds 0.1 --no-howl-guard");
    struct command_result result = command_done("\"$HALO\" live --help all");
    command_expect(result.out, "--no-feedback-guard");
    ck_assert_ptr_null(strstr(result.out, "howl"));
}
