/* Third-party LV2 plugins, tested by their known effect on sound. */
#include "command.h"
#include "lv2_rig.h"
#include "plugin/plugin.h"
#include "sound.h"
#include "suite.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define SWH "http://plugin.org.uk/swh-plugins/"
#define X42 "http://gareus.org/oss/lv2/"
#define EXAMPLES "http://lv2plug.in/plugins/"

static const struct plugin_settings plain = {0};

/* With one value set, in blocks of 64 and of 256. */
static void check_sound(const char *uri, const char *symbol, float value, float gain, size_t delay)
{
    for (size_t block = 64; block <= 256; block *= 4) {
        struct lv2_rig rig = lv2_rig_open(uri, (struct plugin_settings){.block = block}, 8192);
        if (symbol)
            lv2_rig_set(&rig, symbol, value);
        plugin_lv2.reset(rig.plugin);
        lv2_rig_run(&rig);
        for (size_t c = 0; c < rig.plugin->outputs; c++)
            lv2_rig_expect(&rig, c, gain, delay, 0);
        lv2_rig_close(&rig);
    }
}

START_TEST(simple_plugins_are_exact)
{
    float gain = powf(10.0F, -6 * 0.05F);
    check_sound(EXAMPLES "eg-amp", "gain", -6, gain, 0);
    check_sound(SWH "amp", "gain", -6, gain, 0);
    check_sound(SWH "inv", NULL, 0, -1, 0);
    check_sound(SWH "split", NULL, 0, 1, 0);
    check_sound(SWH "delay_l", "delay_time", 0.01F, 1, 481);
    check_sound(X42 "nodelay", "delay", 480, 1, 480);
}

static uint64_t latency_of(const char *uri, const char *symbol, float value, const char *other,
                           float other_value)
{
    struct lv2_rig rig = lv2_rig_open(uri, plain, 4096);
    if (symbol)
        lv2_rig_set(&rig, symbol, value);
    if (other)
        lv2_rig_set(&rig, other, other_value);
    lv2_rig_run(&rig);
    uint64_t latency = plugin_latency(rig.plugin);
    lv2_rig_close(&rig);
    return latency;
}

START_TEST(latencies_are_read)
{
    ck_assert_uint_eq(latency_of(X42 "nodelay", "delay", 480, NULL, 0), 480);
    ck_assert_uint_eq(latency_of(X42 "nodelay", "delay", 480, "report_latency", 0), 0);
    ck_assert_uint_eq(latency_of(SWH "artificialLatency", "delay", 10, NULL, 0), 480);
    ck_assert_uint_eq(latency_of(X42 "dpl#mono", NULL, 0, NULL, 0), 64);
    ck_assert_uint_eq(latency_of(EXAMPLES "eg-amp", NULL, 0, NULL, 0), 0);
}

START_TEST(bundles_are_described)
{
    struct plugin_info *info;
    ck_assert_int_eq(lv2_rig_describe(EXAMPLES "eg-amp", &info), STATUS_OK);
    ck_assert_uint_eq(info->port_count, 3);
    ck_assert_str_eq(info->ports[0].symbol, "gain");
    ck_assert_str_eq(info->ports[0].unit, "dB");
    ck_assert_float_eq(info->ports[0].minimum, -90);
    ck_assert_float_eq(info->ports[0].maximum, 24);
    ck_assert_uint_eq(info->ports[0].point_count, 4);
    ck_assert_str_eq(info->ports[0].points[0].label, "-10");
    ck_assert_str_eq(info->category, "Amplifier");
    plugin_info_destroy(info);
    ck_assert_int_eq(lv2_rig_describe(X42 "nodelay", &info), STATUS_OK);
    ck_assert(info->ports[2].is_latency && info->ports[1].is_enumeration);
    ck_assert_str_eq(info->ports[1].points[1].label, "Delay and report latency");
    plugin_info_destroy(info);
    ck_assert_int_eq(lv2_rig_describe(EXAMPLES "eg-sampler", &info), STATUS_OK);
    ck_assert_uint_eq(info->parameter_count, 2);
    plugin_info_destroy(info);
    ck_assert_int_eq(lv2_rig_describe(EXAMPLES "eg-params", &info), STATUS_OK);
    ck_assert_ptr_null(info->refusal); /* it makes no sound, but runs */
    plugin_info_destroy(info);
}

