/* The parameters: the controls of the effect in its order, except that "enabled" is the bypass that
 * hosts know. Their numbers are those of enum effect_control. */
#include "clap_effect.h"

#include "base/decimal.h"
#include "base/plain_locale.h"
#include "base/realtime.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    SOUND = CLAP_PARAM_IS_AUTOMATABLE,
    SWITCH = CLAP_PARAM_IS_STEPPED | CLAP_PARAM_IS_ENUM,
};

static const struct clap_effect_param {
    const char *name;
    uint32_t flags;
    const char *unit;      /* with a blank before */
    const char *labels[2]; /* of a switch: for 0 and 1 */
} params[EFFECT_CONTROLS] = {
    [EFFECT_ENABLED] = {"Bypass", SOUND | SWITCH | CLAP_PARAM_IS_BYPASS, "", {"Off", "On"}},
    [EFFECT_GAIN] = {"Gain", SOUND, " dB", {0}},
    [EFFECT_MIX] = {"Mix", SOUND, "", {0}},
    [EFFECT_PRE_DELAY] = {"Pre-delay", SOUND, " ms", {0}},
    /* These two prepare the mask again. */
    [EFFECT_TRIM] = {"Trim", 0, " ms", {0}},
    [EFFECT_PROCESSOR] = {"Processor", SWITCH, "", {"Automatic", "GPU"}},
};

const char *clap_effect_param_symbol(size_t param)
{
    return param == EFFECT_ENABLED ? "bypass" : effect_ranges[param].symbol;
}

double clap_effect_param_initial(size_t param)
{
    double initial = (double)effect_ranges[param].initial;
    return param == EFFECT_ENABLED ? 1 - initial : initial;
}

HALO_REALTIME double clap_effect_param_clamped(size_t param, double value)
{
    double least = (double)effect_ranges[param].least, most = (double)effect_ranges[param].most;
    value = value < least ? least : value > most ? most : value;
    return params[param].labels[0] ? (double)(int)value : value;
}

HALO_REALTIME float clap_effect_control(const struct clap_effect *clap, enum effect_control control)
{
    float value = (float)atomic_load_explicit(&clap->values[control], memory_order_relaxed);
    return control == EFFECT_ENABLED ? 1 - value : value;
}

HALO_REALTIME void clap_effect_param_event(struct clap_effect *clap,
                                           const struct clap_event_header *event)
{
    if (!event || event->space_id != CLAP_CORE_EVENT_SPACE_ID ||
        event->type != CLAP_EVENT_PARAM_VALUE ||
        event->size < sizeof(struct clap_event_param_value))
        return;
    const struct clap_event_param_value *change = (const struct clap_event_param_value *)event;
    if (change->param_id < EFFECT_CONTROLS && !isnan(change->value))
        atomic_store_explicit(&clap->values[change->param_id],
                              clap_effect_param_clamped(change->param_id, change->value),
                              memory_order_relaxed);
}

/* ---- the extension ---- */

static uint32_t param_count(const struct clap_plugin *plugin)
{
    (void)plugin;
    return EFFECT_CONTROLS;
}

static bool param_info(const struct clap_plugin *plugin, uint32_t index,
                       struct clap_param_info *info)
{
    (void)plugin;
    if (index >= EFFECT_CONTROLS)
        return false;
    *info = (struct clap_param_info){
        .id = index,
        .flags = params[index].flags,
        .min_value = (double)effect_ranges[index].least,
        .max_value = (double)effect_ranges[index].most,
        .default_value = clap_effect_param_initial(index),
    };
    snprintf(info->name, sizeof info->name, "%s", params[index].name);
    return true;
}

static bool param_value(const struct clap_plugin *plugin, uint32_t id, double *value)
{
    if (id >= EFFECT_CONTROLS)
        return false;
    *value = atomic_load(&clap_effect_of(plugin)->values[id]);
    return true;
}

static bool value_to_text(const struct clap_plugin *plugin, uint32_t id, double value, char *text,
                          uint32_t size)
{
    (void)plugin;
    if (id >= EFFECT_CONTROLS || size == 0 || value != value)
        return false;
    const struct clap_effect_param *param = &params[id];
    struct plain_locale locale = plain_locale_begin();
    int length = param->labels[0] ? snprintf(text, size, "%s", param->labels[value >= 1])
                                  : snprintf(text, size, "%.6g%s", value, param->unit);
    plain_locale_end(locale);
    return length >= 0 && (uint32_t)length < size;
}

static bool parse_number(const struct clap_effect_param *param, const char *text, double *value)
{
    char *end;
    struct plain_locale locale = plain_locale_begin();
    bool is_number = decimal_read(text, &end, value);
    plain_locale_end(locale);
    end += strspn(end, " ");
    return is_number && (!*end || strcasecmp(end, param->unit + (*param->unit == ' ')) == 0);
}

static bool text_to_value(const struct clap_plugin *plugin, uint32_t id, const char *text,
                          double *value)
{
    (void)plugin;
    if (id >= EFFECT_CONTROLS)
        return false;
    for (size_t l = 0; l < 2 && params[id].labels[0]; l++)
        if (strcasecmp(text, params[id].labels[l]) == 0) {
            *value = (double)l;
            return true;
        }
    double number;
    if (!parse_number(&params[id], text + strspn(text, " "), &number))
        return false;
    *value = clap_effect_param_clamped(id, number);
    return true;
}

static void flush(const struct clap_plugin *plugin, const struct clap_input_events *in,
                  const struct clap_output_events *out)
{
    (void)out;
    uint32_t count = in ? in->size(in) : 0;
    for (uint32_t e = 0; e < count; e++)
        clap_effect_param_event(clap_effect_of(plugin), in->get(in, e));
}

const struct clap_plugin_params clap_effect_params = {
    .count = param_count,
    .get_info = param_info,
    .get_value = param_value,
    .value_to_text = value_to_text,
    .text_to_value = text_to_value,
    .flush = flush,
};
