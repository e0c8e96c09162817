/* Masks with the magnitude of a frequency response that a file holds, and with its inverse. */
#include "mask/design.h"
#include "mask/design_kind.h"
#include "mask/response_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TAPS_MOST = 1 << 17 /* that are chosen without taps= */ };

static const double ABSOLUTE_BEYOND = 30; /* dB: a mean level that no correction has */
static const double ERROR_MOST = 0.1;     /* dB, from the file at its frequencies */
static const double ERROR_SAID = 0.5;     /* dB */
static const double DEPTH = 40;           /* dB below the largest level: errors count less below */

struct target {
    const struct level_curve *curve;
    double reference; /* dB of the file that become 0 dB */
    bool is_inverse;
    double limit; /* dB: the largest level of an inverse */
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

/* Levels of sound pressure are relative to 20 uPa: as a gain they would be thousandfold. */
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

/* The largest error at the frequencies of the file, in dB. */
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

/* As many taps as the detail of the file takes, unless taps= says how many. */
static enum status respond(const struct design_spec *spec, const struct target *target,
                           struct design *design)
{
    enum phase phase = PHASE_MINIMUM;
    size_t taps = fft_double_fitting(design->rate / 4);
    bool is_chosen = design_option(spec, "taps");
    double error = 0;
    TRY(design_phase(spec, &phase));
    for (;; taps *= 2) {
        TRY(design_respond(spec, (struct phase_magnitude){target_at, target}, taps, phase, design));
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

/* What could have been read otherwise. A third column is a phase. */
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

const struct design_kind design_response[] = {
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
