/* Equalisers: a magnitude over frequency, as taps of minimum or linear phase.
 *
 * RIAA: IEC 60098, time constants 3180, 318 and 75 us. A-weighting: IEC 61672-1, annex E. Both
 * match the analogue network at every frequency up to half the rate.
 */
#include "design/design.h"
#include "design/design_kind.h"
#include "import/response_file.h"
#include "signal/biquad.h"
#include "signal/fft_double.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- lists: parts separated by semicolons, of numbers separated by blanks ---- */

static enum status next_number(const struct design_spec *spec, const char *what,
                               struct design_range range, const char **text, double *value)
{
    char *end;
    *text += strspn(*text, " \t");
    TRY(design_parse(spec, what, *text, range, &end, value));
    if (!strchr(" \t;", *end))
        return fail(CAUSE_USAGE, "%s: unexpected '%s' after %s; an example is %s", spec->kind->name,
                    end, what, spec->kind->example);
    *text = end + strspn(end, " \t");
    return STATUS_OK;
}

static bool next_part(const char **text)
{
    *text += strspn(*text, "; \t");
    return **text != '\0';
}

static enum status refuse_rest(const struct design_spec *spec, const char *text)
{
    return fail(CAUSE_USAGE, "%s: unexpected '%s'; parts are separated by ; as in %s",
                spec->kind->name, text, spec->kind->example);
}

static enum status make_magnitude(const struct design_spec *spec, struct phase_magnitude magnitude,
                                  size_t taps, enum phase phase, struct design *design)
{
    TRY(design_count(spec, "taps", DESIGN_RESPONSE_LEAST, DESIGN_TAPS_MOST, &taps));
    TRY(design_alloc(design, 1, taps));
    design->origin = phase == PHASE_LINEAR ? (taps - 1) / 2 : 0;
    return phase_design(&magnitude, design->rate, phase, design->coefficients, taps);
}

enum { POINTS_MOST = 256 };

static const double DB_MOST = 120;
static const double TILT_LEAST = 20; /* Hz; constant below, where a slope would never end */

static enum status make_equaliser(const struct design_spec *spec,
                                  double (*at)(const void *context, double hertz),
                                  const void *context, struct design *design)
{
    enum phase phase = PHASE_MINIMUM;
    size_t taps = fft_double_fitting(design->rate / 4); /* within 0.1 dB at 20 Hz */
    TRY(design_phase(spec, &phase));
    return make_magnitude(spec, (struct phase_magnitude){at, context},
                          taps < DESIGN_TAPS_MOST ? taps : DESIGN_TAPS_MOST, phase, design);
}

static double riaa_network(double hertz)
{
    double turn = 2 * M_PI * hertz;
    return hypot(1, turn * 318e-6) / (hypot(1, turn * 3180e-6) * hypot(1, turn * 75e-6));
}

static double aweight_network(double hertz)
{
    double square = hertz * hertz, low = 20.598997 * 20.598997, high = 12194.217 * 12194.217;
    return high * square * square /
           ((square + low) * (square + high) *
            sqrt((square + 107.65265 * 107.65265) * (square + 737.86223 * 737.86223)));
}

typedef double network(double hertz);

static double network_at(const void *context, double hertz)
{
    network *const *at = context;
    return (*at)(hertz) / (*at)(1000);
}

static enum status make_standard(const struct design_spec *spec, struct design *design)
{
    network *at = strcmp(spec->kind->name, "riaa") == 0 ? riaa_network : aweight_network;
    TRY(design_no_value(spec));
    return make_equaliser(spec, network_at, &at, design);
}

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
    TRY(design_parse(spec, "the slope", spec->value, DESIGN_RANGE(DB, -24, 24), &end, &slope));
    if (*end && strcasecmp(end, "/oct") != 0)
        return fail(CAUSE_USAGE, "tilt takes dB an octave, such as %s, not '%s'",
                    spec->kind->example, spec->value);
    return make_equaliser(spec, tilt_at, &slope, design);
}

static double curve_at(const void *context, double hertz)
{
    return pow(10, level_curve_at(context, hertz) / 20);
}

