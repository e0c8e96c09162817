/* The plugins that Debian's zam-plugins brings both as CLAP and as LV2 sound the same to the bit,
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

/* Each control at a share of its range. */
static void write_specs(const struct plugin_info *clap, const struct plugin_info *lv2, float share,
                        char *clap_spec, char *lv2_spec)
{
    size_t c = next_control(clap, 0), l = next_control(lv2, 0);
    clap_spec[0] = lv2_spec[0] = '\0';
    while (c < clap->port_count && l < lv2->port_count) {
        const struct plugin_port *port = &clap->ports[c];
        float value = port->minimum + share * (port->maximum - port->minimum);
        if (port->is_integer || port->is_toggle)
            value = roundf(value);
        ck_assert_str_eq(port->name, lv2->ports[l].name);
        ck_assert_float_eq(port->initial, lv2->ports[l].initial);
        snprintf(clap_spec + strlen(clap_spec), SPEC_BYTES - strlen(clap_spec), ",%s=%.9g",
                 port->symbol, (double)value);
        snprintf(lv2_spec + strlen(lv2_spec), SPEC_BYTES - strlen(lv2_spec), ",%s=%.9g",
                 lv2->ports[l].symbol, (double)value);
        c = next_control(clap, c + 1);
        l = next_control(lv2, l + 1);
    }
    ck_assert(c == clap->port_count && l == lv2->port_count);
}

static void compare(const struct plugin_info *clap, const struct plugin_info *lv2, float share)
{
    static char clap_spec[SPEC_BYTES], lv2_spec[SPEC_BYTES];
    size_t channels = plugin_instances_inputs(clap);
    clap_spec[0] = lv2_spec[0] = '\0';
    if (share > 0)
        write_specs(clap, lv2, share, clap_spec, lv2_spec);
    command_done("$HALO render in%zu.wav clap.wav -f --tail none --format float --clap '%s%s'",
                 channels, clap->id, clap_spec);
    command_done("$HALO render in%zu.wav lv2.wav -f --tail none --format float --lv2 '%s%s'",
                 channels, lv2->id, lv2_spec);
    command_done("cmp clap.wav lv2.wav");
}

START_TEST(both_formats_sound_the_same)
{
    for (size_t c = 1; c <= 2; c++)
        sound_noise_file(c == 1 ? "in1.wav" : "in2.wav", c, SF_FORMAT_WAV | SF_FORMAT_PCM_24, RATE,
                         c, FRAMES);
    for (size_t i = 0; i < NAMES; i++) {
        char clap_id[64], lv2_id[64];
        snprintf(clap_id, sizeof clap_id, "com.zamaudio.%s", names[i]);
        snprintf(lv2_id, sizeof lv2_id, "urn:zamaudio:%s", names[i]);
        struct plugin_info *clap = plugin_rig_describe("clap", clap_id);
        struct plugin_info *lv2 = plugin_rig_describe("lv2", lv2_id);
        if (clap && lv2)
            for (int step = 0; step <= 2; step++)
                compare(clap, lv2, 0.37F * (float)step);
        plugin_info_destroy(clap);
        plugin_info_destroy(lv2);
    }
}

int main(void)
{
    plugin_rig_prepare();
    return plugin_rig_code(suite_run());
}
