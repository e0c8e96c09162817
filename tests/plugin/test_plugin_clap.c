/* CLAP: what plugins of our own (tests/plugins/rules_clap.c) see of the host, each rule of which
 * they check themselves, and what becomes of those that break one. */
#include "command.h"
#include "plugin_rig.h"
#include "sound.h"
#include "stream.h"
#include "suite.h"

#include <math.h>
#include <string.h>
#include <time.h>

enum { RATE = PLUGIN_RIG_RATE, BLOCK = PLUGIN_RIG_BLOCK, FRAMES = 40000, CHANNELS = 2 };

#define ID "org.halo.test."

static void begin(void)
{
    sound_noise_file("in.wav", 7, SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE, CHANNELS, FRAMES);
}

/* ---- descriptions ---- */

START_TEST(plugins_are_described)
{
    begin();
    command_done("mkdir presets && echo -12 >presets/quiet.rules && echo x >presets/other.txt");
    struct command_result result = command_done(
        "RULES_PRESETS=$PWD/presets CLAP_PATH=$CLAP_PATH:$PWD/presets $HALO plugins info " ID
        "keep");
    static const char *const lines[] = {
        "maker      halo's tests",
        "category   Utility",
        "channels   2 > 2",
        "-60 .. 20                 0  dB         Gain  (in Output/Level)",
        "Mode  whole  Soft (0), Hard (1), Wire, bare (2)",
        "0 .. 1000               0  samples    Delay  whole",
        "20 .. 20000           1000  Hz         Frequency",
        "Peak",
        "(reports the latency)",
        "preset=plugin:half  half",
        "quiet.rules  quiet.rules",
        "--clap " ID "keep,gain=0",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        command_expect(result.out, lines[i]);
    ck_assert_ptr_null(strstr(result.out, "foreign"));
    ck_assert_ptr_null(strstr(result.out, "other.txt"));
}

/* Only at the beginning, and only before a slash. */
START_TEST(a_home_in_the_path_is_found)
{
    begin();
    command_done("mkdir -p 'a ~home' 'a ~home/~' '~none' && ln -s " HALO_TEST_PLUGINS
                 "/clap 'a ~home/mine'");
    const char *list = "HOME=\"$PWD/a ~home\" CLAP_PATH=%s $HALO plugins list --kind clap";
    ck_assert_ptr_nonnull(strstr(command_done(list, "'/none:~/mine'").out, ID));
    ck_assert_ptr_null(strstr(command_run(list, "'~none:x~/mine'").out, ID));
    ck_assert_ptr_null(strstr(command_run(list, "'~mine'").out, ID));
}

/* A library that is none, or crashes, hides no other. */
START_TEST(broken_libraries_are_skipped)
{
    begin();
    struct command_result result = command_done(
        "CLAP_PATH=" HALO_TEST_PLUGINS "/clap_broken:$CLAP_PATH $HALO plugins list --kind clap");
    struct command_result reported =
        command_done("CLAP_PATH=" HALO_TEST_PLUGINS "/clap_broken:$CLAP_PATH $HALO plugins list "
                     "--kind clap --json");
    static const char *const reasons[] = {
        "crashed (aborted)",
        "crashed (segmentation fault)",
        "its clap_entry lacks a function",
        "its init() failed",
        "it has no clap_entry",
        "it has no plugin factory",
        "it was made for a CLAP before 1.0",
        "create-null: its library does not create it",
        "it lacks a function that CLAP demands",
    };
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        command_expect(reported.out, reasons[i]);
    command_expect(result.err, "skipped crash.clap, ");
    command_expect(result.err, "--json says why");
    ck_assert_uint_eq(command_lines(result.err), 1);
    command_expect(result.out, ID "keep ");
    command_expect(result.out, "/rules.clap:" ID "long-names"); /* its text is not in the file */
    command_done("CLAP_PATH=" HALO_TEST_PLUGINS "/clap_broken:$CLAP_PATH "
                 "$HALO render in.wav out.wav --clap " ID "keep");
    command_refused(1, "has no clap_entry",
                    "$HALO render in.wav no.wav --clap " HALO_TEST_PLUGINS
                    "/clap_broken/no-entry.clap:" ID "keep");
    command_refused(1, "it crashed (segmentation fault)",
                    "CLAP_PATH=" HALO_TEST_PLUGINS
                    "/clap_broken $HALO render in.wav no.wav --clap " ID "init-crash");
}

START_TEST(what_breaks_a_rule_is_refused)
{
    static const char *const refusals[][2] = {
        {"init-false", "cannot run " ID "init-false: its init() failed"},
        {"create-null", "its library does not create it"},
        {"incomplete", "it lacks a function that CLAP demands"},
        {"activate-false", "it cannot be activated at 48000 Hz"},
        {"start-false", "cannot run " ID "start-false: it refuses to process"},
        {"many-parameters", "it has 4294967295 parameters, more than"},
        {"instrument", "it has an input for notes and none for sound, and halo sends no notes"},
        {"many-ports", "it has 4294967295 audio ports, more than"},
        {"no-range", "its parameter 'Gain' has the range nan to 20"},
        {"reversed-range", "its parameter 'Gain' has the range 21 to 20"},
        {"nothing", "cannot find the CLAP plugin " ID "nothing"},
        {"keep,gain=30", "gain"},
        {"keep,param:x=1", "param:"},
        {"keep,preset=broken", "cannot load the preset plugin:broken: the preset is broken"},
        {"keep,preset=foreign", "has no preset 'foreign'"},
    };
    begin();
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        command_refused(0, refusals[i][1], "$HALO render in.wav no.wav --clap " ID "%s",
                        refusals[i][0]);
}

/* ---- sound ---- */

START_TEST(values_and_presets_take_effect)
{
    static const struct {
        const char *spec;
        double gain; /* dB */
    } cases[] = {
        {"keep", 0},
        {"keep,gain=-20dB", -20},
        {"keep,preset=half", -6},
        {"keep,preset=quiet.rules", -12},
        {"keep,preset=half,gain=-3,mode=hard", -3},
        {"side-chain,gain=-1", -1},
        {"far-default", 20},
        {"wrong-thread,gain=2", 2},
        {"rescan,gain=2", 2},
        {"state-false,gain=2", 2},
        {"notes,gain=2", 2},
        {"timer,gain=2", 2},
        {"double,gain=2", 2},
    };
    begin();
    command_done("mkdir presets && echo -12 >presets/quiet.rules");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t here = 0; here < 2; here++) {
            command_done(
                "RULES_PRESETS=$PWD/presets CLAP_PATH=$CLAP_PATH:$PWD/presets $HALO render in.wav out.wav --force --tail "
                "none %s --format float --clap " ID "%s",
                here ? "--no-isolate" : "", cases[i].spec);
            plugin_rig_expect_gain("out.wav", 0, FRAMES, 0, plugin_rig_from_db(cases[i].gain));
        }
}

