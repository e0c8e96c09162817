/* halo live with plugins in its chain: keys and OSC change the output, the log reproduces the
 * recording, and a failing plugin is left out. */
#include "live_rig.h"
#include "plugin_rig.h"
#include "suite.h"
#include "tmux.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#ifdef HALO_TEST_OSC
#include <lo/lo.h>
#endif

enum { RATE = LIVE_RIG_RATE, BLOCK = 256, LONG_BLOCK = 1024 };

#define AMP "http://lv2plug.in/plugins/eg-amp"
#define DELAY "http://gareus.org/oss/lv2/nodelay"
#define RECORDED                                                                                   \
    LIVE_RIG_DEVICE                                                                                \
    "--record rec.wav --record-dry dry.wav --meter-interval 0.02 --block 256 "
/* In real time, where a plugin may be late. */
#define PACED                                                                                      \
    "--device null:in=in.wav,pace=1 --record rec.wav --record-dry dry.wav --meter-interval 0.02 "  \
    "--block 1024 --force "

/* Noise below the limiter's ceiling. */
static void begin(void)
{
    command_clean();
    struct block signal = live_rig_noise(2, 0, 40 * RATE, 0.05f);
    live_rig_save(&signal, "in.wav");
    sound_text("half.txt", "0.5\n");
    sound_text("quarter.txt", "0.25\n");
}

/* False, and the suite is skipped, where a plugin is missing. */
static bool is_there(const char *kind, const char *id)
{
    struct plugin_info *info = plugin_rig_describe(kind, id);
    plugin_info_destroy(info);
    return info != NULL;
}

static struct command_result end(pid_t process)
{
    live_rig_keys("q");
    struct command_result result = live_rig_end(process);
    ck_assert_msg(result.code == 0, "%s", result.err);
    return result;
}

/* ---- the recordings ---- */

/* Frames from `at` on, as long as they are `gain` times the input `latency` frames before. */
static size_t frames_like(const struct sound *output, const struct sound *dry, size_t at,
                          size_t latency, double gain)
{
    const float *out = output->block.data[0], *in = dry->block.data[0];
    size_t i = at < latency ? latency : at;
    while (i < output->block.frames && fabs((double)out[i] - gain * (double)in[i - latency]) < 2e-7)
        i++;
    return i - at;
}

/* Each of the gains was in effect for a while, in this order. Returns the first frame of the
 * last. */
static size_t expect_gains(size_t latency, const double *gains, size_t count)
{
    struct sound output = sound_load("rec.wav"), dry = sound_load("dry.wav");
    size_t at = RATE / 2; /* after the fade in */
    for (size_t g = 0; g < count; g++) {
        while (at < output.block.frames &&
               frames_like(&output, &dry, at, latency, gains[g]) < BLOCK)
            at++;
        ck_assert_msg(at < output.block.frames, "gain %g does not occur", gains[g]);
    }
    return at;
}

static double from_db(double db)
{
    return pow(10, db / 20);
}

/* ---- keys ---- */

START_TEST(keys_change_a_plugin)
{
    if (!is_there("lv2", AMP))
        return;
    begin();
    pid_t process = live_rig_start(RECORDED "--mask half.txt --lv2 " AMP ",gain=-6 --gain 0");
    live_rig_wait("[2 eg-amp gain -6 dB]");
    live_rig_play(700);
    live_rig_keys("+");
    live_rig_wait("[2 eg-amp gain -4 dB]");
    live_rig_play(100);
    live_rig_keys("--=-");
    live_rig_wait("[2 eg-amp gain -8 dB]");
    live_rig_play(100);
    live_rig_keys("b");
    live_rig_wait("[2 eg-amp gain -8 dB  BYPASSED]");
    live_rig_play(100);
    live_rig_keys("bc");
    live_rig_wait("[2 eg-amp @mix 1]");
    live_rig_keys("-----");
    live_rig_wait("[2 eg-amp @mix 0.9]");
    live_rig_play(100);
    live_rig_keys("c");
    live_rig_wait("[2 eg-amp @bypass off]");
    live_rig_keys("cC+");
    live_rig_wait("[2 eg-amp @bypass on  BYPASSED]");
    live_rig_play(100);
    end(process);
    const double gains[] = {0.5 * from_db(-6),
                            0.5 * from_db(-4),
                            0.5 * from_db(-8),
                            0.5,
                            0.5 * (0.9 * from_db(-8) + 0.1),
                            0.5};
    expect_gains(0, gains, sizeof gains / sizeof *gains);
    live_rig_expect_replay();
}

