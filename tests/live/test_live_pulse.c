/* halo live on PulseAudio through ALSA's plugin: the server's rate, a latency that it holds, and
 * ALSA's messages. */
#include "command.h"
#include "sound.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>

/* The report, the last line of standard output. The caller frees it. */
static json_t *run_live(unsigned rate, const char *setting, const char *options)
{
    struct command_result result = {.err = ""};
    int tries = 0;
    do {
        ck_assert_msg(tries++ < 5, "the machine is too slow: %s", result.err);
        command_clean();
        result =
            command_run("mkdir pulse && %s \"" LIVE_PULSE "\" \"$PWD/pulse\" %u \"$HALO\" live "
                        "--json --mask \"$FILTERS/identity.txt\" %s",
                        setting, rate, options);
    } while (result.code == 1 && strstr(result.out, "no sound")); /* nor does anything else work */
    const char *last = strstr(result.out, "{\"event\":\"report\"");
    ck_assert_msg(result.code == 0 && last, "%d: %s%s", result.code, result.out, result.err);
    ck_assert_msg(!strstr(result.err, "ALSA lib"), "%s", result.err);
    return command_json(last);
}

/* The null sinks are no friends of 64 frames: only a longer buffer keeps them. */
static void expect_the_servers_rate(unsigned rate, const char *setting)
{
    json_t *report = run_live(rate, setting, "--seconds 1");
    ck_assert_double_eq(command_json_number(report, "rate"), rate);
    ck_assert_double_ge(command_json_number(report, "latency"), 0.02 * rate);
    ck_assert_double_ge(command_json_number(report, "seconds"), 1);
}

START_TEST(the_servers_rate_and_a_latency_that_it_holds)
{
    expect_the_servers_rate(48000, "");
    expect_the_servers_rate(
        96000, "PCM='type asym playback.pcm { type pulse } capture.pcm { type pulse }'");
}

START_TEST(a_rate_that_is_asked_for_is_kept)
{
    json_t *report = run_live(48000, "", "--seconds 1 --rate 32000");
    ck_assert_double_eq(command_json_number(report, "rate"), 32000);
}

/* The server stands still, and the stream loses sound, or ends: then it is run again. */
START_TEST(a_loss_widens_the_buffer)
{
    json_t *report = run_live(48000, "PAUSE=0.5", "--seconds 3");
    for (int again = 0; again < 3 && command_json_number(report, "widened") < 1; again++) {
        report = run_live(48000, "PAUSE=0.5", "--seconds 3");
    }
    ck_assert_double_ge(command_json_number(report, "widened"), 1);
    ck_assert_double_ge(command_json_number(report, "latency"), 0.04 * 48000);
}

/* Whatever it loses. Where it ends by that, it does so as any device that is lost. */
START_TEST(a_latency_that_is_asked_for_is_kept)
{
    json_t *report = run_live(48000, "PAUSE=0.5", "--seconds 2 --latency 300 --reconnect");
    ck_assert_double_eq(command_json_number(report, "widened"), 0);
}

START_TEST(cables_are_measured)
{
    struct command_result result = {.err = ""};
    int tries = 0;
    do {
        ck_assert_msg(tries++ < 5, "the machine is too slow: %s", result.err);
        command_clean();
        result = command_run("mkdir pulse && PCM='type asym playback.pcm { type pulse } "
                             "capture.pcm { type pulse device loudspeaker.monitor }' "
                             "\"" LIVE_PULSE "\" \"$PWD/pulse\" 48000 \"$HALO\" measure --plain "
                             "cables.wav --length 500ms --pause 200ms --input-map 1,2 "
                             "--output-map 1,2");
    } while (result.code == 1);
    ck_assert_msg(result.code == 0, "%s", result.err);
    sound_expect_cables("cables.wav");
}
