/* halo live through PipeWire: every output sample, defaults that change, a server that dies. */
#include "live_rig.h"
#include "pipewire_rig.h"
#include "pipewire_unheard.h"
#include "suite.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RATE = LIVE_RIG_RATE, TRIES = 10 };

#define MASK "--mask \"$FILTERS/small-room.wav\""
#define SINK "halo.Room-correction"

/* ---- every sample ---- */

static struct block make_signal(void)
{
    struct block signal = live_rig_noise(2, 0, RATE / 4, 0.05f);
    live_rig_save(&signal, "in.wav");
    command_done("\"$HALO\" render -f in.wav truth.wav " MASK);
    return signal;
}

static bool is_equal(const struct block *output, const struct block *truth)
{
    double worst = 0;
    for (size_t c = 0; c < truth->channels; c++)
        for (size_t i = 0; i < output->frames; i++)
            worst = fmax(worst, fabs((double)output->data[c][i] - (double)truth->data[c][i]));
    return worst < 3e-8; /* -130 dB of the signal's peak times the sum of the mask, which is 2 */
}

/* At a quantum for which this machine is too slow now the server, or halo, loses sound, in each
 * try; the test goes on without it. What is right once is right by arithmetic. */
static void expect_truth(struct pipewire_wire *wire, unsigned quantum)
{
    struct sound truth = sound_load("truth.wav");
    bool equals = false;
    pipewire_rig_force("quantum", quantum);
    for (int i = 0; i < TRIES && !equals; i++) {
        live_rig_rest(1000); /* the fade-in, or the echo of the last try */
        pipewire_wire_run(wire);
        equals =
            pipewire_wire_gaps(wire) == 0 && is_equal(pipewire_wire_recorded(wire), &truth.block);
    }
    ck_assert_msg(equals || quantum < PIPEWIRE_RIG_UNHURRIED,
                  "the output differs from that of render");
    if (!equals)
        printf(
            "not seen: a whole recording of PipeWire at a quantum of %u, for which the machine is too slow\n",
            quantum);
}

static void link_wire(const char *to)
{
    ck_assert_int_eq(pipewire_rig_run("pw-link feed:FL %s_FL && pw-link feed:FR %s_FR && "
                                      "pw-link halo:output_FL rec:FL && "
                                      "pw-link halo:output_FR rec:FR",
                                      to, to),
                     0);
}

START_TEST(sink_filters_what_is_played)
{
    pipewire_rig_start();
    struct block signal = make_signal();
    static const unsigned quanta[] = {PIPEWIRE_RIG_UNHURRIED, 256, 64};
    pid_t process = live_rig_start("--sink 'Room correction' " MASK " --block 64");
    struct pipewire_wire *wire = pipewire_wire_open(&signal, 2 * signal.frames);
    pipewire_rig_wait("pw-link -i | grep -q " SINK ":playback_FR");
    link_wire(SINK ":playback");
    pipewire_rig_wait_link("halo:output_FR", "speakers:playback_FR");
    for (size_t i = 0; i < sizeof quanta / sizeof *quanta; i++)
        expect_truth(wire, quanta[i]); /* and without delay */
    live_rig_end_well(process);
    pipewire_wire_close(wire);
    pipewire_rig_end(SIGTERM);
}

START_TEST(input_passes_without_delay)
{
    pipewire_rig_start();
    struct block signal = make_signal();
    pid_t process = live_rig_start(MASK " --block 256");
    struct pipewire_wire *wire = pipewire_wire_open(&signal, 2 * signal.frames);
    link_wire("mic:input");
    pipewire_rig_wait_link("mic:capture_FR", "halo:input_FR");
    expect_truth(wire, PIPEWIRE_RIG_UNHURRIED);
    live_rig_keys("q");
    struct command_result result = live_rig_end(process);
    ck_assert_int_eq(result.code, 0);
    command_expect(result.err, "of PipeWire: Microphone -> Loud Speakers, blocks of 256 frames at "
                               "48000 Hz; latency 0 frames");
    pipewire_wire_close(wire);
    pipewire_rig_end(SIGTERM);
}

/* A busy machine loses sound, which halo says. */
START_TEST(cables_are_measured)
{
    pipewire_rig_start();
    pipewire_rig_force("quantum", PIPEWIRE_RIG_UNHURRIED);
    ck_assert_int_eq(pipewire_rig_run("pw-link speakers:monitor_FL mic:input_FL && "
                                      "pw-link speakers:monitor_FR mic:input_FR"),
                     0);
    struct command_result result =
        command_run("\"$HALO\" measure --plain cables.wav --length 500ms --pause 200ms "
                    "--input-map 1,2 --output-map 1,2");
    if (result.code == 0) {
        command_expect(result.err, "PipeWire: Microphone -> Loud Speakers: a sweep of 0.349 s");
        sound_expect_cables("cables.wav");
    } else {
        command_expect(result.err, "the device lost sound");
        puts("not seen: a measurement by PipeWire, for which the machine is too slow");
    }
    pipewire_rig_end(SIGTERM);
}

