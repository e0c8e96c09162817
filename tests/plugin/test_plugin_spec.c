/* Plugin options as users write them, with a test descriptor; and channel maps. */
#include "plugin/plugin_map.h"
#include "plugin/plugin_spec.h"
#include "suite.h"

#include <math.h>
#include <string.h>

enum { RATE = 48000 };

static struct plugin_point modes[] = {{"Lowpass", 0}, {"Highpass", 1}, {"12", 2}, {"Notch", 5}};
static struct plugin_point halves[] = {{"Half", 0.5f}};

#define CONTROL .type = PLUGIN_CONTROL, .is_input = true
static struct plugin_port ports[] = {
    {.type = PLUGIN_AUDIO, .is_input = true, .symbol = "in", .name = "In"},
    {.type = PLUGIN_AUDIO, .symbol = "out", .name = "Out"},
    {CONTROL, .symbol = "g", .name = "Gain", .unit = "dB", .minimum = -90, .maximum = 24},
    {CONTROL, .symbol = "gain", .name = "Makeup", .unit = "dB", .minimum = 0, .maximum = INFINITY},
    {CONTROL, .symbol = "p4", .name = "Filter mode", .is_enumeration = true, .maximum = 5,
     .points = modes, .point_count = 4},
    {CONTROL, .symbol = "p5", .name = "Filter frequency", .unit = "Hz", .minimum = 0.001f,
     .maximum = 0.5f, .counts_in_rate = true},
    {CONTROL, .symbol = "p6", .name = "Time", .unit = "s", .minimum = 0.001f, .maximum = 2},
    {CONTROL, .symbol = "p7", .name = "Time span", .unit = "ms", .minimum = 1, .maximum = 2000},
    {CONTROL, .symbol = "p8", .name = "Enable", .is_toggle = true, .maximum = 1},
    {CONTROL, .symbol = "p9", .name = "Steps", .is_integer = true, .minimum = 1, .maximum = 16},
    {CONTROL, .symbol = "p10", .name = "Plain", .minimum = -INFINITY, .maximum = INFINITY,
     .points = halves, .point_count = 1},
    {CONTROL, .symbol = "at", .name = "Attack", .maximum = 10},
    {.type = PLUGIN_CONTROL, .symbol = "meter", .name = "Meter"},
};

static struct plugin_parameter parameters[] = {
    {PLUGIN_PATH, "urn:x#file", "File"},
    {PLUGIN_FLOAT, "urn:x#level", "Level"},
    {PLUGIN_STRING, "urn:x#text", "Text"},
};
static struct plugin_preset presets[] = {{"urn:x#loud", "Loud and clear"}, {"urn:x#soft", "Soft"}};

static struct plugin_info info = {
    .id = "urn:x",
    .port_count = sizeof ports / sizeof *ports,
    .ports = ports,
    .parameter_count = 3,
    .parameters = parameters,
    .preset_count = 2,
    .presets = presets,
};

static char problem[2000];

static enum status parse(struct plugin_spec *spec, const char *text)
{
    *spec = (struct plugin_spec){0};
    problem[0] = '\0';
    log_capture(problem, sizeof problem);
    enum status status = plugin_spec_take(spec, &info, (struct automation_time){RATE, 0}, text);
    log_capture(NULL, 0);
    return status;
}

