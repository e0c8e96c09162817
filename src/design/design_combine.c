/* Masks made of other masks: a cascade of masks, and the inverse of a mask. */
#include "design/design.h"
#include "design/design_kind.h"
#include "signal/fft_double.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COMBINED_MOST = 1 << 22, /* taps */ OPERANDS_MOST = 16 };

struct combined {
    size_t count;
    char **spec[OPERANDS_MOST]; /* each is NULL-terminated; the first one owns the storage of all */
    struct mask *masks[OPERANDS_MOST];
};

/* Removes rate= from the spec. It is the rate of all operands. */
static enum status parse_rate(char **spec, uint32_t *rate)
{
    struct design_spec own = {.kind = &design_combine[0]};
    char **kept = spec + 1;
    for (char **word = spec + 1; *word; word++)
        if (strncmp(*word, "rate=", 5) == 0) {
            own.options[0].key = "rate";
            own.options[0].value = *word + 5;
            own.count = 1;
        } else {
            *kept++ = *word;
        }
    *kept = NULL;
    size_t value = *rate;
    TRY(design_count(&own, "rate", DESIGN_RATE_LEAST, DESIGN_RATE_MOST, &value));
    *rate = (uint32_t)value;
    return STATUS_OK;
}

/* Splits the spec at each *. The last operand gets the further options of its kind; others stay. */
static enum status split_operands(char **spec, struct combined *operands)
{
    size_t size = 1;
    for (char **word = spec; *word; word++, size++)
        for (const char *at = *word; *at; at++)
            size += *at == '*' ? 2 : 0;
    char **to = calloc(size, sizeof *to);
    if (!to)
        return fail_memory("a mask");
    operands->spec[operands->count++] = to;
    for (char **word = spec; *word; word++) {
        char *at = word == spec ? strchr(*word, ':') : NULL;
        *to++ = at ? at + 1 : *word;
        while ((at = strchr(to[-1], '*'))) {
            if (operands->count == OPERANDS_MOST)
                return fail(CAUSE_USAGE, "combine: more than %d masks", OPERANDS_MOST);
            *at = '\0';
            *to++ = NULL;
            operands->spec[operands->count++] = to;
            *to++ = at + 1;
        }
    }
    return STATUS_OK;
}

enum status design_load_part(const struct design_kind *kind, char **spec, uint32_t rate,
                             const struct mask_load_options *load, struct mask **mask)
{
    const struct mask_load_options options = {.allow_truncated = load->allow_truncated,
                                              .distrusts_configs = load->distrusts_configs,
                                              .skips_nonlinear = load->skips_nonlinear,
                                              .sound.rate = rate};
    TRY(design_load(spec, rate, &options, mask));
    if ((*mask)->has_own_paths)
        return fail(CAUSE_UNSUPPORTED, "%s: %s has its own routing and cannot be used here",
                    kind->name, spec[0]);
    return STATUS_OK;
}

static enum status load_operand(struct combined *operands, size_t operand, uint32_t rate,
                                const struct mask_load_options *load)
{
    char **spec = operands->spec[operand];
    if (!*spec[0])
        return fail(CAUSE_USAGE, "combine: a mask is missing beside a *");
    TRY(design_load_part(&design_combine[0], spec, rate, load, &operands->masks[operand]));
    if (operand + 1 < operands->count && spec[1])
        return fail(CAUSE_USAGE, "combine: %s has no option '%s'; options of the stage go last",
                    spec[0], spec[1]);
    return STATUS_OK;
}

/* Loads the operands. Files come first, since a file may decide the rate. */
static enum status load_operands(struct combined *operands, uint32_t *rate,
                                 const struct mask_load_options *load)
{
    for (int specs = 0; specs < 2; specs++) {
        for (size_t p = 0; p < operands->count; p++) {
            if (design_is_spec(operands->spec[p][0]) != (specs == 1))
                continue;
            TRY(load_operand(operands, p, *rate, load));
            if (!*rate)
                *rate = operands->masks[p]->rate;
        }
    }
    if (!*rate)
        *rate = DESIGN_RATE_DEFAULT;
    for (size_t p = 0; p < operands->count; p++)
        if (operands->masks[p]->rate && operands->masks[p]->rate != *rate)
            TRY(mask_resample(operands->masks[p], *rate, NULL));
    return STATUS_OK;
}

