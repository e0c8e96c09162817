/* Windowed ideal filters, and the Hilbert transformer.
 *
 * At an edge the gain is a half (-6 dB), in the middle of a transition of `width`. The gain is 1 at
 * 0 Hz, in the middle of a bandpass, or at half the rate for a highpass. */
#include "mask/design_kind.h"
#include "signal/window.h"

#include <math.h>
#include <string.h>

enum { EDGES_MOST = 2 };

static const double ATTENUATION = 80; /* dB, the default */

/* An ideal filter, whose gain changes between 1 and 0 at each edge. */
struct ideal_filter {
    size_t edges;
    double edge[EDGES_MOST]; /* cycles a sample, rising */
    bool passes_low;
    double level_at; /* cycles a sample: where the gain is 1 */
    double width;    /* cycles a sample: the default transition */
};

struct taper {
    enum window window;
    double beta;
};

static enum status odd_taps(const struct design_spec *spec, double wanted, size_t *taps)
{
    if (!(wanted <= DESIGN_TAPS_MOST - 1))
        return fail(CAUSE_USAGE,
                    "%s: so narrow a transition takes %.0f taps, but at most %d are possible: "
                    "set a wider width= or set taps=",
                    spec->kind->name, wanted, DESIGN_TAPS_MOST - 1);
    *taps = (size_t)ceil(wanted) | 1;
    return STATUS_OK;
}

static enum status read_window(const struct design_spec *spec, enum window *window,
                               double *attenuation)
{
    static const char *const names[] = {[WINDOW_KAISER] = "kaiser",
                                        [WINDOW_HANN] = "hann",
                                        [WINDOW_HAMMING] = "hamming",
                                        [WINDOW_BLACKMAN] = "blackman",
                                        NULL};
    size_t choice = *window;
    TRY(design_choose(spec, "window", names, &choice));
    *window = (enum window)choice;
    if (*window != WINDOW_KAISER && design_option(spec, "atten"))
        return fail(CAUSE_USAGE, "%s: atten= is for the kaiser window; %s has a fixed attenuation",
                    spec->kind->name, names[*window]);
    return design_number(spec, "atten", DESIGN_RANGE(DB, 10, 200), attenuation);
}

/* Two of taps=, width= and atten= determine the third. */
static enum status choose_window(const struct design_spec *spec, double rate, double width,
                                 struct taper *taper, size_t *taps)
{
    double attenuation = ATTENUATION;
    bool has_taps = design_option(spec, "taps"), has_width = design_option(spec, "width");
    TRY(read_window(spec, &taper->window, &attenuation));
    width *= rate;
    TRY(design_number(spec, "width", DESIGN_RANGE(HZ, 1e-3, rate / 2), &width));
    if (has_taps && has_width && (taper->window != WINDOW_KAISER || design_option(spec, "atten")))
        return fail(CAUSE_USAGE,
                    "%s: the window%s and width= set the number of taps: omit one of them or taps=",
                    spec->kind->name, taper->window == WINDOW_KAISER ? ", atten=" : "");
    if (has_taps)
        TRY(design_count(spec, "taps", 1, DESIGN_TAPS_MOST - 1, taps));
    else
        TRY(odd_taps(spec, window_taps(taper->window, attenuation, width / rate), taps));
    if (has_taps && has_width)
        attenuation = window_kaiser_attenuation(*taps, width / rate);
    taper->beta = window_kaiser_beta(attenuation);
    return STATUS_OK;
}

static double ideal_lowpass(double edge, double time)
{
    return time == 0 ? 2 * edge : sin(2 * edge * (M_PI * time)) / (M_PI * time);
}

static bool passes_top(const struct ideal_filter *shape)
{
    return shape->passes_low != (shape->edges % 2 == 1);
}

/* The sum of low-passes from the highest edge down. */
static double ideal(const struct ideal_filter *shape, double time)
{
    bool passes = passes_top(shape);
    double sum = passes ? ideal_lowpass(0.5, time) : 0;
    for (size_t e = shape->edges; e > 0; e--, passes = !passes)
        sum += (passes ? -1 : 1) * ideal_lowpass(shape->edge[e - 1], time);
    return sum;
}

static void fill_windowed(const struct ideal_filter *shape, struct taper taper, double *taps,
                          size_t count)
{
    for (size_t i = 0; i < count; i++)
        taps[i] = ideal(shape, (double)i - ((double)count - 1) / 2) *
                  window_at(taper.window, taper.beta, i, count);
    double gain = phase_linear_gain(taps, count, shape->level_at);
    for (size_t i = 0; i < count; i++)
        taps[i] /= gain;
}

static enum status make_windowed(const struct design_spec *spec, const struct ideal_filter *shape,
                                 struct design *design)
{
    struct taper taper = {.window = WINDOW_KAISER};
    size_t taps = 0;
    TRY(choose_window(spec, design->rate, shape->width, &taper, &taps));
    if (taps % 2 == 0 && passes_top(shape))
        return fail(CAUSE_USAGE,
                    "%s: taps= must be odd, not %zu: an even number has no gain at half the rate",
                    spec->kind->name, taps);
    TRY(design_alloc(design, 1, taps));
    fill_windowed(shape, taper, design_column(design, 0), taps);
    return design_finish(spec, design);
}

