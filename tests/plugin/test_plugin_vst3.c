/* VST3: what plugins of our own (tests/plugins/rules_vst3.c) see of the host, each rule of which
 * they check themselves, and what becomes of those that break one. */
#include "command.h"
#include "plugin_rig.h"
#include "sound.h"
#include "suite.h"

#include <math.h>
#include <string.h>
#include <time.h>

enum { RATE = PLUGIN_RIG_RATE, BLOCK = PLUGIN_RIG_BLOCK, FRAMES = 40000, CHANNELS = 2 };

#define RENDER "$HALO render in.wav out.wav -f --tail none --format float --vst3 "

static void begin(void)
{
    sound_noise_file("in.wav", 7, SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE, CHANNELS, FRAMES);
}

/* ---- descriptions ---- */

START_TEST(plugins_are_described)
{
    begin();
    struct command_result result = command_done("$HALO plugins info rules.vst3:keep");
    static const char *const lines[] = {
        "kind       vst3",
        "maker      halo's tests",
        "category   Tools",
        "channels   2 > 2",
        "-60 .. 20                 0  dB         Gain  (in Output/Level)",
        "0 .. 2                  1             Mode  whole  Soft (0), Hard (1), Wire, bare (2)",
        "0 .. 1000               0  samples    Delay  whole",
        "Frequency",
        "Bypass  on or off",
        "Peak",
        "(reports the latency)",
        "preset=plugin:1  half",
        "--vst3 rules.vst3:keep,gain=0",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        command_expect(result.out, lines[i]);
    ck_assert_ptr_null(strstr(result.out, "Hidden"));
    ck_assert_ptr_null(strstr(result.out, "Program"));
    command_expect(command_done("$HALO plugins list --kind vst3 rules keep").out,
                   "rules.vst3:keep");
    command_expect(command_done("$HALO plugins info " HALO_TEST_PLUGINS "/vst3/rules.vst3:joined "
                                "--json")
                       .out,
                   "\"Gain\"");
    ck_assert_ptr_null(strstr(command_done("$HALO plugins info rules.vst3:midi").out, "MIDI CC"));
    command_refused(2, "has several plugins: name one", RENDER "rules");
    command_refused(1, "there is no plugin 'none' in", RENDER "rules:none");
    command_refused(1, "cannot find the VST3 plugin nothing", RENDER "nothing");
}

/* A chain file keeps a path that is one. */
START_TEST(bundles_are_found_by_their_paths)
{
    begin();
    command_done("mkdir other && cp -r " HALO_TEST_PLUGINS "/vst3/rules.vst3 'other/My, own.vst3' "
                 "&& cd 'other/My, own.vst3'/Contents/* && mv rules.so 'My, own.so'");
    command_done("cd other && $HALO render ../in.wav a.wav --tail none --format float "
                 "--save-chain c.yml --vst3 './My\\, own.vst3:keep,gain=-4'");
    command_done("grep -qx -- '- vst3: ./My, own.vst3:keep' other/c.yml && "
                 "$HALO render in.wav out.wav --tail none --format float --chain other/c.yml");
    plugin_rig_expect_gain("out.wav", 0, FRAMES, 0, plugin_rig_from_db(-4));
}

/* Plain values from 0 to 1 of a plugin whose texts show dB and Hz: the texts count. */
START_TEST(scales_come_from_texts)
{
    begin();
    struct command_result result = command_done("$HALO plugins info rules.vst3:unit");
    command_expect(result.out, "dB         Gain  (in Output/Level)");
    command_expect(result.out, "20 .. 20000        632.456  Hz         Frequency");
    static const double gains[] = {-20.5, -3, 0, 6};
    for (size_t i = 0; i < sizeof gains / sizeof *gains; i++) {
        command_done(RENDER "rules:unit,gain=%gdB", gains[i]);
        plugin_rig_expect_gain("out.wav", 0, FRAMES, 0, plugin_rig_from_db(gains[i]));
    }
}

/* A library that is none, or crashes, hides no other. */
START_TEST(broken_bundles_are_skipped)
{
    begin();
    command_done("mkdir -p more/empty.vst3 && echo x >more/text.vst3");
    const char *list = "VST3_PATH=" HALO_TEST_PLUGINS
                       "/vst3_broken:$VST3_PATH:$PWD/more $HALO plugins list --kind vst3 --json";
    struct command_result reported = command_done("%s", list);
    static const char *const reasons[] = {
        "crashed (aborted)",
        "crashed (segmentation fault)",
        "it lacks ModuleEntry, ModuleExit or GetPluginFactory",
        "its ModuleEntry() failed",
        "it has no plugin factory",
        "empty.so: cannot open shared object file",
        "create-null: its library does not create it",
        "its initialize() failed",
        "its controller's initialize() failed",
        "it has no audio processor",
    };
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        command_expect(reported.out, reasons[i]);
    command_expect(reported.out, "rules.vst3:keep");
    command_refused(1, "lacks ModuleEntry", RENDER HALO_TEST_PLUGINS "/vst3_broken/no-entry.vst3");
    command_refused(1, "it crashed (segmentation fault)",
                    RENDER HALO_TEST_PLUGINS "/vst3_broken/init-crash.vst3");
}

START_TEST(what_breaks_a_rule_is_refused)
{
    static const char *const refusals[][2] = {
        {"init-false", "cannot run init-false: its initialize() failed"},
        {"controller-false", "its controller's initialize() failed"},
        {"create-null", "its library does not create it"},
        {"no-processor", "it has no audio processor"},
        {"activate-false", "it cannot be activated at 48000 Hz"},
        {"many-parameters", "it has 2147483647 parameters, more than"},
        {"instrument", "it has an input for notes and none for sound, and halo sends no notes"},
        {"many-buses", "it has 2147483647 buses, more than"},
        {"no-default", "its parameter 'Gain' has 0 steps, and the default nan"},
        {"keep,gain=30", "gain"},
        {"keep,param:x=1", "param:"},
        {"keep,preset=none-such", "has no preset 'none-such'"},
        {"keep,preset=plugin:3", "has no preset plugin:3"},
    };
    begin();
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        command_refused(0, refusals[i][1], "$HALO render in.wav no.wav --vst3 rules:%s",
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
        {"joined,gain=-20dB", -20},
        {"keep,preset=half", -6},
        {"joined,preset=quiet", -12},
        {"keep,preset=half,gain=-3,mode=hard", -3},
        {"keep,gain=-20,bypass=on", 0},
        {"deaf,gain=-20", -20},
        {"lazy,gain=-20", -20},
        {"deaf,preset=half", -6},
        {"keep,frequency=1kHz,gain=1", 1},
        {"double,gain=-7", -7},
        {"no-controller", -20},
        {"side-chain,gain=-1", -1},
        {"notes,gain=2", 2},
        {"apart", -3},
        {"apart,gain=-20dB", -20},
        {"apart,preset=half", -6},
        {"apart,preset=half,mode=hard", -6},
        {"apart,preset=half,gain=-4", -4},
        {"long-names", 0},
    };
    begin();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t here = 0; here < 2; here++) {
            command_done(RENDER "rules:%s %s", cases[i].spec, here ? "--no-isolate" : "");
            plugin_rig_expect_gain("out.wav", 0, FRAMES, 0, plugin_rig_from_db(cases[i].gain));
        }
}