/* In the sandbox, from a folder that no plugin knows of; and a chain takes it along. */
/* A plugin that prefers 64 bits gets them: its result is rounded once. */
START_TEST(doubles_are_processed)
{
    begin();
    command_done("$HALO render in.wav out.wav -f --tail none --format float --clap "
                 "org.halo.test.double,gain=2");
    struct sound in = sound_load("in.wav"), out = sound_load("out.wav");
    double gain = pow(10, 2.0 / 20);
    for (size_t i = 0; i < FRAMES; i++)
        ck_assert_float_eq(out.block.data[1][i], (float)((double)in.block.data[1][i] * gain));
}

START_TEST(presets_are_loaded_from_any_file)
{
    begin();
    command_done(
        "mkdir -p a/b other && echo -12 >a/quiet.rules && echo -20 >half && echo x >a/bad");
    static const char *const ways[] = {"a/quiet.rules", "$PWD/a/quiet.rules", "file:a/quiet.rules",
                                       "a/quiet.rules?key=any"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        command_done("$HALO render in.wav out.wav -f --tail none --format float --clap " ID
                     "keep,preset=%s",
                     ways[i]);
        plugin_rig_expect_gain("out.wav", 0, FRAMES, 0, plugin_rig_from_db(-12));
    }
    static const struct {
        const char *preset;
        double gain; /* dB */
    } names[] = {{"half", -6}, {"./half", -20}, {"plugin:half", -6}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t j = 0; j < 2; j++) {
            const char *chain = j ? "other/c.yml" : "c.yml";
            command_done("$HALO render in.wav a.wav -f --tail none --format float --clap " ID
                         "keep,preset=%s --save-chain %s && sed -i /@state/d %s",
                         names[i].preset, chain, chain);
            command_done("$HALO render in.wav out.wav -f --tail none --format float --chain %s",
                         chain);
            plugin_rig_expect_gain("out.wav", 0, FRAMES, 0, plugin_rig_from_db(names[i].gain));
        }
    command_done("$HALO render in.wav a.wav -f --tail none --clap " ID
                 "keep,preset=a/quiet.rules --save-chain d.yml --collect && mv a/quiet.rules gone");
    command_done("cmp gone d.yml.files/quiet.rules && sed -i /@state/d d.yml && "
                 "$HALO render in.wav out.wav -f --tail none --format float --chain d.yml");
    plugin_rig_expect_gain("out.wav", 0, FRAMES, 0, plugin_rig_from_db(-12));
    command_refused(1, "cannot read the preset a/none: No such file",
                    "$HALO render in.wav no.wav --clap " ID "keep,preset=a/none");
    command_refused(1, "cannot read the preset a/b: Is a directory",
                    "$HALO render in.wav no.wav --clap " ID "keep,preset=a/b");
    command_refused(1, "the preset is broken",
                    "$HALO render in.wav no.wav --clap " ID "keep,preset=a/bad");
    command_refused(2, "a file is named with its folder, such as ./gone",
                    "$HALO render in.wav no.wav --clap " ID "keep,preset=gone");
}

