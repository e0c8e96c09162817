#include "import/response_file.h"
#include "import/mask_reader.h"

#include "base/decimal.h"
#include "base/plain_text.h"
#include "base/text_lines.h"
#include "import/number_table.h"
#include "signal/phase.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const double LOWEST = 1e-6; /* Hz; stands for all lower frequencies */

enum status level_curve_add(struct level_curve *curve, double hertz, double level)
{
    TRY(mask_values_add(&curve->octaves, log2(hertz)));
    return mask_values_add(&curve->levels, level);
}

struct level_point {
    double octave, level;
};

static int compare_octaves(const void *a, const void *b)
{
    double x = ((const struct level_point *)a)->octave, y = ((const struct level_point *)b)->octave;
    return (x > y) - (x < y);
}

enum status level_curve_sort(struct level_curve *curve)
{
    size_t count = curve->octaves.count;
    struct level_point *points = malloc(count * sizeof *points);
    if (!points)
        return fail_memory("a response");
    for (size_t i = 0; i < count; i++)
        points[i] = (struct level_point){curve->octaves.values[i], curve->levels.values[i]};
    qsort(points, count, sizeof *points, compare_octaves);
    for (size_t i = 0; i < count; i++) {
        curve->octaves.values[i] = points[i].octave;
        curve->levels.values[i] = points[i].level;
    }
    free(points);
    return STATUS_OK;
}

void level_curve_scale(struct level_curve *curve, double factor)
{
    for (size_t i = 0; i < curve->octaves.count; i++)
        curve->octaves.values[i] += log2(factor);
}

void level_curve_free(struct level_curve *curve)
{
    free(curve->octaves.values);
    free(curve->levels.values);
    *curve = (struct level_curve){0};
}

/* The number of points below `octave`. */
static size_t points_below(const struct level_curve *curve, double octave)
{
    size_t from = 0, end = curve->octaves.count;
    while (from < end) {
        size_t middle = from + (end - from) / 2;
        if (curve->octaves.values[middle] < octave)
            from = middle + 1;
        else
            end = middle;
    }
    return from;
}

double level_curve_at(const struct level_curve *curve, double hertz)
{
    const double *octaves = curve->octaves.values, *levels = curve->levels.values;
    double octave = log2(fmax(hertz, LOWEST));
    size_t next = points_below(curve, octave);
    if (next == 0 || next == curve->octaves.count)
        return levels[next == 0 ? 0 : next - 1];
    return levels[next - 1] + (levels[next] - levels[next - 1]) * (octave - octaves[next - 1]) /
                                  (octaves[next] - octaves[next - 1]);
}

double level_curve_mean(const struct level_curve *curve)
{
    const double *octaves = curve->octaves.values, *levels = curve->levels.values;
    size_t last = curve->octaves.count - 1;
    double area = 0;
    for (size_t i = 0; i < last; i++)
        area += (levels[i] + levels[i + 1]) / 2 * (octaves[i + 1] - octaves[i]);
    return octaves[last] > octaves[0] ? area / (octaves[last] - octaves[0]) : levels[0];
}

/* The magnitude between bins, linearly interpolated: bins are closer than the taps can resolve. */
static double bin_magnitude(const struct fft_double *fft, double place)
{
    const double complex *bins = fft_double_bins(fft);
    size_t bin = (size_t)fmin(place, (double)(fft_double_length(fft) / 2 - 1));
    double share = place - (double)bin;
    return cabs(bins[bin]) * (1 - share) + cabs(bins[bin + 1]) * share;
}

enum status level_curve_measure(const struct level_curve *curve, double rate, const double *taps,
                                size_t count, double *gains)
{
    struct fft_double *fft;
    TRY(fft_double_create(phase_transform_length(count), &fft));
    size_t n = fft_double_length(fft);
    double *samples = fft_double_samples(fft);
    memset(samples, 0, n * sizeof *samples);
    memcpy(samples, taps, count * sizeof *samples);
    fft_double_forward(fft);
    for (size_t i = 0; i < level_curve_count(curve); i++) {
        double hertz = level_curve_hertz(curve, i);
        gains[i] = hertz < rate / 2 ? bin_magnitude(fft, hertz * (double)n / rate) : NAN;
    }
    fft_double_destroy(fft);
    return STATUS_OK;
}

double level_curve_error(double gain, double wanted, double least)
{
    return 20 * log10(1 + fabs(gain - wanted) / fmax(wanted, least));
}

