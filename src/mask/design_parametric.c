/* Equalisers of second-order sections: biquad.h. */
#include "mask/design_kind.h"
#include "signal/biquad.h"

#include <math.h>
#include <string.h>
#include <strings.h>

enum { SECTIONS_MOST = 64 };

static const double DB_MOST = 120;
static const double SECTION_END = 1e-7; /* -140 dB */

struct section_kind {
    const char *name;
    enum biquad_kind kind;
    bool has_gain;
    double q; /* where nobody says */
};

static const struct section_kind section_kinds[] = {
    {"PK", BIQUAD_PEAK, true, M_SQRT1_2},
    {"LS", BIQUAD_LOW_SHELF, true, M_SQRT1_2},
    {"HS", BIQUAD_HIGH_SHELF, true, M_SQRT1_2},
    {"LP", BIQUAD_LOWPASS, false, M_SQRT1_2},
    {"HP", BIQUAD_HIGHPASS, false, M_SQRT1_2},
    {"BP", BIQUAD_BANDPASS, false, M_SQRT1_2},
    {"NO", BIQUAD_NOTCH, false, 30},
};

struct sections {
    double rate;
    size_t count;
    struct biquad biquads[SECTIONS_MOST];
};

static double sections_at(const void *context, double hertz)
{
    const struct sections *sections = context;
    double gain = 1;
    for (size_t i = 0; i < sections->count; i++)
        gain *= biquad_magnitude(&sections->biquads[i], hertz, sections->rate);
    return gain;
}

static enum status read_section(const struct design_spec *spec, const char **text,
                                struct sections *sections)
{
    const struct section_kind *kind = NULL;
    for (size_t i = 0; i < sizeof section_kinds / sizeof *section_kinds; i++)
        if (strncasecmp(*text, section_kinds[i].name, 2) == 0 && strchr(" \t", (*text)[2]))
            kind = &section_kinds[i];
    if (!kind)
        return fail(STATUS_USAGE,
                    "%s: a section is PK, LS, HS, LP, HP, BP or NO and a frequency, the gain of "
                    "the first three, and a Q, not '%s'",
                    spec->kind->name, *text);
    *text += 2;
    double most = nextafter(sections->rate / 2, 0), frequency = 0, gain = 0, q = kind->q;
    TRY(design_next_number(spec, "a section's frequency",
                           (struct design_range){DESIGN_HZ, 1, most}, text, &frequency));
    if (kind->has_gain)
        TRY(design_next_number(spec, "a section's gain",
                               (struct design_range){DESIGN_DB, -DB_MOST, DB_MOST}, text, &gain));
    if (**text && **text != ';')
        TRY(design_next_number(spec, "a section's Q",
                               (struct design_range){DESIGN_PLAIN, 0.01, 1000}, text, &q));
    if (**text && **text != ';')
        return design_refuse_rest(spec, *text);
    sections->biquads[sections->count++] =
        biquad_make(kind->kind, frequency, gain, q, sections->rate);
    return STATUS_OK;
}

static enum status read_sections(const struct design_spec *spec, struct sections *sections)
{
    const char *text = spec->value;
    TRY(design_need_value(spec));
    while (design_next_part(&text)) {
        if (sections->count == SECTIONS_MOST)
            return fail(STATUS_USAGE, "%s: more than %d sections", spec->kind->name,
                        SECTIONS_MOST);
        TRY(read_section(spec, &text, sections));
    }
    if (sections->count == 0)
        return design_refuse_rest(spec, spec->value);
    return STATUS_OK;
}

/* Until the slowest section has died away, the others and the fade at the end allowed for. */
static double sections_taps(const struct sections *sections)
{
    double slowest = 0;
    for (size_t i = 0; i < sections->count; i++)
        slowest = fmax(slowest, biquad_pole(&sections->biquads[i]));
    double taps = slowest > 0 ? 1.25 * log(SECTION_END) / log(slowest) : 0;
    return fmax(DESIGN_RESPONSE_LEAST, taps + DESIGN_RESPONSE_LEAST);
}

/* What the sections themselves answer to an impulse. */
static enum status run_sections(const struct design_spec *spec, const struct sections *sections,
                                size_t taps, struct design *design)
{
    TRY(design_count(spec, "taps", DESIGN_RESPONSE_LEAST, DESIGN_TAPS_MOST, &taps));
    TRY(design_alloc(design, 1, taps));
    design->coefficients[0] = 1;
    for (size_t i = 0; i < sections->count; i++)
        biquad_filter(&sections->biquads[i], design->coefficients, taps);
    phase_fade_out(design->coefficients + taps - taps / 8, taps / 8);
    return STATUS_OK;
}

static enum status make_sections(const struct design_spec *spec, struct design *design)
{
    struct sections sections = {.rate = design->rate};
    enum phase phase = PHASE_MINIMUM;
    TRY(read_sections(spec, &sections));
    TRY(design_phase(spec, &phase));
    double wanted = sections_taps(&sections) * (phase == PHASE_LINEAR ? 2 : 1);
    if (!design_option(spec, "taps") && wanted > DESIGN_TAPS_MOST)
        return fail(STATUS_USAGE,
                    "%s: a section this narrow takes %.0f taps, and %d are the most: a smaller Q, "
                    "or say taps=",
                    spec->kind->name, wanted, DESIGN_TAPS_MOST);
    size_t taps = (size_t)fmin(wanted, DESIGN_TAPS_MOST);
    if (phase == PHASE_MINIMUM)
        return run_sections(spec, &sections, taps, design);
    return design_respond(spec, (struct phase_magnitude){sections_at, &sections}, taps | 1, phase,
                          design);
}

const struct design_kind design_parametric[] = {
    {"parametric", "parametric:PK 1000 -6 1.4; HS 8000 2", "taps, phase",
     "peaks (PK), shelves (LS HS), LP HP BP NO: frequency, gain in dB of the first three,\n"
     "Q; second-order sections by the RBJ cookbook",
     .make = make_sections},
    {0},
};
