/* Equiripple filters: remez.h. */
#include "mask/design_kind.h"
#include "signal/remez.h"

#include <math.h>
#include <string.h>

static const double ATTENUATION = 80;  /* dB, the default */
static const double GAP_GAIN_MOST = 4; /* between bands, relative to the larger gain */

static enum status refuse_bands(const struct design_spec *spec)
{
    return fail(
        CAUSE_USAGE,
        "%s takes bands of FROM-TO GAIN [WEIGHT] that increase and do not touch, 2 to %d of "
        "them with ; between, such as '%s'; FROM- goes up to half the rate",
        spec->kind->name, REMEZ_BANDS_MOST, spec->kind->example);
}

static char *after_blanks(char *text)
{
    return text + strspn(text, " \t");
}

static enum status read_band(const struct design_spec *spec, const struct design *design,
                             char *text, struct remez_band *band, char **end)
{
    double half = design->rate / 2.0;
    struct design_range hertz = DESIGN_RANGE(HZ, 0, half);
    *band = (struct remez_band){.to = half, .weight = 1};
    TRY(design_parse(spec, "a band's edge", after_blanks(text), hertz, end, &band->from));
    if (**end != '-')
        return refuse_bands(spec);
    char *to = *end + 1;
    if (*to != ' ')
        TRY(design_parse(spec, "a band's edge", to, hertz, &to, &band->to));
    TRY(design_parse(spec, "a band's gain", after_blanks(to), DESIGN_RANGE(PLAIN, 0, 1e6), end,
                     &band->gain));
    *end = after_blanks(*end);
    if (**end && **end != ';')
        TRY(design_parse(spec, "a band's weight", *end, DESIGN_RANGE(PLAIN, 1e-6, 1e6), end,
                         &band->weight));
    *end = after_blanks(*end);
    band->from /= design->rate;
    band->to /= design->rate;
    return STATUS_OK;
}

static enum status read_bands(const struct design_spec *spec, const struct design *design,
                              struct remez_band bands[REMEZ_BANDS_MOST], size_t *count)
{
    TRY(design_need_value(spec));
    char *end = (char *)spec->value;
    for (*count = 0;; (*count)++) {
        if (*count == REMEZ_BANDS_MOST)
            return refuse_bands(spec);
        struct remez_band *band = &bands[*count];
        TRY(read_band(spec, design, end, band, &end));
        if (band->from >= band->to || (*end && *end != ';') ||
            (*count > 0 && band[-1].to >= band->from))
            return refuse_bands(spec);
        if (!*end++) {
            (*count)++;
            break;
        }
    }
    if (*count < 2)
        return refuse_bands(spec);
    return STATUS_OK;
}

/* Kaiser's estimate, with ripples in proportion to the weights. */
static double equiripple_taps(const struct remez_band *bands, size_t count, double attenuation)
{
    double gap = 1, lightest = INFINITY, heaviest = 0;
    for (size_t b = 0; b < count; b++) {
        if (b > 0)
            gap = fmin(gap, bands[b].from - bands[b - 1].to);
        lightest = fmin(lightest, bands[b].weight);
        heaviest = fmax(heaviest, bands[b].weight);
    }
    /* The heaviest band has the attenuation, the lightest a ripple larger by the weights' ratio. */
    double shared = attenuation - 10 * log10(heaviest / lightest);
    return fmax(REMEZ_TAPS_LEAST, (shared - 13) / (14.6 * gap) + 1);
}

static enum status equiripple_count(const struct design_spec *spec, const struct remez_band *bands,
                                    size_t count, size_t *taps)
{
    double attenuation = ATTENUATION;
    TRY(design_number(spec, "atten", DESIGN_RANGE(DB, 10, 200), &attenuation));
    double wanted = equiripple_taps(bands, count, attenuation);
    bool given = design_option(spec, "taps");
    if (given && design_option(spec, "atten"))
        return fail(CAUSE_USAGE,
                    "%s: atten= sets the number of taps: omit it or taps=", spec->kind->name);
    if (!given && wanted > REMEZ_TAPS_MOST - 1)
        return fail(CAUSE_USAGE,
                    "%s: so narrow a gap between bands takes %.0f taps, but at most %d are "
                    "possible: widen it or set taps=",
                    spec->kind->name, wanted, REMEZ_TAPS_MOST);
    *taps = given ? 0 : (size_t)ceil(wanted) | 1;
    TRY(design_count(spec, "taps", REMEZ_TAPS_LEAST, REMEZ_TAPS_MOST, taps));
    if (*taps % 2 == 0 && bands[count - 1].to >= 0.5 && bands[count - 1].gain > 0)
        return fail(CAUSE_USAGE,
                    "%s: taps= must be odd, not %zu: an even number has no gain at half the rate",
                    spec->kind->name, *taps);
    return STATUS_OK;
}

/* The gain between bands is unconstrained and may become very large. */
static enum status check_gaps(const struct design_spec *spec, const struct remez_band *bands,
                              size_t count, const struct design *design)
{
    for (size_t b = 1; b < count; b++) {
        double from = bands[b - 1].to, width = bands[b].from - from;
        double allowed = GAP_GAIN_MOST * fmax(1, fmax(bands[b].gain, bands[b - 1].gain));
        size_t points = (size_t)ceil(4 * width * (double)design->taps) + 8;
        for (size_t i = 0; i < points; i++) {
            double frequency = from + width * (double)i / (double)points;
            double gain = fabs(phase_linear_gain(design->coefficients, design->taps, frequency));
            if (gain > allowed)
                return fail(CAUSE_OTHER,
                            "%s: the gain reaches %.0f dB at %.0f Hz, between bands: use gaps of "
                            "similar width or fewer taps",
                            spec->kind->name, 20 * log10(gain), frequency * design->rate);
        }
    }
    return STATUS_OK;
}

static enum status make_equiripple(const struct design_spec *spec, struct design *design)
{
    struct remez_band bands[REMEZ_BANDS_MOST];
    size_t count = 0, taps = 0;
    double ripple = 0;
    TRY(read_bands(spec, design, bands, &count));
    TRY(equiripple_count(spec, bands, count, &taps));
    TRY(design_alloc(design, 1, taps));
    TRY(remez_design(bands, count, design_column(design, 0), taps, &ripple));
    TRY(check_gaps(spec, bands, count, design));
    note_detail("%s: %zu taps, the largest weighted error is %.1f dB", spec->kind->name, taps,
                20 * log10(ripple));
    return design_finish(spec, design);
}

const struct design_kind design_equiripple[] = {
    {"equiripple", "equiripple:0-1k 1; 1200- 0 10", "taps, atten, phase",
     "equal ripples (Parks-McClellan) in bands of FROM-TO GAIN [WEIGHT]; without taps=\n"
     "Kaiser's estimate for atten= (80)",
     .make = make_equiripple},
    {0},
};