size_t level_curve_count(const struct level_curve *curve)
{
    return curve->octaves.count;
}

double level_curve_hertz(const struct level_curve *curve, size_t point)
{
    return exp2(curve->octaves.values[point]);
}

enum {
    COLUMNS_MOST = 32,
    POINTS_MOST = 1 << 20,
    HEAD_BYTES = 1 << 16, /* bytes that are read to recognise a file's kind */
    HEAD_LINE = 1024,
    KILOHERTZ_MOST = 100,
};

/* What earlier lines of a file show about the form of later ones. */
struct response_form {
    enum comma_role comma;
    bool has_points;
    size_t columns; /* 0: no line of numbers was read yet */
    uint64_t gaps;  /* number_line_gaps */
    char *names;    /* the line before the first numbers; or NULL */
};

struct response_row {
    size_t columns;
    double values[COLUMNS_MOST];
};

/* Decides what the commas of a line mean, and removes them. Returns the flaw, or NULL. */
static const char *settle_commas(struct response_form *form, char *line)
{
    size_t commas = 0;
    bool has_points = strchr(line, '.');
    for (const char *at = line; (at = strchr(at, ',')); at++)
        commas++;
    enum comma_role role = commas == 0                     ? form->comma
                           : number_line_fields(line) == 1 ? COMMA_SEPARATES
                                                           : COMMA_IS_DECIMAL;
    if (form->comma != COMMA_UNKNOWN && role != form->comma)
        return "its commas separate columns in one line and decimals in another";
    form->comma = role;
    form->has_points |= has_points;
    if (role == COMMA_IS_DECIMAL && form->has_points)
        return "it has decimal points and decimal commas";
    if (commas > 2 && role == COMMA_SEPARATES && !form->has_points && form->columns == 0 &&
        !(form->names && number_line_names(form->names) == commas + 1))
        return "its commas may separate columns or decimals: separate columns by blanks";
    number_line_settle(line, role);
    return NULL;
}

/* Reads the numbers of a line. False: it does not have two numbers or more. */
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

/* Removes the units after numbers, in place. kHz becomes an exponent. */
static void blank_units(char *line)
{
    static const char *const units[] = {"kHz", "Hz", "dBFS", "dB", "degrees", "deg", "\xC2\xB0"};
    for (char *at = line; *at; at++) {
        char *unit = at + 1 + strspn(at + 1, " \t");
        for (size_t u = 0; isdigit((unsigned char)*at) && u < sizeof units / sizeof *units; u++) {
            size_t length = strlen(units[u]);
            if (strncasecmp(unit, units[u], length) != 0 || isalnum((unsigned char)unit[length]))
                continue;
            memset(at + 1, ' ', (size_t)(unit + length - at - 1));
            if (u == 0) {
                at[1] = 'e';
                at[2] = '3';
            }
            break;
        }
    }
}

/* Reads a row, in place. A remark has no columns. *flaw: why the line cannot be read, or NULL. */
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
    blank_units(line);
    if (!number_line_is(line)) {
        if (begun && *line != '"')
            *flaw = "it is neither numbers nor a remark";
        return;
    }
    struct response_form now = *form;
    now.gaps =
        number_line_gaps(line, form->comma == COMMA_IS_DECIMAL ? form->comma : COMMA_SEPARATES);
    number_line_blank(line);
    *flaw = settle_commas(&now, line);
    if (*flaw)
        return;
    bool is_row = read_numbers(line, row);
    if (begun && !is_row)
        *flaw = "it is not two numbers or more";
    else if (begun && row->columns != form->columns)
        *flaw = "it has more or fewer columns than the lines before";
    else if (begun && now.gaps != form->gaps)
        *flaw = "other cells are empty than in the lines before";
    if (!is_row || *flaw) {
        row->columns = 0;
        return;
    }
    now.columns = row->columns;
    *form = now;
}

/* ---- the columns ---- */

/* Keeps a line that may name the columns, before it is read. */
static enum status keep_names(struct response_form *form, const char *line)
{
    char first = line[strspn(line, " \t*#\"")];
    if (form->columns || strchr("0123456789+-.", first)) /* the line names no columns */
        return STATUS_OK;
    free(form->names);
    form->names = strdup(line);
    return form->names ? STATUS_OK : fail_memory("a response");
}

void response_file_name(const struct response_file *response, size_t column,
                        char name[RESPONSE_NAME_MOST + 1])
{
    size_t length = 0;
    const char *found = response->names ? number_line_name(response->names, column, &length) : "";
    snprintf(name, RESPONSE_NAME_MOST + 1, "%.*s", (int)length, found ? found : "");
}

