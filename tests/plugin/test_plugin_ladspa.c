/* LADSPA plugins: their hints and names, as specified in ladspa.h, and the output of small
 * plugins from the packages swh-plugins, cmt and ladspa-sdk; exit 77 without these. */
#include "plugin/ladspa/plugin_ladspa.h"
#include "plugin/plugin.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RATE = 48000, FRAMES = 1 << 14, PORTS_MOST = 4 };

/* ---- hints and names ---- */

/* The port that a plugin would have with these descriptors, at `index` in it. */
struct reported {
    size_t count, index;
    const char *names[PORTS_MOST];
    LADSPA_PortDescriptor kinds[PORTS_MOST]; /* 0: a control input */
    LADSPA_PortRangeHint ranges[PORTS_MOST];
};

static struct plugin_info *describe(const struct reported *reported)
{
    LADSPA_PortDescriptor kinds[PORTS_MOST];
    for (size_t i = 0; i < PORTS_MOST; i++)
        kinds[i] =
            reported->kinds[i] ? reported->kinds[i] : LADSPA_PORT_INPUT | LADSPA_PORT_CONTROL;
    const LADSPA_Descriptor descriptor = {.PortCount = reported->count,
                                          .PortDescriptors = kinds,
                                          .PortNames = reported->names,
                                          .PortRangeHints = reported->ranges};
    struct plugin_info *info = calloc(1, sizeof *info);
    info->ports = calloc(reported->count, sizeof *info->ports);
    info->port_count = reported->count;
    ck_assert_int_eq(plugin_ladspa_ports(&descriptor, info), STATUS_OK);
    return info;
}

static struct plugin_info *describe_hint(LADSPA_PortRangeHintDescriptor hints, float low,
                                         float high)
{
    return describe(
        &(struct reported){.count = 1, .names = {"Port"}, .ranges = {{hints, low, high}}});
}

enum { BOTH = LADSPA_HINT_BOUNDED_BELOW | LADSPA_HINT_BOUNDED_ABOVE };

static const struct {
    LADSPA_PortRangeHintDescriptor hints;
    float low, high;
    float minimum, maximum, initial; /* at 48 kHz */
} hints[] = {
    {BOTH | LADSPA_HINT_DEFAULT_MINIMUM, 2, 10, 2, 10, 2},
    {BOTH | LADSPA_HINT_DEFAULT_LOW, 2, 10, 2, 10, 4},
    {BOTH | LADSPA_HINT_DEFAULT_MIDDLE, 2, 10, 2, 10, 6},
    {BOTH | LADSPA_HINT_DEFAULT_HIGH, 2, 10, 2, 10, 8},
    {BOTH | LADSPA_HINT_DEFAULT_MAXIMUM, 2, 10, 2, 10, 10},
    {BOTH | LADSPA_HINT_DEFAULT_0, -5, 10, -5, 10, 0},
    {BOTH | LADSPA_HINT_DEFAULT_1, 0, 10, 0, 10, 1},
    {BOTH | LADSPA_HINT_DEFAULT_100, 0, 200, 0, 200, 100},
    {BOTH | LADSPA_HINT_DEFAULT_440, 20, 2000, 20, 2000, 440},
    /* exp(log(1) * 0.75 + log(10000) * 0.25) and so on */
    {BOTH | LADSPA_HINT_LOGARITHMIC | LADSPA_HINT_DEFAULT_LOW, 1, 10000, 1, 10000, 10},
    {BOTH | LADSPA_HINT_LOGARITHMIC | LADSPA_HINT_DEFAULT_MIDDLE, 1, 10000, 1, 10000, 100},
    {BOTH | LADSPA_HINT_LOGARITHMIC | LADSPA_HINT_DEFAULT_HIGH, 1, 10000, 1, 10000, 1000},
    /* bounds in sample rates: the middle value is scaled, fixed numbers are not */
    {BOTH | LADSPA_HINT_SAMPLE_RATE | LADSPA_HINT_DEFAULT_440, 0, 0.5F, 0, 24000, 440},
    {BOTH | LADSPA_HINT_SAMPLE_RATE | LADSPA_HINT_DEFAULT_MIDDLE, 0, 0.5F, 0, 24000, 12000},
    {BOTH | LADSPA_HINT_SAMPLE_RATE | LADSPA_HINT_LOGARITHMIC | LADSPA_HINT_DEFAULT_MIDDLE, 0.0001F,
     0.01F, 4.8F, 480, 48},
    {BOTH | LADSPA_HINT_SAMPLE_RATE, 0.25F, 0.5F, 12000, 24000, 18000},
    /* the bounds of integers are a little beyond them */
    {BOTH | LADSPA_HINT_INTEGER | LADSPA_HINT_DEFAULT_MAXIMUM, -0.1F, 5.1F, 0, 5, 5},
    {BOTH | LADSPA_HINT_INTEGER | LADSPA_HINT_DEFAULT_MIDDLE, 0, 3, 0, 3, 2},
    /* switches have no bounds */
    {LADSPA_HINT_TOGGLED, 0, 0, 0, 1, 0},
    {LADSPA_HINT_TOGGLED | LADSPA_HINT_DEFAULT_1, 7, -7, 0, 1, 1},
    /* a bound without its hint, or no bounds */
    {0, 3, 4, -INFINITY, INFINITY, 0},
    {LADSPA_HINT_BOUNDED_BELOW, 3, 0, 3, INFINITY, 3},
    {LADSPA_HINT_BOUNDED_ABOVE, 0, -3, -INFINITY, -3, -3},
    {BOTH, 2, 10, 2, 10, 6},
    /* nonsense */
    {BOTH | LADSPA_HINT_DEFAULT_440, 0, 100, 0, 100, 100},
    {BOTH | LADSPA_HINT_DEFAULT_MIDDLE, 10, 2, -INFINITY, INFINITY, 0},
    {BOTH | LADSPA_HINT_DEFAULT_MIDDLE, NAN, 2, -INFINITY, 2, 2},
    {BOTH | LADSPA_HINT_LOGARITHMIC | LADSPA_HINT_DEFAULT_MIDDLE, 0, 10, 0, 10, 5},
};

