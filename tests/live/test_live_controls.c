/* Controls of a stream's stages: key steps, values as text, and display; with plugins of
 * x42-plugins, whose ports are known. */
#include "live/session/live_controls.h"
#include "plugin_rig.h"
#include "suite.h"
#include "truth.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RATE = PLUGIN_RIG_RATE, BLOCK = PLUGIN_RIG_BLOCK };

static const char EQUALISER[] = "http://gareus.org/oss/lv2/fil4#mono";
static const char DELAY[] = "http://gareus.org/oss/lv2/nodelay";

static struct stage_list stages;
static struct filter *chain;
static struct live *live;
static struct live_controls controls;

/* Stages: gain, gain with a mix, equaliser, delay, gain with a level. False: a plugin is missing.
 */
static bool begin(void)
{
    const struct stage_settings settings = {.convolver = {.backend = "cpu", .live = true},
                                            .streamed = true};
    struct stream_format format = {.rate = RATE, .channels = 1};
    struct plugin_info *one = plugin_rig_describe("lv2", EQUALISER);
    struct plugin_info *other = plugin_rig_describe("lv2", DELAY);
    bool there = one && other;
    plugin_info_destroy(one);
    plugin_info_destroy(other);
    if (!there)
        return false;
    stages = (struct stage_list){0};
    ck_assert_int_eq(stage_list_add(&stages, stage_ops_named("gain"), "0", NULL), STATUS_OK);
    ck_assert_int_eq(stage_list_add(&stages, stage_ops_named("gain"), "0,@mix=0.5", NULL),
                     STATUS_OK);
    ck_assert_int_eq(stage_list_add(&stages, stage_ops_named("lv2"), EQUALISER, NULL), STATUS_OK);
    ck_assert_int_eq(stage_list_add(&stages, stage_ops_named("lv2"), DELAY, NULL), STATUS_OK);
    ck_assert_int_eq(stage_list_add(&stages, stage_ops_named("gain"), "0,@wet=-12", NULL),
                     STATUS_OK);
    ck_assert_int_eq(stage_list_load(&stages, &settings, &format), STATUS_OK);
    ck_assert_int_eq(stage_list_create(&stages, 1, BLOCK, NULL, &chain), STATUS_OK);
    const struct live_settings how = {.rate = RATE, .ceiling = 1, .gain = 1, .stages = &stages};
    ck_assert_int_eq(live_create(&how, chain, NULL, NULL, &live), STATUS_OK);
    ck_assert_int_eq(live_controls_init(&controls, &stages, live), STATUS_OK);
    return true;
}

static void end(void)
{
    live_controls_free(&controls);
    live_destroy(live);
    filter_destroy(chain);
    stage_list_free(&stages);
}

static void press(const char *keys)
{
    for (; *keys; keys++)
        ck_assert(live_controls_key(&controls, *keys));
}

static void set(size_t stage, const char *symbol, const char *value)
{
    ck_assert_int_eq(live_controls_set(&controls, stage, symbol, value), STATUS_OK);
}

static void expect(const char *text)
{
    ck_assert_str_eq(live_controls_show(&controls).text, text);
}

/* The change applied by the step, which gives one event. */
static struct live_event step(void)
{
    float silence[BLOCK] = {0}, sound[BLOCK];
    const float *in = silence;
    float *out = sound;
    struct live_event event, more;
    live_process(live, &in, &out);
    ck_assert(live_receive(live, &event));
    ck_assert(!live_receive(live, &more));
    return event;
}

START_TEST(steps_are_as_ports_are)
{
    if (!begin())
        return;
    expect("2 gain @mix 0.5");
    press("+-+");
    expect("2 gain @mix 0.52"); /* a fiftieth of 0 to 1 */
    set(3, "gain", "0");
    press("-");
    expect("3 fil4#mono gain -0.5 dB"); /* of 36, and wrapping */
    press("++");
    expect("3 fil4#mono gain 0.5 dB");
    set(3, "gain", "18dB");
    press("=");
    expect("3 fil4#mono gain 18 dB");
    set(3, "HighPass", "off");
    press("+");
    expect("3 fil4#mono HighPass on");
    press("+");
    expect("3 fil4#mono HighPass off");
    set(3, "HPfreq", "1.25kHz");
    expect("3 fil4#mono HPfreq 1.25 kHz");
    set(3, "HPfreq", "5");
    press("++++++++++++++++++++++++++++++++++++++++++++++++++");
    ck_assert_double_eq_tol(live_controls_show(&controls).value, 1250, 0.1); /* in 50 steps */
    press("-");
    ck_assert_double_eq_tol(live_controls_show(&controls).value, 1250 / pow(250, 0.02), 0.1);
    set(4, "delay", "480");
    press("---");
    expect("4 nodelay delay 477 frames");
    set(4, "report_latency", "0");
    press("+++++");
    ck_assert_double_eq(live_controls_show(&controls).value, 3);
    press("-");
    ck_assert_double_eq(live_controls_show(&controls).value, 2);
    set(5, "@wet", "-6dB");
    press("+");
    expect("5 gain @wet -4 dB");
    end();
}

START_TEST(keys_cycle_through_all_controls)
{
    if (!begin())
        return;
    size_t count = controls.count;
    ck_assert_uint_gt(count, 20);
    press("C");
    expect("5 gain @bypass off");
    press("c");
    expect("2 gain @mix 0.5");
    for (size_t i = 0; i < count; i++)
        press("c");
    expect("2 gain @mix 0.5");
    press("b");
    expect("2 gain @mix 0.5  BYPASSED");
    press("c");
    expect("5 gain @wet -12 dB"); /* the command line sets it, too */
    press("c");
    expect("2 gain @bypass on  BYPASSED");
    ck_assert(!live_controls_key(&controls, 'm'));
    ck_assert(!live_controls_key(&controls, 0x1f600));
    end();
}

