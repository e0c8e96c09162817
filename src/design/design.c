/* The options of a SPEC, and the kinds of masks. */
#include "design/design.h"

#include "base/decimal.h"
#include "base/short_list.h"
#include "base/suggest.h"
#include "base/wrapped_text.h"
#include "design/design_kind.h"
#include "design/mask2d.h"
#include "mask/mask.h"
#include "signal/audio.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* ---- options: numbers with units, counts, choices ---- */

struct suffix {
    enum design_unit unit;
    const char *text;
    double factor;
};

/* Longer suffixes come first. */
static const struct suffix suffixes[] = {
    {DESIGN_HZ, "kHz", 1e3},  {DESIGN_HZ, "k", 1e3},        {DESIGN_HZ, "Hz", 1},
    {DESIGN_DB, "dB", 1},     {DESIGN_SECONDS, "ms", 1e-3}, {DESIGN_SECONDS, "us", 1e-6},
    {DESIGN_SECONDS, "s", 1},
};
static const char *const unit_names[] = {
    [DESIGN_PLAIN] = "",
    [DESIGN_HZ] = " Hz",
    [DESIGN_DB] = " dB",
    [DESIGN_SECONDS] = " s",
};

const char *design_option(const struct design_spec *spec, const char *key)
{
    for (size_t i = spec->count; i > 0; i--)
        if (strcmp(spec->options[i - 1].key, key) == 0)
            return spec->options[i - 1].value;
    return NULL;
}

static double parse_suffix(enum design_unit unit, char **end)
{
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        size_t length = strlen(suffixes[i].text);
        if (suffixes[i].unit == unit && strncasecmp(*end, suffixes[i].text, length) == 0) {
            *end += length;
            return suffixes[i].factor;
        }
    }
    return 1;
}

enum status design_parse(const struct design_spec *spec, const char *what, const char *text,
                         struct design_range range, char **end, double *value)
{
    double number;
    bool parsed = decimal_read(text, end, &number);
    if (parsed)
        number *= parse_suffix(range.unit, end);
    if (parsed && number >= range.least && number <= range.most) {
        *value = number;
        return STATUS_OK;
    }
    return fail(CAUSE_USAGE, "%s: %s must be from %g to %g%s, not '%s'%s", spec->kind->name, what,
                range.least, range.most, unit_names[range.unit], text,
                parsed && range.unit == DESIGN_HZ && number > range.most
                    ? " (at most half the rate of the mask)"
                    : "");
}

enum status design_need_value(const struct design_spec *spec)
{
    if (spec->value && *spec->value)
        return STATUS_OK;
    return fail(CAUSE_USAGE, "%s needs a value, such as %s", spec->kind->name, spec->kind->example);
}

enum status design_no_value(const struct design_spec *spec)
{
    if (!spec->value || !*spec->value)
        return STATUS_OK;
    return fail(CAUSE_USAGE, "%s takes no value '%s'; an example is %s", spec->kind->name,
                spec->value, spec->kind->example);
}

static const char *label(const char *key, char name[32])
{
    if (!key)
        return "the value";
    snprintf(name, 32, "%s=", key);
    return name;
}

enum status design_number(const struct design_spec *spec, const char *key,
                          struct design_range range, double *value)
{
    char name[32], *end;
    const char *text = key ? design_option(spec, key) : spec->value;
    if (!text)
        return STATUS_OK;
    TRY(design_parse(spec, label(key, name), text, range, &end, value));
    if (*end)
        return fail(CAUSE_USAGE, "%s: %s has '%s' after its number; an example is %s",
                    spec->kind->name, label(key, name), end, spec->kind->example);
    return STATUS_OK;
}

enum status design_count(const struct design_spec *spec, const char *key, size_t least, size_t most,
                         size_t *value)
{
    char name[32], *end;
    const char *text = key ? design_option(spec, key) : spec->value;
    if (!text)
        return STATUS_OK;
    errno = 0;
    unsigned long number = isdigit((unsigned char)*text) ? strtoul(text, &end, 10) : 0;
    if (!isdigit((unsigned char)*text) || *end || errno || number < least || number > most)
        return fail(CAUSE_USAGE, "%s: %s must be a whole number from %zu to %zu, not '%s'",
                    spec->kind->name, label(key, name), least, most, text);
    *value = number;
    return STATUS_OK;
}