static enum status read_curve(const struct design_spec *spec, struct level_curve *curve)
{
    struct design_range hertz = {DESIGN_HZ, 1e-3, 1e6}, gain = {DESIGN_DB, -DB_MOST, DB_MOST};
    double last = 0;
    TRY(design_need_value(spec));
    for (const char *text = spec->value; next_part(&text);) {
        double frequency = 0, level = 0;
        if (level_curve_count(curve) == POINTS_MOST)
            return fail(CAUSE_USAGE, "%s: more than %d points", spec->kind->name, POINTS_MOST);
        TRY(next_number(spec, "a point's frequency", hertz, &text, &frequency));
        TRY(next_number(spec, "a point's gain", gain, &text, &level));
        if (*text && *text != ';')
            return refuse_rest(spec, text);
        if (frequency <= last)
            return fail(CAUSE_USAGE, "%s: frequencies must increase, and %g Hz does not",
                        spec->kind->name, frequency);
        TRY(level_curve_add(curve, frequency, level));
        last = frequency;
    }
    if (level_curve_count(curve) == 0)
        return refuse_rest(spec, spec->value);
    return STATUS_OK;
}

static enum status make_graphic(const struct design_spec *spec, struct design *design)
{
    struct level_curve curve = {0};
    enum status status = read_curve(spec, &curve);
    if (status == STATUS_OK)
        status = make_equaliser(spec, curve_at, &curve, design);
    level_curve_free(&curve);
    return status;
}

struct sections {
    double rate;
    struct eq_bands bands;
};

static double sections_at(const void *context, double hertz)
{
    const struct sections *sections = context;
    double gain = 1;
    for (size_t i = 0; i < sections->bands.count; i++) {
        struct biquad section = eq_band_section(&sections->bands.bands[i], sections->rate);
        gain *= biquad_magnitude(&section, hertz, sections->rate);
    }
    return gain;
}

static enum status read_section(const struct design_spec *spec, const char **text,
                                struct sections *sections)
{
    const struct eq_band_kind *kind = eq_band_kinds;
    while (kind->name && (strncasecmp(*text, kind->name, 2) != 0 || !strchr(" \t", (*text)[2])))
        kind++;
    if (!kind->name)
        return fail(CAUSE_USAGE,
                    "%s: a section is PK, LS, HS, LP, HP, BP or NO and a frequency, the gain of "
                    "the first three, and a Q, not '%s'",
                    spec->kind->name, *text);
    *text += 2;
    double most = nextafter(sections->rate / 2, 0);
    struct eq_band band = {.kind = kind->kind, .q = kind->q};
    TRY(next_number(spec, "a section's frequency", DESIGN_RANGE(HZ, 1, most), text, &band.hertz));
    if (kind->has_gain)
        TRY(next_number(spec, "a section's gain", DESIGN_RANGE(DB, -EQ_DB_MOST, EQ_DB_MOST), text,
                        &band.db));
    if (**text && **text != ';')
        TRY(next_number(spec, "a section's Q", DESIGN_RANGE(PLAIN, EQ_Q_LEAST, EQ_Q_MOST), text,
                        &band.q));
    if (**text && **text != ';')
        return refuse_rest(spec, *text);
    (void)eq_bands_add(&sections->bands, &band,
                       sections->rate); /* the parser has checked the range */
    return STATUS_OK;
}

static enum status read_sections(const struct design_spec *spec, struct sections *sections)
{
    for (const char *text = spec->value; next_part(&text);) {
        if (sections->bands.count == EQ_BANDS_MOST)
            return fail(CAUSE_USAGE, "%s: more than %d sections", spec->kind->name, EQ_BANDS_MOST);
        TRY(read_section(spec, &text, sections));
    }
    return STATUS_OK;
}

static enum status run_sections(const struct design_spec *spec, const struct sections *sections,
                                size_t taps, struct design *design)
{
    TRY(design_count(spec, "taps", DESIGN_RESPONSE_LEAST, DESIGN_TAPS_MOST, &taps));
    TRY(design_alloc(design, 1, taps));
    design->coefficients[0] = 1;
    for (size_t i = 0; i < sections->bands.count; i++) {
        struct biquad section = eq_band_section(&sections->bands.bands[i], sections->rate);
        biquad_filter(&section, design->coefficients, taps);
    }
    phase_fade_out(design->coefficients + taps - taps / 8, taps / 8);
    return STATUS_OK;
}

/* Keeps the bands for a later change, unless taps= cuts the response or the rate is another one. */
static enum status keep_bands(const struct design_spec *spec, const struct sections *sections,
                              struct design *design)
{
    double wanted = fmin(eq_bands_taps(&sections->bands, sections->rate), EQ_TAPS_MOST);
    if (design_option(spec, "rate") || (double)design->taps < floor(wanted))
        return STATUS_OK;
    design->bands = malloc(sizeof *design->bands);
    if (!design->bands)
        return fail_memory("a mask");
    *design->bands = sections->bands;
    return STATUS_OK;
}

