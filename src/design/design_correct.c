/* Corrections of loudspeakers: crossovers. */
#include "design/design_kind.h"
#include "signal/window.h"

#include <math.h>
#include <string.h>

/* ---- crossovers: low, mid and high sum to a delay ---- */

enum { CROSSOVER_LEAST = 511 /* taps */ };

static const double RINGING = 13.8;    /* -120 dB, as a natural logarithm */
static const double STEEP_ATTEN = 100; /* dB */
static const double STEEP_WIDTH = 0.5; /* of the frequency: 0.75 to 1.25 */

struct crossover {
    size_t edges;    /* 1 or 2 */
    double hertz[2]; /* rising */
    double slope;    /* dB an octave; 0: steep */
};

static double crossover_low(const struct crossover *crossover, size_t edge, double hertz)
{
    return 1 / (1 + pow(hertz / crossover->hertz[edge], crossover->slope / 6));
}

static double low_at(const void *context, double hertz)
{
    return crossover_low(context, 0, hertz);
}

static double mid_at(const void *context, double hertz)
{
    return (1 - crossover_low(context, 0, hertz)) * crossover_low(context, 1, hertz);
}

static enum status read_crossover(const struct design_spec *spec, double rate,
                                  struct crossover *crossover)
{
    struct design_range hertz = {DESIGN_HZ, 1, nextafter(rate / 2, 0)};
    const char *slope = design_option(spec, "slope");
    TRY(design_need_value(spec));
    char *end = (char *)spec->value - 1;
    do {
        if (crossover->edges == 2)
            return fail(CAUSE_USAGE, "crossover: at most three ways, such as crossover:300:3000");
        double *at = &crossover->hertz[crossover->edges++];
        TRY(design_parse(spec, "a frequency", end + 1, hertz, &end, at));
    } while (*end == ':');
    if (*end || (crossover->edges == 2 && crossover->hertz[0] >= crossover->hertz[1]))
        return fail(CAUSE_USAGE,
                    "crossover takes a frequency or two increasing ones, such as 80 or 300:3000, "
                    "not '%s'",
                    spec->value);
    crossover->slope = 24;
    if (slope && strcmp(slope, "steep") == 0)
        crossover->slope = 0;
    else
        TRY(design_number(spec, "slope", DESIGN_RANGE(DB, 12, 96), &crossover->slope));
    if (fmod(crossover->slope, 12) != 0)
        return fail(CAUSE_USAGE, "crossover: slope= is 12, 24, 36, ... 96 or steep, not '%s'",
                    slope);
    return STATUS_OK;
}

/* Reads way=. low: 0, mid: 1, high: 2. */
static enum status read_way(const struct design_spec *spec, size_t edges, size_t *way)
{
    static const char *const two[] = {"low", "high", NULL}, *const three[] = {"low", "mid", "high",
                                                                              NULL};
    if (!design_option(spec, "way"))
        return fail(CAUSE_USAGE, "crossover: way=low%s or way=high chooses the way, as in %s",
                    edges == 2 ? ", way=mid" : "", spec->kind->example);
    TRY(design_choose(spec, "way", edges == 2 ? three : two, way));
    if (edges == 1)
        *way *= 2;
    return STATUS_OK;
}

/* Taps until a filter has decayed. The faded eighths of phase_design come on top. */
static double crossover_taps(const struct crossover *crossover, double rate)
{
    double edge = crossover->hertz[0] / rate;
    if (crossover->slope <= 0)
        return window_taps(WINDOW_KAISER, STEEP_ATTEN, STEEP_WIDTH * edge);
    return 2 * RINGING / (2 * M_PI * edge * sin(6 * M_PI / crossover->slope)) * 4 / 3;
}

/* The lower way at an edge by a window, less `taps`. */
static void fill_steep(double edge, double *taps, size_t count)
{
    size_t middle = (count - 1) / 2;
    double attenuation = fmin(STEEP_ATTEN, window_kaiser_attenuation(count, STEEP_WIDTH * edge));
    double beta = window_kaiser_beta(attenuation);
    for (size_t i = 0; i <= 2 * middle; i++) {
        double time = M_PI * ((double)i - (double)middle);
        double ideal = i == middle ? 2 * edge : sin(2 * edge * time) / time;
        taps[i] = ideal * window_at(WINDOW_KAISER, beta, i, 2 * middle + 1) - taps[i];
    }
}

static enum status fill_way(const struct crossover *crossover, size_t edge, double rate,
                            double *taps, size_t count)
{
    const struct phase_magnitude magnitude = {edge == 0 ? low_at : mid_at, crossover};
    if (crossover->slope > 0)
        return phase_design(&magnitude, rate, PHASE_LINEAR, taps, count);
    for (size_t e = 0; e <= edge; e++)
        fill_steep(crossover->hertz[e] / rate, taps, count);
    return STATUS_OK;
}

/* The highest way is what the others leave of a delay. */
static enum status make_crossover(const struct design_spec *spec, struct design *design)
{
    struct crossover crossover = {0};
    size_t way = 0;
    TRY(read_crossover(spec, design->rate, &crossover));
    TRY(read_way(spec, crossover.edges, &way));
    double wanted = fmax(crossover_taps(&crossover, design->rate), CROSSOVER_LEAST);
    size_t taps = (size_t)fmin(wanted, DESIGN_TAPS_MOST - 1) | 1;
    TRY(design_count(spec, "taps", DESIGN_RESPONSE_LEAST, DESIGN_TAPS_MOST, &taps));
    TRY(design_alloc(design, 3, taps));
    design->origin = (taps - 1) / 2;
    double *high = design_column(design, 2);
    high[design->origin] = 1;
    for (size_t edge = 0; edge < crossover.edges; edge++) {
        double *lower = design_column(design, edge);
        TRY(fill_way(&crossover, edge, design->rate, lower, taps));
        for (size_t i = 0; i < taps; i++)
            high[i] -= lower[i];
    }
    memmove(design->coefficients, design_column(design, way), taps * sizeof(double));
    design->columns = 1;
    return STATUS_OK;
}

const struct design_kind design_correct[] = {
    {"crossover", "crossover:80,way=low", "way, slope, taps",
     "a way of a loudspeaker, of linear phase: way=low|high, or low|mid|high of two frequencies\n"
     "(crossover:300:3000). The ways sum to a delay. slope= is in dB an octave (24) or steep",
     .make = make_crossover},
    {0},
};
