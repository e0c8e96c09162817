/* halo live through a JACK server: every output sample equals render, and a server that dies. */
#include "base/monotonic.h"
#include "jack_rig.h"
#include "live_rig.h"
#include "suite.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { RATE = LIVE_RIG_RATE, FADE_IN = RATE / 2 };

/* What a server that is itself too late, on a busy machine, delivers is no output of halo: then
 * `take` returns false, and is made again with periods that are `longer` times as long. */
static void take_in_time(bool (*take)(size_t longer))
{
    enum { TRIES = 10, LONGEST = 32 };
    size_t longer = 1;
    for (int i = 0; i < TRIES; i++) {
        if (take(longer))
            return;
        longer = 4 * longer < LONGEST ? 4 * longer : LONGEST;
    }
    puts("not seen: a whole recording of JACK, for which the machine is too slow");
}

static void expect_blocks(const struct command_result *result, size_t period, uint32_t rate)
{
    char blocks[80];
    snprintf(blocks, sizeof blocks, "blocks of %zu frames at %u Hz", period, rate);
    command_expect(result->err, blocks);
}

static bool is_output_equal(size_t longer)
{
    static const char stages[] = "--mask \"$FILTERS/hall.wav\"";
    command_clean();
    jack_rig_start(RATE, 64 * longer);
    /* Silence while the output fades in. */
    struct block signal = live_rig_noise(2, FADE_IN + RATE / 8, 3 * RATE / 2, 0.05f);
    struct jack_wire *wire = jack_wire_open(&signal, 2, signal.frames);
    pid_t process = live_rig_start("--driver JACK --input feed --output rec %s", stages);
    jack_wire_run(wire);
    live_rig_keys("q");
    struct command_result result = live_rig_end(process);
    ck_assert_msg(result.code == 0, "%s", result.err);
    expect_blocks(&result, 64 * longer, RATE);
    bool in_time = jack_wire_gaps(wire) == 0;
    if (in_time) {
        live_rig_save(&signal, "in.wav");
        command_done("\"$HALO\" render in.wav truth.wav %s", stages);
        struct sound truth = sound_load("truth.wav");
        live_rig_expect(jack_wire_recorded(wire), &truth.block, 0, signal.frames);
    }
    if (!in_time)
        printf("too late, %zu gaps: %s", jack_wire_gaps(wire), result.err);
    jack_wire_close(wire);
    jack_rig_end(SIGTERM);
    return in_time;
}

START_TEST(output_equals_render)
{
    take_in_time(is_output_equal);
}

/* ---- a loop ---- */

static float peak_between(const struct block *block, size_t from, size_t to)
{
    return audio_peak(block->data[0] + from, to - from);
}

/* Noise begins it; it would go on for ever. False: the server itself was too late. */
static bool is_loop_muted(size_t longer)
{
    static const char *const wires[][2] = {{"halo:out_1", "halo:in_1"},
                                           {"halo:out_2", "halo:in_2"}};
    command_clean();
    jack_rig_start(RATE, longer < 4 ? 1024 * longer : 4096);
    struct block signal = live_rig_noise(2, FADE_IN, 6 * RATE, 0.3f);
    for (size_t c = 0; c < 2; c++)
        memset(signal.data[c] + RATE, 0, 5 * RATE * sizeof(float));
    struct jack_wire *wire = jack_wire_open(&signal, 2, signal.frames);
    pid_t process = live_rig_launch(
        "live", "--plain -f --driver jack --input feed --output rec --gain 1 --seconds 30 "
                "--record wet.wav --record-dry dry.wav");
    jack_rig_connect(wires, 2);
    jack_wire_run(wire);
    live_rig_keys("q");
    struct command_result result = live_rig_end(process);
    bool in_time = !strstr(result.err, " is lost") && jack_wire_gaps(wire) == 0;
    const struct block *output = jack_wire_recorded(wire);
    float loud = peak_between(output, 0, 2 * RATE),
          later = peak_between(output, 3 * RATE, 6 * RATE);
    jack_wire_close(wire);
    jack_rig_end(SIGTERM);
    if (!in_time)
        return false;
    ck_assert_msg(result.code == 0, "%s", result.err);
    command_expect(result.err, "mutes by feedback: 1\n");
    ck_assert_float_gt(loud, 0.5f); /* it ran away */
    ck_assert_float_lt(later, 0.01f);
    command_done("\"$HALO\" render dry.wav again.wav -q --replay wet.wav.log");
    struct sound wet = sound_load("wet.wav"), again = sound_load("again.wav");
    sound_expect_same(&wet, &again); /* with the mute and the try */
    return true;
}

START_TEST(a_loop_is_muted)
{
    take_in_time(is_loop_muted);
}

/* ---- a server that stops, or dies ---- */