/* The bus of the side chain is active if the side chain has a sound. */
START_TEST(side_chains_are_active_if_they_are_used)
{
    begin();
    command_done(RENDER "rules:side-chain,@map=1:1,@sidechain=2");
    struct sound in = sound_load("in.wav"), out = sound_load("out.wav");
    for (size_t i = 0; i < FRAMES; i++)
        ck_assert_float_eq_tol(out.block.data[1][i], in.block.data[0][i] + in.block.data[1][i],
                               1e-6F);
}

START_TEST(automation_takes_effect_at_its_frame)
{
    static const char *const classes[] = {"keep", "joined", "double"};
    enum { FRAME = 24240 /* 0.505 s: within a block */ };
    begin();
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        command_done(RENDER "rules:%s,gain=-6,at=0.505s:gain=6", classes[i]);
        plugin_rig_expect_gain("out.wav", 0, FRAME, 0, plugin_rig_from_db(-6));
        plugin_rig_expect_gain("out.wav", FRAME, FRAMES, 0, plugin_rig_from_db(6));
    }
}

/* The plugin ends its process where the context is another. VST3 counts quarter notes. */
START_TEST(a_tempo_is_in_the_context)
{
    begin();
    command_done("RULES_TEMPO=45,6/8 " RENDER "rules:keep --tempo 90,6/8");
    command_done("RULES_TEMPO=120,4/4 " RENDER "rules:keep --tempo 120 --no-isolate");
    command_refused(1, "crashed",
                    "RULES_TEMPO=121,4/4 $HALO render in.wav no.wav --tempo 120 --vst3 rules:keep");
}

