/* Masks of a short formula. */
#include "mask/design_kind.h"

#include <math.h>
#include <string.h>

enum { SMOOTH_TAPS_MOST = 1 << 16 };

static const double DELAY_MOST = 20; /* seconds: fits the most taps at 48 kHz */
static const double ECHO_END = 1e-5; /* -100 dB */

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

/* Sum 1. The default sigma puts the ends at three sigma, 1 % of the middle. */
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

/* The value in frames, rounded; `seconds` is the default. */
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
