/* The LV2 host, as seen by the tests' own plugin probe_lv2. */
#include "allocations.h"
#include "command.h"
#include "lv2_rig.h"
#include "plugin/plugin.h"
#include "probe_lv2/probe.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static const char PROBE_URI[] = "urn:halo:probe";

static char lines[4096]; /* output printed while it was captured */

static void keep_line(void *context, const char *line)
{
    (void)context;
    size_t length = strlen(lines);
    snprintf(lines + length, sizeof lines - length, "%s\n", line);
}

static void watch_lines(void)
{
    lines[0] = '\0';
    messages_to(keep_line, NULL);
}

START_TEST(ports_are_described)
{
    struct lv2_rig rig = lv2_rig_open(PROBE_URI, (struct plugin_settings){0}, 64);
    const struct plugin_port *ports = rig.info->ports;
    ck_assert_uint_eq(rig.info->port_count, PROBE_PORTS);
    ck_assert_str_eq(rig.info->name, "Probe");
    ck_assert_str_eq(rig.info->maker, "halo's tests");
    ck_assert_str_eq(rig.info->category, "Delay");
    ck_assert_ptr_nonnull(strstr(rig.info->file, "probe.so"));
    ck_assert_uint_eq(rig.info->feature_count, 3);
    ck_assert_ptr_null(rig.info->refusal);
    ck_assert(ports[PROBE_SIDE].is_side_chain && !ports[PROBE_IN].is_side_chain);
    ck_assert_int_eq(ports[PROBE_CV_IN].type, PLUGIN_CV);
    ck_assert_int_eq(ports[PROBE_CONTROL].type, PLUGIN_ATOM);
    ck_assert(ports[PROBE_ASK].is_toggle && ports[PROBE_ASK].is_input);
    ck_assert(!ports[PROBE_BLOCK].is_input);
    const struct plugin_port *vague = &ports[PROBE_VAGUE];
    ck_assert(vague->is_integer && vague->is_enumeration && vague->is_logarithmic);
    ck_assert_float_eq(vague->minimum, 2);
    ck_assert_float_eq(vague->maximum, 5);
    ck_assert_float_eq(vague->initial, 2);
    ck_assert_str_eq(vague->unit, "cows");
    ck_assert_uint_eq(vague->point_count, 2);
    ck_assert_str_eq(vague->points[0].label, "Low");
    ck_assert_float_eq(vague->points[1].value, 5);
    ck_assert_str_eq(ports[PROBE_HERTZ].unit, "Hz");
    ck_assert(isinf(ports[PROBE_BLOCK].maximum) && isinf(ports[PROBE_BLOCK].minimum));
    lv2_rig_close(&rig);
}

START_TEST(values_begin_as_described)
{
    struct lv2_rig rig = lv2_rig_open(PROBE_URI, (struct plugin_settings){0}, 64);
    ck_assert_float_eq(lv2_rig_value(&rig, "vague"), 2);
    ck_assert_float_eq(lv2_rig_value(&rig, "hertz"), 440);
    ck_assert_float_eq(lv2_rig_value(&rig, "nyquist"), 12000);
    ck_assert_float_eq(lv2_rig_value(&rig, "enabled"), 1);
    ck_assert_float_eq(lv2_rig_value(&rig, "freewheeling"), 1);
    lv2_rig_close(&rig);
    rig = lv2_rig_open(PROBE_URI, (struct plugin_settings){.live = true}, 64);
    ck_assert_float_eq(lv2_rig_value(&rig, "freewheeling"), 0);
    lv2_rig_close(&rig);
}

START_TEST(unsupported_requirements_are_named)
{
    const struct plugin_settings plain = {0}, odd = {.block = 100};
    lv2_rig_refused("urn:halo:probe:feature", plain, "requires the feature urn:halo:probe:needed");
    lv2_rig_refused("urn:halo:probe:option", plain, "requires the option urn:halo:probe:wanted");
    lv2_rig_refused("urn:halo:probe:port", plain, "its port odd is of a type that halo");
    lv2_rig_refused("urn:halo:probe:none", plain, "instantiation failed at 48000 Hz");
    lv2_rig_refused("urn:halo:probe:power", odd, "powerOf2BlockLength");
    struct lv2_rig rig = lv2_rig_open("urn:halo:probe:power", plain, 64);
    lv2_rig_close(&rig);
}

