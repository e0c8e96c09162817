/* The equaliser of EasyEffects: bands of Linux Studio Plugins for left and right. */
#include "mask/mask_easyeffects.h"
#include "signal/lsp_filter.h"

#include <math.h>
#include <string.h>

enum { BANDS_MOST = 32, BAND_OFF = -1 };

static const struct {
    const char *name;
    int type;
} types[] = {
    {"Off", BAND_OFF},         {"Bell", LSP_BELL},
    {"Hi-pass", LSP_HIGHPASS}, {"Hi-shelf", LSP_HIGH_SHELF},
    {"Lo-pass", LSP_LOWPASS},  {"Lo-shelf", LSP_LOW_SHELF},
    {"Notch", LSP_NOTCH},      {"Resonance", LSP_RESONANCE},
    {"Allpass", LSP_ALLPASS},
};

static const struct {
    const char *name;
    enum lsp_family family;
    bool is_matched;
} modes[] = {
    {"RLC (BT)", LSP_RLC, false}, {"RLC (MT)", LSP_RLC, true},  {"BWC (BT)", LSP_BWC, false},
    {"BWC (MT)", LSP_BWC, true},  {"LRX (BT)", LSP_LRX, false}, {"LRX (MT)", LSP_LRX, true},
    {"APO (DR)", LSP_APO, false},
};

static enum status read_type(struct easyeffects *preset, const json_t *band, int *type)
{
    const char *name = "Bell";
    size_t i = 0, count = sizeof types / sizeof *types;
    TRY(mask_json_text(&preset->json, band, "type", &name));
    while (i < count && strcmp(name, types[i].name) != 0)
        i++;
    if (i == count)
        return mask_json_refuse(&preset->json,
                                "a band of the type '%.40s' cannot be read as a mask", name);
    *type = types[i].type;
    return STATUS_OK;
}

static enum status read_mode(struct easyeffects *preset, const json_t *band,
                             struct lsp_filter *filter)
{
    const char *mode = "RLC (BT)", *slope = "x1";
    size_t i = 0, count = sizeof modes / sizeof *modes;
    TRY(mask_json_text(&preset->json, band, "mode", &mode));
    TRY(mask_json_text(&preset->json, band, "slope", &slope));
    while (i < count && strcmp(mode, modes[i].name) != 0)
        i++;
    if (i == count)
        return mask_json_refuse(&preset->json, "there is no mode '%.40s'", mode);
    if (slope[0] != 'x' || slope[1] < '1' || slope[1] > '4' || slope[2])
        return mask_json_refuse(&preset->json, "a slope must be x1 to x4, not '%.40s'", slope);
    if (filter->type == LSP_ALLPASS && modes[i].family == LSP_RLC)
        return mask_json_refuse(&preset->json, "an Allpass in RLC depends on the version of Linux "
                                               "Studio Plugins; take BWC, LRX or APO");
    filter->family = modes[i].family;
    filter->is_matched = modes[i].is_matched;
    filter->slope = (size_t)(slope[1] - '0');
    return STATUS_OK;
}

static enum status read_values(struct easyeffects *preset, const json_t *band,
                               struct lsp_filter *filter)
{
    if (!mask_json_get(band, "frequency"))
        return mask_json_refuse(&preset->json, "it has no frequency");
    TRY(easyeffects_number(preset, band, "frequency", 10, 24000, &filter->frequency));
    TRY(easyeffects_gain(preset, band, "gain", &filter->gain));
    return easyeffects_number(preset, band, "q", 0, 100, &filter->quality);
}

static enum status filter_band(struct easyeffects *preset, const json_t *band, double shift,
                               size_t channel)
{
    static const char *const known[] = {"type", "mode",      "slope", "solo",  "mute",
                                        "gain", "frequency", "q",     "width", NULL};
    struct biquad sections[LSP_SECTIONS_MOST];
    struct lsp_filter filter = {.quality = 4.36}; /* where a preset has none */
    bool solo = false, mute = false;
    int type = BAND_OFF;
    easyeffects_note_unknown(preset, band, known);
    TRY(read_type(preset, band, &type));
    TRY(mask_json_bool(&preset->json, band, "mute", &mute));
    TRY(mask_json_bool(&preset->json, band, "solo", &solo));
    if (solo)
        return mask_json_refuse(&preset->json, "a band is solo, which cannot be read as a mask");
    if (type == BAND_OFF || mute)
        return STATUS_OK;
    filter.type = (enum lsp_type)type;
    TRY(read_mode(preset, band, &filter));
    TRY(read_values(preset, band, &filter));
    filter.frequency *= shift;
    size_t count = lsp_filter_make(&filter, preset->config->rate, sections);
    return mask_matrix_biquads(preset->config->matrix, channel, sections, count);
}

static enum status filter_channel(struct easyeffects *preset, const json_t *bands, int64_t count,
                                  double shift, size_t channel)
{
    char where[sizeof preset->json.where], name[24];
    memcpy(where, preset->json.where, sizeof where);
    for (int64_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "band%lld", (long long)i);
        const json_t *band = json_object_get(bands, name);
        snprintf(preset->json.where, sizeof where, "%.100s, %s", where, name);
        if (!json_is_object(band))
            return mask_json_refuse(&preset->json, "the preset does not have it");
        TRY(filter_band(preset, band, shift, channel));
    }
    memcpy(preset->json.where, where, sizeof where);
    return STATUS_OK;
}

/* Settings under which the plugin is not what is read here. */
static enum status check_settings(struct easyeffects *preset, const json_t *plugin)
{
    static const char *const known[] = {
        "bypass",  "input-gain", "output-gain", "mode", "decramp", "num-bands", "split-channels",
        "balance", "pitch-left", "pitch-right", "left", "right",   NULL};
    const char *mode = "IIR", *decramp = "Off";
    double balance = 0;
    easyeffects_note_unknown(preset, plugin, known);
    TRY(mask_json_text(&preset->json, plugin, "mode", &mode));
    TRY(mask_json_text(&preset->json, plugin, "decramp", &decramp));
    TRY(mask_json_number(&preset->json, plugin, "balance", &balance));
    if (strcmp(mode, "IIR") != 0)
        return mask_json_refuse(&preset->json, "the mode '%.40s' cannot be read as a mask, but IIR",
                                mode);
    if (strcmp(decramp, "Off") != 0)
        return mask_json_refuse(&preset->json, "decramp must be Off, not '%.40s'", decramp);
    if (balance != 0)
        return mask_json_refuse(&preset->json, "a balance of %g cannot be read as a mask, but 0",
                                balance);
    return STATUS_OK;
}

enum status easyeffects_equalizer(struct easyeffects *preset, const json_t *plugin)
{
    static const char *const channels[] = {"left", "right"};
    static const char *const pitches[] = {"pitch-left", "pitch-right"};
    static const double octave = 12;
    int64_t count = BANDS_MOST;
    bool split = false;
    TRY(check_settings(preset, plugin));
    TRY(mask_json_count(&preset->json, plugin, "num-bands", 1, BANDS_MOST, &count));
    TRY(mask_json_bool(&preset->json, plugin, "split-channels", &split));
    TRY(mask_config_settle_rate(preset->config));
    for (size_t c = 0; c < 2; c++) {
        double semitones = 0;
        TRY(easyeffects_number(preset, plugin, pitches[c], -120, 120, &semitones));
        const json_t *bands = json_object_get(plugin, channels[split ? c : 0]);
        TRY(filter_channel(preset, bands, count, exp2(semitones / octave), c));
    }
    return STATUS_OK;
}
