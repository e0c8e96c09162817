/* The Biquad and BiquadCombo filters of a CamillaDSP configuration. */
#include "mask/mask_camilladsp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ORDER_MOST = 64, BANDS_MOST = 256 };

static enum status parse_frequency(struct camilladsp *dsp, const yaml_node_t *parameters,
                                   const char *key, double *frequency)
{
    double half = dsp->config->rate / 2.0;
    TRY(camilladsp_required(dsp, parameters, key, frequency));
    if (half == 0)
        return mask_config_refuse(dsp->config, "%s: needs samplerate: of devices:", key);
    return *frequency > 0 && *frequency < half
               ? STATUS_OK
               : mask_config_refuse(dsp->config, "%s: must be between 0 and %g Hz, not %g", key,
                                    half, *frequency);
}

static enum status parse_positive(struct camilladsp *dsp, const yaml_node_t *parameters,
                                  const char *key, double *value)
{
    TRY(camilladsp_required(dsp, parameters, key, value));
    return *value > 0 ? STATUS_OK
                      : mask_config_refuse(dsp->config, "%s: must be above 0, not %g", key, *value);
}

static enum status parse_decibels(struct camilladsp *dsp, const yaml_node_t *parameters,
                                  const char *key, double *gain)
{
    TRY(camilladsp_required(dsp, parameters, key, gain));
    return fabs(*gain) <= 150
               ? STATUS_OK
               : mask_config_refuse(dsp->config, "%s: must be -150 to 150 dB, not %g", key, *gain);
}

/* ---- Biquad ---- */

enum camilladsp_width { WIDTH_NONE, WIDTH_Q, WIDTH_Q_OR_OCTAVES, WIDTH_Q_OR_SLOPE };

static const struct biquad_type {
    const char *name;
    enum biquad_kind kind;
    enum camilladsp_width width;
    bool has_gain;
} biquad_types[] = {
    {"Lowpass", BIQUAD_LOWPASS, WIDTH_Q, false},
    {"Highpass", BIQUAD_HIGHPASS, WIDTH_Q, false},
    {"Peaking", BIQUAD_PEAK, WIDTH_Q_OR_OCTAVES, true},
    {"Lowshelf", BIQUAD_LOW_SHELF, WIDTH_Q_OR_SLOPE, true},
    {"Highshelf", BIQUAD_HIGH_SHELF, WIDTH_Q_OR_SLOPE, true},
    {"Notch", BIQUAD_NOTCH, WIDTH_Q_OR_OCTAVES, false},
    {"Bandpass", BIQUAD_BANDPASS, WIDTH_Q_OR_OCTAVES, false},
    {"Allpass", BIQUAD_ALLPASS, WIDTH_Q_OR_OCTAVES, false},
    {"LowpassFO", BIQUAD_LOWPASS_FIRST, WIDTH_NONE, false},
    {"HighpassFO", BIQUAD_HIGHPASS_FIRST, WIDTH_NONE, false},
    {"LowshelfFO", BIQUAD_LOW_SHELF_FIRST, WIDTH_NONE, true},
    {"HighshelfFO", BIQUAD_HIGH_SHELF_FIRST, WIDTH_NONE, true},
    {"AllpassFO", BIQUAD_ALLPASS_FIRST, WIDTH_NONE, false},
};