/* What a plugin does wrong in process() is said, and heard as silence or not at all. */
START_TEST(wrong_calls_are_reported)
{
    static const char *const reports[][2] = {
        {"io-changed", "it changes its buses: the first ones are kept"},
        {"error", "it failed to process a block: silence is heard"},
        {"nan,@allow-loud", "invalid samples (NaN or infinite) silenced"},
    };
    begin();
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
        struct command_result result = command_done(RENDER "rules:%s", reports[i][0]);
        command_expect(result.err, reports[i][1]);
        ck_assert_ptr_null(strstr(strstr(result.err, reports[i][1]) + 1, reports[i][1]));
        if (i >= 1)
            plugin_rig_expect_gain("out.wav", 0, FRAMES, 0, 0);
    }
}

/* An edit of the controller reaches the component. */
START_TEST(edits_of_the_controller_are_sent)
{
    begin();
    command_done(RENDER "rules:edits");
    plugin_rig_expect_gain("out.wav", 0, BLOCK, 0, 1);
    plugin_rig_expect_gain("out.wav", BLOCK, FRAMES, 0, plugin_rig_from_db(-20));
}

/* Live they do, too: an edit that the component asks for in a block, and one by a timer and a pipe
 * that the host watches for the controller. */
START_TEST(edits_of_a_live_controller_are_sent)
{
    static const char *const ids[] = {"rules:edits", "rules:loop"};
    const struct timespec period = {.tv_nsec = BLOCK * 1000000000L / RATE};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        struct plugin_rig_live live;
        plugin_rig_open(&live, "vst3", ids[i]);
        struct plugin_change change = {.port = plugin_rig_port(live.info, "gain"), .value = -6};
        plugin_rig_run(&live, &change);
        double now = 0, wanted = 0.25 * plugin_rig_from_db(-20);
        for (size_t block = 0; block < 100000 && fabs(now - wanted) > 1e-6; block++) {
            plugin_rig_run(&live, NULL);
            now = (double)live.out.data[0][BLOCK - 1];
            nanosleep(&period, NULL);
        }
        ck_assert_double_eq_tol(now, wanted, 1e-6);
        change.value = -3; /* what the host sets afterwards counts */
        plugin_rig_run(&live, &change);
        for (size_t block = 0; block < 200; block++)
            plugin_rig_run(&live, NULL);
        ck_assert_double_eq_tol((double)live.out.data[0][BLOCK - 1], 0.25 * plugin_rig_from_db(-3),
                                1e-6);
        plugin_rig_close(&live);
    }
}

/* A plugin that wants to be loaded anew is another object afterwards, with its values. */
START_TEST(a_plugin_is_loaded_anew)
{
    begin();
    command_done(RENDER "rules:reloads,gain=-3,at=0.5s:delay=100");
    plugin_rig_expect_gain("out.wav", 0, RATE / 2 - 100, 0, plugin_rig_from_db(-3));
    plugin_rig_expect_gain("out.wav", RATE / 2 + 2 * BLOCK, FRAMES, 0, 2 * plugin_rig_from_db(-3));
    struct plugin_rig_live live;
    plugin_rig_open(&live, "vst3", "rules:reloads");
    plugin_rig_run(&live, NULL);
    double before = (double)live.out.data[0][BLOCK - 1];
    struct plugin_change change = {.port = plugin_rig_port(live.info, "delay"), .value = 64};
    plugin_rig_run(&live, &change);
    ck_assert_uint_lt(plugin_rig_await(&live, 64), 2000);
    while (live.out.data[0][BLOCK - 1] == 0)
        plugin_rig_run(&live, NULL);
    ck_assert_double_eq_tol((double)live.out.data[0][BLOCK - 1], 2 * before, 1e-6);
    plugin_rig_close(&live);
}

START_TEST(channels_follow_the_buses)
{
    begin();
    command_done("$HALO render in.wav out.wav --format float --vst3 rules:two-outputs");
    ck_assert_uint_eq(sound_load("out.wav").block.channels, 4);
    command_done("$HALO render in.wav swapped.wav --tail none --format float --vst3 "
                 "rules:keep,@map=2:1 --vst3 rules:joined,@map=2:1");
    plugin_rig_expect_gain("swapped.wav", 0, FRAMES, 0, 1);
    command_done("$HALO render in.wav mixed.wav --tail none --format float --vst3 "
                 "rules:keep,gain=-20,@mix=0.5");
    plugin_rig_expect_gain("mixed.wav", 0, FRAMES, 0, 0.5 + 0.5 * plugin_rig_from_db(-20));
}