/* `taps` at frame `at` of a mono file, for the convolver's path. */
static void write_response(const char *name, float tap, size_t at)
{
    struct sound sound = sound_create(SF_FORMAT_WAV | SF_FORMAT_FLOAT, RIG_RATE, 1, 4800);
    sound.block.data[0][at] = tap;
    sound_save(&sound, name);
}

static void check_convolver(bool live)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/a response.wav", command_folder());
    const struct plugin_setting setting = {.uri = X42 "convoLV2#impulse", .value = path};
    struct lv2_rig rig =
        lv2_rig_open(X42 "convoLV2#Mono",
                     (struct plugin_settings){
                         .block = 256, .live = live, .settings = &setting, .setting_count = 1},
                     8192);
    plugin_lv2.reset(rig.plugin);
    lv2_rig_run(&rig);
    /* The plugin halves the output with a response of one channel. */
    lv2_rig_expect(&rig, 0, 0.25F, 10 + (size_t)plugin_latency(rig.plugin), 1e-6F);
    lv2_rig_close(&rig);
}

START_TEST(responses_are_there_from_the_first_frame)
{
    write_response("a response.wav", 0.5F, 10);
    check_convolver(false);
    check_convolver(true);
}

/* The sampler's current sample, from the file in its saved state. */
static void check_sample(const char *folder, const char *expected)
{
    struct command_result found = command_done(
        "cd %s && readlink -f $(sed -n 's/.*#sample> <\\(.*\\)> ;/\\1/p' state.ttl)", folder);
    found.out[strcspn(found.out, "\n")] = '\0';
    ck_assert_str_eq(found.out, expected);
}

static void keep_sample(struct plugin_settings settings, const char *folder)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", command_folder(), folder);
    struct lv2_rig rig = lv2_rig_open(EXAMPLES "eg-sampler", settings, 640);
    lv2_rig_run(&rig);
    ck_assert_int_eq(plugin_lv2.save(rig.plugin, path), STATUS_OK);
    lv2_rig_close(&rig);
}

START_TEST(sampler_gets_its_sample)
{
    char path[PATH_MAX], folder[PATH_MAX];
    write_response("mine.wav", 1, 0);
    snprintf(path, sizeof path, "%s/mine.wav", command_folder());
    snprintf(folder, sizeof folder, "%s/live", command_folder());
    const struct plugin_setting setting = {.uri = EXAMPLES "eg-sampler#sample", .value = path};
    struct plugin_settings settings = {.settings = &setting, .setting_count = 1};
    keep_sample(plain, "default"); /* the default state of its bundle */
    check_sample("default", "/usr/lib/lv2/eg-sampler.lv2/click.wav");
    keep_sample(settings, "inline");
    check_sample("inline", path);
    settings.live = true;
    keep_sample(settings, "live");
    check_sample("live", path);
    keep_sample((struct plugin_settings){.state = folder}, "again");
    check_sample("again", path);
}

