/* The filters of a CamillaDSP configuration and its processor RACE. Linear filters become taps. */
#include "import/mask_camilladsp.h"

#include "base/files_read.h"
#include "base/text_lines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BYPASS_ADVICE "set bypassed: true on its step, or remove it"

static enum status apply_taps(struct camilladsp *dsp, double gain, uint64_t delay,
                              const double *taps, size_t count)
{
    for (size_t c = 0; c < mask_matrix_outputs(dsp->config->matrix); c++)
        if (dsp->is_selected[c])
            TRY(mask_matrix_filter(dsp->config->matrix, c, gain, delay, taps, count));
    return STATUS_OK;
}

static enum status apply_recursive(struct camilladsp *dsp, const struct recursive *filter)
{
    return mask_matrix_recursive_where(dsp->config->matrix, dsp->is_selected, filter);
}

static enum status apply_biquads(struct camilladsp *dsp, const struct biquad *biquads, size_t count)
{
    return mask_matrix_biquads_where(dsp->config->matrix, dsp->is_selected, biquads, count);
}

/* ---- Conv ---- */

static enum status parse_name(struct camilladsp *dsp, const yaml_node_t *parameters, char *name)
{
    const yaml_node_t *node = camilladsp_get(dsp, parameters, "filename");
    const char *text = camilladsp_text(node);
    camilladsp_at(dsp, node);
    if (!text || !*text)
        return camilladsp_refuse(dsp, "a Conv filter has no filename:");
    return camilladsp_expand(dsp, text, name);
}

/* Reads one number a line, after `skip` lines, at most `most` lines; 0: all. */
static enum status read_lines(struct text_lines *lines, uint64_t skip, uint64_t most,
                              struct mask_values *taps)
{
    char *line;
    for (;;) {
        double value;
        TRY(text_lines_next(lines, &line));
        if (!line || (most && lines->number > skip && lines->number - skip > most))
            return STATUS_OK;
        if (lines->number <= skip)
            continue;
        line += strspn(line, " \t");
        for (size_t end = strlen(line); end > 0 && strchr(" \t", line[end - 1]);)
            line[--end] = '\0';
        if (!*line)
            continue;
        if (!text_number(line, false, &value))
            return text_lines_refuse(lines, "'%.40s' is not a number", line);
        TRY(mask_values_add(taps, value));
    }
}

static enum status read_text(struct camilladsp *dsp, const char *name, uint64_t skip, uint64_t most,
                             struct mask_values *taps)
{
    char *path;
    struct text_lines lines = {0};
    TRY(mask_config_find(dsp->config, name, &path));
    FILE *stream;
    struct flaw flaw = files_read_open_text(path, &stream);
    enum status status = flaw.text ? mask_config_refuse_for(flaw.cause, dsp->config,
                                                            "cannot open %s: %s", name, flaw.text)
                                   : text_lines_init(&lines, path, stream);
    if (status == STATUS_OK)
        status = read_lines(&lines, skip, most, taps);
    if (status == STATUS_OK && taps->count == 0)
        status = camilladsp_refuse(dsp, "%s holds no coefficient", name);
    text_lines_free(&lines);
    if (stream)
        fclose(stream);
    free(path);
    return status;
}

static enum status filter_column(struct camilladsp *dsp, const struct mask *mask, size_t column)
{
    return apply_taps(dsp, 1, 0, mask_column(mask, column), mask->taps);
}

