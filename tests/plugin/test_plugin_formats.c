/* The plugins that Debian's zam-plugins brings as CLAP, LV2 and VST3 sound the same to the bit,
 * with the same values; exit 77 without them. */
#include "command.h"
#include "plugin_rig.h"
#include "sound.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RATE = 48000, FRAMES = 30000, SPEC_BYTES = 4096 };

/* Not ZamHeadX2: as CLAP it passes the sound until a value changes while it is active, since it
 * makes its filters before it knows the length of the blocks. */
static const char *const names[] = {
    "ZaMaximX2", "ZaMultiComp",  "ZaMultiCompX2", "ZamAutoSat", "ZamComp", "ZamCompX2",
    "ZamDelay",  "ZamDynamicEQ", "ZamEQ2",        "ZamGEQ31",   "ZamGate", "ZamGateX2",
    "ZamGrains", "ZamPhono",     "ZamTube",       "ZamVerb",
};
enum { NAMES = sizeof names / sizeof *names };

static size_t next_control(const struct plugin_info *info, size_t port)
{
    while (port < info->port_count && !plugin_port_is_control(&info->ports[port]))
        port++;
    return port;
}

/* Each control of `plugin` at a share of the range that the control of `first` has. */
static void write_spec(const struct plugin_info *first, const struct plugin_info *plugin,
                       float share, char spec[SPEC_BYTES])
{
    size_t c = next_control(first, 0), p = next_control(plugin, 0);
    spec[0] = '\0';
    while (share > 0 && c < first->port_count && p < plugin->port_count) {
        const struct plugin_port *port = &first->ports[c];
        float value = port->minimum + share * (port->maximum - port->minimum);
        if (port->is_integer || port->is_toggle)
            value = roundf(value);
        ck_assert_str_eq(port->name, plugin->ports[p].name);
        ck_assert_float_eq_tol(port->initial, plugin->ports[p].initial,
                               1e-6F * (port->maximum - port->minimum)); /* normalized in floats */
        snprintf(spec + strlen(spec), SPEC_BYTES - strlen(spec), ",%s=%.9g",
                 plugin->ports[p].symbol, (double)value);
        c = next_control(first, c + 1);
        p = next_control(plugin, p + 1);
    }
    ck_assert(share == 0 || (c == first->port_count && p == plugin->port_count));
}

static void render(const struct plugin_info *first, const struct plugin_info *plugin, float share,
                   const char *out)
{
    static char spec[SPEC_BYTES];
    write_spec(first, plugin, share, spec);
    command_done("$HALO render in%zu.wav %s -f --tail none --format float --%s '%s%s'",
                 plugin_instances_inputs(first), out, plugin->kind->name, plugin->id, spec);
}

static void compare(const char *kind, const char *format)
{
    for (size_t i = 0; i < NAMES; i++) {
        char clap_id[64], id[64];
        /* As VST3, ZamGrains differs in any host, and ZamDynamicEQ does not tell that it begins
         * with its peak filter on. */
        if (strcmp(kind, "vst3") == 0 &&
            (strcmp(names[i], "ZamGrains") == 0 || strcmp(names[i], "ZamDynamicEQ") == 0))
            continue;
        snprintf(clap_id, sizeof clap_id, "com.zamaudio.%s", names[i]);
        snprintf(id, sizeof id, format, names[i]);
        struct plugin_info *clap = plugin_rig_describe("clap", clap_id);
        struct plugin_info *other = plugin_rig_describe(kind, id);
        for (int step = 0; clap && other && step <= 2; step++) {
            render(clap, clap, 0.37F * (float)step, "clap.wav");
            render(clap, other, 0.37F * (float)step, "other.wav");
            command_done("cmp clap.wav other.wav");
        }
        plugin_info_destroy(clap);
        plugin_info_destroy(other);
    }
}

static void begin(void)
{
    for (size_t c = 1; c <= 2; c++)
        sound_noise_file(c == 1 ? "in1.wav" : "in2.wav", c, SF_FORMAT_WAV | SF_FORMAT_PCM_24, RATE,
                         c, FRAMES);
}

START_TEST(lv2_sounds_as_clap)
{
    begin();
    compare("lv2", "urn:zamaudio:%s");
}

START_TEST(vst3_sounds_as_clap)
{
    begin();
    compare("vst3", "%s.vst3");
}

int main(void)
{
    plugin_rig_prepare();
    return plugin_rig_code(suite_run());
}
