/* halo live --sink through PipeWire: defaults and devices that change, a second one, latency. */
#include "live/device/driver_pipewire.h"
#include "live_rig.h"
#include "pipewire_rig.h"
#include "suite.h"

#include <signal.h>
#include <string.h>

enum { TRIES = 10 };

#define SINK "halo.Room-correction"

/* The server itself may lose sound on a busy machine; then it is tried again. */
START_TEST(no_sound_is_lost_to_a_change)
{
    static const char *const sinks[] = {"phones", "speakers"};
    bool none = false;
    pipewire_rig_start();
    pipewire_rig_force("quantum", PIPEWIRE_RIG_UNHURRIED);
    for (int i = 0; i < TRIES && !none; i++) {
        pid_t process = live_rig_start("--sink 'Room correction' --block 1024");
        pipewire_rig_wait_link("halo:output_FL", "speakers:playback_FL");
        live_rig_rest(1000); /* until the links count as made */
        for (int k = 0; k < 2; k++) {
            pipewire_rig_default("sink", sinks[k]);
            pipewire_rig_wait_link("halo:output_FL",
                                   k == 0 ? "phones:playback_FL" : "speakers:playback_FL");
        }
        live_rig_keys("q");
        struct command_result result = live_rig_end(process);
        ck_assert_int_eq(result.code, 0);
        none = strstr(result.err, " 0 lost") != NULL;
    }
    ck_assert(none);
    pipewire_rig_end(SIGTERM);
}

/* It never plays to itself, and goes on to the device that was the default before. */
START_TEST(own_sink_becomes_the_default)
{
    pipewire_rig_start();
    pipewire_rig_default("sink", "phones");
    pipewire_rig_wait("pw-metadata | grep -q 'audio.sink.*phones'");
    pid_t process = live_rig_start("--sink 'Room correction'");
    pipewire_rig_wait_link("halo:output_FL", "phones:playback_FL");
    pipewire_rig_default("sink", SINK);
    pipewire_rig_wait("pw-metadata | grep -q 'default.audio.sink.*" SINK "'");
    live_rig_rest(300);
    ck_assert(pipewire_rig_is_linked("halo:output_FL", "phones:playback_FL"));
    ck_assert(!pipewire_rig_is_linked("halo:output_FL", SINK ":playback_FL"));
    pipewire_rig_plug("usb", 3000); /* not where the user chose another */
    live_rig_rest(500);
    ck_assert(pipewire_rig_is_linked("halo:output_FL", "phones:playback_FL"));
    live_rig_end_well(process);
    process = live_rig_start("--loopback --output speakers"); /* of phones, the default again */
    pipewire_rig_wait_link("phones:monitor_FL", "halo:input_FL");
    live_rig_end_well(process);
    pipewire_rig_end(SIGTERM);
}

/* While halo's own sink is the default, the session manager chooses no device. */
START_TEST(a_new_device_is_played_to)
{
    pipewire_rig_start();
    pid_t process = live_rig_start("--sink 'Room correction'");
    pipewire_rig_wait_link("halo:output_FL", "speakers:playback_FL");
    pipewire_rig_default("sink", SINK);
    pipewire_rig_wait("pw-metadata | grep -q 'default.audio.sink.*" SINK "'");
    pipewire_rig_plug("headset", 1);
    pipewire_rig_plug("usb", 3000);
    pipewire_rig_wait_link("halo:output_FL", "usb:playback_FL");
    ck_assert(!pipewire_rig_is_linked("halo:output_FL", "speakers:playback_FL"));
    live_rig_end_well(process);
    pipewire_rig_end(SIGTERM);
}

/* One that is about to end, as where a service starts anew, is waited for. */
START_TEST(a_second_sink_of_a_name_is_refused)
{
    pipewire_rig_start();
    pid_t process = live_rig_start("--sink 'Room correction'");
    pipewire_rig_wait_link("halo:output_FL", "speakers:playback_FL");
    command_refused(1, "there is a sink 'Room correction' already",
                    "\"$HALO\" live --sink 'Room correction' --seconds 1");
    live_rig_keys("q");
    ck_assert_int_eq(pipewire_rig_run("\"$HALO\" live -q --sink 'Room correction' --seconds 0.1"),
                     0);
    ck_assert_int_eq(live_rig_end(process).code, 0);
    pipewire_rig_end(SIGTERM);
}

/* As the default device becomes a mono one while it runs, it may be one from the start. */
START_TEST(a_mono_device_plays_all_channels)
{
    pipewire_rig_start();
    ck_assert_int_eq(
        pipewire_rig_run("pw-cli create-node adapter '{ factory.name = support.null-audio-sink "
                         "node.name = handsfree media.class = Audio/Sink object.linger = true "
                         "audio.position = [ MONO ] priority.session = 100 }'"),
        0);
    pipewire_rig_wait("pw-link -i | grep -q handsfree:playback_MONO");
    static const char *const options[] = {"--sink 'Room correction'", "--channels 2"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        pid_t process =
            live_rig_start("%s --output handsfree --mask \"$FILTERS/hall.wav\"", options[i]);
        pipewire_rig_wait_link("halo:output_FL", "handsfree:playback_MONO");
        pipewire_rig_wait_link("halo:output_FR", "handsfree:playback_MONO");
        live_rig_end_well(process);
    }
    command_refused(2, "handsfree has 1 output channel, no channel 2",
                    "\"$HALO\" live --output handsfree --output-map 1,2");
    pipewire_rig_end(SIGTERM);
}

static bool has_looked_often(void *context)
{
    int *looks = context;
    return ++*looks > 100;
}

