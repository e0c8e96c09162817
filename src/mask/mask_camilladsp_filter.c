/* The filters of a CamillaDSP configuration; all that are linear become taps. */
#include "mask/mask_camilladsp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SOUND_MM_PER_SECOND = 343000, /* CamillaDSP's */
    COEFFICIENTS_MOST = 1024,     /* of a DiffEq */
};

enum status camilladsp_apply(struct camilladsp *dsp, double gain, uint64_t delay,
                             const double *taps, size_t count)
{
    for (size_t c = 0; c < mask_matrix_outputs(dsp->config->matrix); c++)
        if (dsp->is_selected[c])
            TRY(mask_matrix_filter(dsp->config->matrix, c, gain, delay, taps, count));
    return STATUS_OK;
}

enum status camilladsp_apply_recursive(struct camilladsp *dsp, const struct recursive *filter)
{
    return mask_matrix_recursive_where(dsp->config->matrix, dsp->is_selected, filter);
}

enum status camilladsp_apply_biquads(struct camilladsp *dsp, const struct biquad *biquads,
                                     size_t count)
{
    return mask_matrix_biquads_where(dsp->config->matrix, dsp->is_selected, biquads, count);
}

static enum status apply_gain(struct camilladsp *dsp, double gain, uint64_t delay)
{
    static const double one = 1;
    return camilladsp_apply(dsp, gain, delay, &one, 1);
}

static enum status parse_gain(struct camilladsp *dsp, const yaml_node_t *parameters)
{
    double gain, factor;
    TRY(camilladsp_required(dsp, parameters, "gain", &gain));
    TRY(camilladsp_gain(dsp, parameters, &factor));
    return apply_gain(dsp, factor, 0);
}

/* ---- delays ---- */

/* J.-P. Thiran's allpass filters, of the first order below 1.1 frames. */
static void split_delay(double delay, struct camilladsp_delay *result)
{
    *result = (struct camilladsp_delay){.has_allpass = delay >= 0.1};
    if (delay < 0.1)
        return;
    if (delay < 1.1) {
        double a = (1 - delay) / (1 + delay);
        result->allpass = (struct biquad){{a, 1, 0}, {a, 0}};
        return;
    }
    double whole = floor(delay) - 1;
    if (delay - whole < 1.1)
        whole--;
    double rest = delay - whole, first = 2 * (2 - rest) / (1 + rest);
    double second = (2 - rest) / (2 + rest) * (1 - rest) / (1 + rest);
    result->frames = (uint64_t)whole;
    result->allpass = (struct biquad){{second, first, 1}, {first, second}};
}

static const struct {
    const char *name;
    double a_second; /* 0: as many as frames */
} units[] = {{"ms", 1e3}, {"us", 1e6}, {"mm", SOUND_MM_PER_SECOND}, {"samples", 0}};

static enum status to_frames(struct camilladsp *dsp, const char *unit, double delay, double *frames)
{
    size_t i = 0, count = sizeof units / sizeof *units;
    while (i < count && unit && strcmp(unit, units[i].name) != 0)
        i++;
    if (i == count)
        return mask_config_refuse(dsp->config, "%.40s is not a unit of delays", unit);
    if (units[i].a_second > 0 && dsp->config->rate == 0)
        return mask_config_refuse(dsp->config, "a delay needs samplerate: of devices:");
    *frames = units[i].a_second > 0 ? delay / units[i].a_second * dsp->config->rate : delay;
    return *frames >= 0 && *frames <= MATRIX_TAPS_MOST
               ? STATUS_OK
               : mask_config_refuse(dsp->config, "a delay of %g samples", *frames);
}

enum status camilladsp_delay(struct camilladsp *dsp, const char *unit, double delay,
                             double less_frames, bool subsample, struct camilladsp_delay *result)
{
    double frames = 0;
    TRY(to_frames(dsp, unit, delay, &frames));
    frames = fmax(0, frames - less_frames);
    if (subsample)
        split_delay(frames, result);
    else
        *result = (struct camilladsp_delay){.frames = (uint64_t)round(frames)};
    return STATUS_OK;
}