/* A sound of more channels than the plugin has by itself is asked for, and may be refused. */
START_TEST(a_plugin_takes_more_channels_if_it_can)
{
    sound_noise_file("in.wav", 7, SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE, 6, FRAMES);
    command_done(RENDER "rules:wide,gain=-6");
    struct sound in = sound_load("in.wav"), out = sound_load("out.wav");
    ck_assert_uint_eq(out.block.channels, 6);
    for (size_t c = 0; c < 6; c++)
        for (size_t i = 0; i < FRAMES; i++)
            ck_assert_double_eq_tol((double)out.block.data[c][i],
                                    plugin_rig_from_db(-6) * (double)in.block.data[c][i], 1e-6);
    command_done(RENDER "rules:keep,gain=-6,@map=each && cp out.wav pairs.wav");
    command_done(RENDER "rules:wide,gain=-6 && cmp out.wav pairs.wav");
    /* The sandbox lets the plugin's process read a bundle that no search path has. */
    command_done(RENDER HALO_TEST_PLUGINS "/vst3_alone/wide.vst3,gain=-6 && cmp out.wav pairs.wav");
    command_refused(1, "6 channels", "$HALO render in.wav no.wav --vst3 rules:keep");
    command_expect(command_done("$HALO plugins info 'rules.vst3:wide#1'").out, "channels   1 > 1");
    command_expect(command_done("$HALO plugins info 'rules.vst3:keep#1'").out, "channels   2 > 2");
}

/* ---- latency and tail ---- */

START_TEST(a_latency_is_aligned)
{
    static const char *const classes[] = {"keep", "joined", "apart,gain=0"};
    begin();
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        command_done(RENDER "rules:%s,delay=700", classes[i]);
        plugin_rig_expect_gain("out.wav", 0, FRAMES, 0, 1);
        /* A change of it restarts the plugin, which then forgets what it holds. */
        command_done(RENDER "rules:%s,delay=300,at=0.5s:delay=100", classes[i]);
        plugin_rig_expect_gain("out.wav", 0, RATE / 2 - 300, 0, 1);
        plugin_rig_expect_gain("out.wav", RATE / 2 + 2 * BLOCK, FRAMES, 0, 1);
    }
}

/* A latency that a thread of the plugin's own reports is read, without a restart. */
START_TEST(a_latency_of_another_thread_is_read)
{
    begin();
    command_done(RENDER "rules:own-thread,delay=500");
    plugin_rig_expect_gain("out.wav", 0, FRAMES, 0, 1);
    command_done(RENDER "rules:own-thread,delay=300,at=0.5s:delay=100");
    plugin_rig_expect_gain("out.wav", 0, RATE / 2 - 300, 0, 1);
    plugin_rig_expect_gain("out.wav", RATE / 2 + 2 * BLOCK, FRAMES, 0, 1);
}

START_TEST(a_tail_is_exact)
{
    begin();
    const char *render = "$HALO render in.wav out.wav -f --tail full --format float --json --vst3 ";
    struct command_result result = command_done("%srules:tail", render);
    ck_assert_double_eq(command_number(result.out, "frames_out"), FRAMES + 1000);
    struct sound out = sound_load("out.wav"), in = sound_load("in.wav");
    ck_assert_float_eq(out.block.data[0][FRAMES + 999], 0.5F * in.block.data[0][FRAMES - 1]);
    /* Endless: until it is quiet, as without a tail. */
    result = command_done("%srules:endless", render);
    ck_assert_double_eq(command_number(result.out, "frames_out"), FRAMES);
}

/* ---- state ---- */