enum status design_choose(const struct design_spec *spec, const char *key, const char *const *names,
                          size_t *choice)
{
    struct short_list list = {0};
    char near[SUGGEST_TEXT];
    const char *text = design_option(spec, key);
    if (!text)
        return STATUS_OK;
    for (size_t i = 0; names[i]; i++) {
        if (strcmp(names[i], text) == 0) {
            *choice = i;
            return STATUS_OK;
        }
        short_list_add(&list, names[i]);
    }
    return fail(CAUSE_USAGE, "%s: %s= is one of %s, not '%s'%s", spec->kind->name, key,
                short_list_text(&list, ""), text, suggest_from(near, text, names));
}

enum status design_phase(const struct design_spec *spec, enum phase *phase)
{
    static const char *const names[] = {
        [PHASE_LINEAR] = "linear", [PHASE_MINIMUM] = "minimum", NULL};
    size_t choice = *phase;
    enum status status = design_choose(spec, "phase", names, &choice);
    *phase = (enum phase)choice;
    return status;
}

bool design_is_misspelt(const char *word)
{
    size_t letters = strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789");
    bool is_kind = letters > 0 && (word[letters] == ':' || !word[letters]);
    return is_kind && access(word, F_OK) != 0 && errno == ENOENT;
}

enum status design_refuse_kind(const char *word, const char *kinds)
{
    struct suggest near;
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, ":"), word);
    suggest_init(&near, name);
    suggest_offer_list(&near, kinds, "");
    suggest_offer_files(&near, word);
    const char *meant = suggest_text(&near);
    enum status status = fail(strchr(word, ':') ? CAUSE_USAGE : CAUSE_MISSING,
                              "there is neither a file %s nor a kind of mask '%s'%s%s", word, name,
                              *meant ? meant : "; kinds are ", *meant ? "" : kinds);
    suggest_free(&near);
    return status;
}

/* ---- kinds ---- */

struct family {
    const char *title;
    const struct design_kind *kinds;
};

static const struct family families[] = {
    {"filters", design_filters},
    {"simple masks", design_simple},
    {"equalisers", design_equalisers},
    {"rooms", design_rooms},
    {"measurements", design_measure},
    {"corrections", design_correct},
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

/* The file that a kind's value names, alone or in a SPEC: any value that is no SPEC. NULL: none. */
static const char *file_of(const char *value)
{
    const struct design_kind *kind = kind_of(value);
    while (kind && kind->names_file && strchr(value, ':')) {
        value = strchr(value, ':') + 1;
        kind = kind_of(value);
    }
    return kind ? NULL : value;
}

/* Whether an option's value is one of `words`, or begins with one that ends in a colon. */
static bool is_word_of(const char *words, const char *value)
{
    for (size_t size; words && *words; words += size + strspn(words + size, " ")) {
        size = strcspn(words, " ");
        if (strncmp(words, value, size) == 0 && (words[size - 1] == ':' || !value[size]))
            return true;
    }
    return false;
}

/* In kinds that consist of masks or name files, one is at the start and after each *. An option may
 * name a file, too. */
bool design_file_in(char *const *spec, size_t word, size_t from, size_t *start, size_t *length)
{
    const struct design_kind *kind = kind_of(spec[0]);
    bool has_parts = kind && (kind->make_parts || kind->names_files);
    size_t key = kind && kind->file_option ? strlen(kind->file_option) : 0;
    if (word > 0 && key && from == 0 && strncmp(spec[word], kind->file_option, key) == 0) {
        *start = key;
        *length = strlen(spec[word]) - key;
        return *length > 0 && !is_word_of(kind->file_words, spec[word] + key);
    }
    if (!kind || (word > 0 && !kind->make_parts))
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

/* Whether "key=value" is an option of the kind, or rate= of a one-dimensional kind. */
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
    free(design->bands);
    free(design->measured);
    design->coefficients = NULL;
    design->bands = NULL;
    design->measured = NULL;
}

double *design_column(const struct design *design, size_t column)
{
    return design->coefficients + column * design->taps;
}

static enum status round_to_mask(struct design *design, const char *name, struct mask **result)
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
    mask->bands = design->bands;
    design->bands = NULL;
    mask->measured = design->measured;
    design->measured = NULL;
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
    enum { INDENT = 8, OPTIONS_INDENT = 17 };
    fprintf(stream, "  %s\n", kind->example);
    wrapped_print(stream, "", INDENT, kind->help, strlen(kind->help));
    if (*kind->options)
        wrapped_print(stream, "        options:", OPTIONS_INDENT, kind->options,
                      strlen(kind->options));
}

void design_print_kinds(FILE *stream)
{
    for (size_t f = 0; f < FAMILIES; f++) {
        fprintf(stream, "%s%s:\n", f ? "\n" : "", families[f].title);
        for (const struct design_kind *kind = families[f].kinds; kind->name; kind++)
            design_print_kind(stream, kind);
    }
}