/* ---- devices ---- */

START_TEST(devices_are_listed)
{
    pipewire_rig_start();
    struct command_result result = command_done("\"$HALO\" devices");
    command_expect(result.out, "PipeWire (the default host API)");
    command_expect(result.out, "2*   48000       -      -       -      -  Loud Speakers");
    command_expect(result.out, "  Monitor of Loud Speakers");
    command_expect(result.out, "2*   0    48000       -      -       -      -  Microphone");
    pipewire_rig_end(SIGTERM);
    /* The library, which crashes without memory, is not begun where there is no server. */
    result = command_done("PIPEWIRE_DEBUG=5 \"$HALO\" devices");
    ck_assert_ptr_null(strstr(result.out, "Loud Speakers"));
    ck_assert_msg(!strstr(result.err, "pw.") && !strstr(result.err, "pipewire"), "%s", result.err);
}

START_TEST(own_monitor_is_refused)
{
    pipewire_rig_start();
    command_refused(2, "the input is the monitor of Loud Speakers, to which halo would play",
                    "\"$HALO\" live --input 'Monitor of Loud' --seconds 1");
    command_refused(2, "the input is the monitor of Headphones", "\"$HALO\" live --device phones");
    command_refused(2, "--loopback records the sound that is played to Loud Speakers",
                    "\"$HALO\" live --loopback --seconds 1");
    pipewire_rig_default("source", "speakers");
    pipewire_rig_wait("pw-metadata | grep -q 'audio.source.*speakers'");
    command_refused(2, "the input is the monitor of Loud Speakers", "\"$HALO\" live --seconds 1");
    /* That of another sink is a source like any. */
    pid_t process = live_rig_start("--output phones");
    pipewire_rig_wait_link("speakers:monitor_FL", "halo:input_FL");
    pipewire_rig_wait_link("halo:output_FL", "phones:playback_FL");
    live_rig_end_well(process);
    pipewire_rig_end(SIGTERM);
}

START_TEST(named_devices_and_rates_are_checked)
{
    pipewire_rig_start();
    command_refused(2, "there is no input 'kazoo'", "\"$HALO\" live --input kazoo");
    command_refused(2, "there is pipewire, ", "\"$HALO\" live --driver kazoo --seconds 1");
    command_refused(2, "three inputs", "\"$HALO\" live --sink a --loopback");
    command_refused(1, " Hz, not at 32000 Hz; leave --rate out",
                    "\"$HALO\" live --rate 32000 --seconds 1");
    pid_t process = live_rig_start("--input line --output phones");
    pipewire_rig_wait_link("line:capture_FL", "halo:input_FL");
    pipewire_rig_wait_link("halo:output_FR", "phones:playback_FR");
    live_rig_end_well(process);
    process = live_rig_start("--rate 44100");
    live_rig_keys("q");
    struct command_result result = live_rig_end(process);
    command_expect(result.err, "at 44100 Hz");
    pipewire_rig_end(SIGTERM);
    command_refused(1, "--sink and --loopback need PipeWire; with PulseAudio",
                    "\"$HALO\" live --sink Room");
    command_refused(1, "no PipeWire server with sound devices answers",
                    "\"$HALO\" live --driver pipewire");
}

/* The driver's name is its default device, beside the name of another one. */
START_TEST(the_driver_and_a_device_are_named)
{
    static const char *const names[][3] = {
        {"--input line --output pipewire", "line:capture_FL", "speakers:playback_FL"},
        {"--input pipewire --output phones", "mic:capture_FL", "phones:playback_FL"},
        {"--input pipewire --output pipewire", "mic:capture_FL", "speakers:playback_FL"},
    };
    pipewire_rig_start();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        pid_t process = live_rig_start("%s", names[i][0]);
        pipewire_rig_wait_link(names[i][1], "halo:input_FL");
        pipewire_rig_wait_link("halo:output_FL", names[i][2]);
        live_rig_end_well(process);
    }
    command_refused(1, "there is no input", /* of another driver */
                    "\"$HALO\" live --input 'nothing of that name' --output pipewire");
    command_refused(2, "cannot take device 0 by its number beside the driver pipewire",
                    "\"$HALO\" live --input 0 --output pipewire");
    pipewire_rig_end(SIGTERM);
}

