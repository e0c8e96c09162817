#include "plugin/plugin_ladspa_name.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct span {
    const char *text;
    size_t length;
};

/* ---- brackets ---- */

/* The next pair from *at on; what is between goes to `inner`, and *at behind the pair. */
static bool next_brackets(const char **at, struct span *inner)
{
    const char *open = strpbrk(*at, "([");
    const char *close = open ? strchr(open, *open == '(' ? ')' : ']') : NULL;
    if (!close)
        return false;
    *inner = (struct span){open + 1, (size_t)(close - open - 1)};
    *at = close + 1;
    return true;
}

static struct span trimmed(struct span span)
{
    while (span.length && isspace((unsigned char)span.text[0]))
        span.text++, span.length--;
    while (span.length && isspace((unsigned char)span.text[span.length - 1]))
        span.length--;
    return span;
}

static const char *unit_named(struct span span)
{
    static const struct {
        const char *word, *unit;
    } units[] = {{"db", "dB"},
                 {"hz", "Hz"},
                 {"khz", "kHz"},
                 {"ms", "ms"},
                 {"s", "s"},
                 {"sec", "s"},
                 {"secs", "s"},
                 {"seconds", "s"},
                 {"us", "us"},
                 {"%", "%"},
                 {"percent", "%"},
                 {"deg", "degrees"},
                 {"degrees", "degrees"},
                 {"m", "m"},
                 {"cm", "cm"},
                 {"mm", "mm"},
                 {"inches", "inches"},
                 {"octaves", "octaves"},
                 {"cents", "cents"},
                 {"semitones", "semitones"},
                 {"st", "semitones"},
                 {"bpm", "BPM"},
                 {"samples", "samples"},
                 {"frames", "frames"}};
    span = trimmed(span);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i].word) == span.length &&
            strncasecmp(units[i].word, span.text, span.length) == 0)
            return units[i].unit;
    return NULL;
}

enum status plugin_ladspa_name_unit(const char *name, char **unit)
{
    struct span inner;
    const char *found = NULL;
    while (!found && next_brackets(&name, &inner))
        found = unit_named(inner);
    *unit = found ? strdup(found) : NULL;
    return found && !*unit ? fail_memory("a plugin") : STATUS_OK;
}

/* ---- points ---- */

/* "1 = sine", up to the comma. */
static bool read_point(struct span item, float *value, struct span *label)
{
    char *end;
    *value = strtof(item.text, &end);
    while (end > item.text && isspace((unsigned char)*end))
        end++;
    if (end == item.text || *end != '=' || end >= item.text + item.length)
        return false;
    *label = trimmed((struct span){end + 1, (size_t)(item.text + item.length - end - 1)});
    return label->length > 0;
}

static enum status add_point(struct plugin_port *port, float value, struct span label)
{
    struct plugin_point *points =
        realloc(port->points, (port->point_count + 1) * sizeof *port->points);
    if (!points)
        return fail_memory("a plugin");
    port->points = points;
    char *copy = strndup(label.text, label.length);
    if (!copy)
        return fail_memory("a plugin");
    port->points[port->point_count++] = (struct plugin_point){copy, value};
    return STATUS_OK;
}

static enum status take_points(struct plugin_port *port, struct span list)
{
    for (const char *at = list.text, *end = at + list.length; at < end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        struct span item = {at, (size_t)((comma ? comma : end) - at)}, label;
        float value;
        if (read_point(item, &value, &label) && value >= port->minimum && value <= port->maximum)
            TRY(add_point(port, value, label));
        at += item.length + 1;
    }
    return STATUS_OK;
}

enum status plugin_ladspa_name_points(struct plugin_port *port)
{
    struct span inner;
    const char *at = port->name;
    while (next_brackets(&at, &inner))
        TRY(take_points(port, inner));
    return STATUS_OK;
}

/* ---- symbols ---- */

static size_t add_letters(char *symbol, size_t length, struct span text)
{
    for (size_t i = 0; i < text.length; i++) {
        unsigned char letter = (unsigned char)text.text[i];
        bool is_plain = letter < 128 && isalnum(letter);
        if (is_plain && length == 0 && isdigit(letter))
            symbol[length++] = '_';
        if (is_plain)
            symbol[length++] = (char)tolower(letter);
        else if (length > 0 && symbol[length - 1] != '_')
            symbol[length++] = '_';
    }
    return length;
}

/* With what is in brackets or without, but never with units. NULL: memory. */
static char *symbol_of(const char *name, bool with_brackets)
{
    char *symbol = malloc(strlen(name) + sizeof "_port"); /* "_" may come before a digit */
    size_t length = 0;
    struct span inner;
    const char *at = name, *next = name;
    while (symbol && next_brackets(&next, &inner)) {
        length = add_letters(symbol, length, (struct span){at, (size_t)(inner.text - at)});
        if (with_brackets && !unit_named(inner))
            length = add_letters(symbol, length, inner);
        at = next - 1; /* the closing one, which parts words */
    }
    if (!symbol)
        return NULL;
    length = add_letters(symbol, length, (struct span){at, strlen(at)});
    while (length > 0 && symbol[length - 1] == '_')
        length--;
    symbol[length] = '\0';
    return length > 0 ? symbol : strcpy(symbol, "port");
}

static size_t count_alike(const struct plugin_info *info, size_t before, const char *symbol)
{
    size_t count = 0;
    for (size_t i = 0; i < before; i++)
        count += info->ports[i].symbol && strcmp(info->ports[i].symbol, symbol) == 0;
    return count;
}

/* Give the port another symbol in place of its own; NULL: memory. */
static enum status rename_port(struct plugin_port *port, char *symbol)
{
    if (!symbol)
        return fail_memory("a plugin");
    free(port->symbol);
    port->symbol = symbol;
    return STATUS_OK;
}

/* With the brackets where the short symbol is that of two. */
static enum status lengthen_alike(struct plugin_info *info)
{
    bool *alike = calloc(info->port_count + 1, sizeof *alike);
    if (!alike)
        return fail_memory("a plugin");
    for (size_t i = 0; i < info->port_count; i++)
        alike[i] = count_alike(info, info->port_count, info->ports[i].symbol) > 1;
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < info->port_count; i++)
        if (alike[i])
            status = rename_port(&info->ports[i], symbol_of(info->ports[i].name, true));
    free(alike);
    return status;
}

/* The first of them that no port before has: gain, gain_2, gain_3. */
static enum status number_alike(struct plugin_info *info, size_t index)
{
    struct plugin_port *port = &info->ports[index];
    char *symbol = NULL;
    for (size_t number = 2; count_alike(info, index, symbol ? symbol : port->symbol); number++) {
        free(symbol);
        if (asprintf(&symbol, "%s_%zu", port->symbol, number) < 0)
            return fail_memory("a plugin");
    }
    return symbol ? rename_port(port, symbol) : STATUS_OK;
}

enum status plugin_ladspa_name_symbols(struct plugin_info *info)
{
    for (size_t i = 0; i < info->port_count; i++)
        TRY(rename_port(&info->ports[i], symbol_of(info->ports[i].name, false)));
    TRY(lengthen_alike(info));
    for (size_t i = 0; i < info->port_count; i++)
        TRY(number_alike(info, i));
    return STATUS_OK;
}
