/* Presets of EasyEffects, versions 6 to 8: the plugins in their order. */
#include "mask/mask_easyeffects.h"

#include <string.h>

enum { PLUGINS_MOST = 64 };
static const double GAIN_MOST = 36; /* dB, EasyEffects' */

enum status easyeffects_number(struct easyeffects *preset, const json_t *object, const char *key,
                               double least, double most, double *value)
{
    TRY(mask_json_number(&preset->json, object, key, value));
    if (*value < least || *value > most)
        return mask_json_refuse(&preset->json, "'%s' is %g, but EasyEffects has %g to %g", key,
                                *value, least, most);
    return STATUS_OK;
}

enum status easyeffects_gain(struct easyeffects *preset, const json_t *object, const char *key,
                             double *factor)
{
    double gain = 0;
    TRY(easyeffects_number(preset, object, key, -GAIN_MOST, GAIN_MOST, &gain));
    *factor = audio_from_db(gain);
    return STATUS_OK;
}

void easyeffects_note_unknown(const struct easyeffects *preset, const json_t *settings,
                              const char *const *known)
{
    const char *key = mask_json_unknown(settings, known);
    if (key)
        note("mask %s: %s: the setting '%.40s' is not known and has no effect",
             preset->config->file, preset->json.where, key);
}

/* What only shows the sound does nothing. */
static enum status pass(struct easyeffects *preset, const json_t *plugin)
{
    (void)preset, (void)plugin;
    return STATUS_OK;
}

static enum status load_kernel(struct easyeffects *preset, const json_t *plugin)
{
    const struct mask *kernel;
    return easyeffects_kernel(preset, plugin, &kernel);
}

/* All are prepared before any filters: kernels set the rate at which equalisers are made. */
static const struct easyeffects_kind {
    const char *name;
    enum status (*prepare)(struct easyeffects *preset, const json_t *plugin);
    enum status (*filter)(struct easyeffects *preset, const json_t *plugin);
} kinds[] = {
    {"convolver", load_kernel, easyeffects_convolver},
    {"equalizer", pass, easyeffects_equalizer},
    {"level_meter", pass, pass},
    {"spectrum", pass, pass},
    {"output_level", pass, pass},
};

/* Of these only the gains before and after them are linear. */
static const char *const nonlinear[] = {
    "autogain",       "autotune",      "bass_enhancer", "compressor",     "crusher",
    "crystalizer",    "deepfilternet", "deesser",       "echo_canceller", "exciter",
    "expander",       "gate",          "limiter",       "maximizer",      "multiband_compressor",
    "multiband_gate", "pitch",         "rnnoise",       "speex",          "voice_suppressor",
};
static const struct easyeffects_kind left_out = {"", pass, pass};

static enum status apply_gain(struct easyeffects *preset, const json_t *plugin, const char *key)
{
    double factor = 1;
    TRY(easyeffects_gain(preset, plugin, key, &factor));
    for (size_t c = 0; c < 2 && factor != 1; c++)
        TRY(mask_matrix_gain(preset->config->matrix, c, factor, 0));
    return STATUS_OK;
}

/* Presets of version 6 have no number after the name. */
static const json_t *find_plugin(const json_t *section, const char *name)
{
    char base[64];
    const json_t *plugin = json_object_get(section, name);
    snprintf(base, sizeof base, "%.*s", (int)strcspn(name, "#"), name);
    return plugin ? plugin : json_object_get(section, base);
}

/* Of a plugin that is no filter. */
static enum status leave_out(struct easyeffects *preset, const char *name,
                             const struct easyeffects_kind **kind)
{
    size_t length = strcspn(name, "#"), i = 0, count = sizeof nonlinear / sizeof *nonlinear;
    while (i < count &&
           (strlen(nonlinear[i]) != length || strncmp(name, nonlinear[i], length) != 0))
        i++;
    if (i == count)
        return mask_json_refuse(&preset->json, "this plugin cannot be read as a mask; bypass it in "
                                               "the preset");
    char stage[160];
    snprintf(stage, sizeof stage, "%.100s, but for its gains,", name);
    if (preset->config->options->skips_nonlinear &&
        (!preset->is_preparing || mask_config_skips(preset->config, stage))) {
        *kind = &left_out;
        return STATUS_OK;
    }
    return mask_json_refuse(&preset->json, "this plugin is no filter; " MASK_CONFIG_SKIP_ADVICE);
}