/* The size of the result, channel by channel. A mask of one channel serves all channels. */
static enum status combined_size(const struct combined *operands, size_t *columns, uint64_t *taps)
{
    *columns = 1;
    *taps = 1;
    for (size_t p = 0; p < operands->count; p++) {
        const struct mask *mask = operands->masks[p];
        *taps += mask->taps - 1;
        if (mask->columns == 1)
            continue;
        if (*columns > 1 && (*columns != mask->columns || mask->columns > 2))
            return fail(CAUSE_USAGE,
                        "combine: masks of %zu and %zu channels: one must have 1 or both 2; use a "
                        "--mask for each instead",
                        *columns, mask->columns);
        *columns = mask->columns;
    }
    if (*taps > COMBINED_MOST)
        return fail(CAUSE_USAGE, "combine: %llu taps, but at most %d", (unsigned long long)*taps,
                    COMBINED_MOST);
    return STATUS_OK;
}

/* Loads a column, padded with zeros. A single column serves all channels. */
static void load_column(const struct mask *mask, size_t column, const struct fft_double *fft)
{
    double *samples = fft_double_samples(fft);
    const double *taps = mask_column(mask, mask->columns == 1 ? 0 : column);
    memset(samples, 0, fft_double_length(fft) * sizeof *samples);
    for (size_t i = 0; i < mask->taps; i++)
        samples[i] = taps[i];
}

static void multiply_column(const struct combined *operands, size_t column,
                            const struct fft_double *fft, double complex *product,
                            struct design *design)
{
    size_t n = fft_double_length(fft);
    double complex *bins = fft_double_bins(fft);
    for (size_t k = 0; k <= n / 2; k++)
        product[k] = 1 / (double)n;
    for (size_t p = 0; p < operands->count; p++) {
        load_column(operands->masks[p], column, fft);
        fft_double_forward(fft);
        for (size_t k = 0; k <= n / 2; k++)
            product[k] *= bins[k];
    }
    memcpy(bins, product, (n / 2 + 1) * sizeof *bins);
    fft_double_inverse(fft);
    memcpy(design_column(design, column), fft_double_samples(fft), design->taps * sizeof(double));
}

static enum status multiply_parts(const struct combined *operands, struct design *design)
{
    size_t columns = 0;
    uint64_t taps = 0;
    struct fft_double *fft;
    TRY(combined_size(operands, &columns, &taps));
    TRY(design_alloc(design, columns, (size_t)taps));
    TRY(fft_double_create(fft_double_fitting((size_t)taps), &fft));
    double complex *product = calloc(fft_double_length(fft) / 2 + 1, sizeof *product);
    for (size_t c = 0; product && c < columns; c++)
        multiply_column(operands, c, fft, product, design);
    for (size_t p = 0; p < operands->count; p++)
        design->origin += operands->masks[p]->origin;
    enum status status = product ? STATUS_OK : fail_memory("a mask");
    free(product);
    fft_double_destroy(fft);
    return status;
}

static enum status combine_parts(struct combined *operands, char **spec,
                                 const struct mask_load_options *load, struct design *design)
{
    TRY(split_operands(spec, operands));
    if (operands->count < 2)
        return fail(CAUSE_USAGE, "combine takes masks separated by *, such as %s",
                    design_combine[0].example);
    TRY(load_operands(operands, &design->rate, load));
    TRY(multiply_parts(operands, design));
    /* Options that the last operand did not use are left after its first word. */
    char **rest = operands->spec[operands->count - 1];
    do
        *++spec = *++rest;
    while (*rest);
    return STATUS_OK;
}

static enum status make_cascade(char **spec, const struct mask_load_options *load,
                                struct design *design)
{
    struct combined operands = {0};
    TRY(parse_rate(spec, &design->rate));
    enum status status = combine_parts(&operands, spec, load, design);
    for (size_t p = 0; p < operands.count; p++)
        mask_destroy(operands.masks[p]);
    free(operands.spec[0]);
    return status;
}

/* ---- inverses ----
 *
 * Regularised as by O. Kirkeby, P. A. Nelson, H. Hamada, F. Orduna-Bustamante, "Fast deconvolution
 * of multichannel systems using regularization", 1998: conj(H) / (|H|^2 + e). The largest gain, 1 /
 * (2 sqrt e), is where |H| = sqrt e. e is chosen so that this gain is `limit` above the inverse of
 * the mask's level. The level is the root of its mean power from 20 Hz to 20 kHz over the logarithm
 * of frequency.
 */