START_TEST(logs_of_other_stages_are_refused)
{
    static const struct {
        const char *event, *expected;
    } cases[] = {
        {"\"event\":\"failed\",\"stage\":2", "it has an event of a missing stage"},
        {"\"event\":\"absent\",\"stage\":1", "it has an event of a missing stage"},
        {"\"event\":\"failed\"", "it has an unknown event"},
        {"\"event\":\"control\",\"stage\":2,\"control\":\"gain\"", "there is no stage 2"},
        {"\"event\":\"control\",\"stage\":1,\"control\":\"gain\"", "has no control 'gain'"},
        {"\"event\":\"control\",\"stage\":1", "it has an unknown event"},
    };
    begin();
    command_done("\"$HALO\" live --plain --seconds 0.2 " RECORDED "--mask half.txt");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        command_done("{ cat rec.wav.log; echo '{\"frame\":0,\"value\":0,%s}'; } >odd.log",
                     cases[i].event);
        command_refused(2, cases[i].expected,
                        "\"$HALO\" render dry.wav again.wav --replay odd.log");
    }
}

static void check_several(const char *how, const char *device)
{
    begin();
    pid_t process = live_rig_start("%s %s --ladspa amp:amp_mono,Gain=0.5 --mask half.txt --or "
                                   "--mask quarter.txt --lv2 " AMP ",gain=-6",
                                   device, how);
    live_rig_wait("[1 amp_mono ");
    live_rig_rest(700);
    live_rig_keys("c");
    live_rig_wait("[3 eg-amp gain -6 dB]");
    live_rig_keys("+");
    live_rig_rest(150);
    live_rig_keys("2");
    live_rig_rest(150);
    live_rig_keys("b");
    live_rig_wait("BYPASSED");
    live_rig_rest(150);
    end(process);
    const double gains[] = {0.25 * from_db(-6), 0.25 * from_db(-4), 0.125 * from_db(-4), 0.125};
    expect_gains(0, gains, sizeof gains / sizeof *gains);
    live_rig_expect_replay();
}

/* Before and after masks to choose from; in real time and faster, isolated and not. */
START_TEST(several_plugins_add_no_latency)
{
    if (!is_there("lv2", AMP) || !is_there("ladspa", "amp:amp_mono"))
        return;
    check_several("", RECORDED);
    check_several("", PACED);
    check_several("--no-isolate", RECORDED);
}

START_TEST(control_keys_do_nothing_without_plugins)
{
    begin();
    pid_t process = live_rig_start(RECORDED "--mask half.txt");
    live_rig_keys("+");
    live_rig_wait("no controls: the chain has no plugins");
    end(process);
}

/* Dry signal and chain are aligned. */
START_TEST(dry_is_delayed_by_plugin_latency)
{
    if (!is_there("lv2", DELAY) || !is_there("ladspa", "amp:amp_mono"))
        return;
    begin();
    pid_t process = live_rig_start(RECORDED "--lv2 " DELAY ",delay=480 --mask half.txt --or "
                                            "--mask quarter.txt --ladspa amp:amp_mono,Gain=0.5");
    live_rig_play(1500);
    live_rig_keys(" ");
    live_rig_wait("0 dry");
    live_rig_play(400);
    live_rig_keys("2");
    live_rig_wait("2 quarter.txt  [");
    live_rig_play(400);
    end(process);
    const double gains[] = {0.25, 1, 0.125};
    expect_gains(480, gains, sizeof gains / sizeof *gains);
    live_rig_expect_replay();
}

/* ---- the screen ---- */