START_TEST(states_are_saved_and_loaded)
{
    begin();
    command_done("$HALO render in.wav a.wav --tail none --format float --save-chain c.yml --vst3 "
                 "rules:keep,preset=half,mode=Hard");
    command_done("$HALO render in.wav b.wav --tail none --format float --chain c.yml");
    command_done("cmp a.wav b.wav");
    plugin_rig_expect_gain("b.wav", 0, FRAMES, 0, plugin_rig_from_db(-6));
    command_done("$HALO render in.wav a.wav -f --tail none --format float --save-chain d.yml "
                 "--vst3 rules:deaf,gain=-9 && sed -i /gain/d d.yml");
    command_done("$HALO render in.wav b.wav -f --tail none --format float --chain d.yml");
    plugin_rig_expect_gain("b.wav", 0, FRAMES, 0, plugin_rig_from_db(-9));
    command_done("cp c.yml.state/1/state.vstpreset mine.vstpreset && "
                 "head -c 4 mine.vstpreset | grep -q VST3 && tail -c 48 mine.vstpreset | "
                 "grep -aq List");
    command_done(RENDER "rules:keep,@state=c.yml.state/1");
    plugin_rig_expect_gain("out.wav", 0, FRAMES, 0, plugin_rig_from_db(-6));
    command_done(RENDER "rules:keep,preset=./mine.vstpreset");
    plugin_rig_expect_gain("out.wav", 0, FRAMES, 0, plugin_rig_from_db(-6));
    command_done("mkdir -p home/.vst3/presets/\"halo's tests\"/keep && "
                 "cp mine.vstpreset home/.vst3/presets/\"halo's tests\"/keep/Mine.vstpreset && "
                 "HOME=$PWD/home " RENDER "rules:keep,preset=Mine");
    plugin_rig_expect_gain("out.wav", 0, FRAMES, 0, plugin_rig_from_db(-6));
    command_refused(1, "it is the state of another plugin",
                    "$HALO render in.wav no.wav --vst3 rules:tail,@state=c.yml.state/1");
    static const char *const damages[][2] = {
        {"truncate -s -1 ", "it is damaged"},
        {"truncate -s 48 bad.vstpreset && printf 'List\\0\\0\\0\\0' >>bad.vstpreset && "
         "printf '\\60\\0\\0\\0' | dd bs=1 seek=40 conv=notrunc status=none of=",
         "it has no state of the plugin"},
        {"truncate -s 20 ", "it is not a .vstpreset file"},
        {"printf '\\377\\377\\377\\377\\377\\377\\377\\177' | "
         "dd bs=1 seek=40 conv=notrunc status=none of=",
         "it is damaged"},
        {"printf '\\377\\377\\377\\377\\377\\377\\377\\377' | "
         "dd bs=1 seek=48 conv=notrunc status=none of=",
         "the plugin refuses it"},
    };
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        command_done("cp mine.vstpreset bad.vstpreset && %sbad.vstpreset", damages[i][0]);
        command_refused(1, damages[i][1],
                        "$HALO render in.wav no.wav --vst3 rules:keep,preset=./bad.vstpreset");
    }
    command_done(
        "$HALO render in.wav a.wav -f --tail none --format float --save-chain a.yml --vst3 "
        "rules:apart,gain=-7");
    plugin_rig_expect_gain("a.wav", 0, FRAMES, 0, plugin_rig_from_db(-7));
    command_done(RENDER "rules:apart,@state=a.yml.state/1");
    plugin_rig_expect_gain("out.wav", 0, FRAMES, 0, plugin_rig_from_db(-7));
    command_done("$HALO render in.wav e.wav --save-chain s.yml --vst3 rules:state-false && "
                 "! test -e s.yml.state");
}

/* A value between those that texts can show: it stays what it is, if others are set and if it is
 * saved again. */
START_TEST(a_state_does_not_drift)
{
    begin();
    command_done("$HALO render in.wav a.wav --tail none --save-chain a.yml --vst3 "
                 "rules:unit,gain=-3 && sed -i /gain/d a.yml");
    command_done("printf '\\1\\2\\3\\4\\5\\6\\347\\77' | dd bs=1 seek=48 conv=notrunc status=none "
                 "of=a.yml.state/1/state.vstpreset");
    command_done(RENDER "rules:unit,@state=a.yml.state/1 && mv out.wav a.wav");
    command_done(RENDER "rules:unit,@state=a.yml.state/1,frequency=100 && cmp out.wav a.wav");
    command_done(RENDER "rules:unit,@state=a.yml.state/1,frequency=100 --save-chain b.yml && "
                        "cmp out.wav a.wav");
    command_done("cmp -n 56 a.yml.state/1/state.vstpreset b.yml.state/1/state.vstpreset");
}

/* ---- live ---- */

/* A restart is done by another thread, while the step goes on with silence. */
START_TEST(a_live_plugin_restarts_beside_the_step)
{
    static const char *const ids[] = {"rules:keep", "rules:own-thread", "rules:apart"};
    const double levels[] = {0.25, 0.25, 0.25 * plugin_rig_from_db(-3)};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        struct plugin_rig_live live;
        plugin_rig_open(&live, "vst3", ids[i]);
        struct plugin_change change = {.port = plugin_rig_port(live.info, "delay")};
        for (int round = 1; round <= 10; round++) {
            change.value = (float)(64 * (round % 3));
            plugin_rig_run(&live, &change);
            ck_assert_uint_lt(plugin_rig_await(&live, (uint64_t)change.value), 2000);
            while (live.out.data[0][BLOCK - 1] == 0)
                plugin_rig_run(&live, NULL);
            ck_assert_double_eq_tol((double)live.out.data[0][BLOCK - 1], levels[i], 1e-6);
        }
        live.instances->kind->reset(live.instances);
        plugin_rig_reset_early(&live, &change);
        plugin_rig_close(&live);
    }
}

int main(void)
{
    plugin_rig_prepare();
    return suite_run();
}