START_TEST(automation_takes_effect)
{
    static const char *const ids[] = {"keep", "early"};
    enum { FRAME = 24240 /* 0.505 s: within a block */ };
    begin();
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        command_done("$HALO render in.wav out.wav -f --tail none --format float --clap " ID
                     "%s,gain=-6,at=0.505s:gain=6",
                     ids[i]);
        plugin_rig_expect_gain("out.wav", 0, FRAME, 0, plugin_rig_from_db(-6));
        plugin_rig_expect_gain("out.wav", FRAME, FRAMES, 0, plugin_rig_from_db(6));
    }
}

/* The plugin ends its process where the transport is another. CLAP counts quarter notes. */
START_TEST(a_tempo_is_a_transport)
{
    begin();
    command_done("RULES_TEMPO=45,6/8 $HALO render in.wav out.wav -f --tempo 90,6/8 --clap " ID
                 "keep");
    command_done("RULES_TEMPO=120,4/4 $HALO render in.wav out.wav -f --tempo 120 --no-isolate "
                 "--clap " ID "keep");
    command_refused(1, "crashed",
                    "RULES_TEMPO=121,4/4 $HALO render in.wav no.wav --tempo 120 --clap " ID "keep");
}

/* What a plugin does wrong in process() is said, and heard as silence or not at all. */
START_TEST(wrong_calls_are_reported)
{
    static const char *const reports[][2] = {
        {"wrong-thread", "calls params.rescan() outside the main thread"},
        {"rescan", "it changes its list of parameters: the first one is kept"},
        {"error", "it failed to process a block: silence is heard"},
        {"nan,@allow-loud", "invalid samples (NaN or infinite) silenced"},
    };
    begin();
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
        struct command_result result = command_done(
            "$HALO render in.wav out.wav --force --tail none --format float --clap " ID "%s",
            reports[i][0]);
        command_expect(result.err, reports[i][1]);
        ck_assert_ptr_null(strstr(strstr(result.err, reports[i][1]) + 1, reports[i][1]));
        if (i >= 2)
            plugin_rig_expect_gain("out.wav", 0, FRAMES, 0, 0);
    }
}

/* request_callback leads to on_main_thread, and what changes there becomes known. */
START_TEST(the_main_thread_is_called)
{
    begin();
    command_done("$HALO render in.wav out.wav --tail none --format float --clap " ID "callback");
    plugin_rig_expect_gain("out.wav", 2 * BLOCK, FRAMES, 0, plugin_rig_from_db(-20));
}

START_TEST(channels_follow_the_ports)
{
    begin();
    command_done("$HALO render in.wav out.wav --format float --clap " ID "two-outputs");
    struct sound out = sound_load("out.wav");
    ck_assert_uint_eq(out.block.channels, 4);
    command_done("$HALO render in.wav swapped.wav --tail none --format float --clap " ID
                 "keep,@map=2:1 --clap " ID "keep,@map=2:1");
    plugin_rig_expect_gain("swapped.wav", 0, FRAMES, 0, 1);
    command_done("$HALO render in.wav mixed.wav --tail none --format float --clap " ID
                 "keep,gain=-20,@mix=0.5");
    plugin_rig_expect_gain("mixed.wav", 0, FRAMES, 0, 0.5 + 0.5 * plugin_rig_from_db(-20));
}

/* ---- latency and tail ---- */

START_TEST(a_latency_is_aligned)
{
    begin();
    command_done("$HALO render in.wav out.wav --tail none --format float --clap " ID
                 "keep,delay=700");
    plugin_rig_expect_gain("out.wav", 0, FRAMES, 0, 1);
    /* A change of it restarts the plugin, which then forgets what it holds. */
    command_done("$HALO render in.wav changed.wav --tail none --format float --clap " ID
                 "keep,delay=300,at=0.5s:delay=100");
    plugin_rig_expect_gain("changed.wav", 0, RATE / 2 - 300, 0, 1);
    plugin_rig_expect_gain("changed.wav", RATE / 2 + 2 * BLOCK, FRAMES, 0, 1);
}

