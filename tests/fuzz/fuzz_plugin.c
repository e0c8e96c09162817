/* libFuzzer target for the options of a plugin, one a line. */
#include "fuzz.h"
#include "plugin/plugin_spec.h"

#include <math.h>

enum { RATE = 48000 };

static struct plugin_point modes[] = {{"Lowpass", 0}, {"Highpass", 1}, {"12", 2}};
#define CONTROL .type = PLUGIN_CONTROL, .is_input = true
static struct plugin_port ports[] = {
    {.type = PLUGIN_AUDIO, .is_input = true, .symbol = "in", .name = "In"},
    {CONTROL, .symbol = "gain", .name = "Gain", .unit = "dB", .minimum = -90, .maximum = 24},
    {CONTROL, .symbol = "mode", .name = "Filter mode", .is_enumeration = true, .maximum = 2,
     .points = modes, .point_count = 3},
    {CONTROL, .symbol = "cut", .name = "Filter frequency", .unit = "Hz", .minimum = 0.001f,
     .maximum = 0.5f, .counts_in_rate = true},
    {CONTROL, .symbol = "time", .name = "Time", .unit = "s", .minimum = 0.001f, .maximum = 2},
    {CONTROL, .symbol = "on", .name = "Enable", .is_toggle = true, .maximum = 1},
    {CONTROL, .symbol = "steps", .name = "Steps", .is_integer = true, .minimum = 1, .maximum = 16},
    {CONTROL, .symbol = "at", .name = "Attack", .minimum = -INFINITY, .maximum = INFINITY},
};
static struct plugin_parameter parameters[] = {{PLUGIN_PATH, "urn:x#file", "File"},
                                               {PLUGIN_FLOAT, "urn:x#level", "Level"},
                                               {PLUGIN_BOOL, "urn:x#bool", "Bool"}};
static struct plugin_preset presets[] = {{"urn:x#loud", "Loud and clear"}};
static struct plugin_info info = {
    .id = "urn:x",
    .loads_presets = true,
    .port_count = sizeof ports / sizeof *ports,
    .ports = ports,
    .parameter_count = 3,
    .parameters = parameters,
    .preset_count = 1,
    .presets = presets,
};

static void check(size_t port, double value)
{
    if (port >= info.port_count || ports[port].type != PLUGIN_CONTROL || !isfinite(value))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *rest = text, *line;
    struct plugin_spec spec = {0};
    while ((line = strsep(&rest, "\n"))) {
        fuzz_begin();
        fuzz_end(plugin_spec_take(&spec, &info, (struct automation_time){RATE, 0}, line));
    }
    for (size_t i = 0; i < spec.value_count; i++)
        check(spec.values[i].port, spec.values[i].value);
    for (size_t i = 0; i < spec.automation.count; i++)
        check(spec.automation.points[i].target, spec.automation.points[i].value);
    plugin_spec_free(&spec);
    free(text);
    return 0;
}
