#include "lv2_rig.h"

#include "plugin/scan/plugin_catalog.h"
#include "stream.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum status lv2_rig_describe(const char *uri, struct plugin_info **info)
{
    setenv("HALO_PROGRAM", HALO_PROGRAM, 0);
    return plugin_describe_isolated(&plugin_lv2, uri, info);
}

bool lv2_rig_has(const char *uri)
{
    char why[1024];
    struct plugin_info *info;
    log_capture(why, sizeof why);
    bool has = lv2_rig_describe(uri, &info) == STATUS_OK;
    log_capture(NULL, 0);
    if (has)
        plugin_info_destroy(info);
    return has;
}

static struct plugin_settings completed(struct plugin_settings settings)
{
    settings.rate = settings.rate ? settings.rate : RIG_RATE;
    settings.block = settings.block ? settings.block : 64;
    return settings;
}

struct lv2_rig lv2_rig_open(const char *uri, struct plugin_settings settings, size_t frames)
{
    struct lv2_rig rig = {.settings = completed(settings)};
    ck_assert_int_eq(lv2_rig_describe(uri, &rig.info), STATUS_OK);
    /* Keep going after info->refusal: a plugin without sound is fine here. */
    ck_assert_int_eq(plugin_lv2.use(rig.info->holders, rig.info->holder_count), STATUS_OK);
    ck_assert_int_eq(plugin_lv2.create(rig.info, &rig.settings, &rig.plugin), STATUS_OK);
    size_t blocks = (frames + rig.settings.block - 1) / rig.settings.block;
    rig.in = stream_noise(1, rig.plugin->inputs, blocks * rig.settings.block);
    rig.out = stream_block(rig.plugin->outputs, rig.in.frames);
    for (size_t p = 0, input = 0; p < rig.info->port_count; p++)
        if (rig.info->ports[p].type == PLUGIN_AUDIO && rig.info->ports[p].is_input) {
            if (rig.info->ports[p].is_side_chain)
                memset(rig.in.data[input], 0, rig.in.frames * sizeof(float));
            input++;
        }
    return rig;
}

static void process(struct lv2_rig *rig, size_t from)
{
    const float *in[16];
    float *out[16];
    for (size_t i = 0; i < rig->plugin->inputs; i++)
        in[i] = rig->in.data[i] + from;
    for (size_t i = 0; i < rig->plugin->outputs; i++)
        out[i] = rig->out.data[i] + from;
    plugin_lv2.process(rig->plugin, in, out, rig->settings.block);
}

void lv2_rig_run(struct lv2_rig *rig)
{
    for (size_t from = 0; from < rig->in.frames; from += rig->settings.block)
        process(rig, from);
}

void lv2_rig_step(struct lv2_rig *rig)
{
    process(rig, 0);
}

void lv2_rig_close(struct lv2_rig *rig)
{
    plugin_destroy(rig->plugin);
    plugin_info_destroy(rig->info);
}

size_t lv2_rig_port(const struct lv2_rig *rig, const char *symbol)
{
    for (size_t i = 0; i < rig->info->port_count; i++)
        if (strcmp(rig->info->ports[i].symbol, symbol) == 0)
            return i;
    ck_abort_msg("%s has no port %s", rig->info->id, symbol);
    return 0;
}

float lv2_rig_value(const struct lv2_rig *rig, const char *symbol)
{
    return rig->plugin->controls[lv2_rig_port(rig, symbol)];
}

void lv2_rig_set(struct lv2_rig *rig, const char *symbol, float value)
{
    plugin_set(rig->plugin, lv2_rig_port(rig, symbol), value);
}

void lv2_rig_expect(const struct lv2_rig *rig, size_t channel, float gain, size_t delay,
                    float error)
{
    const float *in = rig->in.data[0], *out = rig->out.data[channel];
    for (size_t i = delay; i < rig->out.frames; i++) {
        float expected = in[i - delay] * gain;
        ck_assert_msg(fabsf(out[i] - expected) <= error,
                      "%s: frame %zu of channel %zu is %g, not %g", rig->info->id, i, channel,
                      (double)out[i], (double)expected);
    }
}

void lv2_rig_refused(const char *uri, struct plugin_settings settings, const char *expected)
{
    char why[2048] = "";
    struct plugin_info *info;
    struct plugin *plugin;
    settings = completed(settings);
    ck_assert_int_eq(lv2_rig_describe(uri, &info), STATUS_OK);
    log_capture(why, sizeof why);
    enum status status = plugin_create(info, &settings, &plugin);
    log_capture(NULL, 0);
    ck_assert_int_eq(status, STATUS_FAILED);
    ck_assert_msg(strstr(why, expected) != NULL, "'%s' is not in: %s", expected, why);
    plugin_info_destroy(info);
}