START_TEST(a_tail_is_exact)
{
    begin();
    struct command_result result = command_done(
        "$HALO render in.wav out.wav --tail full --format float --json --clap " ID "tail");
    ck_assert_double_eq(command_number(result.out, "frames_out"), FRAMES + 1000);
    struct sound out = sound_load("out.wav"), in = sound_load("in.wav");
    ck_assert_float_eq(out.block.data[0][FRAMES + 999], 0.5F * in.block.data[0][FRAMES - 1]);
    /* With automation, and endless: until it is quiet, as without a tail. */
    result = command_done("$HALO render in.wav out.wav -f --tail full --json --clap " ID
                          "tail,at=0.1s:gain=-1");
    ck_assert_double_eq(command_number(result.out, "frames_out"), FRAMES + 1000);
    result = command_done("$HALO render in.wav out.wav -f --tail full --json --clap " ID "endless");
    ck_assert_double_eq(command_number(result.out, "frames_out"), FRAMES);
}

/* ---- state ---- */

START_TEST(states_are_saved_and_loaded)
{
    begin();
    command_done(
        "$HALO render in.wav a.wav --tail none --format float --save-chain c.yml --clap " ID
        "keep,preset=half,mode=Hard");
    command_done("$HALO render in.wav b.wav --tail none --format float --chain c.yml");
    command_done("cmp a.wav b.wav");
    plugin_rig_expect_gain("b.wav", 0, FRAMES, 0, plugin_rig_from_db(-6));
    command_done("head -n 1 c.yml.state/1/state.clap | grep -x 'CLAP state of " ID
                 "keep: 40 bytes'");
    command_done("$HALO render in.wav d.wav --tail none --format float --clap " ID
                 "keep,@state=c.yml.state/1");
    plugin_rig_expect_gain("d.wav", 0, FRAMES, 0, plugin_rig_from_db(-6));
    command_refused(1, "it is the state of another plugin",
                    "$HALO render in.wav no.wav --clap " ID "tail,@state=c.yml.state/1");
    command_done("truncate -s -1 c.yml.state/1/state.clap");
    command_refused(1, "state.clap: it is damaged",
                    "$HALO render in.wav no.wav --clap " ID "keep,@state=c.yml.state/1");
    command_done("! $HALO render in.wav no.wav --json --clap " ID
                 "keep,@state=c.yml.state/1 >error;"
                 "grep -q '\"cause\":\"damaged\"' error && rm error"); /* of the other process */
    command_done("echo hello >c.yml.state/1/state.clap");
    command_refused(1, "it is not the state of a CLAP plugin",
                    "$HALO render in.wav no.wav --clap " ID "keep,@state=c.yml.state/1");
    command_done("printf 'CLAP state of " ID
                 "keep: 40 bytes\\n%%040d' 0 >c.yml.state/1/state.clap");
    command_done("$HALO render in.wav e.wav --clap " ID "keep,@state=c.yml.state/1");
    command_done("printf 'CLAP state of " ID "keep: 40 bytes\\n' >c.yml.state/1/state.clap && "
                 "head -c 40 /dev/zero | tr '\\0' '\\377' >>c.yml.state/1/state.clap");
    command_refused(1, "state.clap: keep: the state has no gain",
                    "$HALO render in.wav no.wav --clap " ID "keep,@state=c.yml.state/1");
    command_refused(1, "the plugin failed",
                    "$HALO render in.wav no.wav --save-chain s.yml --clap " ID "state-false");
}

/* ---- live ---- */

/* A restart is done by another thread, while the step goes on with silence. */
START_TEST(a_live_plugin_restarts_beside_the_step)
{
    struct plugin_rig_live live;
    plugin_rig_open(&live, "clap", ID "keep");
    struct plugin_change change = {.port = plugin_rig_port(live.info, "delay"), .value = 64};
    for (int round = 1; round <= 20; round++) {
        change.value = (float)(64 * (round % 3));
        plugin_rig_run(&live, &change);
        ck_assert_uint_lt(plugin_rig_await(&live, (uint64_t)change.value), 2000);
        while (live.out.data[0][BLOCK - 1] == 0)
            plugin_rig_run(&live, NULL);
        ck_assert_float_eq(live.out.data[0][BLOCK - 1], 0.25F);
    }
    live.instances->kind->reset(live.instances);
    plugin_rig_reset_early(&live, &change);
    plugin_rig_close(&live);
}

START_TEST(a_live_plugin_is_called_on_its_main_thread)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    struct plugin_rig_live live;
    plugin_rig_open(&live, "clap", ID "callback");
    for (int i = 0; i < 1000 && live.out.data[0][0] != 0.025F; i++) {
        plugin_rig_run(&live, NULL);
        nanosleep(&pause, NULL);
    }
    ck_assert_float_eq_tol(live.out.data[0][0], 0.025F, 1e-6F);
    plugin_rig_close(&live);
}

int main(void)
{
    plugin_rig_prepare();
    return suite_run();
}