START_TEST(the_screen_shows_the_control)
{
    if (!is_there("lv2", DELAY) || !is_there("lv2", AMP) || !tmux_there())
        return;
    begin();
    tmux_open(110, 30,
              "\"$HALO\" live " LIVE_RIG_DEVICE "--block 256 --mask half.txt --lv2 " DELAY
              ",delay=480 --lv2 " AMP "; echo ended with $?");
    const char *screen = tmux_wait(" control 2 nodelay ");
    ck_assert_msg(strstr(screen, "mask 0  plugins 480  output") != NULL, "%s", screen);
    ck_assert_msg(strstr(screen, "c control  + - change  b bypass") != NULL, "%s", screen);
    tmux_type("C C C");
    tmux_wait(" control 3 eg-amp gain 0 dB");
    tmux_type("- -");
    tmux_wait(" control 3 eg-amp gain -4 dB");
    tmux_type("b");
    tmux_wait(" control 3 eg-amp gain -4 dB  BYPASSED");
    tmux_type("q");
    tmux_wait("ended with 0");
    tmux_close();
}

/* ---- OSC ---- */

#ifdef HALO_TEST_OSC
static lo_address osc_target(void)
{
    char port[16];
    snprintf(port, sizeof port, "%u", live_rig_osc_port());
    return lo_address_new("127.0.0.1", port);
}

START_TEST(osc_changes_a_plugin)
{
    if (!is_there("lv2", AMP))
        return;
    begin();
    pid_t process = live_rig_start(RECORDED "--osc 0 --gain 0 --lv2 " AMP);
    lo_address target = osc_target();
    live_rig_play(700);
    lo_send(target, "/halo/control", "isf", 2, "gain", -12.0);
    live_rig_wait("[2 eg-amp gain -12 dB]");
    live_rig_play(100);
    lo_send(target, "/halo/control", "iss", 2, "Gai", "-3dB");
    live_rig_wait("[2 eg-amp gain -3 dB]");
    live_rig_play(100);
    lo_send(target, "/halo/mix", "if", 2, 0.5);
    live_rig_wait("[2 eg-amp @mix 0.5]");
    live_rig_play(100);
    lo_send(target, "/halo/bypass", "iT", 2);
    live_rig_wait("[2 eg-amp @bypass on  BYPASSED]");
    live_rig_play(100);
    lo_send(target, "/halo/bypass", "ii", 2, 0);
    live_rig_wait("[2 eg-amp @bypass off]");
    live_rig_play(100);
    lo_send(target, "/halo/control", "isf", 2, "kazoo", 1.0);
    live_rig_wait("has no control 'kazoo'; its controls: gain");
    lo_send(target, "/halo/control", "isf", 2, "gain", 100.0);
    live_rig_wait("24");
    lo_send(target, "/halo/mix", "if", 1, 0.5);
    live_rig_wait("stage 1 has no control '@mix'");
    lo_send(target, "/halo/mix", "if", 9, 0.5);
    live_rig_wait("there is no stage 9");
    lo_address_free(target);
    end(process);
    const double gains[] = {from_db(-12), from_db(-3), 0.5 * from_db(-3) + 0.5, 1,
                            0.5 * from_db(-3) + 0.5};
    expect_gains(0, gains, sizeof gains / sizeof *gains);
    live_rig_expect_replay();
}
#endif

/* Whether a plugin was late before this frame, on a busy machine. */
static bool was_late_before(size_t frame)
{
    char line[1024];
    bool was = false;
    size_t at;
    FILE *log = fopen(command_path("rec.wav.log"), "r");
    ck_assert_ptr_nonnull(log);
    while (fgets(line, sizeof line, log))
        was = was || (strstr(line, "\"absent\"") && sscanf(line, "{\"frame\":%zu", &at) == 1 &&
                      at < frame);
    fclose(log);
    return was;
}

/* The recording has the position from its first frame on, and the log the tempo. */
START_TEST(live_plugins_know_the_position)
{
    int tries = 0;
    if (!is_there("lv2", "urn:halo:test:beat"))
        return;
    do {
        ck_assert_msg(tries++ < 15, "the machine is too slow");
        begin();
        pid_t process =
            live_rig_start(RECORDED "--tempo 90,3/4 --lv2 'urn:halo:test:beat,@map=1' --lv2 " AMP
                                    ",gain=-40,@map=1:2");
        live_rig_play(800);
        end(process);
    } while (was_late_before(RATE));
    struct sound output = sound_load("rec.wav");
    for (size_t i = RATE / 2; i < RATE * 8 / 10; i++) { /* it fades in before */
        double seconds = (double)i / RATE, found = (double)output.block.data[1][i] * 100;
        ck_assert_msg(fabs(found - seconds * 90 / 60 / 3) < 1e-4, "frame %zu: %g bars", i, found);
    }
    live_rig_expect_replay();
}

