/* The inverse of a mask.
 *
 * Regularised as by O. Kirkeby, P. A. Nelson, H. Hamada, F. Orduna-Bustamante, "Fast deconvolution
 * of multichannel systems using regularization", 1998: conj(H) / (|H|^2 + e). That is largest,
 * 1 / (2 sqrt e), where |H| = sqrt e; e is such that this is `limit` above the inverse of the
 * mask's level, the root of its mean power from 20 Hz to 20 kHz over the logarithm of
 * frequency. */
#include "mask/design.h"
#include "mask/design_kind.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { INVERSE_LEAST = 4096 /* taps, where nobody says */ };

enum inverse_phase { INVERSE_MINIMUM, INVERSE_LINEAR, INVERSE_FULL };

struct inverse {
    double limit; /* dB */
    enum inverse_phase phase;
    size_t taps;
};

static enum status load_inner(const struct design_spec *spec, struct design *design,
                              struct mask **mask)
{
    char *name = strdup(spec->value), *inner[] = {name, NULL};
    if (!name)
        return fail_memory("a mask");
    const struct mask_load_options options = {.allow_truncated = spec->allow_truncated};
    enum status status = design_load(inner, design->rate, &options, mask);
    if (status == STATUS_OK && (*mask)->has_own_paths)
        status = fail(STATUS_FAILED,
                      "invert: %s says itself where its channels go, and cannot be "
                      "inverted channel by channel",
                      inner[0]);
    free(name);
    if (status != STATUS_OK)
        return status;
    if (!design->rate)
        design->rate = (*mask)->rate ? (*mask)->rate : DESIGN_RATE_DEFAULT;
    if ((*mask)->rate && (*mask)->rate != design->rate)
        status = mask_resample(*mask, design->rate);
    if (status == STATUS_OK && (*mask)->taps > DESIGN_TAPS_MOST)
        status = fail(STATUS_USAGE, "invert: %s has %zu taps, and %d are the most", (*mask)->name,
                      (*mask)->taps, DESIGN_TAPS_MOST);
    return status;
}

static enum status read_inverse(const struct design_spec *spec, const struct mask *mask,
                                struct inverse *inverse)
{
    static const char *const names[] = {
        [INVERSE_MINIMUM] = "minimum", [INVERSE_LINEAR] = "linear", [INVERSE_FULL] = "full", NULL};
    size_t choice = INVERSE_MINIMUM;
    *inverse = (struct inverse){.limit = 12, .taps = fft_double_fitting(2 * mask->taps)};
    if (inverse->taps < INVERSE_LEAST)
        inverse->taps = INVERSE_LEAST;
    if (inverse->taps > DESIGN_TAPS_MOST)
        inverse->taps = DESIGN_TAPS_MOST;
    TRY(design_number(spec, "limit", (struct design_range){DESIGN_DB, 0, 120}, &inverse->limit));
    TRY(design_choose(spec, "phase", names, &choice));
    TRY(design_count(spec, "taps", 16, DESIGN_TAPS_MOST, &inverse->taps));
    inverse->phase = (enum inverse_phase)choice;
    return STATUS_OK;
}

/* The mean power over the logarithm of frequency. */
static double mean_power(const struct fft_double *fft, double rate)
{
    size_t n = fft_double_length(fft);
    const double complex *bins = fft_double_bins(fft);
    double power = 0, sum = 0, step = rate / (double)n;
    for (size_t k = 1; k <= n / 2; k++) {
        if ((double)k * step < 20 || (double)k * step > 20000)
            continue;
        double magnitude = cabs(bins[k]);
        power += magnitude * magnitude / (double)k;
        sum += 1 / (double)k;
    }
    return power / sum;
}

/* The spectrum in place; the delay up to the mask's time zero does not count. */
static void invert_bins(const struct fft_double *fft, const struct inverse *inverse, double power,
                        size_t origin)
{
    static const double turn = 2 * 3.14159265358979323846;
    size_t n = fft_double_length(fft);
    double complex *bins = fft_double_bins(fft);
    double excess = power / (4 * pow(10, inverse->limit / 10));
    for (size_t k = 0; k <= n / 2; k++) {
        double magnitude = cabs(bins[k]), gain = 1 / (magnitude * magnitude + excess);
        double cycles = (double)(k * origin % n) / (double)n;
        bins[k] = inverse->phase == INVERSE_FULL ? conj(bins[k] * cexp(turn * I * cycles)) * gain
                                                 : magnitude * gain;
    }
}

static void parse_inverse(struct fft_double *fft, const struct inverse *inverse, double *taps)
{
    size_t n = fft_double_length(fft), count = inverse->taps, fade = count / 8;
    const double *samples = fft_double_samples(fft);
    if (inverse->phase == INVERSE_MINIMUM) {
        phase_minimum_of(fft);
        memcpy(taps, samples, count * sizeof *taps);
    } else {
        fft_double_inverse(fft);
        for (size_t i = 0; i < count; i++)
            taps[i] = samples[(n + i - (count - 1) / 2) % n] / (double)n;
        phase_fade_in(taps, fade);
    }
    phase_fade_out(taps + count - fade, fade);
}

static enum status invert_columns(const struct mask *mask, const struct inverse *inverse,
                                  struct design *design)
{
    struct fft_double *fft;
    size_t longest = mask->taps > inverse->taps ? mask->taps : inverse->taps;
    enum status status = fft_double_create(phase_transform_length(longest), &fft);
    if (status != STATUS_OK)
        return status;
    for (size_t c = 0; c < mask->columns && status == STATUS_OK; c++) {
        design_load_column(mask, c, fft);
        fft_double_forward(fft);
        double power = mean_power(fft, design->rate);
        if (power <= 0) {
            status = fail(STATUS_FAILED, "cannot invert mask %s: channel %zu is silent", mask->name,
                          c + 1);
        } else {
            invert_bins(fft, inverse, power, mask->origin);
            parse_inverse(fft, inverse, design_column(design, c));
        }
    }
    fft_double_destroy(fft);
    return status;
}

static enum status make_inverse(const struct design_spec *spec, struct design *design)
{
    struct mask *mask = NULL;
    struct inverse inverse;
    enum status status = design_need_value(spec);
    if (status == STATUS_OK)
        status = load_inner(spec, design, &mask);
    if (status == STATUS_OK)
        status = read_inverse(spec, mask, &inverse);
    if (status == STATUS_OK)
        status = design_alloc(design, mask->columns, inverse.taps);
    if (status == STATUS_OK)
        status = invert_columns(mask, &inverse, design);
    if (status == STATUS_OK)
        design->origin = inverse.phase == INVERSE_MINIMUM ? 0 : (inverse.taps - 1) / 2;
    mask_destroy(mask);
    return status;
}

const struct design_kind design_invert[] = {
    {"invert", "invert:hall.wav,limit=12dB", "limit, phase, taps",
     "what undoes a mask, at most so far above its mean level;\n"
     "phase=minimum|linear (of its magnitude) or full (of its phase too)",
     .names_file = true, .make = make_inverse},
    {0},
};