static enum status make_sections(const struct design_spec *spec, struct design *design)
{
    struct sections sections = {.rate = design->rate};
    enum phase phase = PHASE_MINIMUM;
    TRY(design_need_value(spec));
    TRY(read_sections(spec, &sections));
    if (sections.bands.count == 0)
        return refuse_rest(spec, spec->value);
    TRY(design_phase(spec, &phase));
    double wanted = eq_bands_taps(&sections.bands, sections.rate) * (phase == PHASE_LINEAR ? 2 : 1);
    if (!design_option(spec, "taps") && wanted > DESIGN_TAPS_MOST)
        return fail(CAUSE_USAGE,
                    "%s: a section this narrow takes %.0f taps, but at most %d are possible: use a "
                    "smaller Q or set taps=",
                    spec->kind->name, wanted, DESIGN_TAPS_MOST);
    size_t taps = (size_t)fmin(wanted, DESIGN_TAPS_MOST);
    if (phase == PHASE_LINEAR)
        return make_magnitude(spec, (struct phase_magnitude){sections_at, &sections}, taps | 1,
                              phase, design);
    TRY(run_sections(spec, &sections, taps, design));
    return keep_bands(spec, &sections, design);
}

/* ---- frequency responses from files, and their inverses ---- */

enum { TAPS_MOST = 1 << 17 /* most taps if taps= is missing */ };

/* dB; a larger mean level is absolute, not a correction */
static const double ABSOLUTE_BEYOND = 30;
static const double ERROR_MOST = 0.1; /* dB of error allowed at the file's frequencies */
static const double ERROR_SAID = 0.5; /* dB of error that is reported */
static const double DEPTH = 40;       /* dB below the largest level; below it errors count less */

struct target {
    const struct level_curve *curve;
    double reference; /* dB of the file that become 0 dB */
    bool is_inverse;
    double limit; /* dB, the largest level of an inverse */
};

static double target_level(const struct target *target, double hertz)
{
    double level = level_curve_at(target->curve, hertz) - target->reference;
    return target->is_inverse ? fmin(-level, target->limit) : level;
}

static double target_at(const void *context, double hertz)
{
    return pow(10, target_level(context, hertz) / 20);
}

/* Reads the reference level. Levels of sound pressure (above 20 uPa) would be gains of 1000. */
static enum status read_reference(const struct design_spec *spec, struct target *target)
{
    double mean = level_curve_mean(target->curve);
    bool is_absolute = fabs(mean) > ABSOLUTE_BEYOND;
    target->reference = is_absolute ? mean : 0;
    if (is_absolute && !design_option(spec, "reference"))
        note(
            "%s: its mean level, %.2f dB, is taken as 0 dB; reference=0dB takes the levels as they "
            "are",
            spec->value, mean);
    return design_number(spec, "reference", DESIGN_RANGE(DB, -300, 300), &target->reference);
}

static enum status read_target(const struct design_spec *spec, struct target *target)
{
    size_t limited = 0;
    TRY(read_reference(spec, target));
    TRY(design_number(spec, "limit", DESIGN_RANGE(DB, 0, 120), &target->limit));
    for (size_t i = 0; target->is_inverse && i < level_curve_count(target->curve); i++)
        limited += target->reference - target->curve->levels.values[i] > target->limit;
    if (limited > 0)
        note("%s: at %zu of its %zu frequencies the correction is limited to %g dB (limit=)",
             spec->value, limited, level_curve_count(target->curve), target->limit);
    return STATUS_OK;
}

/* The largest error at the file's frequencies, in dB. */
static enum status measure_error(const struct design *design, const struct target *target,
                                 double *error)
{
    size_t points = level_curve_count(target->curve);
    double largest = -INFINITY, *gains = calloc(points, sizeof *gains);
    if (!gains)
        return fail_memory("a mask");
    enum status status =
        level_curve_measure(target->curve, design->rate, design->coefficients, design->taps, gains);
    for (size_t i = 0; i < points; i++)
        largest = fmax(largest, target_level(target, level_curve_hertz(target->curve, i)));
    *error = 0;
    for (size_t i = 0; i < points && status == STATUS_OK && !isnan(gains[i]); i++)
        *error =
            fmax(*error,
                 level_curve_error(gains[i], target_at(target, level_curve_hertz(target->curve, i)),
                                   pow(10, (largest - DEPTH) / 20)));
    free(gains);
    return status;
}