/* Nothing happens in the graph that would end the wait: a cycle, which may, tells no one. */
START_TEST(what_a_wait_is_for_is_looked_at)
{
    enum { HOUR_MS = 3600000 };
    struct pipewire_registry graph = {0};
    bool found = false;
    int looks = 0;
    pipewire_rig_start();
    ck_assert_int_eq(library_open(&pipewire_library), STATUS_OK);
    ck_assert_int_eq(pipewire_registry_open(&graph, &found), STATUS_OK);
    ck_assert(found);
    pw_thread_loop_lock(graph.loop);
    ck_assert(pipewire_registry_wait(&graph, has_looked_often, &looks, HOUR_MS));
    pw_thread_loop_unlock(graph.loop);
    pipewire_registry_close(&graph);
    pipewire_rig_end(SIGTERM);
}

#define JAPAN "\xe6\x97\xa5\xe6\x9c\xac"
#define CHINA "\xe4\xb8\xad\xe5\x9b\xbd" /* as many bytes */
#define ROOM "\xc3\xa9tage \"2\""
#define TEN(TEXT) TEXT TEXT TEXT TEXT TEXT TEXT TEXT TEXT TEXT TEXT

START_TEST(letters_of_any_script_name_a_sink)
{
    pipewire_rig_start();
    pid_t process = live_rig_start("--sink " JAPAN);
    pipewire_rig_wait("pw-link -i | grep -q 'halo." JAPAN ":playback_FL'");
    command_done("\"$HALO\" live -q --sink " CHINA " --seconds 0.1");
    command_refused(1, "there is a sink '" JAPAN "' already",
                    "\"$HALO\" live --sink " JAPAN " --seconds 0.1");
    live_rig_end_well(process);
    process = live_rig_start("--sink '" ROOM "'");
    pipewire_rig_wait("pw-link -i | grep -q 'halo.\xc3\xa9tage--2-:playback_FL'");
    live_rig_end_well(process);
    process = live_rig_start("--sink " TEN(JAPAN JAPAN JAPAN)); /* cut between two of them */
    pipewire_rig_wait("pw-link -i | grep -q 'halo." TEN(JAPAN JAPAN) ":playback_FL'");
    live_rig_end_well(process);
    process = live_rig_start("--sink \"$(printf 'a\\377b')\"");
    pipewire_rig_wait("pw-link -i | grep -q 'halo.a-b:playback_FL'");
    live_rig_end_well(process);
    pipewire_rig_end(SIGTERM);
}

/* Links by hand, and the absence of those that were cut by hand. */
START_TEST(it_comes_back_with_the_server)
{
    pipewire_rig_start();
    pid_t process = live_rig_start("--reconnect --sink 'Room correction'");
    pipewire_rig_wait_link("halo:output_FR", "speakers:playback_FR");
    ck_assert_int_eq(pipewire_rig_run("pw-link halo:output_FL phones:playback_FR && "
                                      "pw-link line:capture_FL " SINK ":playback_FL && "
                                      "pw-link -d halo:output_FL speakers:playback_FL"),
                     0);
    live_rig_rest(300);
    ck_assert(!pipewire_rig_is_linked("halo:output_FL", "speakers:playback_FL"));
    for (int i = 0; i < 2; i++) {
        pipewire_rig_end(i == 0 ? SIGKILL : SIGTERM);
        if (i == 0)
            live_rig_wait("the device is lost; waiting for it to return");
        if (i == 0) /* with --sink, too, PipeWire is known to be meant */
            live_rig_wait("still waiting: no PipeWire server with sound devices answers");
        pipewire_rig_start();
        pipewire_rig_wait_link("halo:output_FL", "phones:playback_FR");
        pipewire_rig_wait_link("line:capture_FL", SINK ":playback_FL");
        pipewire_rig_wait_link("halo:output_FR", "speakers:playback_FR");
        ck_assert(!pipewire_rig_is_linked("halo:output_FL", "speakers:playback_FL"));
    }
    live_rig_end_well(process);
    pipewire_rig_end(SIGTERM);
}

START_TEST(latency_is_reported_to_programs)
{
    pipewire_rig_start();
    /* By the node of a filter, and by the ports that programs play to. */
    pid_t process = live_rig_start("--mask lowpass:3000,taps=1001");
    pipewire_rig_wait("pw-dump | grep -q '\"rate\": 500'");
    live_rig_end_well(process);
    process = live_rig_start("--sink 'Room correction' --mask lowpass:3000,taps=1001");
    pipewire_rig_wait_link("halo:output_FR", "speakers:playback_FR");
    pipewire_rig_wait("pw-dump | tr -d ' \\n' | grep -q "
                      "'\"port.name\":\"playback_FL\".*\"minRate\":500,\"maxRate\":500'");
    live_rig_end_well(process);
    pipewire_rig_end(SIGTERM);
}

/* The output device is the sink of another halo: nothing that plays to ours says otherwise yet. */
START_TEST(latency_of_the_device_is_kept)
{
    pipewire_rig_start();
    ck_assert_int_eq(pipewire_rig_run("\"$HALO\" live -q --sink Cabinet --seconds 600 --output "
                                      "speakers --mask lowpass:3000,taps=1001 & :"),
                     0);
    pipewire_rig_wait_link("halo:output_FR", "speakers:playback_FR");
    pid_t process = live_rig_start("--sink 'Room correction' --output Cabinet "
                                   "--mask lowpass:3000,taps=1001");
    pipewire_rig_wait_link("halo:output_FR", "halo.Cabinet:playback_FR");
    pipewire_rig_wait("pw-dump | tr -d ' \\n' | grep -q '\"minRate\":1000,\"maxRate\":1000'");
    live_rig_end_well(process);
    pipewire_rig_end(SIGTERM); /* which ends the other */
}