/* NULL kind: it is bypassed. */
static enum status find_kind(struct easyeffects *preset, const json_t *plugin, const char *name,
                             const struct easyeffects_kind **kind)
{
    size_t length = strcspn(name, "#"), i = 0, count = sizeof kinds / sizeof *kinds;
    bool bypassed = false;
    snprintf(preset->json.where, sizeof preset->json.where, "%.100s", name);
    if (!json_is_object(plugin))
        return mask_json_refuse(&preset->json, "the preset has no settings of it");
    if (json_object_get(plugin, "state"))
        return mask_json_refuse(&preset->json, "presets of PulseEffects cannot be read; load and "
                                               "save it with EasyEffects");
    TRY(mask_json_bool(&preset->json, plugin, "bypass", &bypassed));
    if (bypassed)
        return STATUS_OK;
    while (i < count &&
           (strlen(kinds[i].name) != length || strncmp(name, kinds[i].name, length) != 0))
        i++;
    if (i == count)
        return leave_out(preset, name, kind);
    *kind = &kinds[i];
    return STATUS_OK;
}

static enum status run_plugin(struct easyeffects *preset, const json_t *section, const char *name)
{
    const json_t *plugin = find_plugin(section, name);
    const struct easyeffects_kind *kind = NULL;
    TRY(find_kind(preset, plugin, name, &kind));
    if (!kind)
        return STATUS_OK;
    if (preset->is_preparing)
        return kind->prepare(preset, plugin);
    TRY(apply_gain(preset, plugin, "input-gain"));
    TRY(kind->filter(preset, plugin));
    return apply_gain(preset, plugin, "output-gain");
}

static enum status run_all(struct easyeffects *preset, const json_t *section, const json_t *order)
{
    const json_t *name;
    size_t i;
    json_array_foreach(order, i, name)
    {
        if (!json_is_string(name))
            return mask_json_refuse(&preset->json, "plugins_order must list names");
        TRY(run_plugin(preset, section, json_string_value(name)));
    }
    return STATUS_OK;
}

static const json_t *order_of(const json_t *document, const char *section)
{
    return json_object_get(json_object_get(document, section), "plugins_order");
}

static enum status run_section(struct easyeffects *preset, const json_t *document)
{
    const json_t *output = order_of(document, "output"), *input = order_of(document, "input");
    if (json_array_size(output) > 0 && json_array_size(input) > 0)
        return mask_json_refuse(&preset->json, "it has plugins for output and for input; a mask is "
                                               "one of them");
    bool is_input = json_array_size(input) > 0;
    const json_t *order = is_input || !output ? input : output;
    const json_t *section = json_object_get(document, is_input ? "input" : "output");
    if (!json_is_array(order) || json_array_size(order) > PLUGINS_MOST)
        return mask_json_refuse(&preset->json, "plugins_order must list at most %d plugins",
                                PLUGINS_MOST);
    preset->is_preparing = true;
    TRY(run_all(preset, section, order));
    preset->is_preparing = false;
    return run_all(preset, section, order);
}

static enum status read_document(struct mask_config *config, const json_t *document,
                                 struct mask **mask)
{
    struct easyeffects preset = {.config = config, .json = {.config = config}};
    TRY(mask_matrix_create(config, 2, 2, &config->matrix));
    TRY(mask_matrix_connect(config->matrix));
    TRY(run_section(&preset, document));
    return mask_matrix_to_mask(config->matrix, mask);
}

static enum status read_easyeffects(struct mask_config *config, struct mask **mask)
{
    json_error_t error;
    json_t *document = json_loads(config->text, JSON_REJECT_DUPLICATES, &error);
    if (!document && json_error_code(&error) == json_error_out_of_memory)
        return fail_memory("a mask");
    if (!document) {
        config->line = error.line > 0 ? (size_t)error.line : 0;
        return mask_config_refuse(config, "not JSON: %s", error.text);
    }
    enum status status = read_document(config, document, mask);
    json_decref(document);
    return status;
}

static bool is_easyeffects(const struct mask_config *config)
{
    const char *text = config->text + strspn(config->text, " \t\r\n");
    return *text == '{' && strstr(text, "\"plugins_order\"");
}

const struct mask_reader mask_reader_easyeffects = {
    .kind = "EasyEffects preset",
    .is_my_config = is_easyeffects,
    .read_config = read_easyeffects,
};