START_TEST(unknown_uris_are_refused_with_suggestions)
{
    char why[1024];
    struct plugin_info *info;
    log_capture(why, sizeof why);
    ck_assert_int_eq(lv2_rig_describe("probe:soundles", &info), STATUS_FAILED);
    ck_assert_ptr_nonnull(strstr(why, "urn:halo:probe:soundless"));
    ck_assert_ptr_nonnull(strstr(why, "halo plugins list"));
    ck_assert_int_eq(lv2_rig_describe("nothing of the kind", &info), STATUS_FAILED);
    ck_assert_ptr_null(strstr(why, "did you mean"));
    log_capture(NULL, 0);
}

static int promises_with(struct plugin_settings settings)
{
    struct lv2_rig rig = lv2_rig_open(PROBE_URI, settings, 64);
    lv2_rig_step(&rig);
    int promises = (int)lv2_rig_value(&rig, "promises");
    ck_assert_float_eq(lv2_rig_value(&rig, "block"), (float)rig.settings.block);
    ck_assert_float_eq(lv2_rig_value(&rig, "rate"), (float)rig.settings.rate);
    lv2_rig_close(&rig);
    return promises;
}

START_TEST(offered_features_are_true)
{
    const int always = PROBE_FIXED | PROBE_BOUNDED | PROBE_DEFAULT_STATE;
    struct plugin_settings settings = {.block = 64};
    ck_assert_int_eq(promises_with(settings), always | PROBE_POWER_OF_2);
    settings.block = 100;
    settings.rate = 44100;
    ck_assert_int_eq(promises_with(settings), always);
    settings.live = true;
    ck_assert_int_eq(promises_with(settings), always | PROBE_LIVE);
}

START_TEST(ports_have_their_buffers)
{
    struct lv2_rig rig = lv2_rig_open(PROBE_URI, (struct plugin_settings){0}, 640);
    lv2_rig_run(&rig);
    lv2_rig_expect(&rig, 0, 1, 0, 0);
    ck_assert_float_ge(lv2_rig_value(&rig, "capacity"), PROBE_NOTIFY_BYTES);
    ck_assert_float_eq(lv2_rig_value(&rig, "noise"), 0); /* though it writes to cv_out */
    ck_assert_float_eq(lv2_rig_value(&rig, "messages"), 0);
    lv2_rig_close(&rig);
}

/* The plugin requires isLive, too, which is offered in a file to who requires it. */
START_TEST(old_event_ports_have_empty_buffers)
{
    struct lv2_rig rig = lv2_rig_open("urn:halo:probe:old", (struct plugin_settings){0}, 640);
    ck_assert_int_eq(rig.info->ports[2].type, PLUGIN_ATOM);
    lv2_rig_run(&rig);
    lv2_rig_expect(&rig, 0, 1, 0, 0);
    ck_assert_float_eq(lv2_rig_value(&rig, "wrong"), 0);
    ck_assert_float_gt(lv2_rig_value(&rig, "written"), 0);
    lv2_rig_close(&rig);
}

START_TEST(messages_come_once_and_in_order)
{
    const struct plugin_setting settings[] = {
        {.uri = "urn:halo:probe:number", .value = "1.5"},
        {.uri = "urn:halo:probe:words", .value = "a, b"},
        {.uri = "urn:halo:probe:number", .value = "-2.25"},
        {.uri = "urn:halo:probe:whole", .value = "-7"},
        {.uri = "urn:halo:probe:large", .value = "5000000000"},
        {.uri = "urn:halo:probe:flag", .value = "on"},
        {.uri = "urn:halo:probe:number", .value = "0.75"}};
    struct lv2_rig rig = lv2_rig_open(
        PROBE_URI, (struct plugin_settings){.settings = settings, .setting_count = 7}, 640);
    lv2_rig_run(&rig);
    ck_assert_float_eq(lv2_rig_value(&rig, "messages"), 3);
    ck_assert_float_eq(lv2_rig_value(&rig, "number"), 0.75F);
    lv2_rig_close(&rig);
}

static void check_bad_setting(const char *uri, const char *value, const char *expected)
{
    const struct plugin_setting setting = {.uri = uri, .value = value};
    lv2_rig_refused(PROBE_URI, (struct plugin_settings){.settings = &setting, .setting_count = 1},
                    expected);
}

