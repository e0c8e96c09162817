#include "mask/response_file.h"

#include "base/decimal.h"
#include "base/text_lines.h"

#include <math.h>
#include <string.h>

enum {
    COLUMNS_MOST = 32,
    POINTS_MOST = 1 << 20,
    HEAD_BYTES = 1 << 16, /* what is looked at to see what a file is */
    HEAD_LINE = 1024,
};

static const double LEVEL_MOST = 300; /* dB */

/* What seems to be a response rises from the first to the last frequency at least so much, to at
 * least this: no taps do. */
static const double RISE_LEAST = 4, REACHES_LEAST = 100; /* Hz */

enum comma_role { COMMA_UNKNOWN, COMMA_SEPARATES, COMMA_IS_DECIMAL };

/* What the lines so far say about the form of the following. */
struct response_form {
    enum comma_role comma;
    bool has_points;
    size_t columns; /* 0 before the first line of numbers */
};

struct response_row {
    size_t columns;
    double values[COLUMNS_MOST];
};

/* Whether a line holds nothing but what numbers and their separators are written with. */
static bool is_numeric(const char *line)
{
    return strpbrk(line, "0123456789") && !line[strspn(line, "0123456789+-.,;eE\" \t\v\f")];
}

/* Blanks instead of all that can only separate: quotes, semicolons, commas beside a blank. */
static void blank_separators(char *line)
{
    for (char *at = line; *at; at++) {
        bool beside_blank = (at > line && at[-1] == ' ') || strchr(" \t", at[1]);
        if (strchr("\t\v\f;\"", *at) || (*at == ',' && beside_blank))
            *at = ' ';
    }
}

static size_t count_fields(const char *line)
{
    size_t fields = 0;
    for (line += strspn(line, " "); *line; fields++) {
        line += strcspn(line, " ");
        line += strspn(line, " ");
    }
    return fields;
}

static void replace(char *line, char from, char to)
{
    for (char *at = line; (at = strchr(at, from));)
        *at = to;
}

/* Decide what the commas of a line are, and remove them. The flaw, or NULL. */
static const char *settle_commas(struct response_form *form, char *line)
{
    size_t commas = 0;
    bool has_points = strchr(line, '.');
    for (const char *at = line; (at = strchr(at, ',')); at++)
        commas++;
    enum comma_role role = commas == 0               ? form->comma
                           : count_fields(line) == 1 ? COMMA_SEPARATES
                                                     : COMMA_IS_DECIMAL;
    if (form->comma != COMMA_UNKNOWN && role != form->comma)
        return "its commas separate columns in one line and decimals in another";
    form->comma = role;
    form->has_points |= has_points;
    if (role == COMMA_IS_DECIMAL && form->has_points)
        return "it has decimal points and decimal commas";
    if (commas > 2 && role == COMMA_SEPARATES && !has_points)
        return "its commas may separate columns or decimals: separate columns by blanks";
    replace(line, ',', role == COMMA_IS_DECIMAL ? '.' : ' ');
    return NULL;
}

/* False: not a line of two numbers or more. */
static bool read_numbers(char *line, struct response_row *row)
{
    row->columns = 0;
    for (char *end; *(line += strspn(line, " ")); line = end) {
        double value;
        bool is_number = decimal_read(line, &end, &value) && (!*end || *end == ' ');
        if (!is_number || !isfinite(value) || row->columns == COLUMNS_MOST)
            return false;
        row->values[row->columns++] = value;
    }
    return row->columns >= 2;
}

/* In place. A remark has no columns. *flaw: why the line cannot be read, or NULL. */
static void read_row(struct response_form *form, char *line, struct response_row *row,
                     const char **flaw)
{
    bool begun = form->columns > 0;
    row->columns = 0;
    *flaw = NULL;
    line[strcspn(line, "#")] = '\0';
    line += strspn(line, " \t\v\f");
    if (!*line || strchr("*;%/", *line))
        return;
    if (!is_numeric(line)) {
        if (begun && *line != '"')
            *flaw = "it is neither numbers nor a remark";
        return;
    }
    blank_separators(line);
    struct response_form now = *form;
    *flaw = settle_commas(&now, line);
    if (*flaw)
        return;
    bool is_row = read_numbers(line, row);
    if (begun && !is_row)
        *flaw = "it is not two numbers or more";
    else if (begun && row->columns != form->columns)
        *flaw = "it has more or fewer columns than the lines before";
    if (!is_row || *flaw) {
        row->columns = 0;
        return;
    }
    now.columns = row->columns;
    *form = now;
}