static enum status conv_raw(struct camilladsp *dsp, const yaml_node_t *parameters)
{
    char name[CAMILLADSP_NAME_MOST];
    struct raw_layout raw = {0};
    const struct mask *mask;
    struct mask_values taps = {0};
    const char *format = camilladsp_text(camilladsp_get(dsp, parameters, "format"));
    TRY(parse_name(dsp, parameters, name));
    TRY(camilladsp_count(dsp, parameters, "skip_bytes_lines", &raw.skip));
    TRY(camilladsp_count(dsp, parameters, "read_bytes_lines", &raw.most));
    if (!format || strcasecmp(format, "TEXT") == 0) {
        enum status status = read_text(dsp, name, raw.skip, raw.most, &taps);
        if (status == STATUS_OK)
            status = apply_taps(dsp, 1, 0, taps.values, taps.count);
        free(taps.values);
        return status;
    }
    raw.format = raw_format_named(format);
    if (!raw.format)
        return camilladsp_refuse(dsp, "there is no format '%.40s', but TEXT, %s", format,
                                 raw_format_names());
    TRY(mask_config_mask(dsp->config, name, &raw, &mask));
    return filter_column(dsp, mask, 0);
}

static enum status conv_wav(struct camilladsp *dsp, const yaml_node_t *parameters)
{
    char name[CAMILLADSP_NAME_MOST];
    uint64_t channel = 0;
    const struct mask *mask;
    TRY(parse_name(dsp, parameters, name));
    TRY(camilladsp_count(dsp, parameters, "channel", &channel));
    TRY(mask_config_mask_any_rate(dsp->config, name, NULL, &mask));
    if (mask->rate != dsp->config->rate && dsp->config->rate)
        note("mask %s: the taps of %s, of %u Hz, are taken as of %u Hz, as CamillaDSP does",
             dsp->config->file, name, mask->rate, dsp->config->rate);
    if (channel >= mask->columns)
        return camilladsp_refuse(dsp, "%s has channels 0 to %zu, not %llu", name, mask->columns - 1,
                                 (unsigned long long)channel);
    return filter_column(dsp, mask, (size_t)channel);
}

static enum status conv_values(struct camilladsp *dsp, const yaml_node_t *parameters)
{
    struct mask_values taps = {0};
    /* key of version 1: zeros follow up to this length */
    (void)camilladsp_get(dsp, parameters, "length");
    enum status status = camilladsp_numbers(dsp, parameters, "values", &taps);
    if (status == STATUS_OK && taps.count == 0)
        status = camilladsp_refuse(dsp, "a Conv filter has no values:");
    if (status == STATUS_OK)
        status = apply_taps(dsp, 1, 0, taps.values, taps.count);
    free(taps.values);
    return status;
}

static enum status parse_conv(struct camilladsp *dsp, const yaml_node_t *parameters)
{
    const char *type = camilladsp_text(camilladsp_get(dsp, parameters, "type"));
    if (type && (strcmp(type, "Raw") == 0 || strcmp(type, "File") == 0))
        return conv_raw(dsp, parameters);
    if (type && strcmp(type, "Wav") == 0)
        return conv_wav(dsp, parameters);
    if (type && strcmp(type, "Values") == 0)
        return conv_values(dsp, parameters);
    if (!parameters || (type && strcmp(type, "Dummy") == 0))
        return (void)camilladsp_get(dsp, parameters, "length"), STATUS_OK; /* a single tap of 1 */
    return camilladsp_refuse(dsp, "there is no Conv filter of the type %.40s",
                             type ? type : "(none)");
}

enum { ORDER_MOST = 64, BANDS_MOST = 256 };

static enum status parse_frequency(struct camilladsp *dsp, const yaml_node_t *parameters,
                                   const char *key, double *frequency)
{
    double half = dsp->config->rate / 2.0;
    TRY(camilladsp_required(dsp, parameters, key, frequency));
    if (half == 0)
        return camilladsp_refuse(dsp, "%s: needs samplerate: of devices:", key);
    return *frequency > 0 && *frequency < half
               ? STATUS_OK
               : camilladsp_refuse(dsp, "%s: must be between 0 and %g Hz, not %g", key, half,
                                   *frequency);
}

static enum status parse_positive(struct camilladsp *dsp, const yaml_node_t *parameters,
                                  const char *key, double *value)
{
    TRY(camilladsp_required(dsp, parameters, key, value));
    return *value > 0 ? STATUS_OK
                      : camilladsp_refuse(dsp, "%s: must be above 0, not %g", key, *value);
}