static bool is_near(float value, float expected)
{
    return value == expected || fabsf(value - expected) <= 1e-5F * fabsf(expected);
}

START_TEST(hints_give_ranges_and_initial_values)
{
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++) {
        struct plugin_info *info = describe_hint(hints[i].hints, hints[i].low, hints[i].high);
        struct plugin_range range = plugin_port_range(&info->ports[0], RATE);
        bool right = is_near(range.minimum, hints[i].minimum) &&
                     is_near(range.maximum, hints[i].maximum) &&
                     is_near(range.initial, hints[i].initial);
        ck_assert_msg(right, "row %zu: %g .. %g, %g", i, (double)range.minimum,
                      (double)range.maximum, (double)range.initial);
        plugin_info_destroy(info);
    }
}

static void check_symbols(const struct reported *reported, const char *symbols)
{
    char text[256] = "";
    struct plugin_info *info = describe(reported);
    for (size_t i = 0; i < info->port_count; i++) {
        strcat(text, i ? " " : "");
        strcat(text, info->ports[i].symbol);
    }
    ck_assert_str_eq(text, symbols);
    plugin_info_destroy(info);
}

START_TEST(names_give_symbols)
{
    check_symbols(
        &(struct reported){.count = 4, .names = {"Gain [dB]", "a.f (Hz)", "Dry/Wet", "31 Hz"}},
        "gain a_f dry_wet _31_hz");
    check_symbols(
        &(struct reported){.count = 2, .names = {"Wave (0 = sine, 1 = saw)", "-- Ratio (1:n)"}},
        "wave ratio");
    /* brackets stay where they distinguish ports, except for units */
    check_symbols(
        &(struct reported){.count = 3, .names = {"Level (L) [dB]", "Level (R) [dB]", "Q"}},
        "level_l level_r q");
    check_symbols(&(struct reported){.count = 4, .names = {"Gain", "gain", "Gain (dB)", "gain 2"}},
                  "gain gain_2 gain_3 gain_2_2");
    check_symbols(&(struct reported){.count = 4, .names = {"", "(dB)", "\xc3\xa9t\xc3\xa9", NULL}},
                  "port port_2 t port_3");
    check_symbols(&(struct reported){.count = 2, .names = {"Open (Hz", ")x("}}, "open_hz x");
}

