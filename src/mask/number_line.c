#include "mask/number_line.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool number_line_is(const char *line)
{
    return strpbrk(line, "0123456789") && !line[strspn(line, "0123456789+-.,;eE\" \t\v\f")];
}

bool number_line_is_remark(const char *line)
{
    return *line == '%' || strncmp(line, "//", 2) == 0 ||
           ((*line | 0x20) == 's' && strncasecmp(line, "sep=", 4) == 0) ||
           (*line == ';' && !number_line_is(line));
}

void number_line_blank(char *line)
{
    bool is_csv = strstr(line, "\",") || strstr(line, ",\""), is_quoted = false;
    for (char *at = line; *(at += strcspn(at, "\t\v\f;\",")); at++) {
        bool beside_blank = (at > line && at[-1] == ' ') || strchr(" \t", at[1]);
        is_quoted ^= *at == '"';
        if (*at != ',' || beside_blank || (is_csv && !is_quoted))
            *at = ' ';
    }
}

uint64_t number_line_gaps(const char *line, enum comma_role role)
{
    uint64_t cell = 1, empty = cell, gaps = 0;
    if (!strpbrk(line, ";,"))
        return 0;
    for (; *line; line++)
        if (*line == ';' || (*line == ',' && role == COMMA_SEPARATES)) {
            cell = cell << 1 | cell >> 63;
            empty |= cell;
        } else if (!strchr(" \t\"", *line)) {
            empty &= ~cell;
            gaps = empty;
        }
    return gaps;
}

size_t number_line_fields(const char *line)
{
    size_t fields = 0;
    for (line += strspn(line, " "); *line; fields++) {
        line += strcspn(line, " ");
        line += strspn(line, " ");
    }
    return fields;
}

void number_line_settle(char *line, enum comma_role role)
{
    for (char *at = line; role != COMMA_UNKNOWN && (at = strchr(at, ','));)
        *at = role == COMMA_IS_DECIMAL ? '.' : ' ';
}

const char *number_line_name(const char *line, size_t column, size_t *length)
{
    const char *separators = strchr(line, ';')    ? ";"
                             : strchr(line, '\t') ? "\t"
                             : strchr(line, ',')  ? ","
                                                  : " ";
    if (column > NUMBER_LINE_NAMES_MOST)
        return NULL;
    line += strspn(line, " *#");
    while (--column > 0 && *line) {
        line += strcspn(line, separators);
        line += *separators == ' ' ? strspn(line, " ") : *line != '\0';
    }
    line += strspn(line, " \"");
    if (!*line)
        return NULL;
    *length = strcspn(line, separators);
    while (*length > 0 && strchr(" \"\r", line[*length - 1]))
        --*length;
    return line;
}

size_t number_line_names(const char *line)
{
    size_t names = 0, length;
    while (number_line_name(line, names + 1, &length))
        names++;
    return names;
}

static bool is_column_name(const char *name, size_t length)
{
    char *end;
    (void)strtod(name, &end); /* nan, inf */
    return (isalpha((unsigned char)*name) || *name & 0x80) && end < name + length &&
           !memchr(name, '=', length) && !memchr(name, ':', length);
}

size_t number_line_header(const char *line)
{
    size_t names = 0, named = 0, length;
    for (const char *name; (name = number_line_name(line, names + 1, &length)); names++) {
        bool is_named = is_column_name(name, length);
        if (!is_named && !(names == 0 && length == 0))
            return 0;
        named += is_named;
    }
    return named > 0 ? names : 0;
}

/* Whether a field, up to `end`, must be several numbers. */
static bool is_several(const char *field, const char *end)
{
    bool has_comma = false, has_point = false, is_signed = false, has_exponent = false;
    for (const char *at = field; at < end; at++) {
        has_exponent |= !has_comma && tolower((unsigned char)*at) == 'e';
        has_comma |= *at == ',';
        is_signed |= *at == ',' && (at[1] == '-' || at[1] == '+');
        has_point |= *at == '.';
    }
    return has_comma && (has_point || is_signed || has_exponent);
}

void comma_evidence_add(struct comma_evidence *evidence, const char *line)
{
    bool is_alone = number_line_fields(line) == 1;
    if (!strchr(line, ','))
        return;
    for (line += strspn(line, " "); *line; line += strspn(line, " ")) {
        const char *end = line + strcspn(line, " "), *comma = strchr(line, ',');
        if (is_several(line, end))
            evidence->separates = true;
        else if (comma && comma < end && !is_alone)
            evidence->is_decimal = true;
        line = end;
    }
}
