/* Filters, and masks given by a short formula. */
#include "design/design_kind.h"
#include "signal/remez.h"
#include "signal/window.h"

#include <math.h>
#include <string.h>

enum { SMOOTH_TAPS_MOST = 1 << 16 };

static const double DELAY_MOST = 20; /* seconds, which fit the most taps at 48 kHz */
static const double ECHO_END = 1e-5; /* -100 dB, at which echoes end */

static enum status smooth_count(const struct design_spec *spec, size_t *taps)
{
    TRY(design_need_value(spec));
    return design_count(spec, NULL, 1, SMOOTH_TAPS_MOST, taps);
}

static enum status make_moving(const struct design_spec *spec, struct design *design)
{
    size_t taps = 1;
    TRY(smooth_count(spec, &taps));
    TRY(design_alloc(design, 1, taps));
    design->origin = (taps - 1) / 2;
    for (size_t i = 0; i < taps; i++)
        design->coefficients[i] = 1 / (double)taps;
    return STATUS_OK;
}

/* The sum is 1. With the default sigma the ends are at three sigma, 1 % of the middle. */
static enum status make_gaussian(const struct design_spec *spec, struct design *design)
{
    size_t taps = 1;
    TRY(smooth_count(spec, &taps));
    double sigma = fmax((double)taps / 6, 0.1), sum = 0;
    TRY(design_number(spec, "sigma", DESIGN_RANGE(PLAIN, 0.1, SMOOTH_TAPS_MOST), &sigma));
    TRY(design_alloc(design, 1, taps));
    design->origin = (taps - 1) / 2;
    for (size_t i = 0; i < taps; i++) {
        double place = ((double)i - ((double)taps - 1) / 2) / sigma;
        sum += design->coefficients[i] = exp(-0.5 * place * place);
    }
    for (size_t i = 0; i < taps; i++)
        design->coefficients[i] /= sum;
    return STATUS_OK;
}

static enum status make_sharpen(const struct design_spec *spec, struct design *design)
{
    double amount = 1;
    TRY(design_number(spec, "amount", DESIGN_RANGE(PLAIN, -100, 100), &amount));
    TRY(make_gaussian(spec, design));
    if (design->taps % 2 == 0)
        return fail(CAUSE_USAGE, "sharpen: the number of taps must be odd, not %zu", design->taps);
    for (size_t i = 0; i < design->taps; i++)
        design->coefficients[i] *= -amount;
    design->coefficients[design->origin] += 1 + amount;
    return STATUS_OK;
}

static enum status make_difference(const struct design_spec *spec, struct design *design)
{
    bool is_diff = strcmp(spec->kind->name, "diff") == 0;
    double amount = is_diff ? 1 : 0.97;
    TRY(is_diff ? design_no_value(spec)
                : design_number(spec, NULL, DESIGN_RANGE(PLAIN, -1, 1), &amount));
    TRY(design_alloc(design, 1, 2));
    design->coefficients[0] = 1;
    design->coefficients[1] = -amount;
    return STATUS_OK;
}

/* Reads the value in frames, rounded. `seconds` is the default. */
static enum status read_delay(const struct design_spec *spec, const struct design *design,
                              size_t least, double seconds, size_t *frames)
{
    double most = fmin(DELAY_MOST, (double)(DESIGN_TAPS_MOST - 1) / design->rate);
    TRY(design_number(spec, NULL, DESIGN_RANGE(SECONDS, 0, most), &seconds));
    *frames = (size_t)lround(seconds * design->rate);
    if (*frames < least)
        return fail(CAUSE_USAGE, "%s: %g s is less than a frame at %u Hz", spec->kind->name,
                    seconds, design->rate);
    return STATUS_OK;
}

static enum status make_delay(const struct design_spec *spec, struct design *design)
{
    size_t frames = 0;
    TRY(design_need_value(spec));
    TRY(read_delay(spec, design, 0, 0, &frames));
    TRY(design_alloc(design, 1, frames + 1));
    design->coefficients[frames] = 1;
    return STATUS_OK;
}

static enum status make_echo(const struct design_spec *spec, struct design *design)
{
    size_t frames = 0, echoes = 0;
    double feedback = 0.4;
    TRY(design_need_value(spec));
    TRY(read_delay(spec, design, 1, 0, &frames));
    TRY(design_number(spec, "feedback", DESIGN_RANGE(PLAIN, -0.999, 0.999), &feedback));
    for (double level = 1; fabs(level) >= ECHO_END; level *= feedback)
        echoes++;
    if (echoes - 1 > (DESIGN_TAPS_MOST - 1) / frames)
        return fail(
            CAUSE_USAGE,
            "echo: %zu echoes to -100 dB take more than %d taps: set a shorter time or less "
            "feedback=",
            echoes, DESIGN_TAPS_MOST);
    TRY(design_alloc(design, 1, (echoes - 1) * frames + 1));
    double level = 1;
    for (size_t e = 0; e < echoes; e++, level *= feedback)
        design->coefficients[e * frames] = level;
    return STATUS_OK;
}