/* q:, or what the type has instead of it. */
static enum status parse_width(struct camilladsp *dsp, const yaml_node_t *parameters,
                               enum camilladsp_width width, double frequency, double gain,
                               double *q)
{
    const char *other = width == WIDTH_Q_OR_OCTAVES ? "bandwidth"
                        : width == WIDTH_Q_OR_SLOPE ? "slope"
                                                    : NULL;
    bool has_other = other && camilladsp_get(dsp, parameters, other);
    if (!has_other || camilladsp_get(dsp, parameters, "q")) {
        if (has_other)
            note("mask %s: line %zu: q: counts, %s: does not, as CamillaDSP has it",
                 dsp->config->file, dsp->config->line, other);
        return parse_positive(dsp, parameters, "q", q);
    }
    double value;
    TRY(parse_positive(dsp, parameters, other, &value));
    if (width == WIDTH_Q_OR_SLOPE && value > 12)
        return mask_config_refuse(dsp->config, "slope: must be 12 dB at most, not %g", value);
    *q = width == WIDTH_Q_OR_SLOPE ? biquad_slope_to_q(value / 12, gain)
                                   : biquad_octaves_to_q(value, frequency, dsp->config->rate);
    return STATUS_OK;
}

static enum status parse_plain(struct camilladsp *dsp, const yaml_node_t *parameters,
                               const struct biquad_type *type, struct biquad *biquad)
{
    double frequency, gain = 0, q = 1;
    TRY(parse_frequency(dsp, parameters, "freq", &frequency));
    if (type->has_gain)
        TRY(parse_decibels(dsp, parameters, "gain", &gain));
    if (type->width != WIDTH_NONE)
        TRY(parse_width(dsp, parameters, type->width, frequency, gain, &q));
    *biquad = biquad_make(type->kind, frequency, gain, q, dsp->config->rate);
    return STATUS_OK;
}

static enum status parse_free(struct camilladsp *dsp, const yaml_node_t *parameters,
                              struct biquad *biquad)
{
    TRY(camilladsp_required(dsp, parameters, "b0", &biquad->b[0]));
    TRY(camilladsp_required(dsp, parameters, "b1", &biquad->b[1]));
    TRY(camilladsp_required(dsp, parameters, "b2", &biquad->b[2]));
    TRY(camilladsp_required(dsp, parameters, "a1", &biquad->a[0]));
    return camilladsp_required(dsp, parameters, "a2", &biquad->a[1]);
}

static enum status parse_general_notch(struct camilladsp *dsp, const yaml_node_t *parameters,
                                       struct biquad *biquad)
{
    double zero, pole, q;
    bool is_one_at_dc = false;
    TRY(parse_frequency(dsp, parameters, "freq_z", &zero));
    TRY(parse_frequency(dsp, parameters, "freq_p", &pole));
    TRY(parse_positive(dsp, parameters, "q_p", &q));
    TRY(camilladsp_bool(dsp, parameters, "normalize_at_dc", &is_one_at_dc));
    *biquad = biquad_general_notch(zero, pole, q, is_one_at_dc, dsp->config->rate);
    return STATUS_OK;
}

static enum status parse_linkwitz(struct camilladsp *dsp, const yaml_node_t *parameters,
                                  struct biquad *biquad)
{
    double frequency, q, wanted_frequency, wanted_q;
    TRY(parse_frequency(dsp, parameters, "freq_act", &frequency));
    TRY(parse_positive(dsp, parameters, "q_act", &q));
    TRY(parse_frequency(dsp, parameters, "freq_target", &wanted_frequency));
    TRY(parse_positive(dsp, parameters, "q_target", &wanted_q));
    *biquad =
        biquad_linkwitz_transform(frequency, q, wanted_frequency, wanted_q, dsp->config->rate);
    return STATUS_OK;
}

static enum status parse_biquad(struct camilladsp *dsp, const yaml_node_t *parameters,
                                const char *type, struct biquad *biquad)
{
    if (strcmp(type, "Free") == 0)
        return parse_free(dsp, parameters, biquad);
    if (strcmp(type, "GeneralNotch") == 0)
        return parse_general_notch(dsp, parameters, biquad);
    if (strcmp(type, "LinkwitzTransform") == 0)
        return parse_linkwitz(dsp, parameters, biquad);
    for (size_t i = 0; i < sizeof biquad_types / sizeof *biquad_types; i++)
        if (strcmp(type, biquad_types[i].name) == 0)
            return parse_plain(dsp, parameters, &biquad_types[i], biquad);
    return mask_config_refuse(dsp->config, "there is no Biquad of the type %.40s", type);
}

