#include "mask/eq_listing.h"

#include "base/decimal.h"

#include <math.h>
#include <string.h>
#include <strings.h>

enum { NUMBER_MOST = 40 };

enum width { WIDTH_NONE, WIDTH_Q, WIDTH_OCTAVES, WIDTH_SLOPE /* dB per octave */ };

struct eq_kind {
    const char *name;
    enum biquad_kind kind;
    bool is_corner; /* of shelves: Fc is the start of the slope, not its middle */
};

static const struct eq_kind kinds[] = {
    {"PK", BIQUAD_PEAK, false},        {"PEQ", BIQUAD_PEAK, false},
    {"Modal", BIQUAD_PEAK, false},     {"LP", BIQUAD_LOWPASS, false},
    {"LPQ", BIQUAD_LOWPASS, false},    {"HP", BIQUAD_HIGHPASS, false},
    {"HPQ", BIQUAD_HIGHPASS, false},   {"BP", BIQUAD_BANDPASS, false},
    {"NO", BIQUAD_NOTCH, false},       {"LS", BIQUAD_LOW_SHELF, true},
    {"HS", BIQUAD_HIGH_SHELF, true},   {"LSC", BIQUAD_LOW_SHELF, false},
    {"HSC", BIQUAD_HIGH_SHELF, false}, {"LSQ", BIQUAD_LOW_SHELF, false},
    {"HSQ", BIQUAD_HIGH_SHELF, false},
};

static bool is_shelf(enum biquad_kind kind)
{
    return kind == BIQUAD_LOW_SHELF || kind == BIQUAD_HIGH_SHELF;
}

bool eq_listing_number(char **rest, const char *unit, double *value)
{
    char number[NUMBER_MOST + 1], *end;
    const char *word = mask_config_word(rest);
    if (!word || strlen(word) > NUMBER_MOST)
        return false;
    strcpy(number, word);
    if (!strchr(number, '.') && strchr(number, ','))
        *strchr(number, ',') = '.';
    if (!decimal_read(number, &end, value) || !isfinite(*value))
        return false;
    if (*end)
        return unit && strcasecmp(end, unit) == 0;
    char *after = *rest;
    const char *next = unit ? *rest + strspn(*rest, " \t") : NULL;
    size_t length = unit ? strlen(unit) : 0;
    if (next && strncasecmp(next, unit, length) == 0 &&
        (!next[length] || strchr(" \t", next[length])))
        after += (size_t)(next - *rest) + length;
    *rest = after;
    return true;
}

/* The middle of the slope of a shelf from its start, as in Behringer's DCX2496 and Equalizer APO.
 */
static double shelf_middle(const struct eq_filter *filter, double slope)
{
    double factor = pow(10, fabs(filter->gain) / 80 / slope);
    return filter->kind == BIQUAD_LOW_SHELF ? filter->frequency * factor
                                            : filter->frequency / factor;
}

/* The widths of the RBJ cookbook as Q, with defaults. */
static void settle_width(struct eq_filter *filter, enum width width, double value, bool is_corner,
                         double rate)
{
    double a = pow(10, filter->gain / 40), sum = a + 1 / a;
    if (is_shelf(filter->kind) && width != WIDTH_Q) {
        double slope = width == WIDTH_SLOPE ? value / 12 : 0.9;
        if (is_corner && width == WIDTH_SLOPE)
            filter->frequency = shelf_middle(filter, slope);
        filter->q = 1 / sqrt(sum * (1 / slope - 1) + 2);
    } else if (width == WIDTH_NONE) {
        filter->q = filter->kind == BIQUAD_NOTCH ? 30 : M_SQRT1_2;
    } else if (width == WIDTH_OCTAVES) {
        double turn = 2 * M_PI * filter->frequency / rate;
        filter->q = 1 / (2 * sinh(M_LN2 / 2 * value * turn / sin(turn)));
    } else {
        filter->q = value;
        if (is_shelf(filter->kind) && is_corner)
            filter->frequency = shelf_middle(filter, 1 / ((1 / (value * value) - 2) / sum + 1));
    }
}