START_TEST(bad_settings_are_refused)
{
    check_bad_setting("urn:halo:probe:nomber", "1", "it has urn:halo:probe:");
    check_bad_setting("urn:halo:probe:strange", "1", "has no parameter"); /* of an unknown type */
    check_bad_setting("urn:halo:probe:number", "loud", "it is a number");
    check_bad_setting("urn:halo:probe:number", "1e99", "it is a number");
    check_bad_setting("urn:halo:probe:whole", "1.5", "it is a whole number");
    check_bad_setting("urn:halo:probe:whole", "3000000000", "it is a whole number");
    check_bad_setting("urn:halo:probe:flag", "maybe", "it is on or off");
    check_bad_setting("urn:halo:probe:file", "/nowhere/at.all", "No such file");
}

START_TEST(work_is_done_after_the_run_in_files)
{
    struct lv2_rig rig = lv2_rig_open(PROBE_URI, (struct plugin_settings){0}, 64);
    plugin_lv2.reset(rig.plugin);
    lv2_rig_set(&rig, "ask", 1);
    lv2_rig_step(&rig);
    float runs = lv2_rig_value(&rig, "runs"); /* more than one: it is first run with silence */
    for (int i = 1; i <= 10; i++) {
        lv2_rig_step(&rig);
        ck_assert_float_eq(lv2_rig_value(&rig, "responses"), (float)i);
        ck_assert_float_eq(lv2_rig_value(&rig, "ends"), runs + (float)i - 1);
        ck_assert_float_eq(lv2_rig_value(&rig, "other_thread"), 0);
    }
    lv2_rig_close(&rig);
}

START_TEST(work_is_done_in_its_own_thread_live)
{
    const struct timespec nap = {.tv_nsec = 1000000};
    struct lv2_rig rig = lv2_rig_open(PROBE_URI, (struct plugin_settings){.live = true}, 64);
    plugin_lv2.reset(rig.plugin);
    lv2_rig_set(&rig, "ask", 1);
    lv2_rig_step(&rig);
    lv2_rig_set(&rig, "ask", 0);
    for (int i = 0; i < 10000 && lv2_rig_value(&rig, "responses") < 1; i++) {
        nanosleep(&nap, NULL);
        lv2_rig_step(&rig);
    }
    ck_assert_float_eq(lv2_rig_value(&rig, "responses"), 1);
    ck_assert_float_eq(lv2_rig_value(&rig, "other_thread"), 1);
    plugin_lv2.reset(rig.plugin);
    lv2_rig_close(&rig);
}

/* Requests beyond the queue's capacity are refused, and the rest is still done. */
START_TEST(live_step_neither_allocates_nor_prints)
{
    struct lv2_rig rig = lv2_rig_open(PROBE_URI, (struct plugin_settings){.live = true}, 64);
    plugin_lv2.reset(rig.plugin);
    lv2_rig_set(&rig, "ask", 1);
    lv2_rig_set(&rig, "say", 1);
    lv2_rig_step(&rig);
    watch_lines();
    size_t before = allocations_of_thread();
    for (int i = 0; i < 20000; i++)
        lv2_rig_step(&rig);
    ck_assert_uint_eq(allocations_of_thread(), before);
    ck_assert_str_eq(lines, "");
    messages_to(NULL, NULL);
    lv2_rig_close(&rig);
}

START_TEST(errors_of_a_run_are_reported_later)
{
    struct lv2_rig rig = lv2_rig_open(PROBE_URI, (struct plugin_settings){0}, 64);
    watch_lines();
    for (int i = 0; i < 4; i++) {
        lv2_rig_set(&rig, "say", i < 2 ? 1 : 2);
        rig.plugin->complaint = NULL;
        lv2_rig_step(&rig);
        if (i == 0)
            ck_assert_str_eq(rig.plugin->complaint, "Probe: out of tune by 1");
        else
            ck_assert_ptr_null(rig.plugin->complaint); /* once */
    }
    ck_assert_str_eq(lines, "");
    lv2_rig_close(&rig);
    messages_to(NULL, NULL);
    ck_assert_str_eq(lines, "Probe: out of tune by 2\n");
}

START_TEST(presets_are_listed_and_loaded)
{
    struct lv2_rig rig = lv2_rig_open(
        PROBE_URI, (struct plugin_settings){.preset = "urn:halo:probe:preset:loud"}, 64);
    ck_assert_uint_eq(rig.info->preset_count, 4);
    ck_assert_str_eq(rig.info->presets[0].name, "Loud");
    ck_assert_float_eq(lv2_rig_value(&rig, "vague"), 4);
    lv2_rig_close(&rig);
    lv2_rig_refused(PROBE_URI, (struct plugin_settings){.preset = "urn:halo:probe:preset:lowd"},
                    "its file does not describe it");
}

