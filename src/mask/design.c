#include "mask/design.h"

#include "base/wrapped_text.h"
#include "mask/design_kind.h"
#include "mask/mask2d.h"
#include "mask/mask_minimum_phase.h"
#include "signal/audio.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct family {
    const char *title; /* NULL: the previous one */
    const struct design_kind *kinds;
};

static const struct family families[] = {
    {"filters", design_filters},
    {NULL, design_equiripple},
    {"simple masks", design_simple},
    {"equalisers", design_equalisers},
    {NULL, design_response},
    {"rooms", design_rooms},
    {"made of other masks", design_combine},
};
enum { FAMILIES = sizeof families / sizeof *families };

static const struct design_kind *kind_of(const char *word)
{
    size_t length = strcspn(word, ":");
    for (size_t f = 0; f < FAMILIES; f++)
        for (const struct design_kind *kind = families[f].kinds; kind->name; kind++)
            if (strlen(kind->name) == length && memcmp(kind->name, word, length) == 0)
                return kind;
    return NULL;
}

bool design_is_spec(const char *word)
{
    return kind_of(word) != NULL;
}

const char *design_made_at(size_t index, const char **keys)
{
    for (size_t f = 0; f < FAMILIES; f++)
        for (const struct design_kind *kind = families[f].kinds; kind->name; kind++)
            if (index-- == 0) {
                *keys = kind->options;
                return kind->example;
            }
    return NULL;
}

const char *design_options(const char *word)
{
    const struct design_kind *kind = kind_of(word);
    return kind ? kind->options : NULL;
}

/* The value of a kind that names a file, or of those within; NULL: none. A file is its own. */
static const char *file_of(const char *value)
{
    const struct design_kind *kind = kind_of(value);
    while (kind && kind->names_file && strchr(value, ':')) {
        value = strchr(value, ':') + 1;
        kind = kind_of(value);
    }
    return kind ? NULL : value;
}

/* The kinds that consist of masks have one at the start and after each *. */
bool design_file_in(char *const *spec, size_t word, size_t from, size_t *start, size_t *length)
{
    const struct design_kind *kind = kind_of(spec[0]);
    bool has_parts = kind && kind->make_parts;
    if (!kind || (word > 0 && !has_parts))
        return false;
    const char *text = spec[word], *mark = strchr(text, word == 0 ? ':' : '*');
    for (; mark; mark = has_parts ? strchr(mark + 1, '*') : NULL) {
        const char *file = file_of(has_parts ? mark + 1 : text);
        *length = file ? strcspn(file, has_parts ? "*" : "") : 0;
        *start = file ? (size_t)(file - text) : 0;
        if (*length > 0 && *start >= from)
            return true;
    }
    return false;
}

/* Whether the key of "key=value" is an option of the kind, or `rate` for kinds of one dimension. */
static bool is_own(const struct design_kind *kind, const char *word)
{
    size_t length = strcspn(word, "=");
    if (word[length] != '=' || length == 0)
        return false;
    bool has_rate = kind->make || kind->make_parts;
    if (has_rate && length == 4 && memcmp(word, "rate", 4) == 0)
        return true;
    for (const char *at = kind->options; *at;) {
        size_t size = strcspn(at, ",");
        if (size == length && memcmp(at, word, length) == 0)
            return true;
        at += size + strspn(at + size, ", ");
    }
    return false;
}

static enum status parse_option(struct design_spec *spec, char *word)
{
    if (spec->count == DESIGN_OPTIONS_MOST)
        return fail(CAUSE_USAGE, "%s: more than %d options", spec->kind->name, DESIGN_OPTIONS_MOST);
    char *equals = strchr(word, '=');
    *equals = '\0';
    if (!equals[1])
        return fail(CAUSE_USAGE, "%s: %s= needs a value, as in %s", spec->kind->name, word,
                    spec->kind->example);
    if (design_option(spec, word))
        return fail(CAUSE_USAGE, "%s: %s= is given twice", spec->kind->name, word);
    spec->options[spec->count].key = word;
    spec->options[spec->count++].value = equals + 1;
    return STATUS_OK;
}

enum status design_parse_options(struct design_spec *spec, char **from)
{
    char **kept = from + 1;
    char *value = strchr(from[0], ':');
    if (value && is_own(spec->kind, value + 1))
        TRY(parse_option(spec, value + 1));
    else if (value)
        spec->value = value + 1;
    for (char **word = from + 1; *word; word++)
        if (is_own(spec->kind, *word))
            TRY(parse_option(spec, *word));
        else
            *kept++ = *word;
    *kept = NULL;
    return STATUS_OK;
}

enum status design_alloc(struct design *design, size_t columns, size_t taps)
{
    design->coefficients = calloc(columns * taps, sizeof *design->coefficients);
    if (!design->coefficients)
        return fail_memory("a mask");
    design->columns = columns;
    design->taps = taps;
    return STATUS_OK;
}

void design_free(struct design *design)
{
    free(design->coefficients);
    design->coefficients = NULL;
}

double *design_column(const struct design *design, size_t column)
{
    return design->coefficients + column * design->taps;
}