/* ---- changes ---- */

START_TEST(defaults_are_followed)
{
    pipewire_rig_start();
    pid_t process = live_rig_start(" ");
    pipewire_rig_wait_link("mic:capture_FL", "halo:input_FL");
    pipewire_rig_default("source", "line");
    pipewire_rig_wait_link("line:capture_FR", "halo:input_FR");
    pipewire_rig_default("sink", "phones");
    pipewire_rig_wait_link("halo:output_FR", "phones:playback_FR");
    ck_assert(!pipewire_rig_is_linked("mic:capture_FL", "halo:input_FL"));
    ck_assert(!pipewire_rig_is_linked("halo:output_FL", "speakers:playback_FL"));
    pipewire_rig_default("source", "phones"); /* what halo plays to */
    live_rig_wait("the input is now the monitor of the device that halo plays to");
    live_rig_rest(300);
    ck_assert(!pipewire_rig_is_linked("phones:monitor_FL", "halo:input_FL"));
    live_rig_keys("q");
    struct command_result result = live_rig_end(process);
    ck_assert_int_eq(result.code, 0);
    command_expect(result.err, "PipeWire: nothing -> Headphones,"); /* nor what it was before */
    pipewire_rig_end(SIGTERM);
}

/* Of a change that comes while another program reads the defaults the server tells that one alone.
 */
START_TEST(an_unheard_default_is_followed)
{
    pipewire_rig_start();
    pid_t process = live_rig_start(" ");
    pipewire_rig_wait_link("halo:output_FR", "speakers:playback_FR");
    pipewire_rig_default_unheard("phones");
    pipewire_rig_wait_link("halo:output_FR", "phones:playback_FR");
    ck_assert(!pipewire_rig_is_linked("halo:output_FL", "speakers:playback_FL"));
    live_rig_end_well(process);
    pipewire_rig_end(SIGTERM);
}

START_TEST(a_new_session_manager_is_followed)
{
    pipewire_rig_start();
    pid_t process = live_rig_start(" ");
    pipewire_rig_wait_link("halo:output_FR", "speakers:playback_FR");
    pipewire_rig_restart_manager();
    ck_assert(pipewire_rig_is_linked("halo:output_FR", "speakers:playback_FR"));
    pipewire_rig_default("sink", "phones");
    pipewire_rig_wait_link("halo:output_FR", "phones:playback_FR");
    live_rig_end_well(process);
    pipewire_rig_end(SIGTERM);
}

/* As of a stream that was moved, and ends. The source changes after it. */
START_TEST(defaults_outlive_what_others_set)
{
    pipewire_rig_start();
    pid_t process = live_rig_start(" ");
    pipewire_rig_wait_link("halo:output_FR", "speakers:playback_FR");
    ck_assert_int_eq(pipewire_rig_run("pw-metadata 1 default.audio.sink '{\"name\":\"line\"}' && "
                                      "pw-metadata -d 1"),
                     0);
    pipewire_rig_default("source", "line");
    pipewire_rig_wait_link("line:capture_FR", "halo:input_FR");
    ck_assert(pipewire_rig_is_linked("halo:output_FR", "speakers:playback_FR"));
    live_rig_end_well(process);
    pipewire_rig_end(SIGTERM);
}

START_TEST(each_device_has_its_mask)
{
    pipewire_rig_start();
    command_refused(2, "there is no mask 3: there are 2",
                    "\"$HALO\" live --mask \"$FILTERS/identity.txt\" --or " MASK
                    " --for-device phones=3");
    command_refused(2, "is NAME=N", "\"$HALO\" live --for-device phones");
    pid_t process = live_rig_start("--mask \"$FILTERS/identity.txt\" --or " MASK
                                   " --for-device Loud=2 --for-device head=1");
    live_rig_wait("Loud Speakers: ");
    live_rig_wait("mask 2 ");
    pipewire_rig_default("sink", "phones");
    live_rig_wait("Headphones: ");
    live_rig_end_well(process);
    pipewire_rig_end(SIGTERM);
}

static void write_chain(const char *name, const char *stages)
{
    char text[1024];
    snprintf(text, sizeof text, "halo-chain: 1\nstages:\n%s", stages);
    sound_text(name, text);
}

/* While a signal sounds. */
static void play_to(const char *sink, const char *said, struct pipewire_wire *wire)
{
    pipewire_rig_default("sink", sink);
    live_rig_wait(said);
    pipewire_wire_run(wire);
}

/* How often `text` is in the log. */
static int logged(const char *text)
{
    return atoi(command_run("grep -c '%s' rec.wav.log", text).out);
}