static enum status refuse_column(const struct response_file *response, const char *file,
                                 const char *column)
{
    char names[256] = "", name[RESPONSE_NAME_MOST + 1];
    size_t length = 0;
    for (size_t c = 2; response->names && c <= response->columns && length < sizeof names; c++) {
        response_file_name(response, c, name);
        length += (size_t)snprintf(names + length, sizeof names - length, "%s%s",
                                   c > 2 ? ", " : ": ", name);
    }
    return fail(CAUSE_USAGE, "%s has no column '%s' of levels: they are 2 to %zu%s", file, column,
                response->columns, names);
}

/* Finds the column that holds the levels. Names count only if there are as many as columns. */
static enum status choose_column(struct response_form *form, const char *file, const char *column,
                                 struct response_file *response)
{
    char *end, name[RESPONSE_NAME_MOST + 1];
    response->columns = form->columns;
    if (form->names && number_line_names(form->names) == form->columns) {
        response->names = form->names;
        form->names = NULL;
    }
    response->chosen = column ? strtoul(column, &end, 10) : 2;
    bool is_number = !column || (isdigit((unsigned char)*column) && !*end);
    for (size_t c = 2; !is_number && c <= form->columns; c++) {
        response_file_name(response, c, name);
        is_number = strcasecmp(name, column) == 0;
        response->chosen = c;
    }
    if (is_number && response->chosen >= 2 && response->chosen <= form->columns)
        return STATUS_OK;
    return refuse_column(response, file, column);
}

/* ---- the points ---- */

static enum status add_row(struct text_lines *lines, const struct response_row *row, double *last,
                           struct response_file *response)
{
    double hertz = row->values[0], level = row->values[response->chosen - 1];
    if (hertz < 0)
        return text_lines_refuse(lines, "%g Hz is no frequency", hertz);
    response->is_sorted |= hertz < *last;
    *last = hertz;
    if (!(fabs(level) <= LEVEL_CURVE_MOST))
        return text_lines_refuse(lines, "a level of %g dB is beyond %d", level, LEVEL_CURVE_MOST);
    if (level_curve_count(&response->curve) == POINTS_MOST)
        return text_lines_refuse(lines, "more than %d frequencies", POINTS_MOST);
    return hertz > 0 ? level_curve_add(&response->curve, hertz, level) : STATUS_OK;
}

/* Decides by the line with the names, maybe another remark, whether frequencies are in kHz. */
static void settle_unit(const struct response_form *form, struct response_file *response)
{
    const char *names = response->names ? response->names : form->names;
    size_t count = level_curve_count(&response->curve);
    response->is_khz = names && strcasestr(names, "khz");
    for (size_t i = 0; i < count; i++)
        response->is_khz &= level_curve_hertz(&response->curve, i) <= KILOHERTZ_MOST;
    if (response->is_khz)
        level_curve_scale(&response->curve, 1000);
}

static enum status check_points(const char *file, struct response_file *response)
{
    size_t count = level_curve_count(&response->curve);
    if (count == 0)
        return fail(CAUSE_DAMAGED,
                    "cannot read %s: it is not a frequency response, which is text with a "
                    "frequency in Hz and a level in dB a line",
                    file);
    if (count == 1)
        return fail(CAUSE_DAMAGED,
                    "cannot read %s: it has a single frequency, %g Hz; a response has several, and "
                    "a level alone is --gain",
                    file, level_curve_hertz(&response->curve, 0));
    if (response->is_sorted)
        TRY(level_curve_sort(&response->curve));
    for (size_t i = 1; i < count; i++)
        if (!(response->curve.octaves.values[i] > response->curve.octaves.values[i - 1]))
            return fail(CAUSE_DAMAGED, "cannot read %s: %g Hz stands in it twice", file,
                        level_curve_hertz(&response->curve, i));
    return STATUS_OK;
}

static enum status read_rows(struct text_lines *lines, struct response_form *form,
                             const char *column, struct response_file *response)
{
    double last = -INFINITY;
    for (;;) {
        char *line;
        const char *flaw;
        struct response_row row;
        TRY(text_lines_next(lines, &line));
        if (!line) {
            settle_unit(form, response);
            return check_points(lines->file, response);
        }
        TRY(keep_names(form, line));
        read_row(form, line, &row, &flaw);
        if (flaw)
            return text_lines_refuse(lines, "%s", flaw);
        if (row.columns > 0 && !response->columns)
            TRY(choose_column(form, lines->file, column, response));
        if (row.columns > 0)
            TRY(add_row(lines, &row, &last, response));
    }
}

