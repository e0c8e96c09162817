/* Parsing the options of a SPEC: numbers with units, counts, choices. */
#include "base/decimal.h"
#include "base/short_list.h"
#include "base/suggest.h"
#include "mask/design_kind.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

struct suffix {
    enum design_unit unit;
    const char *text;
    double factor;
};

/* Longer ones first. */
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

enum status design_next_number(const struct design_spec *spec, const char *what,
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

bool design_next_part(const char **text)
{
    *text += strspn(*text, "; \t");
    return **text != '\0';
}

enum status design_refuse_rest(const struct design_spec *spec, const char *text)
{
    return fail(CAUSE_USAGE, "%s: unexpected '%s'; parts are separated by ; as in %s",
                spec->kind->name, text, spec->kind->example);
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