START_TEST(values_are_read)
{
    static const struct {
        const char *text;
        size_t port;
        float value;
    } rows[] = {
        {"g=-6", 2, -6},
        {"g=-6dB", 2, -6},
        {"g=-6DB", 2, -6},
        {"Gain=3", 2, 3}, /* the case of symbols matters */
        {"gain=3", 3, 3}, /* but a symbol precedes a name */
        {"make=1e3", 3, 1000},
        {"filter m=highpass", 4, 1},
        {"4=Notch", 4, 5},
        {"p4=2", 4, 2},
        {"p4=12", 4, 2}, /* a number out of range may be a label */
        {"filter f=1kHz", 5, 1000},
        {"p5=24000", 5, 24000},
        {"p5=48", 5, 48},
        {"time=20ms", 6, 0.02f}, /* a whole name precedes a beginning */
        {"time=1", 6, 1},
        {"time s=0.5s", 7, 500},
        {"7=0.02min", 7, 1200},
        {"enable=on", 8, 1},
        {"enable=FALSE", 8, 0},
        {"enable=1", 8, 1},
        {"steps=16", 9, 16},
        {"plain=-1e9", 10, -1e9f},
        {"plain=half", 10, 0.5f},
        {"at=3", 11, 3},
        {"11=3", 11, 3},
    };
    struct plugin_spec spec;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_msg(parse(&spec, rows[i].text) == STATUS_OK, "%s: %s", rows[i].text, problem);
        ck_assert_uint_eq(spec.value_count, 1);
        ck_assert_msg(spec.values[0].port == rows[i].port, "%s: port %zu", rows[i].text,
                      spec.values[0].port);
        ck_assert_float_eq_tol(spec.values[0].value, rows[i].value,
                               fabsf(rows[i].value) * 1e-6f + 1e-9f);
        plugin_spec_free(&spec);
    }
}

START_TEST(wrong_specs_are_refused_with_a_correction)
{
    static const char *const rows[][2] = {
        {"foo=1", "g, gain, p4, p5, p6, p7, p8, p9, p10, at"},
        {"filter=1", "p4 (Filter mode), p5 (Filter frequency)"},
        {"meter=1", "has no control 'meter'"},
        {"out=1", "has no control 'out'"},
        {"1=1", "has no control '1'"},
        {"99=1", "has no control '99'"},
        {"-1=1", "has no control '-1'"},
        {"g=25", "from -90 to 24 dB, not '25'"},
        {"g=-90.1", "from -90 to 24 dB"},
        {"g=nan", "from -90 to 24 dB"},
        {"g=", "g= of urn:x needs a value"},
        {"g=3Hz", "from -90 to 24 dB"},
        {"gain=-1", "from 0 dB on"},
        {"gain=inf", "from 0 dB on"},
        {"p4=4", "Lowpass (0), Highpass (1), 12 (2), Notch (5)"},
        {"p4=low", "Lowpass (0)"},
        {"p5=25kHz", "from 48 to 24000 Hz"},
        {"time=3s", "from 0.001 to 2 s"},
        {"enable=maybe", "on or off"},
        {"enable=2", "on or off"},
        {"steps=1.5", "whole numbers from 1 to 16"},
        {"plain=x", "any number, or Half (0.5)"},
        {"plain=3dB", "any number"},
        {"plain=-30dB", "not '-30dB'; as a factor, 0.0316"},
        {"g", "PORT=VALUE"},
        {"=3", "PORT=VALUE"},
        {"preset=nothing", "Loud and clear, Soft"},
        {"param:urn:x#none=3", "urn:x#file, urn:x#level, urn:x#text"},
        {"param:urn:x#level=loud", "takes a number"},
        {"param:urn:x#file=/no/such/file", "cannot read /no/such/file"},
        {"at=:g=3", "at=12.5s:gain=-6"},
        {"at=3.5:g=3", "at=12.5s:gain=-6"},
        {"at=-3s:g=3", "at=12.5s:gain=-6"},
        {"at=3s-2s:g=3", "ends before it begins"},
        {"at=3s:g=99", "from -90 to 24 dB"},
        {"at=3s:foo=9", "has no control 'foo'"},
        {"at=1s-3s:p4=Notch", "cannot be a ramp"},
    };
    struct plugin_spec spec;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_msg(parse(&spec, rows[i][0]) != STATUS_OK, "%s was accepted", rows[i][0]);
        ck_assert_msg(strstr(problem, rows[i][1]), "%s: no '%s' in: %s", rows[i][0], rows[i][1],
                      problem);
        ck_assert_ptr_null(strchr(problem, '\n'));
        plugin_spec_free(&spec);
    }
}