START_TEST(parameters_have_their_types)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s/params", command_folder());
    const struct plugin_setting settings[] = {
        {.uri = EXAMPLES "eg-params#int", .value = "7"},
        {.uri = EXAMPLES "eg-params#long", .value = "5000000000"},
        {.uri = EXAMPLES "eg-params#float", .value = "0.5"},
        {.uri = EXAMPLES "eg-params#double", .value = "0.25"},
        {.uri = EXAMPLES "eg-params#bool", .value = "true"},
        {.uri = EXAMPLES "eg-params#string", .value = "a, b"},
    };
    struct lv2_rig rig =
        lv2_rig_open(EXAMPLES "eg-params",
                     (struct plugin_settings){.settings = settings, .setting_count = 6}, 640);
    lv2_rig_run(&rig);
    ck_assert_int_eq(plugin_lv2.save(rig.plugin, folder), STATUS_OK);
    lv2_rig_close(&rig);
    command_done(
        "cat params/state.ttl && grep -E '#int> (7|\"7\"\\^\\^xsd:int) ' params/state.ttl");
    command_done("grep '#long> \"5000000000\"^^xsd:long' params/state.ttl");
    command_done("grep '#float> \"0.5\"^^xsd:float' params/state.ttl");
    command_done("grep -E '#double> \"(0.25|2.5[eE]-0?1)\"\\^\\^xsd:double' params/state.ttl");
    command_done("grep -E '#bool> (true|\"true\"\\^\\^xsd:boolean)' params/state.ttl");
    command_done("grep '#string> .*a, b' params/state.ttl");
}

START_TEST(presets_set_values)
{
    struct lv2_rig rig =
        lv2_rig_open(X42 "fat1", (struct plugin_settings){.preset = X42 "fat1/pset#live"}, 64);
    ck_assert_float_eq_tol(lv2_rig_value(&rig, "corr"), 0.84F, 1e-6F);
    ck_assert_float_eq(lv2_rig_value(&rig, "fastmode"), 1);
    lv2_rig_close(&rig);
    rig = lv2_rig_open(X42 "fat1",
                       (struct plugin_settings){.preset = X42 "fat1/pset#slightly_corrected"}, 64);
    ck_assert_float_eq_tol(lv2_rig_value(&rig, "corr"), 0.33F, 1e-6F);
    lv2_rig_close(&rig);
    lv2_rig_refused(X42 "fat1", (struct plugin_settings){.preset = X42 "fat1/pset#none"},
                    "its file does not describe it");
}

/* After a reset it responds as a new instance. */
static void check_reset(const char *uri, struct plugin_settings settings)
{
    struct lv2_rig rig = lv2_rig_open(uri, settings, 8192);
    struct lv2_rig other = lv2_rig_open(uri, settings, 8192);
    lv2_rig_run(&rig);
    for (size_t i = 0; i < other.in.frames; i++)
        other.in.data[0][i] = 1.0F - rig.in.data[0][i];
    lv2_rig_run(&other);
    memcpy(other.in.data[0], rig.in.data[0], rig.in.frames * sizeof(float));
    plugin_lv2.reset(other.plugin);
    lv2_rig_run(&other);
    for (size_t c = 0; c < rig.out.channels; c++)
        ck_assert_mem_eq(rig.out.data[c], other.out.data[c], rig.out.frames * sizeof(float));
    lv2_rig_close(&rig);
    lv2_rig_close(&other);
}

START_TEST(reset_clears_all_sound)
{
    char path[PATH_MAX];
    write_response("a response.wav", 0.5F, 10);
    snprintf(path, sizeof path, "%s/a response.wav", command_folder());
    const struct plugin_setting setting = {.uri = X42 "convoLV2#impulse", .value = path};
    check_reset(X42 "convoLV2#Mono",
                (struct plugin_settings){.block = 256, .settings = &setting, .setting_count = 1});
    check_reset(SWH "delay_l", plain);
    check_reset(SWH "singlePara", plain);
    check_reset(X42 "dpl#mono", plain);
    check_reset(X42 "fil4#mono", plain);
}

int main(void)
{
    static const char *const needed[][2] = {{EXAMPLES "eg-amp", "lv2-examples"},
                                            {X42 "nodelay", "x42-plugins"},
                                            {SWH "amp", "swh-lv2"}};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!lv2_rig_has(needed[i][0])) {
            printf("skipped: %s is not installed\n", needed[i][1]);
            return 77;
        }
    return suite_run();
}