/* ---- failing plugins ---- */

enum { FAILS_AT = 57600, FAILS_IN = FAILS_AT / LONG_BLOCK * LONG_BLOCK /* the block */ };

static struct command_result run_failing(const char *plugin, const char *how, const char *why)
{
    pid_t process = live_rig_start(PACED "%s --mask half.txt --lv2 urn:halo:test:%s,2=%d", how,
                                   plugin, FAILS_AT);
    live_rig_wait(why);
    live_rig_wait("the sound continues without it");
    live_rig_wait("FAILED");
    live_rig_record(300);
    return end(process);
}

static void check_left_out(const char *plugin, const char *how, const char *why)
{
    int tries = 0;
    struct command_result result;
    begin();
    do {
        ck_assert_msg(tries++ < 15, "the machine is too slow");
        result = run_failing(plugin, how, why);
    } while (was_late_before(FAILS_IN));
    const char *message = strstr(result.err, "the sound continues without it");
    ck_assert_msg(strstr(result.err, "halo: stage 2: urn:halo:test:") != NULL, "%s", result.err);
    ck_assert_msg(strstr(message + 1, "the sound continues without it") == NULL, "%s", result.err);
    struct sound output = sound_load("rec.wav"), dry = sound_load("dry.wav");
    /* Until then it was there. The sound continues at once with a fade, although the failure may be
     * reported much later. */
    size_t there = FAILS_IN - RATE / 2, faded = FAILS_IN + RATE / 100;
    ck_assert_uint_eq(frames_like(&output, &dry, there, 0, 0.5), RATE / 2);
    ck_assert_uint_eq(frames_like(&output, &dry, FAILS_IN, 0, 0.5) / 8, 0);
    ck_assert_uint_ge(frames_like(&output, &dry, faded, 0, 0.5), RATE / 10);
    command_done("grep -q '\"event\":\"failed\".*\"stage\":2' rec.wav.log");
}

START_TEST(a_plugin_that_crashes_is_left_out)
{
    if (!is_there("lv2", "urn:halo:test:crash"))
        return;
    check_left_out("crash", "", "crashed at 1.1");
    live_rig_expect_replay();
    check_left_out("exit", "", "ended its process");
    live_rig_expect_replay();
}

/* Isolated as the others, and in this process. */
START_TEST(a_plugin_that_is_absurd_is_left_out)
{
    if (!is_there("lv2", "urn:halo:test:nan"))
        return;
    check_left_out("nan,3=8191", "", "not a number at ");
    live_rig_expect_replay();
    check_left_out("loud,3=8000", "", "+78 dBFS at ");
    live_rig_expect_replay();
    check_left_out("loud,3=8000", "--no-isolate", "+78 dBFS at ");
    live_rig_expect_replay();
}

START_TEST(a_plugin_that_hangs_is_left_out)
{
    if (!is_there("lv2", "urn:halo:test:hang"))
        return;
    check_left_out("hang", "", "hung at 1.1");
    check_left_out("hang-busy", "", "hung at 1.1");
}

START_TEST(nan_samples_are_reported)
{
    if (!is_there("lv2", "urn:halo:test:nan"))
        return;
    begin();
    pid_t process = live_rig_start(LIVE_RIG_DEVICE "--block 256 --json --lv2 "
                                                   "urn:halo:test:nan,2=24000,@allow-loud");
    live_rig_wait("produced NaN or infinite samples");
    struct command_result result = end(process);
    ck_assert_msg(strstr(result.out, "\"bad_samples\":200") != NULL, "%s", result.out);
    int tries = 0;
    do { /* until no block was late */
        ck_assert_msg(tries++ < 15, "the machine is too slow: %s", result.err);
        process = live_rig_start(PACED "--seconds 1 --lv2 "
                                       "urn:halo:test:nan,2=24000,@allow-loud");
        result = live_rig_end(process);
    } while (strstr(result.err, "missed a block"));
    ck_assert_msg(strstr(result.err, "200 invalid samples") != NULL, "%s", result.err);
}

int main(void)
{
    plugin_rig_prepare();
    return plugin_rig_code(suite_run());
}