static enum status find_kind(const struct mask_config *config, const char *name,
                             const struct eq_kind **kind)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (name && strcasecmp(name, kinds[i].name) == 0) {
            *kind = &kinds[i];
            return STATUS_OK;
        }
    return mask_config_refuse(config,
                              "an equaliser's filter of the kind '%.40s' cannot be read as a mask",
                              name ? name : "");
}

struct eq_values {
    double frequency, gain, width;
    enum width width_is;
};

static enum status parse_values(const struct mask_config *config, char *text,
                                struct eq_values *values)
{
    const char *word;
    while ((word = mask_config_word(&text))) {
        bool ok = true;
        if (strcasecmp(word, "Fc") == 0) {
            ok = eq_listing_number(&text, "Hz", &values->frequency);
        } else if (strcasecmp(word, "Gain") == 0) {
            ok = eq_listing_number(&text, "dB", &values->gain);
        } else if (strcasecmp(word, "Q") == 0) {
            values->width_is = WIDTH_Q;
            ok = eq_listing_number(&text, NULL, &values->width);
        } else if (strcasecmp(word, "BW") == 0) {
            const char *unit = mask_config_word(&text);
            values->width_is = WIDTH_OCTAVES;
            ok = unit && strcasecmp(unit, "Oct") == 0 &&
                 eq_listing_number(&text, NULL, &values->width);
        } else if (strcasecmp(word, "T60") == 0) {
            break; /* the target of a modal filter of REW */
        } else {
            return mask_config_refuse(config, "'%.40s' is not Fc, Gain, Q or BW Oct", word);
        }
        if (!ok)
            return mask_config_refuse(config, "no number after %.40s", word);
    }
    return STATUS_OK;
}

static enum status check(const struct mask_config *config, const struct eq_filter *filter,
                         const struct eq_values *values, double rate)
{
    if (!(values->frequency > 0 && values->frequency < rate / 2 && filter->frequency > 0 &&
          filter->frequency < rate / 2))
        return mask_config_refuse(config,
                                  "a filter at %g Hz is not between 0 and half the rate of %g Hz",
                                  values->frequency, rate);
    if (fabs(values->gain) > 200)
        return mask_config_refuse(config, "a gain of %g dB", values->gain);
    if (!(filter->q > 0 && isfinite(filter->q)))
        return mask_config_refuse(config, "the width or slope is not possible");
    return STATUS_OK;
}

enum status eq_listing_filter(const struct mask_config *config, char *text, double rate,
                              struct eq_filter *filter)
{
    struct eq_values values = {0};
    const struct eq_kind *kind = NULL;
    const char *word = mask_config_word(&text);
    *filter = (struct eq_filter){0};
    if (!word || (strcasecmp(word, "ON") != 0 && strcasecmp(word, "OFF") != 0))
        return mask_config_refuse(config, "a filter must be ON or OFF, not '%.40s'",
                                  word ? word : "");
    filter->is_on = strcasecmp(word, "ON") == 0;
    const char *name = mask_config_word(&text);
    if (!filter->is_on || (name && strcasecmp(name, "None") == 0)) {
        filter->is_on = false;
        return STATUS_OK;
    }
    TRY(find_kind(config, name, &kind));
    char *rest = text + strspn(text, " \t");
    if (strncasecmp(rest, "Fc", 2) != 0) { /* LS 6dB, LSC 12 dB */
        values.width_is = WIDTH_SLOPE;
        if (!is_shelf(kind->kind) || !eq_listing_number(&text, "dB", &values.width))
            return mask_config_refuse(config, "Fc is missing after '%.40s'", name);
    }
    TRY(parse_values(config, text, &values));
    filter->kind = kind->kind;
    filter->frequency = values.frequency;
    filter->gain = values.gain;
    if (values.width_is != WIDTH_NONE && !(values.width > 0))
        return mask_config_refuse(config, "a width of %g", values.width);
    if (values.width_is == WIDTH_NONE && kind->kind == BIQUAD_PEAK)
        return mask_config_refuse(config, "a peak without Q or BW Oct");
    settle_width(filter, values.width_is, values.width, kind->is_corner, rate);
    return check(config, filter, &values, rate);
}
