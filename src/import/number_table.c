#include "import/number_table.h"
#include "import/response_file.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
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
    (void)strtod(name, &end); /* also reads nan and inf */
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

/* ---- the first column ---- */

enum {
    COUNTS_LEAST = 3, /* rows */
    TIMES_LEAST = 4,  /* rows, if the times have a usual rate in seconds */
    EVEN_LEAST = 16,  /* rows; taps do not have so many even steps */
    /* one of so many numbers may be no level, since programs mark gaps by other numbers */
    LEVELS_OF = 10,
};

/* Taps are never so large, but levels are. */
static const double TAP_MOST = 10;

/* A column of frequencies reaches the first limit or, if it is in order, the second. */
static const double REACHES_LEAST = 100, ORDERED_REACHES_LEAST = 20; /* Hz */
static const double SPANS_LEAST = 4, ORDERED_SPANS_LEAST = 2;

static const double TINY_STEP = 1e-3; /* a ramp of taps from 0 is steeper */
static const double RATE_TOLERANCE = 1e-3;

/* What is known of a column. */
struct shape {
    const double *values;
    size_t rows, columns, width; /* width: columns of the whole table */
    double first, step;          /* step: the mean one */
    double least, most;          /* smallest value above 0; largest value, or 0 */
    double loudest;              /* largest magnitude in the other columns */
    bool is_even, rises, falls, has_negative, has_duplicates;
    bool has_levels; /* another column may hold levels */
};

static double at_row(const struct shape *shape, size_t row)
{
    return shape->values[row * shape->width];
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static enum status find_duplicates(struct shape *shape)
{
    double *sorted = malloc(shape->rows * sizeof *sorted);
    if (!sorted)
        return fail_memory("a mask");
    for (size_t i = 0; i < shape->rows; i++)
        sorted[i] = at_row(shape, i);
    qsort(sorted, shape->rows, sizeof *sorted, compare_doubles);
    for (size_t i = 1; i < shape->rows; i++)
        shape->has_duplicates |= !(sorted[i] > sorted[i - 1]);
    free(sorted);
    return STATUS_OK;
}

static void measure(struct shape *shape)
{
    size_t rows = shape->rows;
    shape->first = at_row(shape, 0);
    shape->step = rows > 1 ? (at_row(shape, rows - 1) - shape->first) / (double)(rows - 1) : 0;
    shape->least = INFINITY;
    shape->rises = shape->falls = rows > 1;
    shape->is_even = shape->step > 0;
    for (size_t i = 0; i < rows; i++) {
        double value = at_row(shape, i), place = shape->first + (double)i * shape->step;
        shape->has_negative |= value < 0;
        shape->most = fmax(shape->most, value);
        if (value > 0)
            shape->least = fmin(shape->least, value);
        shape->is_even &= fabs(value - place) <= shape->step / 2; /* values may be rounded */
        shape->rises &= i == 0 || value > at_row(shape, i - 1);
        shape->falls &= i == 0 || value < at_row(shape, i - 1);
        for (size_t c = 1; c < shape->columns; c++)
            shape->loudest = fmax(shape->loudest, fabs(shape->values[i * shape->width + c]));
    }
    shape->is_even &= shape->rises;
}

static bool is_whole(double value)
{
    return fabs(value - rint(value)) <= 0;
}

/* Whether a column may hold levels, or anything else over frequency. A column of integer taps has
 * larger values, or repeats the first column. */
static bool may_be_levels(const struct shape *shape, size_t column)
{
    size_t levels = 0;
    bool differs = false, are_whole = true;
    for (size_t i = 0; i < shape->rows; i++) {
        double value = shape->values[i * shape->width + column];
        levels += fabs(value) <= LEVEL_CURVE_MOST;
        differs |= fabs(value - at_row(shape, i)) > 0;
        are_whole &= is_whole(value) && is_whole(at_row(shape, i));
    }
    return differs && (!are_whole || LEVELS_OF * levels >= (LEVELS_OF - 1) * shape->rows);
}

static bool counts(const struct shape *shape)
{
    bool begins = shape->first == 0 || shape->first == 1;
    bool steps = shape->rises && shape->step == 1;
    for (size_t i = 0; steps && i < shape->rows; i++)
        steps = at_row(shape, i) == shape->first + (double)i;
    bool may_be_hertz =
        shape->has_levels && shape->most >= ORDERED_REACHES_LEAST && shape->loudest > TAP_MOST;
    return begins && steps && shape->rows >= COUNTS_LEAST && !may_be_hertz;
}

uint32_t usual_rate(double rate)
{
    static const uint32_t rates[] = {8000,   11025,  12000,  16000,  22050, 24000,  32000,
                                     44100,  48000,  64000,  88200,  96000, 128000, 176400,
                                     192000, 352800, 384000, 705600, 768000};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        if (fabs(rate / rates[i] - 1) <= RATE_TOLERANCE)
            return rates[i];
    return 0;
}

/* The rate of times that are in seconds or milliseconds. */
static uint32_t rate_of(const struct shape *shape)
{
    uint32_t rate = 0;
    if (shape->is_even && shape->rows >= TIMES_LEAST)
        rate = usual_rate(1 / shape->step);
    if (rate == 0 && shape->is_even && shape->rows >= EVEN_LEAST)
        rate = usual_rate(1000 / shape->step);
    return rate;
}

static bool holds_frequencies(const struct shape *shape)
{
    bool in_order = shape->rises || shape->falls;
    bool is_single = shape->rows == 1 && shape->columns == 2;
    if (shape->has_negative || shape->has_duplicates || !shape->has_levels)
        return false;
    if (shape->most >= REACHES_LEAST)
        return in_order || is_single || shape->most >= SPANS_LEAST * shape->least;
    return in_order && shape->most >= ORDERED_REACHES_LEAST &&
           shape->most >= ORDERED_SPANS_LEAST * shape->least;
}

static bool holds_times(const struct shape *shape)
{
    if (!shape->is_even || shape->rows < COUNTS_LEAST)
        return false;
    return shape->rows >= EVEN_LEAST || (shape->first == 0 && shape->step <= TINY_STEP);
}

enum status first_column_find(const double *values, size_t rows, size_t width, size_t left_out,
                              struct first_column *found)
{
    size_t columns = width - left_out;
    struct shape shape = {
        .values = values + left_out, .rows = rows, .columns = columns, .width = width};
    *found = (struct first_column){0};
    if (columns < 2 || rows == 0)
        return STATUS_OK;
    measure(&shape);
    for (size_t c = 1; c < columns; c++)
        shape.has_levels |= may_be_levels(&shape, c);
    TRY(find_duplicates(&shape));
    found->rate = rate_of(&shape);
    found->kind = counts(&shape)              ? FIRST_COLUMN_COUNTS
                  : found->rate > 0           ? FIRST_COLUMN_TIMES
                  : holds_frequencies(&shape) ? FIRST_COLUMN_FREQUENCIES
                  : holds_times(&shape)       ? FIRST_COLUMN_TIMES
                                              : FIRST_COLUMN_TAPS;
    return STATUS_OK;
}