START_TEST(names_give_units_and_points)
{
    static const struct {
        const char *name, *unit;
    } units[] = {{"Gain [dB]", "dB"},       {"Rate (Hz)", "Hz"},     {"Delay (seconds)", "s"},
                 {"Time [ms]", "ms"},       {"Depth (%)", "%"},      {"Gain (L) [db]", "dB"},
                 {"Ratio (1:n)", NULL},     {"Level (Level)", NULL}, {"Frequency", NULL},
                 {"Phase [deg]", "degrees"}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        struct plugin_info *info =
            describe(&(struct reported){.count = 1, .names = {units[i].name}});
        ck_assert_pstr_eq(info->ports[0].unit, units[i].unit);
        plugin_info_destroy(info);
    }
    struct plugin_info *info =
        describe(&(struct reported){.count = 1,
                                    .names = {"Wave (1=sin, 2 = soft saw, 9 = none, what=3)"},
                                    .ranges = {{BOTH | LADSPA_HINT_INTEGER, 1, 4}}});
    ck_assert_uint_eq(info->ports[0].point_count, 2);
    ck_assert_str_eq(info->ports[0].points[0].label, "sin");
    ck_assert_str_eq(info->ports[0].points[1].label, "soft saw");
    ck_assert(info->ports[0].points[1].value == 2);
    plugin_info_destroy(info);
}

START_TEST(only_a_control_that_reports_it_is_the_latency)
{
    enum { REPORTS = LADSPA_PORT_OUTPUT | LADSPA_PORT_CONTROL };
    struct plugin_info *info = describe(
        &(struct reported){.count = 4,
                           .names = {"latency", "_Latency", "latency", "Latency mode"},
                           .kinds = {0, REPORTS, LADSPA_PORT_OUTPUT | LADSPA_PORT_AUDIO, REPORTS}});
    ck_assert(!info->ports[0].is_latency && info->ports[1].is_latency);
    ck_assert(!info->ports[2].is_latency && !info->ports[3].is_latency);
    plugin_info_destroy(info);
}

START_TEST(side_chains_are_known_by_their_names)
{
    enum { AUDIO_IN = LADSPA_PORT_INPUT | LADSPA_PORT_AUDIO };
    struct plugin_info *info =
        describe(&(struct reported){.count = 4,
                                    .names = {"Sidechain Input", "Input", "Side", "Sidechain"},
                                    .kinds = {AUDIO_IN, AUDIO_IN, AUDIO_IN, 0}});
    ck_assert(info->ports[0].is_side_chain && !info->ports[1].is_side_chain);
    ck_assert(!info->ports[2].is_side_chain && !info->ports[3].is_side_chain);
    plugin_info_destroy(info);
}

/* ---- real plugins ---- */

static float input[FRAMES];
static float output[FRAMES];

static struct plugin_info *info_of(const char *id)
{
    struct plugin_info *info = NULL;
    ck_assert_int_eq(plugin_ladspa.describe(id, &info), STATUS_OK);
    return info;
}

static size_t port_named(const struct plugin_info *info, const char *symbol)
{
    for (size_t i = 0; i < info->port_count; i++)
        if (strcmp(info->ports[i].symbol, symbol) == 0)
            return i;
    ck_abort_msg("%s has no port %s", info->id, symbol);
}

static struct plugin *plugin_of(const struct plugin_info *info, size_t block)
{
    struct plugin *plugin = NULL;
    const struct plugin_settings settings = {.rate = RATE, .block = block};
    ck_assert_int_eq(plugin_create(info, &settings, &plugin), STATUS_OK);
    return plugin;
}

/* All of `input` to `output`, on the plugin's first ports. */
static void run(struct plugin *plugin, size_t block)
{
    for (size_t at = 0; at < FRAMES; at += block) {
        const float *const in[] = {input + at};
        float *const out[] = {output + at};
        plugin->kind->process(plugin, in, out, block);
    }
}

static void fill_input(void)
{
    uint32_t seed = 1;
    for (size_t i = 0; i < FRAMES; i++) {
        seed = seed * 1664525 + 1013904223;
        input[i] = (float)(int32_t)seed / 4294967296.0F;
    }
}

/* With up to two ports set, in blocks of 64. */
static void filter_by(const char *id, const char *one, float its, const char *other, float others)
{
    struct plugin_info *info = info_of(id);
    struct plugin *plugin = plugin_of(info, 64);
    if (one)
        plugin_set(plugin, port_named(info, one), its);
    if (other)
        plugin_set(plugin, port_named(info, other), others);
    plugin->kind->reset(plugin);
    fill_input();
    memset(output, 0, sizeof output);
    run(plugin, 64);
    plugin_destroy(plugin);
    plugin_info_destroy(info);
}

static void check_gain(float gain)
{
    for (size_t i = 0; i < FRAMES; i++)
        ck_assert_msg(output[i] == gain * input[i], "frame %zu", i);
}