START_TEST(a_stopped_server_is_waited_for)
{
    jack_rig_start(RATE, 128);
    pid_t process = live_rig_start("--mask \"$FILTERS/hall.wav\"");
    jack_rig_signal(SIGSTOP);
    live_rig_wait("JACK: system does not answer; waiting for it");
    live_rig_rest(1500);
    jack_rig_signal(SIGCONT);
    live_rig_wait("JACK: system answers again, after ");
    live_rig_rest(300);
    live_rig_keys("q");
    struct command_result result = live_rig_end(process);
    ck_assert_msg(result.code == 0, "%s", result.err);
    jack_rig_end(SIGTERM);
}

/* Neither may hold it up for long, nor may it play somewhere else. */
START_TEST(a_stopped_server_is_named_and_left)
{
    jack_rig_start(RATE, 128);
    pid_t process = live_rig_start("--json --mask \"$FILTERS/hall.wav\"");
    jack_rig_signal(SIGSTOP);
    live_rig_rest(500);
    int64_t begin = monotonic_ns();
    kill(process, SIGTERM);
    struct command_result result = live_rig_end(process);
    double seconds = 1e-9 * (double)(monotonic_ns() - begin);
    ck_assert_int_eq(result.code, 128 + SIGTERM);
    ck_assert_msg(seconds < 2, "it took %.2f s", seconds);
    command_refused(1, "a JACK server is there and does not answer",
                    "\"$HALO\" live --plain --seconds 1");
    command_refused(1, "a JACK server is there and does not answer",
                    "\"$HALO\" live --plain --driver jack --seconds 1");
    result = command_done("\"$HALO\" live --plain --device null --seconds 0.1");
    ck_assert_ptr_null(strstr(result.err, "JACK"));
    command_expect(command_done("\"$HALO\" devices").err, "does not answer");
    jack_rig_signal(SIGCONT);
    jack_rig_end(SIGTERM);
}

static void check_death(int number)
{
    command_clean();
    jack_rig_start(RATE, 128);
    pid_t process = live_rig_start("--record rec.wav --mask \"$FILTERS/hall.wav\"");
    live_rig_record(300);
    jack_rig_end(number);
    struct command_result result = live_rig_end(process);
    ck_assert_int_eq(result.code, 1);
    const char *reported = strstr(result.err, "is lost");
    ck_assert_msg(reported != NULL && strstr(reported + 1, "is lost") == NULL, "%s", result.err);
    ck_assert_msg(strstr(reported, "--reconnect waits until it returns") != NULL, "%s", result.err);
    ck_assert_msg(strstr(result.err, "rec.wav: 0.") != NULL, "%s", result.err);
    struct sound output = sound_load("rec.wav");
    ck_assert_uint_gt(output.block.frames, RATE / 5);
    command_done("head -n 1 rec.wav.log | grep -F '\"device\":\"JACK: system\"'");
}

START_TEST(a_dead_server_ends_it_with_one_line)
{
    check_death(SIGTERM);
    check_death(SIGKILL);
}

START_TEST(it_comes_back_with_the_server)
{
    jack_rig_start(RATE, 128);
    pid_t process = live_rig_start("--reconnect --rate 48000 --record rec.wav --record-dry "
                                   "dry.wav --mask \"$FILTERS/hall.wav\"");
    live_rig_record(300);
    jack_rig_end(SIGKILL);
    live_rig_wait("the device is lost; waiting for it to return");
    jack_rig_start(44100, 128);
    live_rig_wait("still waiting: system does not run at 48000 Hz");
    jack_rig_end(SIGTERM);
    jack_rig_start(RATE, 100); /* not a multiple of the block */
    live_rig_wait("the device is back");
    live_rig_record(300);
    live_rig_keys("q");
    struct command_result result = live_rig_end(process);
    ck_assert_msg(result.code == 0, "%s", result.err);
    ck_assert_msg(strstr(result.err, "interruptions by a lost device: 1") != NULL, "%s",
                  result.err);
    struct sound output = sound_load("rec.wav");
    ck_assert_uint_gt(output.block.frames, RATE / 3);
    jack_rig_end(SIGTERM);
}

/* ---- another rate ---- */

static void save_at(const struct block *block, uint32_t rate, const char *name)
{
    struct sound sound =
        sound_create(SF_FORMAT_WAV | SF_FORMAT_FLOAT, rate, block->channels, block->frames);
    for (size_t c = 0; c < block->channels; c++)
        memcpy(sound.block.data[c], block->data[c], block->frames * sizeof(float));
    sound_save(&sound, name);
}

/* A resampled mask begins before its time zero, which delays the sound; render takes that off. */
static size_t lag_of(const struct block *output, const struct block *truth, size_t first)
{
    for (size_t lag = 0; lag < 1000; lag++) {
        size_t same = 0;
        while (same < 1000 &&
               fabsf(output->data[0][first + lag + same] - truth->data[0][first + same]) < 1e-5f)
            same++;
        if (same == 1000)
            return lag;
    }
    ck_abort_msg("the output is another sound");
    return 0;
}