static enum status parse_two(struct plugin_spec *spec, const char *first, const char *second)
{
    ck_assert_int_eq(parse(spec, first), STATUS_OK);
    log_capture(problem, sizeof problem);
    enum status status = plugin_spec_take(spec, &info, (struct automation_time){RATE, 0}, second);
    log_capture(NULL, 0);
    return status;
}

START_TEST(a_value_has_one_ramp_at_a_time)
{
    static const struct {
        const char *first, *second;
        bool good;
    } rows[] = {
        {"at=1s-3s:g=3", "at=2s:g=0", false},    {"at=2s:g=0", "at=1s-3s:g=3", false},
        {"at=1s-3s:g=3", "at=2s-4s:g=0", false}, {"at=1s-3s:g=3", "at=1s:g=0", true},
        {"at=1s:g=0", "at=1s-3s:g=3", true},     {"at=1s-3s:g=3", "at=1s-2s:g=0", false},
        {"at=1s:g=3", "at=1s:g=0", true},        {"at=1s-3s:g=3", "at=3s:g=0", true},
        {"at=1s-3s:g=3", "at=3s-4s:g=0", true},  {"at=1s-3s:g=3", "at=2s:gain=1", true},
    };
    struct plugin_spec spec;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool good = parse_two(&spec, rows[i].first, rows[i].second) == STATUS_OK;
        ck_assert_msg(good == rows[i].good, "%s, %s", rows[i].first, rows[i].second);
        ck_assert(good || strstr(problem, "within the ramp"));
        plugin_spec_free(&spec);
    }
}

START_TEST(hundreds_of_ports_give_a_short_line)
{
    enum { MANY = 300 };
    static struct plugin_port many[MANY];
    struct plugin_info crowd = {.id = "urn:crowd", .port_count = MANY, .ports = many};
    size_t port;
    for (size_t i = 0; i < MANY; i++)
        many[i] = (struct plugin_port){CONTROL, .symbol = "control", .name = "Control"};
    log_capture(problem, sizeof problem);
    ck_assert_int_eq(plugin_spec_port(&crowd, "foo", &port), STATUS_USAGE);
    log_capture(NULL, 0);
    ck_assert_ptr_nonnull(strstr(problem, "and 280 more"));
    ck_assert_uint_lt(strlen(problem), 400);
}

START_TEST(presets_and_parameters_are_found)
{
    struct plugin_spec spec;
    ck_assert_int_eq(parse(&spec, "preset=urn:x#soft"), STATUS_OK);
    ck_assert_str_eq(spec.preset, "urn:x#soft");
    plugin_spec_free(&spec);
    ck_assert_int_eq(parse(&spec, "preset=loud AND clear"), STATUS_OK);
    ck_assert_str_eq(spec.preset, "urn:x#loud");
    plugin_spec_free(&spec);
    ck_assert_int_eq(parse(&spec, "param:urn:x#text=a=b:c"), STATUS_OK);
    ck_assert_uint_eq(spec.setting_count, 1);
    ck_assert_str_eq(spec.settings[0].uri, "urn:x#text");
    ck_assert_str_eq(spec.settings[0].value, "a=b:c");
    plugin_spec_free(&spec);
    ck_assert_int_eq(parse(&spec, "param:urn:x#file=/dev/null"), STATUS_OK);
    plugin_spec_free(&spec);
}

START_TEST(times_are_read_and_kept_in_order)
{
    static const char *const options[] = {"at=2s:g=1", "at=480:g=2", "at=20ms-1s:g=3",
                                          "at=2s:gain=4"};
    static const struct automation_point expected[] = {
        {480, 0, 2, 2, 480}, {960, 47040, 2, 3, 480}, {96000, 0, 2, 1, 480}, {96000, 0, 3, 4, 480}};
    struct plugin_spec spec = {0};
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(
            plugin_spec_take(&spec, &info, (struct automation_time){RATE, 0}, options[i]),
            STATUS_OK);
    ck_assert_uint_eq(spec.automation.count, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct automation_point *point = &spec.automation.points[i];
        ck_assert_uint_eq(point->at, expected[i].at);
        ck_assert_uint_eq(point->over, expected[i].over);
        ck_assert_uint_eq(point->target, expected[i].target);
        ck_assert_uint_eq(point->smooth, expected[i].smooth);
        ck_assert_double_eq(point->value, expected[i].value);
    }
    plugin_spec_free(&spec);
}