static enum status parse_delay(struct camilladsp *dsp, const yaml_node_t *parameters)
{
    double delay;
    bool subsample = false;
    struct camilladsp_delay split;
    const char *unit = camilladsp_text(camilladsp_get(dsp, parameters, "unit"));
    TRY(camilladsp_required(dsp, parameters, "delay", &delay));
    TRY(camilladsp_bool(dsp, parameters, "subsample", &subsample));
    TRY(camilladsp_delay(dsp, unit, delay, 0, subsample, &split));
    TRY(apply_gain(dsp, 1, split.frames));
    return split.has_allpass ? camilladsp_apply_biquads(dsp, &split.allpass, 1) : STATUS_OK;
}

/* ---- difference equations ---- */

/* CamillaDSP takes the first of `a` for 1. */
static enum status apply_difference(struct camilladsp *dsp, const struct mask_values *b,
                                    const struct mask_values *a)
{
    static const double one = 1;
    const struct difference difference = {
        .b_count = b->count ? b->count : 1,
        .b = b->count ? b->values : &one,
        .a_count = a->count,
        .a = a->values,
    };
    size_t memory = difference.b_count > a->count ? difference.b_count : a->count;
    if (memory > COEFFICIENTS_MOST)
        return mask_config_refuse(dsp->config, "more than %d coefficients", COEFFICIENTS_MOST);
    if (a->count > 0 && a->values[0] != 1)
        note("mask %s: line %zu: a: begins with %g, which counts as 1, as CamillaDSP has it",
             dsp->config->file, dsp->config->line, a->values[0]);
    return camilladsp_apply_recursive(dsp,
                                      &(struct recursive){difference_run, &difference, memory});
}

static enum status parse_difference(struct camilladsp *dsp, const yaml_node_t *parameters)
{
    struct mask_values a = {0}, b = {0};
    enum status status = camilladsp_numbers(dsp, parameters, "a", &a);
    if (status == STATUS_OK)
        status = camilladsp_numbers(dsp, parameters, "b", &b);
    if (status == STATUS_OK)
        status = apply_difference(dsp, &b, &a);
    free(a.values);
    free(b.values);
    return status;
}

/* ---- types ---- */

static const struct {
    const char *type;
    enum status (*parse)(struct camilladsp *dsp, const yaml_node_t *parameters);
    const char *flaw; /* if it cannot be parsed */
    bool is_nonlinear;
} types[] = {
    {"Conv", camilladsp_conv, NULL, false},
    {"Biquad", camilladsp_biquad, NULL, false},
    {"BiquadCombo", camilladsp_biquad_combo, NULL, false},
    {"DiffEq", parse_difference, NULL, false},
    {"Delay", parse_delay, NULL, false},
    {"Gain", parse_gain, NULL, false},
    {"Dither", NULL, "rounds the sound", true},
    {"Limiter", NULL, "is not linear", true},
    {"Loudness", NULL, "follows the volume control", false},
    {"Volume", NULL, "follows the volume control", false},
};

enum status camilladsp_filter(struct camilladsp *dsp, const yaml_node_t *filter, const char *name)
{
    const char *type = camilladsp_text(camilladsp_get(dsp, filter, "type"));
    for (size_t i = 0; type && i < sizeof types / sizeof *types; i++) {
        if (strcmp(type, types[i].type) != 0)
            continue;
        char stage[CAMILLADSP_NAME_MOST + 64];
        snprintf(stage, sizeof stage, "filter %.100s, a %s,", name, type);
        if (types[i].is_nonlinear && mask_config_skips(dsp->config, stage))
            return STATUS_OK;
        if (types[i].is_nonlinear)
            return mask_config_refuse(dsp->config,
                                      "filter %.100s: a %s %s and cannot be a "
                                      "mask; " MASK_CONFIG_SKIP_ADVICE,
                                      name, type, types[i].flaw);
        if (types[i].flaw)
            return mask_config_refuse(dsp->config,
                                      "filter %.100s: a %s %s and cannot be a "
                                      "mask; " CAMILLADSP_BYPASS_ADVICE,
                                      name, type, types[i].flaw);
        camilladsp_at(dsp, filter);
        const yaml_node_t *parameters = camilladsp_get(dsp, filter, "parameters");
        TRY(types[i].parse(dsp, parameters));
        TRY(camilladsp_check_keys(dsp, parameters));
        return camilladsp_check_keys(dsp, filter);
    }
    return mask_config_refuse(dsp->config, "filter %.100s: CamillaDSP has no type %.40s", name,
                              type ? type : "(none)");
}