/* Paths of the test's folder below `name`. */
static size_t count_files(const char *name)
{
    struct command_result found = command_done("find . -path './%s*' | wc -l", name);
    return (size_t)strtoul(found.out, NULL, 10);
}

START_TEST(state_is_kept_with_its_files)
{
    char folder[256];
    snprintf(folder, sizeof folder, "%s/state", command_folder());
    struct lv2_rig rig = lv2_rig_open(
        PROBE_URI, (struct plugin_settings){.preset = "urn:halo:probe:preset:quiet"}, 64);
    ck_assert_float_eq(lv2_rig_value(&rig, "restored"), 0);
    lv2_rig_set(&rig, "hertz", 1234.5F);
    ck_assert_int_eq(plugin_lv2.save(rig.plugin, folder), STATUS_OK);
    lv2_rig_close(&rig);
    command_done("test -s state/number.txt && mv state moved");
    snprintf(folder, sizeof folder, "%s/moved", command_folder());
    rig = lv2_rig_open(PROBE_URI, (struct plugin_settings){.state = folder}, 64);
    lv2_rig_step(&rig);
    ck_assert_float_eq(lv2_rig_value(&rig, "restored"), PROBE_FILE_NUMBER);
    ck_assert_float_eq(lv2_rig_value(&rig, "hertz"), 1234.5F);
    ck_assert_float_eq(lv2_rig_value(&rig, "vague"), 3);
    lv2_rig_close(&rig);
    lv2_rig_refused("urn:halo:probe:power", (struct plugin_settings){.state = folder},
                    "it is the state of another plugin");
    lv2_rig_refused(PROBE_URI, (struct plugin_settings){.state = "/nowhere"}, "cannot read");
}

START_TEST(files_of_an_instance_go_with_it)
{
    setenv("TMPDIR", command_folder(), 1);
    struct lv2_rig rig = lv2_rig_open(PROBE_URI, (struct plugin_settings){0}, 64);
    ck_assert_uint_eq(count_files("halo-plugin-"), 4); /* it, deep, down and scratch.txt */
    lv2_rig_close(&rig);
    ck_assert_uint_eq(count_files("halo-plugin-"), 0);
    unsetenv("TMPDIR");
}

/* In a new instance of the plugin, which gets the state of the old one. */
START_TEST(reset_keeps_values)
{
    const struct plugin_setting setting = {.uri = "urn:halo:probe:number", .value = "3"};
    struct plugin_settings settings = {.settings = &setting, .setting_count = 1};
    struct lv2_rig rig = lv2_rig_open(PROBE_URI, settings, 64);
    lv2_rig_set(&rig, "hertz", 99);
    lv2_rig_step(&rig);
    ck_assert_float_eq(lv2_rig_value(&rig, "restored"), 0);
    plugin_lv2.reset(rig.plugin);
    lv2_rig_step(&rig);
    ck_assert_float_eq(lv2_rig_value(&rig, "activations"), 1);
    ck_assert_float_eq(lv2_rig_value(&rig, "restored"), PROBE_FILE_NUMBER);
    ck_assert_float_eq(lv2_rig_value(&rig, "messages"), 0);
    ck_assert_float_eq(lv2_rig_value(&rig, "hertz"), 99);
    lv2_rig_expect(&rig, 0, 1, 0, 0);
    lv2_rig_close(&rig);
}

static void count_holder(void *context, const char *holder)
{
    *(size_t *)context += strcmp(holder, PROBE_LV2 "/probe.lv2") == 0;
}

static void count_id(void *context, const char *id)
{
    *(size_t *)context += strncmp(id, PROBE_URI, strlen(PROBE_URI)) == 0;
}

START_TEST(all_plugins_are_listed)
{
    size_t holders = 0, ids = 0;
    ck_assert_int_eq(plugin_lv2.list(&(struct plugin_found){count_holder, &holders}), STATUS_OK);
    ck_assert_uint_eq(holders, 1);
    ck_assert_int_eq(
        plugin_lv2.open(PROBE_LV2 "/probe.lv2", &(struct plugin_found){count_id, &ids}), STATUS_OK);
    ck_assert_uint_eq(ids, 8);
}

int main(void)
{
    setenv("LV2_PATH", PROBE_LV2 ":/usr/local/lib/lv2:/usr/lib/lv2", 1);
    return suite_run();
}
