/* Equalisers: a magnitude over frequency, as taps of minimum or linear phase.
 *
 * RIAA: IEC 60098, time constants 3180, 318 and 75 us. A-weighting: IEC 61672-1, annex E. Both are
 * what the analogue network has at every frequency up to half the rate. */
#include "mask/design_kind.h"

#include <math.h>
#include <strings.h>

enum { POINTS_MOST = 256 };

static const double PI = 3.14159265358979323846;
static const double DB_MOST = 120;
static const double TILT_LEAST = 20; /* Hz: level below, where a slope would never end */

/* A third of a second and more: less than 0.1 dB off at 20 Hz. */
static size_t usual_taps(const struct design *design)
{
    size_t taps = fft_double_fitting(design->rate / 4);
    return taps < DESIGN_TAPS_MOST ? taps : DESIGN_TAPS_MOST;
}

static enum status make_equaliser(const struct design_spec *spec,
                                  double (*at)(const void *context, double hertz),
                                  const void *context, struct design *design)
{
    enum phase phase = PHASE_MINIMUM;
    TRY(design_phase(spec, &phase));
    return design_respond(spec, (struct phase_magnitude){at, context}, usual_taps(design), phase,
                          design);
}

/* ---- curves of standards ---- */

static double riaa_network(double hertz)
{
    double turn = 2 * PI * hertz;
    return hypot(1, turn * 318e-6) / (hypot(1, turn * 3180e-6) * hypot(1, turn * 75e-6));
}

static double riaa_at(const void *context, double hertz)
{
    (void)context;
    return riaa_network(hertz) / riaa_network(1000);
}

static enum status make_riaa(const struct design_spec *spec, struct design *design)
{
    TRY(design_no_value(spec));
    return make_equaliser(spec, riaa_at, NULL, design);
}

static double aweight_network(double hertz)
{
    double square = hertz * hertz, low = 20.598997 * 20.598997, high = 12194.217 * 12194.217;
    return high * square * square /
           ((square + low) * (square + high) *
            sqrt((square + 107.65265 * 107.65265) * (square + 737.86223 * 737.86223)));
}

static double aweight_at(const void *context, double hertz)
{
    (void)context;
    return aweight_network(hertz) / aweight_network(1000);
}

static enum status make_aweight(const struct design_spec *spec, struct design *design)
{
    TRY(design_no_value(spec));
    return make_equaliser(spec, aweight_at, NULL, design);
}

/* ---- tilt ---- */

static double tilt_at(const void *context, double hertz)
{
    double slope = *(const double *)context;
    return pow(10, slope * log2(fmax(hertz, TILT_LEAST) / 1000) / 20);
}

static enum status make_tilt(const struct design_spec *spec, struct design *design)
{
    double slope = 0;
    char *end = NULL;
    TRY(design_need_value(spec));
    TRY(design_parse(spec, "the slope", spec->value, (struct design_range){DESIGN_DB, -24, 24},
                     &end, &slope));
    if (*end && strcasecmp(end, "/oct") != 0)
        return fail(STATUS_USAGE, "tilt takes dB an octave, such as %s, not '%s'",
                    spec->kind->example, spec->value);
    return make_equaliser(spec, tilt_at, &slope, design);
}

/* ---- graphic ---- */

struct curve {
    size_t count;
    double octave[POINTS_MOST], db[POINTS_MOST];
};

static double curve_at(const void *context, double hertz)
{
    const struct curve *curve = context;
    double octave = log2(fmax(hertz, 1e-6));
    size_t i = 0;
    while (i < curve->count && curve->octave[i] < octave)
        i++;
    double db = curve->db[i == 0 ? 0 : i - 1];
    if (i > 0 && i < curve->count)
        db += (curve->db[i] - db) * (octave - curve->octave[i - 1]) /
              (curve->octave[i] - curve->octave[i - 1]);
    return pow(10, db / 20);
}

static enum status read_curve(const struct design_spec *spec, struct curve *curve)
{
    struct design_range hertz = {DESIGN_HZ, 1e-3, 1e6}, gain = {DESIGN_DB, -DB_MOST, DB_MOST};
    const char *text = spec->value;
    TRY(design_need_value(spec));
    while (design_next_part(&text)) {
        size_t at = curve->count;
        double frequency = 0;
        if (at == POINTS_MOST)
            return fail(STATUS_USAGE, "%s: more than %d points", spec->kind->name, POINTS_MOST);
        TRY(design_next_number(spec, "a point's frequency", hertz, &text, &frequency));
        curve->octave[at] = log2(frequency);
        TRY(design_next_number(spec, "a point's gain", gain, &text, &curve->db[at]));
        if (*text && *text != ';')
            return design_refuse_rest(spec, text);
        if (at > 0 && curve->octave[at] <= curve->octave[at - 1])
            return fail(STATUS_USAGE, "%s: frequencies must go up, and %g Hz does not",
                        spec->kind->name, frequency);
        curve->count++;
    }
    if (curve->count == 0)
        return design_refuse_rest(spec, spec->value);
    return STATUS_OK;
}

static enum status make_graphic(const struct design_spec *spec, struct design *design)
{
    struct curve curve = {0};
    TRY(read_curve(spec, &curve));
    return make_equaliser(spec, curve_at, &curve, design);
}

const struct design_kind design_equalisers[] = {
    {"riaa", "riaa", "taps, phase", "the playback curve of records (IEC 60098), 0 dB at 1 kHz",
     .make = make_riaa},
    {"aweight", "aweight", "taps, phase", "A-weighting (IEC 61672), 0 dB at 1 kHz",
     .make = make_aweight},
    {"tilt", "tilt:-3dB/oct", "taps, phase", "a slope about 1 kHz, level below 20 Hz",
     .make = make_tilt},
    {"graphiceq", "graphiceq:31 -3; 1000 2", "taps, phase",
     "gains in dB at frequencies in Hz, straight between them on a logarithmic axis",
     .make = make_graphic},
    {0},
};