static void expect_late_render(const struct block *recorded, const struct block *signal,
                               uint32_t rate)
{
    save_at(signal, rate, "in.wav");
    command_done("\"$HALO\" render in.wav truth.wav --mask \"$FILTERS/hall.wav\" --gain -3");
    struct sound truth = sound_load("truth.wav");
    size_t lag = lag_of(recorded, &truth.block, (size_t)2 * rate);
    float *from[2] = {recorded->data[0] + lag, recorded->data[1] + lag};
    struct block output = *recorded;
    output.data = from;
    live_rig_expect(&output, &truth.block, 0, signal->frames - lag);
}

/* What was chosen and set stays: the mask, the gain, the bypass of a stage. */
static bool is_rate_followed(size_t longer)
{
    enum { OTHER = 44100 };
    command_clean();
    command_done("echo 1 >one.txt");
    struct block signal = live_rig_noise(2, 2 * OTHER, 3 * OTHER, 0.05f);
    jack_rig_start(RATE, 128);
    struct jack_wire *wire = jack_wire_open(&signal, 2, signal.frames);
    pid_t process = live_rig_start("--input feed --output rec --reconnect --record rec.wav "
                                   "--mask one.txt --or --mask \"$FILTERS/hall.wav\" "
                                   "--gain -20,@mix=1");
    live_rig_keys("2[[[b"); /* bypasses the gain stage, the only one with controls */
    live_rig_wait_answer("BYPASSED");
    live_rig_record(500);
    jack_rig_end(SIGKILL);
    live_rig_wait("the device is lost; waiting for it to return");
    jack_wire_close(wire);
    jack_rig_start(OTHER, 256 * longer);
    wire = jack_wire_open(&signal, 2, signal.frames);
    live_rig_wait("the rate is 44100 Hz now, no longer 48000: the recording ends");
    live_rig_wait("the device is back");
    jack_wire_run(wire);
    live_rig_keys("q");
    struct command_result result = live_rig_end(process);
    ck_assert_msg(result.code == 0, "%s", result.err);
    expect_blocks(&result, 256 * longer, OTHER);
    struct sound recorded = sound_load("rec.wav");
    ck_assert_uint_eq(recorded.rate, RATE);
    ck_assert_uint_gt(recorded.block.frames, 0);
    bool in_time = jack_wire_gaps(wire) == 0;
    if (in_time)
        expect_late_render(jack_wire_recorded(wire), &signal, OTHER);
    jack_wire_close(wire);
    jack_rig_end(SIGTERM);
    return in_time;
}

START_TEST(the_rate_is_followed)
{
    take_in_time(is_rate_followed);
}

/* The delay after a change of the server's period is that of a fresh start: none. */
static bool is_period_followed(size_t before, size_t after)
{
    command_clean();
    struct block signal = live_rig_noise(2, RATE, 3 * RATE, 0.05f);
    live_rig_save(&signal, "in.wav");
    jack_rig_start(RATE, before);
    struct jack_wire *wire = jack_wire_open(&signal, 2, signal.frames);
    pid_t process =
        live_rig_start("--input feed --output rec --mask \"$FILTERS/hall.wav\" --gain -20");
    live_rig_keys("[[[");
    live_rig_wait_answer("gain -3.0 dB");
    char expected[80];
    snprintf(expected, sizeof expected, "blocks have %zu frames now, no longer %zu", after, before);
    command_done("jack_bufsize %zu", after);
    live_rig_wait(expected);
    live_rig_rest(300);
    jack_wire_run(wire);
    live_rig_keys("q");
    struct command_result result = live_rig_end(process);
    ck_assert_msg(result.code == 0, "%s", result.err);
    bool in_time = jack_wire_gaps(wire) == 0 && strstr(result.err, " 0 lost");
    if (!in_time)
        printf("too late, %zu gaps: %s", jack_wire_gaps(wire), result.err);
    if (in_time) {
        command_done("\"$HALO\" render in.wav truth.wav --mask \"$FILTERS/hall.wav\" --gain -23");
        struct sound truth = sound_load("truth.wav");
        live_rig_expect(jack_wire_recorded(wire), &truth.block, 0, signal.frames);
    }
    jack_wire_close(wire);
    jack_rig_end(SIGTERM);
    return in_time;
}

static bool is_shorter_period_followed(size_t longer)
{
    return is_period_followed(256 * longer, 64 * longer);
}

static bool is_odd_period_followed(size_t longer)
{
    return is_period_followed(64 * longer, 96 * longer);
}

START_TEST(the_period_is_followed)
{
    take_in_time(is_shorter_period_followed);
    take_in_time(is_odd_period_followed);
}

int main(void)
{
    return jack_rig_is_there() ? suite_run() : 77;
}