enum { INVERSE_LEAST = 4096 /* taps, the default */ };

enum inverse_phase { INVERSE_MINIMUM, INVERSE_LINEAR, INVERSE_FULL };

struct inverse {
    double limit; /* dB */
    enum inverse_phase phase;
    size_t taps;
};

static enum status load_inverted(const struct design_spec *spec, struct design *design,
                                 struct mask **mask)
{
    char *name = strdup(spec->value), *inner[] = {name, NULL};
    enum status status = name ? design_load_part(spec->kind, inner, design->rate, spec->load, mask)
                              : fail_memory("a mask");
    free(name);
    TRY(status);
    if (!design->rate)
        design->rate = (*mask)->rate ? (*mask)->rate : DESIGN_RATE_DEFAULT;
    if ((*mask)->rate && (*mask)->rate != design->rate)
        TRY(mask_resample(*mask, design->rate, NULL));
    if ((*mask)->taps > DESIGN_TAPS_MOST)
        return fail(CAUSE_USAGE, "invert: %s has %zu taps, but at most %d", (*mask)->name,
                    (*mask)->taps, DESIGN_TAPS_MOST);
    return STATUS_OK;
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
    TRY(design_number(spec, "limit", DESIGN_RANGE(DB, 0, 120), &inverse->limit));
    TRY(design_choose(spec, "phase", names, &choice));
    TRY(design_count(spec, "taps", 16, DESIGN_TAPS_MOST, &inverse->taps));
    inverse->phase = (enum inverse_phase)choice;
    return STATUS_OK;
}

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

/* Inverts the bins in place. Removes the delay up to the mask's time zero. */
static void invert_bins(const struct fft_double *fft, const struct inverse *inverse, double power,
                        size_t origin)
{
    size_t n = fft_double_length(fft);
    double complex *bins = fft_double_bins(fft);
    double excess = power / (4 * pow(10, inverse->limit / 10));
    for (size_t k = 0; k <= n / 2; k++) {
        double magnitude = cabs(bins[k]), gain = 1 / (magnitude * magnitude + excess);
        double cycles = (double)(k * origin % n) / (double)n;
        bins[k] = inverse->phase == INVERSE_FULL
                      ? conj(bins[k] * cexp(2 * M_PI * I * cycles)) * gain
                      : magnitude * gain;
    }
}

static void write_inverse(struct fft_double *fft, const struct inverse *inverse, double *taps)
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
    enum status status = STATUS_OK;
    size_t longest = mask->taps > inverse->taps ? mask->taps : inverse->taps;
    TRY(fft_double_create(phase_transform_length(longest), &fft));
    for (size_t c = 0; c < mask->columns && status == STATUS_OK; c++) {
        load_column(mask, c, fft);
        fft_double_forward(fft);
        double power = mean_power(fft, design->rate);
        if (power <= 0) {
            status = fail(CAUSE_OTHER, "cannot invert mask %s: channel %zu is silent", mask->name,
                          c + 1);
        } else {
            invert_bins(fft, inverse, power, mask->origin);
            write_inverse(fft, inverse, design_column(design, c));
        }
    }
    fft_double_destroy(fft);
    return status;
}

static enum status invert(const struct design_spec *spec, const struct mask *mask,
                          struct design *design)
{
    struct inverse inverse;
    TRY(read_inverse(spec, mask, &inverse));
    TRY(design_alloc(design, mask->columns, inverse.taps));
    design->origin = inverse.phase == INVERSE_MINIMUM ? 0 : (inverse.taps - 1) / 2;
    return invert_columns(mask, &inverse, design);
}

static enum status make_inverse(const struct design_spec *spec, struct design *design)
{
    struct mask *mask = NULL;
    TRY(design_need_value(spec));
    enum status status = load_inverted(spec, design, &mask);
    if (status == STATUS_OK)
        status = invert(spec, mask, design);
    mask_destroy(mask);
    return status;
}

const struct design_kind design_combine[] = {
    {"combine", "combine:lowpass:1000*hall.wav", "",
     "several masks in series as one: files or specifications, each followed by its options",
     .make_parts = make_cascade},
    {"invert", "invert:hall.wav,limit=12dB", "limit, phase, taps",
     "the inverse of a mask, at most limit= above its mean level;\n"
     "phase=minimum|linear (of its magnitude) or full (of its phase too)",
     .names_file = true, .make = make_inverse},
    {0},
};