static const char *type_of(struct camilladsp *dsp, const yaml_node_t *parameters)
{
    const char *type = camilladsp_text(camilladsp_get(dsp, parameters, "type"));
    return type ? type : "(none)";
}

enum status camilladsp_biquad(struct camilladsp *dsp, const yaml_node_t *parameters)
{
    struct biquad biquad;
    TRY(parse_biquad(dsp, parameters, type_of(dsp, parameters), &biquad));
    return camilladsp_apply_biquads(dsp, &biquad, 1);
}

/* ---- BiquadCombo ---- */

struct combo {
    size_t count;
    struct biquad biquads[BANDS_MOST];
};

static void add(struct combo *combo, struct biquad biquad)
{
    combo->biquads[combo->count++] = biquad;
}

/* Butterworth's poles; an odd order has a section of the first order. */
static void add_butterworth(struct combo *combo, bool is_highpass, size_t order, double frequency,
                            double rate)
{
    for (size_t i = 0; i < order / 2; i++)
        add(combo, biquad_make(is_highpass ? BIQUAD_HIGHPASS : BIQUAD_LOWPASS, frequency, 0,
                               1 / (2 * sin(M_PI / (double)order * ((double)i + 0.5))), rate));
    if (order % 2 == 1)
        add(combo, biquad_make(is_highpass ? BIQUAD_HIGHPASS_FIRST : BIQUAD_LOWPASS_FIRST,
                               frequency, 0, 1, rate));
}

/* Linkwitz-Riley is Butterworth of half the order, twice. */
static enum status parse_crossover(struct camilladsp *dsp, const yaml_node_t *parameters,
                                   const char *type, struct combo *combo)
{
    uint64_t order = 0;
    double frequency;
    size_t times = strncmp(type, "Linkwitz", 8) == 0 ? 2 : 1;
    TRY(parse_frequency(dsp, parameters, "freq", &frequency));
    TRY(camilladsp_count(dsp, parameters, "order", &order));
    if (order == 0 || order > ORDER_MOST || order % times != 0)
        return mask_config_refuse(dsp->config, "order: must be %s, 1 to %d, not %llu",
                                  times == 2 ? "even" : "whole", ORDER_MOST,
                                  (unsigned long long)order);
    for (size_t i = 0; i < times; i++)
        add_butterworth(combo, strstr(type, "Highpass") != NULL, (size_t)order / times, frequency,
                        dsp->config->rate);
    return STATUS_OK;
}

static enum status parse_tilt(struct camilladsp *dsp, const yaml_node_t *parameters,
                              const char *type, struct combo *combo)
{
    static const double low = 110, high = 3500, q = 0.35;
    double gain, rate = dsp->config->rate;
    (void)type;
    TRY(parse_decibels(dsp, parameters, "gain", &gain));
    if (rate <= 2 * high)
        return mask_config_refuse(dsp->config, "a Tilt needs a samplerate: above %g", 2 * high);
    add(combo, biquad_make(BIQUAD_LOW_SHELF, low, -gain / 2, q, rate));
    add(combo, biquad_make(BIQUAD_HIGH_SHELF, high, gain / 2, q, rate));
    return STATUS_OK;
}

static enum status parse_five_points(struct camilladsp *dsp, const yaml_node_t *parameters,
                                     const char *type, struct combo *combo)
{
    static const char *const keys[][3] = {{"fls", "gls", "qls"},
                                          {"fp1", "gp1", "qp1"},
                                          {"fp2", "gp2", "qp2"},
                                          {"fp3", "gp3", "qp3"},
                                          {"fhs", "ghs", "qhs"}};
    (void)type;
    for (size_t i = 0; i < 5; i++) {
        double frequency, gain, q;
        TRY(parse_frequency(dsp, parameters, keys[i][0], &frequency));
        TRY(parse_decibels(dsp, parameters, keys[i][1], &gain));
        TRY(parse_positive(dsp, parameters, keys[i][2], &q));
        add(combo, biquad_make(i == 0   ? BIQUAD_LOW_SHELF
                               : i == 4 ? BIQUAD_HIGH_SHELF
                                        : BIQUAD_PEAK,
                               frequency, gain, q, dsp->config->rate));
    }
    return STATUS_OK;
}

