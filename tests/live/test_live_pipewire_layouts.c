/* Channel layouts of halo live through PipeWire: ports are named by them and linked by name. */
#include "live_rig.h"
#include "pipewire_rig.h"
#include "suite.h"

#include <math.h>
#include <signal.h>
#include <string.h>

enum { RATE = LIVE_RIG_RATE, TRIES = 10 };

/* As ALSA has them, which is not the order of WAV. */
#define OF_ALSA "FL FR RL RR FC LFE"

/* A device of those positions: a sink, or a source. */
static void plug(const char *name, const char *class, const char *positions)
{
    ck_assert_int_eq(pipewire_rig_run("timeout 20 pw-cli create-node adapter '{ factory.name = "
                                      "support.null-audio-sink node.name = %s node.description = "
                                      "%s media.class = %s object.linger = true audio.position = "
                                      "[ %s ] priority.session = 10 }'",
                                      name, name, class, positions),
                     0);
}

static void begin(void)
{
    pipewire_rig_start();
    plug("surround", "Audio/Sink", OF_ALSA);
    plug("mics", "Audio/Source/Virtual", OF_ALSA);
    pipewire_rig_wait("timeout 20 pw-link -i | grep -q surround:playback_LFE");
    pipewire_rig_wait("timeout 20 pw-link -o | grep -q mics:capture_LFE");
}

static void expect_links(const char *const (*links)[2], size_t count)
{
    for (size_t i = 0; i < count; i++)
        pipewire_rig_wait_link(links[i][0], links[i][1]);
}

static void expect_ports(const char *direction, const char *node, const char *expected)
{
    struct command_result result = command_done(
        "timeout 20 pw-link %s | sed -n 's/^%s:[a-z]*_//p' | sort | tr '\\n' ' '", direction, node);
    ck_assert_str_eq(result.out, expected);
}

/* ---- which channel is which ---- */

static bool is_near(const float *output, const float *truth, float gain, size_t frames)
{
    float worst = 0;
    for (size_t i = 0; i < frames; i++)
        worst = fmaxf(worst, fabsf(output[i] - gain * truth[i]));
    return worst < 1e-6F;
}

/* What goes into the centre of the device is channel 3 of halo, as in a file, and comes out of the
 * centre. On a busy machine the server may lose sound; then it is tried again. */
START_TEST(channels_are_in_the_order_of_files)
{
    begin();
    struct block signal = live_rig_noise(2, 0, RATE / 4, 0.05f);
    sound_text("double.txt", "2\n");
    pid_t process = live_rig_start("--input mics --output surround --channels 6 --record-dry "
                                   "dry.wav --mask double.txt,map=3:1,BL:1");
    static const char *const links[][2] = {
        {"mics:capture_FL", "halo:input_FL"},       {"mics:capture_FC", "halo:input_FC"},
        {"mics:capture_LFE", "halo:input_LFE"},     {"mics:capture_RL", "halo:input_RL"},
        {"halo:output_FC", "surround:playback_FC"}, {"halo:output_RR", "surround:playback_RR"},
    };
    expect_links(links, sizeof links / sizeof *links);
    struct pipewire_wire *wire = pipewire_wire_open(&signal, 2 * signal.frames);
    ck_assert_int_eq(
        pipewire_rig_run("timeout 20 pw-link feed:FL mics:input_FC && timeout 20 pw-link feed:FR "
                         "mics:input_FL && timeout 20 pw-link halo:output_FC rec:FL && "
                         "timeout 20 pw-link halo:output_FL rec:FR"),
        0);
    bool is_right = false;
    pipewire_rig_force("quantum", PIPEWIRE_RIG_UNHURRIED);
    for (int i = 0; i < TRIES && !is_right; i++) {
        live_rig_rest(1000);
        pipewire_wire_run(wire);
        const struct block *recorded = pipewire_wire_recorded(wire);
        is_right = pipewire_wire_gaps(wire) == 0 &&
                   is_near(recorded->data[0], signal.data[0], 2, signal.frames) &&
                   is_near(recorded->data[1], signal.data[1], 1, signal.frames);
    }
    ck_assert(is_right);
    pipewire_wire_close(wire);
    live_rig_end_well(process);
    struct command_result result =
        command_done("\"$HALO\" render dry.wav out.wav --json --format float");
    command_expect(result.out, "\"layout_in\": \"5.1\"");
    struct sound dry = sound_load("dry.wav");
    ck_assert(audio_peak(dry.block.data[2], dry.block.frames) > 0.01F);
    ck_assert(audio_peak(dry.block.data[0], dry.block.frames) > 0.01F);
    ck_assert(audio_peak(dry.block.data[4], dry.block.frames) == 0);
    pipewire_rig_end(SIGTERM);
}

