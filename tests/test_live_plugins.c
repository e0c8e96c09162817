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
/* Long blocks at half that pace, since a late block is silent. */
#define LONG_BLOCKS                                                                                \
    "--device null:in=in.wav,pace=2 --record rec.wav --record-dry dry.wav --meter-interval 0.02 "  \
    "--block 1024 --isolate "

/* Noise below the limiter's ceiling. */
static void begin(void)
{
    command_clean();
    struct block signal = live_rig_noise(2, 0, 40 * RATE, 0.05f);
    live_rig_save(&signal, "in.wav");
    block_free(&signal);
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

/* The longest stretch of them that begins in from..to. */
static size_t longest_like(const struct sound *output, const struct sound *dry, size_t from,
                           size_t to, size_t latency, double gain)
{
    size_t longest = 0;
    while (from < to) {
        size_t frames = frames_like(output, dry, from, latency, gain);
        longest = frames > longest ? frames : longest;
        from += frames + 1;
    }
    return longest;
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
    sound_free(&output);
    sound_free(&dry);
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
END_TEST

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
END_TEST

START_TEST(isolated_plugins_do_the_same)
{
    if (!is_there("lv2", AMP) || !is_there("ladspa", "amp:amp_mono"))
        return;
    begin();
    pid_t process =
        live_rig_start(LONG_BLOCKS "--ladspa amp:amp_mono,Gain=0.5 --lv2 " AMP ",gain=-6");
    live_rig_wait("[1 amp_mono ");
    live_rig_rest(350);
    live_rig_keys("CCC");
    live_rig_wait("[2 eg-amp gain -6 dB]");
    live_rig_keys("+");
    live_rig_rest(75);
    live_rig_keys("b");
    live_rig_wait("BYPASSED");
    live_rig_rest(75);
    end(process);
    const double gains[] = {0.5 * from_db(-6), 0.5 * from_db(-4), 0.5};
    expect_gains(2 * LONG_BLOCK, gains, sizeof gains / sizeof *gains);
    live_rig_expect_replay();
}
END_TEST

START_TEST(control_keys_do_nothing_without_plugins)
{
    begin();
    pid_t process = live_rig_start(RECORDED "--mask half.txt");
    live_rig_keys("+");
    live_rig_wait("no controls: the chain has no plugins");
    end(process);
}
END_TEST

/* Dry signal and chain are aligned. */
START_TEST(dry_is_delayed_by_plugin_latency)
{
    if (!is_there("lv2", DELAY) || !is_there("ladspa", "amp:amp_mono"))
        return;
    begin();
    pid_t process = live_rig_start(RECORDED "--lv2 " DELAY ",delay=480 --mask half.txt --or "
                                            "--mask quarter.txt --ladspa amp:amp_mono,Gain=0.5");
    live_rig_play(700);
    live_rig_keys(" ");
    live_rig_wait("0 dry");
    live_rig_play(100);
    live_rig_keys("2");
    live_rig_wait("2 quarter.txt  [");
    live_rig_play(200);
    end(process);
    const double gains[] = {0.25, 1, 0.125};
    expect_gains(480, gains, sizeof gains / sizeof *gains);
    live_rig_expect_replay();
}
END_TEST

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
END_TEST

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
END_TEST
#endif

/* The recording has the position from its first frame on, and the log the tempo. */
START_TEST(live_plugins_know_the_position)
{
    if (!is_there("lv2", "urn:halo:test:beat"))
        return;
    begin();
    pid_t process =
        live_rig_start(RECORDED "--tempo 90,3/4 --lv2 'urn:halo:test:beat,@map=1' --lv2 " AMP
                                ",gain=-40,@map=1:2");
    live_rig_play(800);
    end(process);
    struct sound output = sound_load("rec.wav");
    for (size_t i = RATE / 2; i < RATE * 8 / 10; i++) { /* it fades in before */
        double seconds = (double)i / RATE, found = (double)output.block.data[1][i] * 100;
        ck_assert_msg(fabs(found - seconds * 90 / 60 / 3) < 1e-4, "frame %zu: %g bars", i, found);
    }
    sound_free(&output);
    live_rig_expect_replay();
}
END_TEST

/* ---- failing plugins ---- */

static void check_left_out(const char *plugin, const char *how, const char *why)
{
    const size_t at = 57600, latency = *how ? 0 : LONG_BLOCK;
    begin();
    pid_t process = live_rig_start(LONG_BLOCKS "%s --mask half.txt --lv2 urn:halo:test:%s,2=%zu",
                                   how, plugin, at);
    live_rig_wait(why);
    live_rig_wait("the sound continues without it");
    live_rig_wait("FAILED");
    live_rig_rest(150);
    struct command_result result = end(process);
    const char *message = strstr(result.err, "the sound continues without it");
    ck_assert_msg(strstr(result.err, "halo: stage 2: urn:halo:test:") != NULL, "%s", result.err);
    ck_assert_msg(strstr(message + 1, "the sound continues without it") == NULL, "%s", result.err);
    struct sound output = sound_load("rec.wav"), dry = sound_load("dry.wav");
    /* Until then it was there, in blocks that were not late. */
    ck_assert_uint_ge(longest_like(&output, &dry, RATE * 6 / 10, at, latency, 0.5), LONG_BLOCK);
    /* The sound continues at once with a fade, although the failure may be reported much later. */
    size_t from = at / LONG_BLOCK * LONG_BLOCK + latency, faded = from + RATE / 100;
    ck_assert_uint_eq(frames_like(&output, &dry, from, latency, 0.5) / 8, 0);
    ck_assert_uint_ge(frames_like(&output, &dry, faded, latency, 0.5), RATE / 10);
    sound_free(&output);
    sound_free(&dry);
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
END_TEST

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
END_TEST

START_TEST(a_plugin_that_hangs_is_left_out)
{
    if (is_there("lv2", "urn:halo:test:hang"))
        check_left_out("hang", "", "hung at 1.1");
}
END_TEST

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
        process = live_rig_start(LONG_BLOCKS "--force --seconds 1 --lv2 "
                                             "urn:halo:test:nan,2=24000,@allow-loud");
        result = live_rig_end(process);
    } while (strstr(result.err, "missed a block"));
    ck_assert_msg(strstr(result.err, "200 invalid samples") != NULL, "%s", result.err);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {keys_change_a_plugin,
                                  logs_of_other_stages_are_refused,
                                  isolated_plugins_do_the_same,
                                  control_keys_do_nothing_without_plugins,
                                  dry_is_delayed_by_plugin_latency,
                                  the_screen_shows_the_control,
#ifdef HALO_TEST_OSC
                                  osc_changes_a_plugin,
#endif
                                  live_plugins_know_the_position,
                                  a_plugin_that_crashes_is_left_out,
                                  a_plugin_that_is_absurd_is_left_out,
                                  a_plugin_that_hangs_is_left_out,
                                  nan_samples_are_reported};
    plugin_rig_prepare();
    return plugin_rig_code(suite_run("live_plugins", tests, sizeof tests / sizeof *tests));
}