enum status response_file_read(const char *file, FILE *stream, const char *column,
                               struct response_file *response)
{
    struct text_lines lines;
    struct response_form form = {0};
    *response = (struct response_file){0};
    if (!mask_looks_like_text(stream))
        return fail(CAUSE_DAMAGED,
                    "cannot read %s: it is not text and so no frequency response; invert:FILE is "
                    "the inverse of a mask",
                    file);
    enum status status = text_lines_init(&lines, file, stream);
    if (status == STATUS_OK)
        status = read_rows(&lines, &form, column, response);
    text_lines_free(&lines);
    free(form.names);
    if (status != STATUS_OK)
        response_file_free(response);
    return status;
}

enum status response_file_load(const char *file, const char *column, struct response_file *response)
{
    FILE *stream;
    TRY(mask_file_open(file, false, &stream));
    enum status status = response_file_read(file, stream, column, response);
    fclose(stream);
    return status;
}

void response_file_free(struct response_file *response)
{
    level_curve_free(&response->curve);
    free(response->names);
    response->names = NULL;
}

/* ---- as a kind of mask file: refused, since as taps it would be noise ---- */

/* Reads the numbers of a file's head, row by row. *is_whole: there are no more. If false, a line
 * cannot be read, which the response's reader will report. */
static enum status read_head(FILE *stream, struct response_form *form, struct mask_values *values,
                             bool *is_whole)
{
    char line[HEAD_LINE];
    *is_whole = true;
    for (size_t size = 0; size < HEAD_BYTES && fgets(line, sizeof line, stream);) {
        struct response_row row;
        const char *flaw;
        size_t mark = size == 0 ? plain_text_mark(line) : 0;
        size += strlen(line);
        line[strcspn(line, "\r\n")] = '\0';
        text_lines_plain(line);
        read_row(form, line + mark, &row, &flaw);
        *is_whole = !flaw;
        if (flaw)
            break;
        for (size_t c = 0; c < row.columns; c++)
            TRY(mask_values_add(values, row.values[c]));
    }
    return STATUS_OK;
}

/* Whether the first column rises. In a configuration that begins with numbers it does not. */
static bool rises(const struct mask_values *values, size_t columns)
{
    size_t i = columns;
    while (i < values->count && values->values[i] > values->values[i - columns])
        i += columns;
    return values->count > columns && i >= values->count;
}

static enum status find_frequencies(FILE *stream, bool *found)
{
    struct response_form form = {0};
    struct mask_values values = {0};
    struct first_column first = {0};
    bool is_whole;
    enum status status = read_head(stream, &form, &values, &is_whole);
    bool is_table =
        status == STATUS_OK && values.count > 0 && (is_whole || rises(&values, form.columns));
    if (is_table)
        status =
            first_column_find(values.values, values.count / form.columns, form.columns, 0, &first);
    free(values.values);
    *found = is_table && first.kind == FIRST_COLUMN_FREQUENCIES;
    return status;
}

/* Whether the file's name is one that only responses have. */
static bool is_named_response(const char *file)
{
    return mask_file_ends_with(file, ".cal") || mask_file_ends_with(file, ".frd");
}

static enum status is_response(const char *file, FILE *stream,
                               const struct mask_load_options *options, bool *mine)
{
    (void)options;
    if (mask_file_ends_with(file, ".mask") || !mask_looks_like_text(stream))
        return STATUS_OK;
    *mine = is_named_response(file);
    return *mine ? STATUS_OK : find_frequencies(stream, mine);
}

enum status response_file_refuse_as_taps(const char *file)
{
    return fail(CAUSE_UNSUPPORTED,
                "cannot read mask %s: it holds a frequency response, not taps; response:%s makes a "
                "mask of it, inverse:%s its correction; taps that look like one are read from a "
                "file named .mask",
                file, file, file);
}

static enum status refuse_as_taps(const char *file, FILE *stream,
                                  const struct mask_load_options *options, struct mask **mask)
{
    (void)stream, (void)options, (void)mask;
    return response_file_refuse_as_taps(file);
}

const struct mask_reader mask_reader_response = {
    .kind = "frequency response",
    .is_mine = is_response,
    .read = refuse_as_taps,
};