static enum status make_comb(const struct design_spec *spec, struct design *design)
{
    size_t frames = 0;
    double amount = 1;
    TRY(read_delay(spec, design, 1, 1e-3, &frames));
    TRY(design_number(spec, "amount", DESIGN_RANGE(PLAIN, -1, 1), &amount));
    TRY(design_alloc(design, 1, frames + 1));
    design->coefficients[0] = 1 / (1 + fabs(amount));
    design->coefficients[frames] = amount / (1 + fabs(amount));
    return STATUS_OK;
}

const struct design_kind design_simple[] = {
    {"moving", "moving:31", "", "the mean of that many taps", .make = make_moving},
    {"gaussian", "gaussian:31,sigma=6", "sigma",
     "a bell of that many taps; sigma= in taps (a sixth of them)", .make = make_gaussian},
    {"sharpen", "sharpen:31,amount=1", "sigma, amount",
     "unsharp mask: the sound plus amount= of what a gaussian removes", .make = make_sharpen},
    {"diff", "diff", "", "the difference to the previous sample: 1 -1", .make = make_difference},
    {"preemphasis", "preemphasis:0.97", "", "the sample less a fraction of the previous one",
     .make = make_difference},
    {"delay", "delay:10ms", "", "a delay of whole frames", .make = make_delay},
    {"echo", "echo:250ms,feedback=0.4", "feedback", "echoes, each feedback= of the previous one",
     .make = make_echo},
    {"comb", "comb:1ms", "amount",
     "the sound and a delayed copy (1 ms), half each; amount= of the copy, -1 to 1 (1)",
     .make = make_comb},
    {0},
};

/* ---- windowed filters ---- */

/* Applies phase= to symmetric taps and sets time zero. */
static enum status finish(const struct design_spec *spec, struct design *design)
{
    enum phase phase = PHASE_LINEAR;
    TRY(design_phase(spec, &phase));
    design->origin = phase == PHASE_LINEAR ? (design->taps - 1) / 2 : 0;
    if (phase == PHASE_MINIMUM)
        TRY(minimum_phase(design->coefficients, design->taps, design->coefficients, NULL));
    return STATUS_OK;
}

/* Windowed ideal filters, and the Hilbert transformer. At an edge, in the middle of a transition of
 * `width`, the gain is one half (-6 dB). The gain is 1 at 0 Hz, in the middle of a bandpass, or at
 * half the rate for a highpass. */

enum { EDGES_MOST = 2 };

static const double ATTENUATION = 80; /* dB, the default */

/* An ideal filter, whose gain changes between 1 and 0 at each edge. */
struct ideal_filter {
    size_t edges;
    double edge[EDGES_MOST]; /* cycles a sample, rising */
    bool passes_low;
    double level_at; /* frequency at which the gain is 1, in cycles per sample */
    double width;    /* default width of the transition, in cycles per sample */
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

/* Reads taps=, width= and atten=. Two of them determine the third. */
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

/* The impulse response at `time`: a sum of low-passes, from the highest edge down. */
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
    return finish(spec, design);
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

/* ---- equiripple filters; see remez.h ---- */

static const double GAP_GAIN_MOST = 4; /* largest gain between bands, relative to the bands' own */

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

/* Number of taps by Kaiser's estimate. Ripples are in proportion to the weights. */
static double equiripple_taps(const struct remez_band *bands, size_t count, double attenuation)
{
    double gap = 1, lightest = INFINITY, heaviest = 0;
    for (size_t b = 0; b < count; b++) {
        if (b > 0)
            gap = fmin(gap, bands[b].from - bands[b - 1].to);
        lightest = fmin(lightest, bands[b].weight);
        heaviest = fmax(heaviest, bands[b].weight);
    }
    /* The band with the largest weight has the attenuation. In the one with the least weight, the
     * ripple is larger by the ratio of the weights. */
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

/* Refuses a design whose gain between bands is very large, since it is unconstrained there. */
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
    return finish(spec, design);
}

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
    {"equiripple", "equiripple:0-1k 1; 1200- 0 10", "taps, atten, phase",
     "equal ripples (Parks-McClellan) in bands of FROM-TO GAIN [WEIGHT]; without taps=\n"
     "Kaiser's estimate for atten= (80)",
     .make = make_equiripple},
    {0},
};