/* ---- channels ---- */

static struct plugin_info of_width(struct plugin_port *audio, size_t inputs, size_t outputs)
{
    for (size_t i = 0; i < inputs + outputs + 1; i++)
        audio[i] = (struct plugin_port){
            .type = PLUGIN_AUDIO, .is_input = i <= inputs, .is_side_chain = i == inputs};
    return (struct plugin_info){.id = "urn:w", .port_count = inputs + outputs + 1, .ports = audio};
}

enum { BESIDE = 1000 };

/* Channels from 1; each instance has `width` inputs, then a side chain, which may be left out. */
static void write_inputs(const struct plugin_map *map, size_t width, bool with_side, char *text)
{
    for (size_t c = 0; c < map->count; c++)
        if (with_side || c % (width + 1) != width)
            *text++ = map->inputs[c] == PLUGIN_MAP_SILENCE ? '0' : (char)('1' + map->inputs[c]);
    *text = '\0';
}

START_TEST(channels_are_mapped)
{
    static const struct {
        size_t inputs, outputs, channels;
        const char *text;
        size_t instances;     /* 0: refused; BESIDE: one, and the sound bypasses it */
        const char *expected; /* channels from 1, 0 for silence; or part of the error */
    } rows[] = {
        {1, 1, 1, NULL, 1, "1"},
        {1, 1, 3, NULL, 3, "123"},
        {2, 2, 2, NULL, 1, "12"},
        {2, 2, 1, NULL, 1, "11"},
        {2, 1, 2, NULL, 1, "12"},
        {1, 2, 1, NULL, 1, "1"},
        {6, 6, 6, NULL, 1, "123456"},
        {0, 2, 2, NULL, 1, ""},
        {1, 2, 2, NULL, 0, "has 1 input and 2 outputs, the sound 2 channels"},
        {2, 2, 4, NULL, 0, "@map=each"},
        {2, 2, 3, NULL, 0, "@map=1:2:3:0 "},
        {4, 4, 2, NULL, 0, "has 4 inputs"},
        {4, 4, 2, NULL, 0, "@map=1:2:0:0 "},
        {1, 2, 2, NULL, 0, "@map=1:2 "},
        {1, 2, 2, "each", 2, "12"},
        {2, 2, 4, "each", 2, "1234"},
        {2, 2, 3, "each", 0, "3 channels"},
        {2, 2, 1, "each", 0, "1 channel:"},
        {2, 2, 3, "3:1", 1, "31"},
        {2, 2, 1, "1", 0, "names 1 channel: "},
        {2, 2, 1, "1", 0, "has 2 inputs, and each needs one, such as @map=1:1"},
        {4, 4, 3, "3:0:1:2:1", 0, "such as @map=3:0:1:2:1:3:0:1"},
        {1, 1, 2, "2", 1, "2"},
        {2, 2, 2, "1:0:0:2", 2, "1002"},
        {2, 2, 2, "1:2:1", 0, "names 3 channels"},
        {2, 2, 2, "1:3", 0, "from 1 to 2"},
        {2, 0, 2, NULL, BESIDE, "12"},
        {4, 0, 1, NULL, BESIDE, "1000"},
        {0, 0, 2, NULL, BESIDE, ""},
        {2, 0, 2, "2:1", BESIDE, "21"},
        {2, 2, 2, "1:", 0, "from 1 to 2"},
        {2, 2, 2, "-1:2", 0, "from 1 to 2"},
    };
    struct plugin_port audio[16];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct plugin_info wide = of_width(audio, rows[i].inputs, rows[i].outputs);
        struct plugin_map map;
        char inputs[16] = "";
        log_capture(problem, sizeof problem);
        const struct plugin_map_settings settings = {.map = rows[i].text};
        enum status status = plugin_map_init(&map, &wide, rows[i].channels, &settings);
        log_capture(NULL, 0);
        ck_assert_msg((status == STATUS_OK) == (rows[i].instances > 0), "row %zu: %s", i, problem);
        if (status == STATUS_OK) {
            bool beside = rows[i].instances == BESIDE;
            ck_assert_uint_eq(map.instances, beside ? 1 : rows[i].instances);
            ck_assert_uint_eq(map.outputs,
                              beside ? rows[i].channels : rows[i].instances * rows[i].outputs);
            ck_assert(map.is_beside == beside);
            write_inputs(&map, rows[i].inputs, false, inputs);
            ck_assert_str_eq(inputs, rows[i].expected);
        } else {
            ck_assert_msg(strstr(problem, rows[i].expected), "row %zu: %s", i, problem);
        }
        plugin_map_free(&map);
    }
}