/* Designs the response with as many taps as the file's detail needs, or with taps=. */
static enum status respond(const struct design_spec *spec, const struct target *target,
                           struct design *design)
{
    enum phase phase = PHASE_MINIMUM;
    size_t taps = fft_double_fitting(design->rate / 4);
    bool is_chosen = design_option(spec, "taps");
    double error = 0;
    TRY(design_phase(spec, &phase));
    for (;; taps *= 2) {
        TRY(make_magnitude(spec, (struct phase_magnitude){target_at, target}, taps, phase, design));
        TRY(measure_error(design, target, &error));
        if (is_chosen || error <= ERROR_MOST || taps * 2 > TAPS_MOST)
            break;
        design_free(design);
    }
    if (error > ERROR_SAID)
        note("%s: the mask of %zu taps is up to %.1f dB from the file; more taps= come closer",
             spec->value, design->taps, error);
    return STATUS_OK;
}

/* Notes how the file was read if it could be read otherwise. A third column is a phase. */
static void note_reading(const struct design_spec *spec, const struct response_file *response)
{
    char name[RESPONSE_NAME_MOST + 1];
    response_file_name(response, response->chosen, name);
    if (response->is_khz)
        note("%s: its frequencies are in kHz, as is said above them", spec->value);
    if (response->is_sorted)
        note("%s: its frequencies are not in rising order and were sorted", spec->value);
    bool is_certain = response->columns <= 3 || design_option(spec, "column");
    if (response->columns > 2)
        (is_certain ? note_detail : note)(
            "%s: of its %zu columns the levels are those of number %zu%s%s; column= takes another",
            spec->value, response->columns, response->chosen, *name ? ", " : "", name);
}

static enum status make_response(const struct design_spec *spec, struct design *design)
{
    struct response_file response;
    TRY(design_need_value(spec));
    TRY(response_file_load(spec->value, design_option(spec, "column"), &response));
    struct target target = {
        .curve = &response.curve,
        .is_inverse = strcmp(spec->kind->name, "inverse") == 0,
        .limit = 12,
    };
    if (!design->rate)
        design->rate = DESIGN_RATE_DEFAULT;
    note_reading(spec, &response);
    enum status status = read_target(spec, &target);
    if (status == STATUS_OK)
        status = respond(spec, &target, design);
    response_file_free(&response);
    return status;
}

const struct design_kind design_equalisers[] = {
    {"riaa", "riaa", "taps, phase", "the playback curve of records (IEC 60098), 0 dB at 1 kHz",
     .make = make_standard},
    {"aweight", "aweight", "taps, phase", "A-weighting (IEC 61672), 0 dB at 1 kHz",
     .make = make_standard},
    {"tilt", "tilt:-3dB/oct", "taps, phase", "a slope about 1 kHz, level below 20 Hz",
     .make = make_tilt},
    {"graphiceq", "graphiceq:31 -3; 1000 2", "taps, phase",
     "gains in dB at frequencies in Hz, linear between them on a logarithmic axis",
     .make = make_graphic},
    {"parametric", "parametric:PK 1000 -6 1.4; HS 8000 2", "taps, phase",
     "peaks (PK), shelves (LS HS), LP HP BP NO: frequency, gain in dB of the first three,\n"
     "Q; second-order sections by the RBJ cookbook",
     .make = make_sections},
    {"response", "response:mic.cal", "column, reference, taps, phase",
     "the magnitude of a frequency response: text with a frequency (Hz) and a level (dB) a line,\n"
     "as .cal, .frd or REW exports; level beyond its ends. reference= is the level that becomes\n"
     "0 dB: by default 0, or the mean of levels of sound pressure. column= is the name or number\n"
     "of that with the levels. phase=minimum|linear",
     .names_file = true, .make = make_response},
    {"inverse", "inverse:mic.cal,limit=12dB", "column, limit, reference, taps, phase",
     "the correction of such a response, which amplifies by at most limit= (12 dB)",
     .names_file = true, .make = make_response},
    {0},
};

enum status design_bands(const char *text, uint32_t rate, struct eq_bands *bands)
{
    const struct design_kind *kind = design_equalisers;
    while (kind->make != make_sections)
        kind++;
    const struct design_spec spec = {.kind = kind, .value = text};
    struct sections sections = {.rate = rate};
    TRY(read_sections(&spec, &sections));
    *bands = sections.bands;
    return STATUS_OK;
}