START_TEST(gains_are_exact)
{
    filter_by("amp_1181:amp", "amps_gain", -6, NULL, 0);
    check_gain(powf(10, -6 * 0.05F));
    filter_by("inv_1429.so:inv", NULL, 0, NULL, 0);
    check_gain(-1);
    filter_by("cmt:amp_mono", "gain", 0.25F, NULL, 0);
    check_gain(0.25F);
    filter_by("/usr/lib/ladspa/amp.so:amp_mono", "gain", 3, NULL, 0);
    check_gain(3);
    filter_by("amp:amp_mono", NULL, 0, NULL, 0);
    check_gain(1);
}

static void check_delay(size_t frames, size_t from)
{
    for (size_t i = from; i < FRAMES; i++)
        ck_assert_msg(output[i] == (i < frames ? 0 : input[i - frames]), "frame %zu", i);
}

START_TEST(delays_are_exact)
{
    filter_by("cmt:delay_1s", "delay", 0.01F, "dry_wet_balance", 1);
    check_delay(480, 0);
    /* This one sizes its buffer at activation, from a control. */
    filter_by("delay_1898:delay_n", "max_delay", 0.2F, "delay_time", 0.01F);
    check_delay(480, 1024); /* its first block starts with another delay */
}

START_TEST(generators_make_sound)
{
    filter_by("sine:sine_fcac", "frequency", 1000, "amplitude", 0.5F);
    for (size_t i = 0; i < FRAMES; i++) {
        double expected = 0.5 * sin(2 * 3.14159265358979 * 1000 / RATE * (double)i);
        ck_assert_double_le(fabs((double)output[i] - expected), 1e-3);
    }
    filter_by("noise:noise_white", "amplitude", 0.25F, NULL, 0);
    double square = 0;
    for (size_t i = 0; i < FRAMES; i++)
        square += (double)output[i] * (double)output[i] / FRAMES;
    ck_assert_double_eq_tol(sqrt(square), 0.25 / sqrt(3), 0.005);
}

START_TEST(a_latency_is_reported)
{
    struct plugin_info *info = info_of("hilbert_1440:hilbert");
    struct plugin *plugin = plugin_of(info, 64);
    ck_assert_uint_eq(plugin->inputs, 1);
    ck_assert_uint_eq(plugin->outputs, 2);
    ck_assert_uint_eq(plugin_latency(plugin), 0);
    float other[64];
    const float *const in[] = {input};
    float *const out[] = {output, other};
    plugin->kind->process(plugin, in, out, 64);
    ck_assert_uint_eq(plugin_latency(plugin), 99);
    plugin_destroy(plugin);
    plugin_info_destroy(info);
}

START_TEST(reset_clears_sound_and_keeps_values)
{
    /* All keep their state over deactivate and activate. */
    static const char *const ids[] = {"svf_1214:svf", "divider_1186:divider", "sc1_1425:sc1",
                                      "cmt:lpf"};
    static float first[FRAMES];
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        struct plugin_info *info = info_of(ids[i]);
        struct plugin *plugin = plugin_of(info, 256);
        size_t port = 0;
        while (info->ports[port].type != PLUGIN_CONTROL || !info->ports[port].is_input)
            port++;
        float value = plugin_port_range(&info->ports[port], RATE).maximum / 3;
        plugin_set(plugin, port, value);
        plugin->kind->reset(plugin);
        fill_input();
        run(plugin, 256);
        memcpy(first, output, sizeof first);
        run(plugin, 256);
        ck_assert_msg(memcmp(first, output, sizeof first) != 0, "%s keeps no history", ids[i]);
        plugin->kind->reset(plugin);
        ck_assert(plugin->controls[port] == value);
        run(plugin, 256);
        ck_assert_msg(memcmp(first, output, sizeof first) == 0, "%s keeps history after a reset",
                      ids[i]);
        plugin_destroy(plugin);
        plugin_info_destroy(info);
    }
}

/* ---- names ---- */

static void check_refusal(const char *id, const char *expected)
{
    char text[1024] = "";
    struct plugin_info *info = NULL;
    log_capture(text, sizeof text);
    enum status status = plugin_ladspa.describe(id, &info);
    log_capture(NULL, 0);
    ck_assert_int_ne(status, STATUS_OK);
    ck_assert_ptr_null(info);
    ck_assert_msg(strstr(text, expected) != NULL, "%s: no \"%s\" in: %s", id, expected, text);
}

START_TEST(unknown_names_are_refused_with_suggestions)
{
    check_refusal("amp_1182:amp", "did you mean amp_1181");
    check_refusal("nothing_like_it:amp", "there is no LADSPA library nothing_like_it in ");
    check_refusal("inv_1429:inw", "did you mean inv?");
    check_refusal("inv_1429:nothing_like_it", "it has inv");
    check_refusal("amp_1181", "as LIBRARY:LABEL; it has amp");
    check_refusal("/usr/lib/ladspa/amp_118.so:amp", "there is no LADSPA library /usr/lib/ladspa/");
    check_refusal("./:amp", "there is no LADSPA library ./");
    check_refusal("", "LADSPA library");
    check_refusal(":", "LADSPA library");
}