START_TEST(side_chains_are_mapped)
{
    static const struct {
        size_t inputs, outputs, channels;
        const char *map, *side;
        size_t side_channels;
        const char *expected; /* channels from 1, those of a file after the sound's; or the error */
    } rows[] = {
        {2, 2, 2, NULL, NULL, 0, "120"},
        {2, 2, 3, NULL, "3", 0, "123"},
        {2, 2, 3, NULL, "2", 0, "132"},
        {2, 2, 2, NULL, NULL, 1, "123"},
        {1, 1, 2, NULL, NULL, 1, "1323"},
        {1, 1, 2, NULL, NULL, 2, "1324"},
        {1, 1, 3, NULL, "3", 0, "1323"},
        {1, 1, 2, "1:2", "2:1", 0, "1221"},
        {2, 2, 2, "1:2", "1", 0, "121"},
        {2, 2, 4, "each", "0", 0, "120340"},
        {2, 2, 2, NULL, "1:2", 0, "names all channels"},
        {2, 2, 3, NULL, "4", 0, "from 1 to 3"},
        {2, 2, 3, NULL, "1:", 0, "from 1 to 3"},
        {2, 2, 2, NULL, NULL, 2, "has 2 channels, but the side chains of urn:w have 1 input"},
        {2, 2, 4, NULL, "3", 0, "the sound 3 channels"},
        {2, 0, 3, NULL, "3", 0, "123"},
    };
    struct plugin_port audio[16];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct plugin_info wide = of_width(audio, rows[i].inputs, rows[i].outputs);
        const struct plugin_map_settings settings = {rows[i].map, rows[i].side,
                                                     rows[i].side_channels};
        struct plugin_map map;
        char inputs[16] = "";
        log_capture(problem, sizeof problem);
        enum status status = plugin_map_init(&map, &wide, rows[i].channels, &settings);
        log_capture(NULL, 0);
        if (status == STATUS_OK)
            write_inputs(&map, rows[i].inputs, true, inputs);
        ck_assert_msg(strstr(status == STATUS_OK ? inputs : problem, rows[i].expected) != NULL,
                      "row %zu: %s%s", i, inputs, problem);
        plugin_map_free(&map);
    }
    struct plugin_info plain = of_width(audio, 1, 1);
    const struct plugin_map_settings settings = {.side_channels = 1};
    struct plugin_map map;
    audio[1].is_side_chain = false; /* two inputs now */
    log_capture(problem, sizeof problem);
    ck_assert_int_eq(plugin_map_init(&map, &plain, 2, &settings), STATUS_USAGE);
    log_capture(NULL, 0);
    ck_assert_ptr_nonnull(strstr(problem, "declares no side chain"));
    plugin_map_free(&map);
}