static void add_other_sink(void)
{
    pipewire_rig_run("pw-cli create-node adapter '{ factory.name=support.null-audio-sink "
                     "node.name=other node.description=Other media.class=Audio/Sink "
                     "object.linger=true audio.position=[FL FR] }'");
    pipewire_rig_wait("pw-link -i | grep -q other:playback_FR");
}

/* It begins with the chain of the device, changes with the device, and comes back to the command
 * line's where no rule fits. The log gives the take again, frame by frame. */
START_TEST(each_device_has_its_chain)
{
    setenv("XDG_CONFIG_HOME", command_path("config"), 1);
    setenv("XDG_STATE_HOME", command_path("state"), 1);
    pipewire_rig_start();
    struct block signal = make_signal();
    sound_text("half.txt", "0.5\n");
    sound_text("third.txt", "0.33333\n0.1\n");
    write_chain("loud.yml", "- mask: half.txt\n- gain: -3\n");
    command_done("\"$HALO\" live --plain -q --device null:pace=0 --channels 2 --rate 48000 "
                 "--seconds 0.05 --mask third.txt --save-preset phones");
    command_done("\"$HALO\" live --plain -q --device null:pace=0 --seconds 0.05 --save-preset own");
    pipewire_rig_default("sink", "phones");
    pipewire_rig_wait("pw-metadata | grep -q 'audio.sink.*phones'");
    pid_t process =
        live_rig_start("--mask \"$FILTERS/identity.txt\" --or " MASK
                       " --for-device loud=chain:loud.yml --for-device "
                       "Headphones=preset:phones --record rec.wav --record-dry dry.wav");
    struct pipewire_wire *wire = pipewire_wire_open(&signal, 2 * signal.frames);
    link_wire("mic:input");
    live_rig_wait("Headphones: preset phones");
    pipewire_wire_run(wire);
    play_to("speakers", "halo: chain loud.yml", wire);
    play_to("phones", "halo: preset phones", wire);
    add_other_sink();
    play_to("other", "halo: the chain of the options", wire);
    live_rig_keys("2"); /* its choices are there */
    live_rig_wait("mask 2 ");
    live_rig_end_well(process);
    pipewire_wire_close(wire);
    pipewire_rig_end(SIGTERM);
    ck_assert_int_eq(logged("\"preset\""), 3);
    live_rig_expect_replay();
    ck_assert_str_eq(command_done("cat state/halo/preset").out,
                     "own\n"); /* no user chose another */
}

/* The second change comes within the first one, which brings the other mask. */
START_TEST(the_last_of_two_devices_has_its_mask)
{
    pipewire_rig_start();
    add_other_sink();
    write_chain("loud.yml", "- gain: -3\n");
    pid_t process = live_rig_start("--mask \"$FILTERS/identity.txt\" --or " MASK
                                   " --fade 3 --for-device loud=chain:loud.yml --for-device head=1 "
                                   "--for-device other=2");
    pipewire_rig_default("sink", "phones");
    live_rig_wait("Headphones: ");
    pipewire_rig_default("sink", "other");
    live_rig_wait("Other: ");
    live_rig_wait("mask 2 ");
    live_rig_end_well(process);
    pipewire_rig_end(SIGTERM);
}

/* It was not the first, whose rule must not count before it is played to again. */
START_TEST(a_device_that_goes_leaves_its_mask)
{
    pipewire_rig_start();
    ck_assert_int_eq(pipewire_rig_run("pw-loopback --capture-props='media.class=Audio/Sink "
                                      "node.name=other node.description=Other' & echo $! >%s",
                                      command_path("other")),
                     0);
    pipewire_rig_wait("pw-link -i | grep -q other:playback_FR");
    pid_t process = live_rig_start("--reconnect --mask \"$FILTERS/identity.txt\" --or " MASK
                                   " --for-device loud=2 --for-device other=1");
    pipewire_rig_default("sink", "other");
    live_rig_wait("Other: ");
    pipewire_rig_pause_manager(true);
    ck_assert_int_eq(pipewire_rig_run("kill -KILL $(cat %s)", command_path("other")), 0);
    live_rig_wait("the device is lost");
    pipewire_rig_pause_manager(false);
    live_rig_wait("the device is back");
    live_rig_keys("q");
    struct command_result result = live_rig_end(process);
    ck_assert_int_eq(result.code, 0);
    const char *lost = strstr(result.err, "the device is lost");
    const char *first = strstr(result.err, "Loud Speakers: ");
    ck_assert_msg(lost && first && strstr(first + 1, "Loud Speakers: ") > lost, "%s", result.err);
    pipewire_rig_end(SIGTERM);
}