void design_load_column(const struct mask *mask, size_t column, const struct fft_double *fft)
{
    double *samples = fft_double_samples(fft);
    const double *taps = mask_column(mask, mask->columns == 1 ? 0 : column);
    memset(samples, 0, fft_double_length(fft) * sizeof *samples);
    for (size_t i = 0; i < mask->taps; i++)
        samples[i] = taps[i];
}

enum status design_finish(const struct design_spec *spec, struct design *design)
{
    enum phase phase = PHASE_LINEAR;
    TRY(design_phase(spec, &phase));
    design->origin = phase == PHASE_LINEAR ? (design->taps - 1) / 2 : 0;
    if (phase == PHASE_MINIMUM)
        TRY(minimum_phase(design->coefficients, design->taps, design->coefficients, NULL));
    return STATUS_OK;
}

enum status design_respond(const struct design_spec *spec, struct phase_magnitude magnitude,
                           size_t taps, enum phase phase, struct design *design)
{
    TRY(design_count(spec, "taps", DESIGN_RESPONSE_LEAST, DESIGN_TAPS_MOST, &taps));
    TRY(design_alloc(design, 1, taps));
    design->origin = phase == PHASE_LINEAR ? (taps - 1) / 2 : 0;
    return phase_design(&magnitude, design->rate, phase, design->coefficients, taps);
}

static enum status round_to_mask(const struct design *design, const char *name,
                                 struct mask **result)
{
    struct mask *mask;
    TRY(mask_create(name, design->columns, design->taps, &mask));
    mask->rate = design->rate;
    mask->origin = design->origin;
    size_t total = design->columns * design->taps;
    for (size_t i = 0; i < total; i++)
        mask->coefficients[i] = design->coefficients[i];
    if (audio_find_nonfinite_in_double(mask->coefficients, total) < total) {
        mask_destroy(mask);
        return fail(CAUSE_OTHER, "cannot make %s: a coefficient is too large", name);
    }
    *result = mask;
    return STATUS_OK;
}

static enum status make(const struct design_kind *kind, char **spec,
                        const struct mask_load_options *load, struct design *design)
{
    if (kind->make_parts)
        return kind->make_parts(spec, load, design);
    struct design_spec own = {.kind = kind, .load = load};
    size_t rate = design->rate || kind->names_file ? design->rate : DESIGN_RATE_DEFAULT;
    TRY(design_parse_options(&own, spec));
    TRY(design_count(&own, "rate", DESIGN_RATE_LEAST, DESIGN_RATE_MOST, &rate));
    design->rate = (uint32_t)rate;
    return kind->make(&own, design);
}

static char *join(char **spec)
{
    size_t length = 0;
    for (char **word = spec; *word; word++)
        length += strlen(*word) + 1;
    char *text = malloc(length);
    char *to = text;
    for (char **word = spec; text && *word; word++) {
        to = stpcpy(to, *word);
        *to++ = word[1] ? ',' : '\0';
    }
    return text;
}

static enum status make_mask(const struct design_kind *kind, char **spec, uint32_t rate,
                             const struct mask_load_options *load, struct mask **mask)
{
    char *name = join(spec);
    if (!name)
        return fail_memory("a mask");
    struct design design = {.rate = rate};
    enum status status = make(kind, spec, load, &design);
    if (status == STATUS_OK)
        status = round_to_mask(&design, name, mask);
    design_free(&design);
    free(name);
    return status;
}

static enum status refuse_kind(const char *word)
{
    char list[512] = "";
    size_t length = 0;
    for (size_t f = 0; f < FAMILIES; f++)
        for (const struct design_kind *kind = families[f].kinds; kind->name; kind++)
            if (length < sizeof list)
                length += (size_t)snprintf(list + length, sizeof list - length, "%s%s",
                                           length ? ", " : "", kind->name);
    return design_refuse_kind(word, list);
}

enum status design_load(char **spec, uint32_t rate, const struct mask_load_options *options,
                        struct mask **mask)
{
    const struct design_kind *kind = kind_of(spec[0]);
    if (!*spec[0])
        return fail(CAUSE_USAGE, "a mask begins with a file or a kind, as in hall.wav,gain=-6");
    if (kind)
        return make_mask(kind, spec, rate, options, mask);
    if (mask2d_is_named(spec[0]))
        return fail(CAUSE_USAGE, "%s is a two-dimensional mask: use --spectral", spec[0]);
    if (design_is_misspelt(spec[0]))
        return refuse_kind(spec[0]);
    return mask_load_with(spec[0], options, mask);
}

void design_print_kind(FILE *stream, const struct design_kind *kind)
{
    enum { INDENT = 8 };
    fprintf(stream, "  %s\n", kind->example);
    wrapped_print(stream, "", INDENT, kind->help, strlen(kind->help));
    if (*kind->options)
        fprintf(stream, "        options: %s\n", kind->options);
}

void design_print_kinds(FILE *stream)
{
    for (size_t f = 0; f < FAMILIES; f++) {
        if (families[f].title)
            fprintf(stream, "%s%s:\n", f ? "\n" : "", families[f].title);
        for (const struct design_kind *kind = families[f].kinds; kind->name; kind++)
            design_print_kind(stream, kind);
    }
}