static enum status add_row(struct text_lines *lines, const struct response_row *row, double *last,
                           struct response_file *response)
{
    double hertz = row->values[0], level = row->values[1];
    if (hertz < 0 || hertz <= *last)
        return text_lines_refuse(lines, "%g Hz after %g: frequencies must rise", hertz, *last);
    *last = hertz;
    if (!(fabs(level) <= LEVEL_MOST))
        return text_lines_refuse(lines, "a level of %g dB is beyond %g", level, LEVEL_MOST);
    if (level_curve_count(&response->curve) == POINTS_MOST)
        return text_lines_refuse(lines, "more than %d frequencies", POINTS_MOST);
    response->columns = row->columns;
    return hertz > 0 ? level_curve_add(&response->curve, hertz, level) : STATUS_OK;
}

static enum status read_rows(struct text_lines *lines, struct response_file *response)
{
    struct response_form form = {0};
    double last = -INFINITY;
    for (;;) {
        char *line;
        const char *flaw;
        struct response_row row;
        TRY(text_lines_next(lines, &line));
        if (!line)
            break;
        read_row(&form, line, &row, &flaw);
        if (flaw)
            return text_lines_refuse(lines, "%s", flaw);
        if (row.columns > 0)
            TRY(add_row(lines, &row, &last, response));
    }
    if (level_curve_count(&response->curve) > 0)
        return STATUS_OK;
    return fail(STATUS_FAILED,
                "cannot read %s: it is not a frequency response, which is text with a frequency in "
                "Hz and a level in dB a line",
                lines->file);
}

enum status response_file_read(const char *file, FILE *stream, struct response_file *response)
{
    struct text_lines lines;
    *response = (struct response_file){0};
    if (!mask_looks_like_text(stream))
        return fail(STATUS_FAILED,
                    "cannot read %s: it is not text and so no frequency response; invert:FILE is "
                    "the inverse of a mask",
                    file);
    enum status status = text_lines_init(&lines, file, stream);
    if (status == STATUS_OK)
        status = read_rows(&lines, response);
    text_lines_free(&lines);
    if (status != STATUS_OK)
        response_file_free(response);
    return status;
}

enum status response_file_load(const char *file, struct response_file *response)
{
    FILE *stream;
    TRY(mask_file_open(file, false, &stream));
    enum status status = response_file_read(file, stream, response);
    fclose(stream);
    return status;
}

void response_file_free(struct response_file *response)
{
    level_curve_free(&response->curve);
}

/* ---- as a kind of mask file: refused, for as taps it would be noise ---- */

/* Whether the lines hold frequencies in the first column. Ends at the first line that cannot be
 * read, which the reader of the response will report. */
static bool holds_frequencies(FILE *stream)
{
    struct response_form form = {0};
    double first = 0, last = -INFINITY;
    char line[HEAD_LINE];
    for (size_t size = 0; size < HEAD_BYTES && fgets(line, sizeof line, stream);) {
        struct response_row row;
        const char *flaw;
        bool is_marked = size == 0 && strncmp(line, "\xEF\xBB\xBF", 3) == 0;
        size += strlen(line);
        line[strcspn(line, "\r\n")] = '\0';
        read_row(&form, line + (is_marked ? 3 : 0), &row, &flaw);
        if (flaw)
            break;
        if (row.columns == 0)
            continue;
        if (row.values[0] < 0 || row.values[0] <= last)
            return false;
        last = row.values[0];
        if (first == 0)
            first = last;
    }
    return first > 0 && last >= REACHES_LEAST && last >= RISE_LEAST * first;
}

/* Whether the name says it: no taps are called so. */
static bool is_named_response(const char *file)
{
    return mask_file_ends_with(file, ".cal") || mask_file_ends_with(file, ".frd");
}

static bool is_response(const char *file, FILE *stream, const struct mask_load_options *options)
{
    (void)options;
    return !mask_file_ends_with(file, ".mask") && mask_looks_like_text(stream) &&
           (is_named_response(file) || holds_frequencies(stream));
}

static enum status refuse_as_taps(const char *file, FILE *stream,
                                  const struct mask_load_options *options, struct mask **mask)
{
    (void)stream, (void)options, (void)mask;
    return fail(STATUS_FAILED,
                "cannot read mask %s: it holds a frequency response, not taps; response:%s makes a "
                "mask of it, inverse:%s its correction",
                file, file, file);
}

const struct mask_reader mask_reader_response = {
    .kind = "frequency response",
    .is_mine = is_response,
    .read = refuse_as_taps,
};