START_TEST(the_step_reports_the_frame_of_a_change)
{
    if (!begin())
        return;
    set(3, "gain", "-3dB");
    struct live_event event = step();
    ck_assert_int_eq(event.what, LIVE_STAGE_CONTROL);
    ck_assert_uint_eq(event.frame, 0);
    ck_assert_uint_eq(event.stage, 2);
    ck_assert_double_eq(event.value, -3);
    ck_assert_str_eq(live_controls_symbol(&controls, &event), "gain");
    ck_assert_float_eq(plugin_filter_value(stages.stages[2].filter, event.port), -3);
    press("b");
    event = step();
    ck_assert_uint_eq(event.frame, BLOCK);
    ck_assert_str_eq(live_controls_symbol(&controls, &event), "@bypass");
    ck_assert(stage_mix_value(stages.stages[2].mixed, STAGE_CONTROL_BYPASS) > 0);
    end();
}

/* Samples of blocks that went through. */
static void expect_scaled(double scale, uint64_t latency)
{
    enum { BLOCKS = 16 };
    float in[BLOCKS * BLOCK], out[BLOCKS * BLOCK];
    truth_noise(1, in, BLOCKS * BLOCK);
    for (size_t b = 0; b < BLOCKS; b++)
        live_process(live, (const float *const[]){in + b * BLOCK},
                     (float *const[]){out + b * BLOCK});
    for (size_t i = (size_t)latency + BLOCK; i < BLOCKS * BLOCK; i++)
        ck_assert_double_eq_tol((double)out[i], scale * (double)in[i - latency], 1e-7);
}

/* It goes past masks and plugins. */
START_TEST(the_dry_sound_has_the_gains)
{
    static const char *const specs[][2] = {{"gain", "-20"},
                                           {"mask", "lowpass:2000,taps=255"},
                                           {"gain", "6,@mix=0.5"},
                                           {"mask", "lowpass:500,@mix=0.5"},
                                           {"gain", "-6,@wet=-12"}};
    const struct stage_settings settings = {.convolver = {.backend = "cpu", .live = true},
                                            .streamed = true};
    struct stream_format format = {.rate = RATE, .channels = 1};
    stages = (struct stage_list){0};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        ck_assert_int_eq(stage_list_add(&stages, stage_ops_named(specs[i][0]), specs[i][1], NULL),
                         STATUS_OK);
    ck_assert_int_eq(stage_list_load(&stages, &settings, &format), STATUS_OK);
    ck_assert_int_eq(stage_list_create(&stages, 1, BLOCK, NULL, &chain), STATUS_OK);
    const struct live_settings how = {
        .rate = RATE, .ceiling = 1, .gain = 1, .dry = true, .at_once = true, .stages = &stages};
    ck_assert_int_eq(live_create(&how, chain, NULL, NULL, &live), STATUS_OK);
    ck_assert_int_eq(live_controls_init(&controls, &stages, live), STATUS_OK);
    const double last = 1 + pow(10, -0.9);
    expect_scaled(last * 0.1 * (0.5 * pow(10, 0.3) + 0.5), chain->latency);
    set(3, "@bypass", "on");
    expect_scaled(last * 0.1, chain->latency);
    set(5, "@bypass", "on");
    expect_scaled(0.1, chain->latency);
    end();
}

static void refuse(size_t stage, const char *symbol, const char *value, const char *expected)
{
    char why[600] = "";
    log_capture(why, sizeof why);
    enum status status = live_controls_set(&controls, stage, symbol, value);
    log_capture(NULL, 0);
    ck_assert_int_eq(status, STATUS_USAGE);
    ck_assert_msg(strstr(why, expected) != NULL, "%s", why);
}

START_TEST(impossible_requests_are_refused)
{
    if (!begin())
        return;
    refuse(0, "gain", "1", "there is no stage 0");
    refuse(6, "gain", "1", "there is no stage 6");
    refuse(1, "gain", "1", "stage 1 has no control 'gain'");
    refuse(1, "@mix", "1", "stage 1 has no control '@mix'");
    refuse(3, "kazoo", "1", "kazoo");
    refuse(3, "gain", "19", "18");
    refuse(3, "@mix", "2", "@mix= is a number from 0 to 1");
    refuse(3, "@wet", "-6", "there are @bypass and @mix");
    refuse(5, "@mix", "1", "there are @bypass and @wet");
    refuse(5, "@wet", "21", "@wet= must be a number of dB from -80 to 20");
    expect("2 gain @mix 0.5");
    end();
}

/* Words of a spec are looked for as controls; one that is none is no failure of the caller's. */
START_TEST(failures_after_a_spec_reach_who_keeps_them)
{
    if (!begin())
        return;
    char why[600], inner[600], *text;
    memset(why, 'x', sizeof why - 1);
    log_capture(why, sizeof why);
    ck_assert_str_eq(why, "");
    ck_assert_int_eq(live_controls_spec(&controls, 2, "kazoo=1,gain=2", &text), STATUS_OK);
    free(text);
    ck_assert_int_eq(fail(CAUSE_OTHER, "the caller's"), STATUS_FAILED);
    ck_assert_str_eq(why, "the caller's");
    const struct log_keeper before = log_keep_in(inner, sizeof inner);
    log_keep_again(&before);
    ck_assert_str_eq(inner, "");
    ck_assert_str_eq(why, "the caller's");
    log_capture(NULL, 0);
    end();
}

int main(void)
{
    plugin_rig_prepare();
    return plugin_rig_code(suite_run());
}
