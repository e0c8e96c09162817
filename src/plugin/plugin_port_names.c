#include "plugin/plugin_port_names.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- brackets ---- */

bool name_next_brackets(const char **at, struct name_span *inner)
{
    const char *open = strpbrk(*at, "([");
    const char *close = open ? strchr(open, *open == '(' ? ')' : ']') : NULL;
    if (!close)
        return false;
    *inner = (struct name_span){open + 1, (size_t)(close - open - 1)};
    *at = close + 1;
    return true;
}

struct name_span name_trimmed(struct name_span span)
{
    while (span.length && isspace((unsigned char)span.text[0]))
        span.text++, span.length--;
    while (span.length && isspace((unsigned char)span.text[span.length - 1]))
        span.length--;
    return span;
}

const char *name_unit_in(struct name_span span)
{
    static const struct {
        const char *name, *unit;
    } units[] = {
        {"db", "dB"},
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
        {"frames", "frames"},
    };
    span = name_trimmed(span);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i].name) == span.length &&
            strncasecmp(units[i].name, span.text, span.length) == 0)
            return units[i].unit;
    return NULL;
}

/* ---- symbols ---- */

static size_t add_letters(char *symbol, size_t length, struct name_span text)
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

/* With or without the text in brackets; units are always left out. NULL: memory. */
static char *symbol_of(const char *name, bool with_brackets)
{
    char *symbol = malloc(strlen(name) + sizeof "_port"); /* "_" may come before a digit */
    size_t length = 0;
    struct name_span inner;
    const char *at = name, *next = name;
    while (symbol && name_next_brackets(&next, &inner)) {
        length = add_letters(symbol, length, (struct name_span){at, (size_t)(inner.text - at)});
        if (with_brackets && !name_unit_in(inner))
            length = add_letters(symbol, length, inner);
        at = next - 1; /* the closing bracket, which becomes "_" */
    }
    if (!symbol)
        return NULL;
    length = add_letters(symbol, length, (struct name_span){at, strlen(at)});
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

/* Replace the symbol, taking over `symbol`; NULL: memory ran out. */
static enum status rename_port(struct plugin_port *port, char *symbol)
{
    if (!symbol)
        return fail_memory("a plugin");
    free(port->symbol);
    port->symbol = symbol;
    return STATUS_OK;
}

/* Add the brackets where two ports share the short symbol. */
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

/* The first of gain, gain_2, gain_3 that no earlier port has. */
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

enum status plugin_port_symbols(struct plugin_info *info)
{
    for (size_t i = 0; i < info->port_count; i++)
        TRY(rename_port(&info->ports[i], symbol_of(info->ports[i].name, false)));
    TRY(lengthen_alike(info));
    for (size_t i = 0; i < info->port_count; i++)
        TRY(number_alike(info, i));
    return STATUS_OK;
}
