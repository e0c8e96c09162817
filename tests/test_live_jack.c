/* halo live through a JACK server: every output sample equals render, and a server that dies. */
#include "jack_rig.h"
#include "live_rig.h"
#include "suite.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { RATE = LIVE_RIG_RATE, FADE_IN = RATE / 2 };

START_TEST(output_equals_render)
{
    static const char stages[] = "--mask \"$FILTERS/hall.wav\"";
    command_clean();
    jack_rig_start(RATE, 64);
    /* Silence while the output fades in. */
    struct block signal = live_rig_noise(2, FADE_IN + RATE / 8, 3 * RATE / 2, 0.05f);
    struct jack_wire *wire = jack_wire_open(&signal, 2, signal.frames);
    pid_t process = live_rig_start("--host-api jack --input feed --output rec %s", stages);
    jack_wire_run(wire);
    live_rig_keys("q");
    struct command_result result = live_rig_end(process);
    ck_assert_msg(result.code == 0, "%s", result.err);
    ck_assert_uint_eq(jack_wire_gaps(wire), 0);
    ck_assert_msg(strstr(result.err, "blocks of 64 frames at 48000 Hz") != NULL, "%s", result.err);
    live_rig_save(&signal, "in.wav");
    command_done("\"$HALO\" render in.wav truth.wav %s", stages);
    struct sound truth = sound_load("truth.wav");
    live_rig_expect(jack_wire_recorded(wire), &truth.block, 0, signal.frames);
    sound_free(&truth);
    jack_wire_close(wire);
    block_free(&signal);
    jack_rig_end(SIGTERM);
}
END_TEST

/* ---- a server that dies ---- */

static void check_death(int number)
{
    command_clean();
    jack_rig_start(RATE, 128);
    pid_t process = live_rig_start("--host-api jack --record rec.wav --mask \"$FILTERS/hall.wav\"");
    live_rig_rest(300);
    jack_rig_end(number);
    struct command_result result = live_rig_end(process);
    ck_assert_int_eq(result.code, 1);
    const char *reported = strstr(result.err, "is lost");
    ck_assert_msg(reported != NULL && strstr(reported + 1, "is lost") == NULL, "%s", result.err);
    ck_assert_msg(strstr(reported, "--reconnect waits until it returns") != NULL, "%s", result.err);
    ck_assert_msg(strstr(result.err, "rec.wav: 0.") != NULL, "%s", result.err);
    struct sound output = sound_load("rec.wav");
    ck_assert_uint_gt(output.block.frames, RATE / 5);
    sound_free(&output);
}

START_TEST(a_dead_server_ends_it_with_one_line)
{
    check_death(SIGTERM);
    check_death(SIGKILL);
}
END_TEST

START_TEST(it_comes_back_with_the_server)
{
    command_clean();
    jack_rig_start(RATE, 128);
    pid_t process = live_rig_start("--host-api jack --reconnect --record rec.wav --record-dry "
                                   "dry.wav --mask \"$FILTERS/hall.wav\"");
    live_rig_rest(300);
    jack_rig_end(SIGKILL);
    live_rig_wait("the device is lost; waiting for it to return");
    jack_rig_start(44100, 128);
    live_rig_wait("still waiting: system does not run at 48000 Hz");
    jack_rig_end(SIGTERM);
    jack_rig_start(RATE, 100); /* not a multiple of the block */
    live_rig_wait("the device is back");
    live_rig_rest(300);
    live_rig_keys("q");
    struct command_result result = live_rig_end(process);
    ck_assert_msg(result.code == 0, "%s", result.err);
    ck_assert_msg(strstr(result.err, "interruptions by a lost device: 1") != NULL, "%s",
                  result.err);
    struct sound output = sound_load("rec.wav");
    ck_assert_uint_gt(output.block.frames, RATE / 3);
    sound_free(&output);
    jack_rig_end(SIGTERM);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {output_equals_render, a_dead_server_ends_it_with_one_line,
                                  it_comes_back_with_the_server};
    return jack_rig_is_there() ? suite_run("live_jack", tests, sizeof tests / sizeof *tests) : 77;
}
