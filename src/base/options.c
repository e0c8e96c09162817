#include "base/options.h"

#include "base/decimal.h"
#include "base/short_list.h"
#include "base/suggest.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The dashes before an option's name. Keys such as trim= of a mask have none. */
static const char *dashes(const char *option)
{
    bool is_key = option[strlen(option) - 1] == '=' && !strchr(option, ' ');
    return is_key ? "" : "--";
}

const char *option_choice(const struct option_row *row, size_t index)
{
    if (row->name_at)
        return row->name_at(index);
    return row->names ? row->names[index] : NULL;
}

static enum status refuse_choice(const struct option_row *row, const char *value)
{
    struct short_list list = {0};
    struct suggest near;
    const char *name;
    suggest_init(&near, value);
    for (size_t i = 0; (name = option_choice(row, i)); i++) {
        short_list_add(&list, name);
        suggest_offer(&near, name);
    }
    enum status status = fail(CAUSE_USAGE, "%s%s is one of %s, not '%s'%s", dashes(row->name),
                              row->name, short_list_text(&list, ""), value, suggest_text(&near));
    suggest_free(&near);
    return status;
}

static enum status need_value(const char *before, const char *option, const char *value)
{
    if (*value)
        return STATUS_OK;
    return fail(CAUSE_USAGE, "%s%s needs a value", before, option);
}

static enum status choose(const struct option_row *row, const char *value, size_t *index)
{
    const char *name;
    TRY(need_value(dashes(row->name), row->name, value));
    for (*index = 0; (name = option_choice(row, *index)); ++*index)
        if (strcmp(name, value) == 0)
            return STATUS_OK;
    return refuse_choice(row, value);
}

static enum status choose_list(const struct option_row *row, const char *text,
                               struct number_list *list)
{
    list->count = 0;
    for (const char *at = text;; at++) {
        char name[64];
        size_t index, length = strcspn(at, ",");
        if (list->count == OPTIONS_LIST_MOST)
            return fail(CAUSE_USAGE, "--%s takes at most %d names, not '%s'", row->name,
                        OPTIONS_LIST_MOST, text);
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        TRY(choose(row, name, &index));
        list->values[list->count++] = index;
        at += length;
        if (!*at)
            return STATUS_OK;
    }
}

/* Reads a number or a power of two such as 2^28. *end: the text after it. */
static bool read_number(const char *text, char **end, size_t *value)
{
    if (!isdigit((unsigned char)*text)) /* strtoull would accept blanks and signs */
        return false;
    errno = 0;
    unsigned long long number = strtoull(text, end, 10);
    if (!errno && **end == '^') {
        const char *power_text = *end + 1;
        if (number != 2 || !isdigit((unsigned char)*power_text))
            return false;
        unsigned long power = strtoul(power_text, end, 10);
        if (power >= sizeof(size_t) * CHAR_BIT)
            return false;
        number = 1ull << power;
    }
    *value = (size_t)number;
    return !errno && number <= SIZE_MAX;
}

enum status options_parse_number(const char *option, const char *text, size_t least, size_t most,
                                 size_t *value)
{
    char *end;
    size_t number;
    TRY(need_value(dashes(option), option, text));
    if (!read_number(text, &end, &number) || *end || number < least || number > most)
        return fail(CAUSE_USAGE, "%s%s takes a number from %zu to %zu, not '%s'", dashes(option),
                    option, least, most, text);
    *value = number;
    return STATUS_OK;
}

static enum status parse_list(const struct option_row *row, const char *text,
                              struct number_list *list)
{
    list->count = 0;
    for (const char *at = text;; at++) {
        char *end;
        size_t value;
        if (list->count == OPTIONS_LIST_MOST || !read_number(at, &end, &value) ||
            (double)value < row->least || (double)value > row->most || (*end && *end != ','))
            return fail(CAUSE_USAGE,
                        "--%s takes up to %d numbers from %.0f to %.0f, separated by commas, "
                        "not '%s'",
                        row->name, OPTIONS_LIST_MOST, row->least, row->most, text);
        list->values[list->count++] = value;
        at = end;
        if (!*end)
            return STATUS_OK;
    }
}

enum status options_parse_seconds(const char *option, const char *text, double least, double most,
                                  double *seconds)
{
    char *end;
    double value;
    bool number = decimal_read(text, &end, &value);
    if (strcmp(end, "ms") == 0) {
        value *= 1e-3;
        end += 2;
    } else if (strcmp(end, "s") == 0) {
        end++;
    }
    if (!number || *end || !(value >= least && value <= most))
        return fail(CAUSE_USAGE,
                    "--%s takes seconds from %g to %g, such as 2, 0.5s or 20ms, not '%s'", option,
                    least, most, text);
    *seconds = value;
    return STATUS_OK;
}

enum status options_parse_db(const char *what, const char *text, double least, double most,
                             double *db)
{
    char *end;
    double value;
    TRY(need_value("", what, text));
    bool number = decimal_read(text, &end, &value);
    if (number && strcasecmp(end, "dB") == 0)
        end += 2;
    if (!number || *end || !(value >= least && value <= most))
        return fail(CAUSE_USAGE, "%s must be a number of dB from %g to %g, such as -6, not '%s'",
                    what, least, most, text);
    *db = value;
    return STATUS_OK;
}

/* Stores the value in a bool, an enum, a uint32_t or a size_t. */
static void store_integer(const struct option_row *row, void *field, size_t value)
{
    if (row->size == sizeof(bool))
        *(bool *)field = value != 0;
    else if (row->size == sizeof(size_t))
        *(size_t *)field = value;
    else
        memcpy(field, &(uint32_t){(uint32_t)value}, sizeof(uint32_t));
}

static enum status append(struct string_list *list, const char *value)
{
    const char **values = realloc(list->values, (list->count + 1) * sizeof *values);
    if (!values)
        return fail_memory("options");
    values[list->count++] = value;
    list->values = values;
    return STATUS_OK;
}

enum status option_store(const struct option_row *row, void *options, const char *value)
{
    void *field = (char *)options + row->offset;
    char what[64];
    size_t number = (size_t)row->value;
    if (row->given)
        ((bool *)options)[row->given - 1] = true;
    if (row->optional && !value)
        return STATUS_OK;
    switch (row->kind) {
    case OPTION_PARSE:
        return row->parse(options, row, value);
    case OPTION_STRINGS:
        return append(field, value);
    case OPTION_INTEGERS:
        return parse_list(row, value, field);
    case OPTION_CHOICES:
        return choose_list(row, value, field);
    case OPTION_SECONDS:
        return options_parse_seconds(row->name, value, row->least, row->most, field);
    case OPTION_DB:
        snprintf(what, sizeof what, "%s%s", dashes(row->name), row->name);
        return options_parse_db(what, value, row->least, row->most, field);
    case OPTION_WORD:
        TRY(choose(row, value, &number));
        *(const char **)field = value;
        return STATUS_OK;
    case OPTION_STRING:
        *(const char **)field = value;
        return STATUS_OK;
    case OPTION_INTEGER:
        TRY(options_parse_number(row->name, value, (size_t)row->least, (size_t)row->most, &number));
        break;
    case OPTION_CHOICE:
        TRY(choose(row, value, &number));
        number += (size_t)row->value;
        break;
    case OPTION_FLAG:
        break;
    }
    store_integer(row, field, number);
    return STATUS_OK;
}