START_TEST(ids_find_their_plugins)
{
    static const char *const ids[] = {"amp_1181:amp", "amp_1181.so:amp",
                                      "/usr/lib/ladspa/amp_1181.so:amp",
                                      "/usr/lib/ladspa/amp_1181:amp"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        struct plugin_info *info = info_of(ids[i]);
        ck_assert_str_eq(info->id, "amp_1181:amp");
        plugin_info_destroy(info);
    }
    setenv("LADSPA_PATH", "/nowhere::/tmp", 1);
    struct plugin_info *info = info_of("/usr/lib/ladspa/amp_1181.so:amp");
    ck_assert_str_eq(info->id, "/usr/lib/ladspa/amp_1181.so:amp");
    plugin_info_destroy(info);
    check_refusal("amp_1181:amp", "in /nowhere::/tmp");
    unsetenv("LADSPA_PATH");
}

static void copy_library(const char *folder, const char *name)
{
    char command[1024];
    snprintf(command, sizeof command, "cp '%s/labels.so' '%s/%s'", LABELS, folder, name);
    ck_assert_int_eq(system(command), 0);
}

static void check_id(const char *id, const char *expected, float gain)
{
    struct plugin_info *info = info_of(id);
    ck_assert_str_eq(info->id, expected);
    plugin_info_destroy(info);
    filter_by(id, NULL, 0, NULL, 0);
    check_gain(gain);
}

static void check_found_id(void *context, const char *id)
{
    struct plugin_info *info = info_of(id);
    ck_assert_str_eq(info->id, id);
    plugin_info_destroy(info);
    ++*(int *)context;
}

START_TEST(labels_and_libraries_may_have_colons)
{
    char folder[] = "/tmp/halo-labels-XXXXXX", path[64];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    setenv("LADSPA_PATH", folder, 1);
    copy_library(folder, "x:a.so");
    check_id("x:a:b", "x\\:a:b", 5);
    check_id("x:a:http://halo.test/plugins/gain", "x\\:a:http://halo.test/plugins/gain", 2);
    check_refusal("x:a", "as LIBRARY:LABEL; it has http://halo.test");
    copy_library(folder, "x.so");
    check_id("x:http://halo.test/plugins/gain", "x:http://halo.test/plugins/gain", 2);
    check_id("x:a:b", "x:a:b", 3);
    check_id("x\\:a:b", "x\\:a:b", 5);
    check_id("x\\:a:a:b", "x\\:a:a:b", 3);
    check_refusal("y:http://halo.test/plugins/gain", "there is no LADSPA library y in");
    for (int i = 0; i < 2; i++) {
        int count = 0;
        snprintf(path, sizeof path, "%s/%s", folder, i ? "x.so" : "x:a.so");
        ck_assert_int_eq(plugin_ladspa.open(path, &(struct plugin_found){check_found_id, &count}),
                         STATUS_OK);
        ck_assert_int_eq(count, 3);
        setenv("LADSPA_PATH", "/nowhere", 1);
        ck_assert_int_eq(plugin_ladspa.open(path, &(struct plugin_found){check_found_id, &count}),
                         STATUS_OK);
        ck_assert_int_eq(count, 6);
        setenv("LADSPA_PATH", folder, 1);
        ck_assert_int_eq(remove(path), 0);
    }
    ck_assert_int_eq(rmdir(folder), 0);
    unsetenv("LADSPA_PATH");
}

int main(void)
{
    static const char *const needed[] = {"/usr/lib/ladspa/amp_1181.so", "/usr/lib/ladspa/cmt.so",
                                         "/usr/lib/ladspa/amp.so"};
    unsetenv("LADSPA_PATH");
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (access(needed[i], R_OK) != 0) {
            printf("skipped: %s is missing (packages swh-plugins, cmt, ladspa-sdk)\n", needed[i]);
            suite_leave_out("gains_are_exact delays_are_exact generators_make_sound "
                            "a_latency_is_reported reset_clears_sound_and_keeps_values "
                            "unknown_names_are_refused_with_suggestions ids_find_their_plugins "
                            "labels_and_libraries_may_have_colons");
            return suite_run() == EXIT_SUCCESS ? 77 : EXIT_FAILURE;
        }
    return suite_run();
}