static enum status parse_decibels(struct camilladsp *dsp, const yaml_node_t *parameters,
                                  const char *key, double *gain)
{
    TRY(camilladsp_required(dsp, parameters, key, gain));
    return fabs(*gain) <= 150
               ? STATUS_OK
               : camilladsp_refuse(dsp, "%s: must be -150 to 150 dB, not %g", key, *gain);
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

/* Reads the key q: or the key that the type has instead. */
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
        return camilladsp_refuse(dsp, "slope: must be 12 dB at most, not %g", value);
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
    return camilladsp_refuse(dsp, "there is no Biquad of the type %.40s", type);
}

static const char *type_of(struct camilladsp *dsp, const yaml_node_t *parameters)
{
    const char *type = camilladsp_text(camilladsp_get(dsp, parameters, "type"));
    return type ? type : "(none)";
}

static enum status parse_any_biquad(struct camilladsp *dsp, const yaml_node_t *parameters)
{
    struct biquad biquad;
    TRY(parse_biquad(dsp, parameters, type_of(dsp, parameters), &biquad));
    return apply_biquads(dsp, &biquad, 1);
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

/* Adds Butterworth's poles. An odd order has a section of the first order. */
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

/* Reads a crossover. Linkwitz-Riley is a Butterworth filter of half the order, twice. */
static enum status parse_crossover(struct camilladsp *dsp, const yaml_node_t *parameters,
                                   const char *type, struct combo *combo)
{
    uint64_t order = 0;
    double frequency;
    size_t times = strncmp(type, "Linkwitz", 8) == 0 ? 2 : 1;
    TRY(parse_frequency(dsp, parameters, "freq", &frequency));
    TRY(camilladsp_count(dsp, parameters, "order", &order));
    if (order == 0 || order > ORDER_MOST || order % times != 0)
        return camilladsp_refuse(dsp, "order: must be %s, 1 to %d, not %llu",
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
        return camilladsp_refuse(dsp, "a Tilt needs a samplerate: above %g", 2 * high);
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

/* Adds peaks in the middle of bands of equal octaves, in single precision as in CamillaDSP. */
static enum status add_bands(struct camilladsp *dsp, double lowest, double highest,
                             const struct mask_values *gains, struct combo *combo)
{
    if (lowest >= highest || gains->count > BANDS_MOST)
        return camilladsp_refuse(
            dsp,
            "a GraphicEqualizer needs freq_min: below freq_max: and at most %d gains:", BANDS_MOST);
    float first = log2f((float)lowest);
    float octaves = (log2f((float)highest) - first) / (float)gains->count;
    double rate = dsp->config->rate;
    for (size_t i = 0; i < gains->count; i++) {
        float gain = (float)gains->values[i];
        double frequency = powf(2, first + ((float)i + 0.5f) * octaves);
        if (!(fabsf(gain) <= 40))
            return camilladsp_refuse(dsp, "gains: must be -40 to 40 dB, not %g", gain);
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
        return camilladsp_refuse(dsp, "freq_max: must be below %g Hz, not %g",
                                 dsp->config->rate / 2.0, highest);
    enum status status = camilladsp_numbers(dsp, parameters, "gains", &gains);
    if (status == STATUS_OK && gains.count == 0)
        status = camilladsp_refuse(dsp, "a GraphicEqualizer has no gains:");
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

static enum status parse_combo(struct camilladsp *dsp, const yaml_node_t *parameters)
{
    struct combo combo = {0};
    const char *type = type_of(dsp, parameters);
    for (size_t i = 0; i < sizeof combos / sizeof *combos; i++)
        if (strcmp(type, combos[i].type) == 0) {
            TRY(combos[i].parse(dsp, parameters, type, &combo));
            return apply_biquads(dsp, combo.biquads, combo.count);
        }
    return camilladsp_refuse(dsp, "there is no BiquadCombo of the type %.40s", type);
}

enum {
    SOUND_MM_PER_SECOND = 343000, /* the speed of sound, as in CamillaDSP */
    COEFFICIENTS_MOST = 1024,     /* coefficients of a DiffEq */
};

static enum status apply_gain(struct camilladsp *dsp, double gain, uint64_t delay)
{
    static const double one = 1;
    return apply_taps(dsp, gain, delay, &one, 1);
}

static enum status parse_gain(struct camilladsp *dsp, const yaml_node_t *parameters)
{
    double gain, factor;
    TRY(camilladsp_required(dsp, parameters, "gain", &gain));
    TRY(camilladsp_gain(dsp, parameters, &factor));
    return apply_gain(dsp, factor, 0);
}

/* ---- delays ---- */

/* A delay of CamillaDSP: frames and, with `subsample`, perhaps an allpass. Unit NULL: ms. */
struct camilladsp_delay {
    uint64_t frames;
    bool has_allpass;
    struct biquad allpass;
};

/* Splits a delay into frames and J.-P. Thiran's allpass, of the first order below 1.1 frames. */
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
    double a_second; /* units in a second; 0: the unit is frames */
} units[] = {{"ms", 1e3}, {"us", 1e6}, {"mm", SOUND_MM_PER_SECOND}, {"samples", 0}};

static enum status to_frames(struct camilladsp *dsp, const char *unit, double delay, double *frames)
{
    size_t i = 0, count = sizeof units / sizeof *units;
    while (i < count && unit && strcmp(unit, units[i].name) != 0)
        i++;
    if (i == count)
        return camilladsp_refuse(dsp, "%.40s is not a unit of delays", unit);
    if (units[i].a_second > 0 && dsp->config->rate == 0)
        return camilladsp_refuse(dsp, "a delay needs samplerate: of devices:");
    *frames = units[i].a_second > 0 ? delay / units[i].a_second * dsp->config->rate : delay;
    return *frames >= 0 && *frames <= MATRIX_TAPS_MOST
               ? STATUS_OK
               : camilladsp_refuse(dsp, "a delay of %g samples", *frames);
}

static enum status read_delay(struct camilladsp *dsp, const char *unit, double delay,
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
    TRY(read_delay(dsp, unit, delay, 0, subsample, &split));
    TRY(apply_gain(dsp, 1, split.frames));
    return split.has_allpass ? apply_biquads(dsp, &split.allpass, 1) : STATUS_OK;
}

/* Applies a difference equation. CamillaDSP takes the first of `a` for 1. */
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
        return camilladsp_refuse(dsp, "more than %d coefficients", COEFFICIENTS_MOST);
    if (a->count > 0 && a->values[0] != 1)
        note("mask %s: line %zu: a: begins with %g, which counts as 1, as CamillaDSP has it",
             dsp->config->file, dsp->config->line, a->values[0]);
    return apply_recursive(dsp, &(struct recursive){difference_run, &difference, memory});
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
    const char *flaw; /* why it cannot be parsed; NULL: it can */
    bool is_nonlinear;
} types[] = {
    {"Conv", parse_conv, NULL, false},
    {"Biquad", parse_any_biquad, NULL, false},
    {"BiquadCombo", parse_combo, NULL, false},
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
            return camilladsp_refuse(
                dsp, "filter %.100s: a %s %s and cannot be a mask; " MASK_CONFIG_SKIP_ADVICE, name,
                type, types[i].flaw);
        if (types[i].flaw)
            return camilladsp_refuse(dsp,
                                     "filter %.100s: a %s %s and cannot be a mask; " BYPASS_ADVICE,
                                     name, type, types[i].flaw);
        camilladsp_at(dsp, filter);
        const yaml_node_t *parameters = camilladsp_get(dsp, filter, "parameters");
        TRY(types[i].parse(dsp, parameters));
        TRY(camilladsp_check_keys(dsp, parameters));
        return camilladsp_check_keys(dsp, filter);
    }
    return camilladsp_refuse(dsp, "filter %.100s: CamillaDSP has no type %.40s", name,
                             type ? type : "(none)");
}

/* RACE: recursive ambiophonic crosstalk elimination. Each of two channels gets the other one,
 * delayed, quieter and inverted: a' = a + G b', b' = b + G a'. So the sum of the channels is
 * filtered by 1 / (1 - G), and their difference by 1 / (1 + G). */

struct race {
    struct camilladsp_delay delay; /* less one frame, which the feedback takes */
    double gain;
};

static void race_run(const void *data, double *samples, size_t count)
{
    const struct race *race = data;
    const struct biquad *allpass = &race->delay.allpass;
    double first = 0, second = 0;
    for (size_t i = (size_t)race->delay.frames + 1; i < count; i++) {
        double in = samples[i - race->delay.frames - 1], out = in;
        if (race->delay.has_allpass) {
            out = allpass->b[0] * in + first;
            first = allpass->b[1] * in - allpass->a[0] * out + second;
            second = allpass->b[2] * in - allpass->a[1] * out;
        }
        samples[i] += race->gain * out;
    }
}

/* Replaces channels a and b by their sum and difference, scaled. */
static enum status mix_pair(struct mask_matrix *matrix, size_t a, size_t b, double scale)
{
    size_t count = mask_matrix_outputs(matrix);
    double *gains = calloc(count * count, sizeof *gains);
    if (!gains)
        return fail_memory("a mask");
    for (size_t c = 0; c < count; c++)
        gains[c * count + c] = 1;
    gains[a * count + a] = gains[a * count + b] = gains[b * count + a] = scale;
    gains[b * count + b] = -scale;
    enum status status = mask_matrix_mix(matrix, count, gains);
    free(gains);
    return status;
}

static enum status filter_one(struct camilladsp *dsp, size_t channel, const struct race *race)
{
    for (size_t c = 0; c < MATRIX_CHANNELS_MOST; c++)
        dsp->is_selected[c] = c == channel;
    return apply_recursive(dsp,
                           &(struct recursive){race_run, race, (size_t)race->delay.frames + 3});
}

static enum status apply(struct camilladsp *dsp, size_t a, size_t b, struct race *race)
{
    TRY(mix_pair(dsp->config->matrix, a, b, 1));
    TRY(filter_one(dsp, a, race));
    race->gain = -race->gain;
    TRY(filter_one(dsp, b, race));
    return mix_pair(dsp->config->matrix, a, b, 0.5);
}

enum status camilladsp_race(struct camilladsp *dsp, const yaml_node_t *parameters)
{
    size_t outputs = mask_matrix_outputs(dsp->config->matrix);
    uint64_t channels = 0, a = UINT64_MAX, b = UINT64_MAX;
    double delay, attenuation;
    bool subsample = false;
    struct race race;
    const char *unit = camilladsp_text(camilladsp_get(dsp, parameters, "delay_unit"));
    TRY(camilladsp_count(dsp, parameters, "channels", &channels));
    TRY(camilladsp_count(dsp, parameters, "channel_a", &a));
    TRY(camilladsp_count(dsp, parameters, "channel_b", &b));
    TRY(camilladsp_bool(dsp, parameters, "subsample_delay", &subsample));
    TRY(camilladsp_required(dsp, parameters, "delay", &delay));
    TRY(camilladsp_required(dsp, parameters, "attenuation", &attenuation));
    TRY(camilladsp_check_keys(dsp, parameters));
    if (channels != outputs || a >= outputs || b >= outputs || a == b)
        return camilladsp_refuse(
            dsp,
            "RACE needs channels: %zu and two different channel_a: and channel_b: from 0 to %zu",
            outputs, outputs - 1);
    if (delay <= 0 || attenuation <= 0)
        return camilladsp_refuse(dsp, "RACE needs a delay: and attenuation: above 0");
    TRY(read_delay(dsp, unit, delay, 1, subsample, &race.delay));
    race.gain = -audio_from_db(-attenuation);
    return apply(dsp, (size_t)a, (size_t)b, &race);
}