/* Peaks in the middle of bands of equal octaves, computed in single precision as CamillaDSP does.
 */
static enum status add_bands(struct camilladsp *dsp, double lowest, double highest,
                             const struct mask_values *gains, struct combo *combo)
{
    if (lowest >= highest || gains->count > BANDS_MOST)
        return mask_config_refuse(dsp->config,
                                  "a GraphicEqualizer needs freq_min: below freq_max: and at most "
                                  "%d gains:",
                                  BANDS_MOST);
    float first = log2f((float)lowest);
    float octaves = (log2f((float)highest) - first) / (float)gains->count;
    double rate = dsp->config->rate;
    for (size_t i = 0; i < gains->count; i++) {
        float gain = (float)gains->values[i];
        double frequency = powf(2, first + ((float)i + 0.5f) * octaves);
        if (!(fabsf(gain) <= 40))
            return mask_config_refuse(dsp->config, "gains: must be -40 to 40 dB, not %g", gain);
        if (fabsf(gain) > 0.001f)
            add(combo, biquad_make(BIQUAD_PEAK, frequency, gain,
                                   biquad_octaves_to_q(octaves, frequency, rate), rate));
    }
    return STATUS_OK;
}

static enum status parse_graphic(struct camilladsp *dsp, const yaml_node_t *parameters,
                                 const char *type, struct combo *combo)
{
    double lowest = 20, highest = 20000;
    struct mask_values gains = {0};
    (void)type;
    if (camilladsp_get(dsp, parameters, "freq_min"))
        TRY(parse_frequency(dsp, parameters, "freq_min", &lowest));
    if (camilladsp_get(dsp, parameters, "freq_max"))
        TRY(parse_frequency(dsp, parameters, "freq_max", &highest));
    if (highest >= dsp->config->rate / 2.0)
        return mask_config_refuse(dsp->config, "freq_max: must be below %g Hz, not %g",
                                  dsp->config->rate / 2.0, highest);
    enum status status = camilladsp_numbers(dsp, parameters, "gains", &gains);
    if (status == STATUS_OK && gains.count == 0)
        status = mask_config_refuse(dsp->config, "a GraphicEqualizer has no gains:");
    if (status == STATUS_OK)
        status = add_bands(dsp, lowest, highest, &gains, combo);
    free(gains.values);
    return status;
}

static const struct {
    const char *type;
    enum status (*parse)(struct camilladsp *dsp, const yaml_node_t *parameters, const char *type,
                         struct combo *combo);
} combos[] = {
    {"ButterworthLowpass", parse_crossover},
    {"ButterworthHighpass", parse_crossover},
    {"LinkwitzRileyLowpass", parse_crossover},
    {"LinkwitzRileyHighpass", parse_crossover},
    {"Tilt", parse_tilt},
    {"FivePointPeq", parse_five_points},
    {"GraphicEqualizer", parse_graphic},
};

enum status camilladsp_biquad_combo(struct camilladsp *dsp, const yaml_node_t *parameters)
{
    struct combo combo = {0};
    const char *type = type_of(dsp, parameters);
    for (size_t i = 0; i < sizeof combos / sizeof *combos; i++)
        if (strcmp(type, combos[i].type) == 0) {
            TRY(combos[i].parse(dsp, parameters, type, &combo));
            return camilladsp_apply_biquads(dsp, combo.biquads, combo.count);
        }
    return mask_config_refuse(dsp->config, "there is no BiquadCombo of the type %.40s", type);
}