static struct design_range edge_range(const struct design *design)
{
    return DESIGN_RANGE(HZ, 1e-3, nextafter(design->rate / 2.0, 0));
}

static enum status read_edge(const struct design_spec *spec, const struct design *design,
                             double *edge)
{
    double hertz = 0;
    TRY(design_need_value(spec));
    TRY(design_number(spec, NULL, edge_range(design), &hertz));
    *edge = hertz / design->rate;
    return STATUS_OK;
}

static enum status make_one_edge(const struct design_spec *spec, struct design *design)
{
    bool passes_low = strcmp(spec->kind->name, "lowpass") == 0;
    struct ideal_filter shape = {
        .edges = 1, .passes_low = passes_low, .level_at = passes_low ? 0 : 0.5};
    TRY(read_edge(spec, design, &shape.edge[0]));
    shape.width = fmin(shape.edge[0], 0.5 - shape.edge[0]) / 2;
    return make_windowed(spec, &shape, design);
}

static enum status read_edges(const struct design_spec *spec, const struct design *design,
                              double edge[EDGES_MOST])
{
    char *end = NULL;
    struct design_range range = edge_range(design);
    TRY(design_need_value(spec));
    TRY(design_parse(spec, "the lower edge", spec->value, range, &end, &edge[0]));
    if (*end != '-')
        return fail(CAUSE_USAGE, "%s takes two edges, such as %s, not '%s'", spec->kind->name,
                    spec->kind->example, spec->value);
    TRY(design_parse(spec, "the upper edge", end + 1, range, &end, &edge[1]));
    if (*end || edge[0] >= edge[1])
        return fail(CAUSE_USAGE, "%s takes two increasing edges, such as %s, not '%s'",
                    spec->kind->name, spec->kind->example, spec->value);
    edge[0] /= design->rate;
    edge[1] /= design->rate;
    return STATUS_OK;
}

static enum status make_two_edges(const struct design_spec *spec, struct design *design)
{
    bool passes_low = strcmp(spec->kind->name, "bandstop") == 0;
    struct ideal_filter shape = {.edges = 2, .passes_low = passes_low};
    TRY(read_edges(spec, design, shape.edge));
    shape.level_at = passes_low ? 0 : (shape.edge[0] + shape.edge[1]) / 2;
    shape.width = fmin(fmin(shape.edge[0], 0.5 - shape.edge[1]), shape.edge[1] - shape.edge[0]) / 2;
    return make_windowed(spec, &shape, design);
}

static enum status make_notch(const struct design_spec *spec, struct design *design)
{
    double middle = 0, width = 0;
    TRY(read_edge(spec, design, &middle));
    double most = fmin(middle, 0.5 - middle);
    width = fmin(middle / 5, most) * design->rate;
    TRY(design_number(spec, "width", DESIGN_RANGE(HZ, 1e-3, most * design->rate), &width));
    width /= design->rate;
    struct ideal_filter shape = {.edges = 2,
                                 .edge = {middle - width / 2, middle + width / 2},
                                 .passes_low = true,
                                 .width = width};
    return make_windowed(spec, &shape, design);
}

static enum status make_hilbert(const struct design_spec *spec, struct design *design)
{
    size_t taps = 255;
    double attenuation = ATTENUATION;
    struct taper taper = {.window = WINDOW_HAMMING};
    TRY(design_count(spec, NULL, 3, DESIGN_TAPS_MOST - 1, &taps));
    if (taps % 2 == 0)
        return fail(CAUSE_USAGE, "hilbert: the number of taps must be odd, not %zu", taps);
    TRY(read_window(spec, &taper.window, &attenuation));
    TRY(design_alloc(design, 1, taps));
    taper.beta = window_kaiser_beta(attenuation);
    design->origin = (taps - 1) / 2;
    for (size_t i = (design->origin + 1) % 2; i < taps; i += 2)
        design->coefficients[i] = 2 / (M_PI * ((double)i - (double)design->origin)) *
                                  window_at(taper.window, taper.beta, i, taps);
    return STATUS_OK;
}

#define WINDOWED "taps, width, atten, window, phase"

const struct design_kind design_filters[] = {
    {"lowpass", "lowpass:1000", WINDOWED,
     "pass below a frequency (-6 dB there). width= is the transition in Hz, atten= the\n"
     "stop-band attenuation in dB (80): they give the taps by Kaiser's formula.\n"
     "window=kaiser|hann|hamming|blackman, phase=linear|minimum",
     .make = make_one_edge},
    {"highpass", "highpass:80", WINDOWED, "pass above a frequency", .make = make_one_edge},
    {"bandpass", "bandpass:300-3400", WINDOWED, "pass between two frequencies",
     .make = make_two_edges},
    {"bandstop", "bandstop:45-55", WINDOWED, "stop between two frequencies",
     .make = make_two_edges},
    {"notch", "notch:50", WINDOWED, "stop a frequency; width= on either side of it",
     .make = make_notch},
    {"hilbert", "hilbert:255", "window, atten", "shift every frequency by 90 degrees; odd taps",
     .make = make_hilbert},
    {0},
};