/* Surrounds at the sides play on the device's at the back, which it has instead. */
START_TEST(a_sink_has_the_layout)
{
    begin();
    pid_t process = live_rig_start("--sink Cinema --layout '5.1(side)' --output surround --record "
                                   "rec.wav --mask \"$FILTERS/identity.txt\",map=SL:1");
    expect_ports("-i", "halo.Cinema", "FC FL FR LFE SL SR ");
    pipewire_rig_wait("timeout 20 pw-dump | grep -q '\"audio.position\": \"FL,FR,FC,LFE,SL,SR\"'");
    static const char *const links[][2] = {
        {"halo:output_FL", "surround:playback_FL"},   {"halo:output_FC", "surround:playback_FC"},
        {"halo:output_LFE", "surround:playback_LFE"}, {"halo:output_SL", "surround:playback_RL"},
        {"halo:output_SR", "surround:playback_RR"},
    };
    expect_links(links, sizeof links / sizeof *links);
    live_rig_rest(300);
    live_rig_end_well(process);
    struct command_result result =
        command_done("\"$HALO\" render rec.wav out.wav --json --format float");
    command_expect(result.out, "\"layout_in\": \"5.1(side)\"");
    pipewire_rig_end(SIGTERM);
}

/* It renames channels and loses none. */
START_TEST(a_stated_layout_wins_over_the_device)
{
    begin();
    pid_t process =
        live_rig_start("--layout FL+LFE --json --mask \"$FILTERS/identity.txt\",map=LFE:1");
    static const char *const links[][2] = {
        {"mic:capture_FL", "halo:input_FL"},
        {"mic:capture_FR", "halo:input_LFE"},
        {"halo:output_FL", "speakers:playback_FL"},
        {"halo:output_FR", "speakers:playback_FR"},
    };
    expect_links(links, sizeof links / sizeof *links);
    live_rig_keys("q");
    struct command_result result = live_rig_end(process);
    ck_assert_int_eq(result.code, 0);
    command_expect(result.out, "\"layout_in\":\"FL+LFE\"");
    command_refused(2, "has no channel LFE: its layout is stereo",
                    "\"$HALO\" live -q --seconds 0.1 --mask \"$FILTERS/identity.txt\",map=LFE:1");
    pipewire_rig_end(SIGTERM);
}

/* A map chooses among the device's channels, which keep their names. */
START_TEST(a_map_keeps_the_names_of_the_device)
{
    begin();
    pid_t process = live_rig_start("--input mics --input-map 5,1 --layout stereo --json --mask "
                                   "\"$FILTERS/identity.txt\",map=R:1");
    static const char *const links[][2] = {
        {"mics:capture_FC", "halo:input_FC"},
        {"mics:capture_FL", "halo:input_FL"},
    };
    expect_links(links, sizeof links / sizeof *links);
    live_rig_keys("q");
    struct command_result result = live_rig_end(process);
    ck_assert_int_eq(result.code, 0);
    command_expect(result.out, "\"layout_in\":\"stereo\"");
    pipewire_rig_end(SIGTERM);
}

START_TEST(it_stays_with_a_server_that_returns)
{
    begin();
    pid_t process = live_rig_start("--reconnect --sink Cinema --layout FL+FR+TC --output-map 1,2,3 "
                                   "--output surround");
    expect_ports("-i", "halo.Cinema", "FL FR TC ");
    pipewire_rig_end(SIGKILL);
    live_rig_wait("the device is lost; waiting for it to return");
    pipewire_rig_start();
    plug("surround", "Audio/Sink", OF_ALSA);
    pipewire_rig_wait("timeout 20 pw-link -i | grep -q halo.Cinema:playback_TC");
    expect_ports("-i", "halo.Cinema", "FL FR TC ");
    live_rig_end_well(process);
    pipewire_rig_end(SIGTERM);
}