START_TEST(a_chain_for_a_device_must_fit)
{
    setenv("XDG_CONFIG_HOME", command_path("config"), 1);
    write_chain("mono.yml", "- mask: half.txt\n  options:\n  - channel=1\n");
    write_chain("gone.yml", "- mask: nowhere.wav\n");
    sound_text("half.txt", "0.5\n");
    sound_text("garbage.yml", "halo\n");
    char text[512];
    snprintf(text, sizeof text, "- mask: %s/quadrature.txt\n", getenv("FILTERS"));
    write_chain("two.yml", text);
    static const struct {
        int code;
        const char *expected, *rule;
    } cases[] = {
        {2, "makes 2 channels, and the first one 1; all need the same number", "x=chain:two.yml"},
        {1, "chain gone.yml, stage 1: cannot open mask nowhere.wav", "x=chain:gone.yml"},
        {1, "--for-device x=chain:none.yml: cannot open chain none.yml", "x=chain:none.yml"},
        {1, "--for-device x=chain:garbage.yml: cannot use chain", "x=chain:garbage.yml"},
        {2, "--for-device x=preset:no: there is no preset 'no'", "x=preset:no"},
        {2, "it has a slash", "x=preset:../a"},
        {2, "--for-device x=2: there is no mask 2: there is 1", "x=2"},
        {2, "NAME=preset:PRESET or NAME=chain:FILE", "x=preset:"},
        {2, "NAME=preset:PRESET or NAME=chain:FILE", "=chain:two.yml"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        command_refused(cases[i].code, cases[i].expected,
                        "\"$HALO\" live --check --channels 1 --mask half.txt --for-device '%s'",
                        cases[i].rule);
        command_refused(cases[i].code, cases[i].expected,
                        "\"$HALO\" live --plain --device null --channels 1 --seconds 0.05 --mask "
                        "half.txt --for-device '%s'",
                        cases[i].rule);
    }
}

/* Where the device stays what it is, one line says so. */
START_TEST(a_device_that_stays_is_reported)
{
    struct command_result result =
        command_done("\"$HALO\" live --plain --device null --seconds 0.05 --for-device x=0");
    command_expect(result.err, "halo: --for-device has no effect: no rule is for null, and the "
                               "device to play to is named\n");
    sound_text("half.txt", "0.5\n");
    result = command_done("\"$HALO\" live --plain --driver null --seconds 0.05 --mask half.txt "
                          "--for-device null=0");
    command_expect(result.err, "halo: null: dry\n");
    command_expect(result.err, "halo: --for-device has no effect after the start: only PipeWire "
                               "tells when the default device changes\n");
}

START_TEST(another_rate_is_followed)
{
    pipewire_rig_start();
    pid_t process = live_rig_start("--sink 'Room correction' " MASK);
    pipewire_rig_force("rate", 44100);
    live_rig_rest(1500);
    live_rig_keys("q");
    struct command_result result = live_rig_end(process);
    ck_assert_msg(result.code == 0, "%s", result.err);
    command_expect(result.err, "at 44100 Hz");
    process = live_rig_start("--rate 44100"); /* which it insists on */
    pipewire_rig_force("rate", 48000);
    result = live_rig_end(process);
    ck_assert_int_eq(result.code, 1);
    command_expect(result.err, "is lost");
    pipewire_rig_end(SIGTERM);
}

/* Halo asks for shorter blocks, and the server has its own. */
START_TEST(the_servers_quantum_is_the_block)
{
    static const unsigned quanta[] = {1024, 2048};
    pipewire_rig_start();
    for (size_t i = 0; i < 2; i++) {
        char expected[64];
        snprintf(expected, sizeof expected, "blocks of %u frames at 48000 Hz", quanta[i]);
        pipewire_rig_force("quantum", quanta[i]);
        struct command_result result =
            command_done("\"$HALO\" live --plain --sink Room --block 64 --seconds 1 " MASK);
        command_expect(result.err, expected);
    }
    pipewire_rig_end(SIGTERM);
}

START_TEST(a_server_without_devices_is_named)
{
    pipewire_rig_start();
    ck_assert_int_eq(pipewire_rig_run("for node in speakers phones mic line; do "
                                      "pw-cli destroy $node || exit; done"),
                     0);
    command_refused(1, "PipeWire runs, but has no sound device",
                    "\"$HALO\" live --driver pipewire --seconds 1");
    command_refused(1, "PipeWire runs, but has no sound device",
                    "\"$HALO\" live --sink Room --seconds 1");
    pipewire_rig_end(SIGTERM);
}
