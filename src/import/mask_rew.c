/* Impulse responses that REW (Room EQ Wizard) exports as text.
 *
 * Lines that begin with `*` are remarks. Other lines of the header are `VALUE // LABEL`. After `*
 * Data start` there is one sample a line. A normalised response is multiplied by its original peak,
 * so that levels of different exports match. Decimals have a point or a comma. */
#include "base/plain_text.h"
#include "base/text_lines.h"
#include "base/text_stream.h"
#include "import/eq_listing.h"
#include "import/mask_matrix.h"
#include "mask/mask.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define refuse(table, ...) mask_config_refuse((table)->config, __VA_ARGS__)

enum { HEADER_LINES_MOST = 1000, HEAD_BYTES = 4096 };

struct rew {
    struct text_lines lines;
    bool is_normalised;
    bool says_normalised; /* the file says whether it is normalised */
    double peak;          /* peak before normalisation; 0: unknown */
    double interval;      /* seconds */
    double start;         /* time of the first sample, in seconds */
    double length;        /* samples; 0: unknown */
    struct mask_values samples;
};

static enum status is_rew(const char *file, FILE *stream, const struct mask_load_options *options,
                          bool *mine)
{
    (void)file, (void)options;
    if (!mask_looks_like_text(stream))
        return STATUS_OK;
    char head[HEAD_BYTES + 1];
    size_t size = fread(head, 1, HEAD_BYTES, stream);
    head[size] = '\0';
    const char *begin = head + plain_text_mark(head);
    begin += strspn(begin, " \t\r\n");
    *mine = *begin == '*' && (strstr(begin, "// Sample interval") ||
                              strstr(begin, "* Data start") || strstr(begin, "saved by REW"));
    return STATUS_OK;
}

static void read_remark(struct rew *rew, const char *line)
{
    const char *text = line + 1 + strspn(line + 1, " \t");
    if (strncmp(text, "IR is normalised", 16) == 0 || strncmp(text, "IR is normalized", 16) == 0)
        rew->is_normalised = rew->says_normalised = true;
    else if (strncmp(text, "IR is not normali", 17) == 0)
        rew->says_normalised = true;
}

static enum status read_label(struct rew *rew, char *line)
{
    struct {
        const char *label;
        double *value;
    } labels[] = {
        {"Peak value before normali", &rew->peak},
        {"Sample interval", &rew->interval},
        {"Start time", &rew->start},
        {"Response length", &rew->length},
    };
    char *slashes = strstr(line, "//");
    if (!slashes)
        return text_lines_refuse(&rew->lines, "neither a remark (*) nor VALUE // LABEL: '%.40s'",
                                 line);
    const char *label = slashes + 2 + strspn(slashes + 2, " \t");
    *slashes = '\0';
    line[strcspn(line, " \t")] = '\0';
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        if (strncmp(label, labels[i].label, strlen(labels[i].label)) == 0 &&
            !text_number(line, true, labels[i].value))
            return text_lines_refuse(&rew->lines, "'%.40s' is not a number", line);
    return STATUS_OK;
}

static enum status read_header(struct rew *rew)
{
    char *line;
    for (;;) {
        TRY(text_lines_next(&rew->lines, &line));
        if (!line)
            return fail(CAUSE_DAMAGED, "cannot read mask %s: it has no '* Data start'",
                        rew->lines.file);
        line += strspn(line, " \t");
        if (strncmp(line, "* Data start", 12) == 0)
            return STATUS_OK;
        if (*line == '*')
            read_remark(rew, line);
        else if (*line)
            TRY(read_label(rew, line));
        if (rew->lines.number > HEADER_LINES_MOST)
            return text_lines_refuse(&rew->lines, "no '* Data start' up to here");
    }
}

static enum status read_samples(struct rew *rew)
{
    char *line;
    for (;;) {
        double value;
        TRY(text_lines_next(&rew->lines, &line));
        if (!line)
            return STATUS_OK;
        line += strspn(line, " \t");
        line[strcspn(line, " \t")] = '\0';
        if (!*line || *line == '*')
            continue;
        if (!text_number(line, true, &value))
            return text_lines_refuse(&rew->lines, "'%.40s' is not a number", line);
        TRY(mask_values_add(&rew->samples, value));
    }
}

static enum status find_gain(const struct rew *rew, double *gain)
{
    bool is_normalised = rew->is_normalised;
    if (!rew->says_normalised) /* versions before 5.20 always normalise */
        is_normalised =
            rew->peak != 0 &&
            fabs(audio_peak_in_double(rew->samples.values, rew->samples.count) - 1) < 1e-3;
    *gain = 1;
    if (!is_normalised)
        return STATUS_OK;
    if (rew->peak == 0)
        return fail(CAUSE_UNSUPPORTED,
                    "cannot read mask %s: it is normalised without its original peak; export it "
                    "without normalisation",
                    rew->lines.file);
    *gain = fabs(rew->peak);
    note_detail("mask %s was normalised: multiplied by its peak, %g", rew->lines.file, *gain);
    return STATUS_OK;
}

static enum status read_file(struct rew *rew, bool allow_truncated, struct mask **mask)
{
    TRY(read_header(rew));
    TRY(read_samples(rew));
    double gain = 1, hertz = rew->interval > 0 ? 1 / rew->interval : 0;
    if (rew->samples.count == 0)
        return fail(CAUSE_DAMAGED, "cannot read mask %s: no sample after '* Data start'",
                    rew->lines.file);
    if (rew->length != 0 && rew->length != (double)rew->samples.count && !allow_truncated)
        return fail(CAUSE_DAMAGED, "cannot read mask %s: it states %.0f samples and holds %zu",
                    rew->lines.file, rew->length, rew->samples.count);
    if (!(hertz >= 1 && hertz <= MASK_RATE_MOST))
        return fail(CAUSE_DAMAGED, "cannot read mask %s: it has no valid sample interval (%g s)",
                    rew->lines.file, rew->interval);
    TRY(find_gain(rew, &gain));
    TRY(mask_create(rew->lines.file, 1, rew->samples.count, mask));
    (*mask)->rate = (uint32_t)lrint(hertz);
    for (size_t k = 0; k < rew->samples.count; k++)
        (*mask)->coefficients[k] = rew->samples.values[k] * gain;
    if (rew->start < 0)
        note_detail("mask %s: REW has time zero at tap %.0f", rew->lines.file,
                    -rew->start * (*mask)->rate);
    return STATUS_OK;
}

static enum status read_rew(const char *file, FILE *stream, const struct mask_load_options *options,
                            struct mask **mask)
{
    struct rew rew = {0};
    enum status status = text_lines_init(&rew.lines, file, stream);
    if (status == STATUS_OK)
        status = read_file(&rew, options->allow_truncated, mask);
    text_lines_free(&rew.lines);
    free(rew.samples.values);
    return status;
}

const struct mask_reader mask_reader_rew = {
    .kind = "REW text",
    .is_mine = is_rew,
    .read = read_rew,
};

/* Tables of an equaliser's filters that REW (Room EQ Wizard) exports as formatted text:
 *
 *   Generic
 *   Number  Enabled  Control  Type  Frequency(Hz)  Gain(dB)  Q      Bandwidth(Hz)
 *   1       True     Auto     PK    63.80          -7.5      6.850  9.31
 *   2       False    Manual   LS_Q  100.0          2.0       0.707
 *   3       True     Auto     None
 *
 * Cells are separated by tabs, or as the words of the header are: by semicolons or commas, or by
 * blanks if no cell is empty. Each row is converted to a line of a listing (eq_listing.h) and read
 * as one. Columns with other names do not matter to the filter. Other lines are remarks. */

enum { CELLS_MOST = 16, ROWS_MOST = 1000 };

/* The texts before and after a column's cells in a listing. */
static const struct rew_column {
    const char *name;
    const char *before;
    const char *after;
} known[] = {
    {"Type", "", ""}, {"Frequency(Hz)", " Fc ", " Hz"}, {"Gain(dB)", " Gain ", " dB"},
    {"Q", " Q ", ""}, {"BW(oct)", " BW Oct ", ""},      {"BW/60", " BW/60 ", ""},
};

struct rew_table {
    struct mask_config *config;
    struct mask_matrix *matrix;
    size_t columns;                              /* 0: no header was read yet */
    char separator;                              /* separator of the header */
    const struct rew_column *column[CELLS_MOST]; /* NULL: the column is not used */
    size_t rows;
    bool has_grouped[2];
};

/* The next cell of a line, in place. NULL: no cell is left. */
static char *next_cell(char **rest, char separator)
{
    char *cell = *rest;
    if (separator == ' ')
        return mask_config_word(rest);
    if (!cell)
        return NULL;
    char *end = strchr(cell, separator);
    if (end)
        *end = '\0';
    *rest = end ? end + 1 : NULL;
    return mask_config_name(cell);
}

static bool is_header(const char *line)
{
    static const char *const words[] = {"Number", "Enabled", "Control", "Type"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i]);
        line += strspn(line, " \t,;");
        if (strncmp(line, words[i], length) != 0 || !strchr(" \t,;\r\n", line[length]))
            return false;
        line += length;
    }
    return true;
}

/* What a column means for the filter. NULL: nothing. A value in another unit is refused. */
static enum status find_column(struct rew_table *table, const char *name,
                               const struct rew_column **column)
{
    bool is_other = false;
    *column = NULL;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t word = strcspn(known[i].name, "(/");
        if (strcasecmp(name, known[i].name) == 0)
            *column = &known[i];
        is_other |=
            strncasecmp(name, known[i].name, word) == 0 && !isalnum((unsigned char)name[word]);
    }
    return *column || !is_other ? STATUS_OK
                                : refuse(table, "a column '%.40s' cannot be read", name);
}

static enum status read_columns(struct rew_table *table, char *line)
{
    table->columns = 0;
    table->separator = line[strcspn(line, "\t;,")];
    if (!table->separator)
        table->separator = ' ';
    for (char *cell; (cell = next_cell(&line, table->separator));) {
        if (!*cell)
            continue;
        if (table->columns == CELLS_MOST)
            return refuse(table, "more than %d columns", CELLS_MOST);
        TRY(find_column(table, cell, &table->column[table->columns++]));
    }
    return STATUS_OK;
}

/* Prints a cell for the listing, where LS_Q is called LSQ. */
static void print_cell(FILE *to, const struct rew_column *column, const char *cell)
{
    fputs(column->before, to);
    for (; *cell; cell++)
        if (*cell != '_')
            putc(*cell, to);
    fputs(column->after, to);
}

static enum status print_row(struct rew_table *table, char *line, FILE *to)
{
    char separator = strchr(line, '\t') ? '\t' : table->separator;
    size_t i = 0;
    for (char *cell; (cell = next_cell(&line, separator)); i++) {
        bool is_enabled = i == 1 && strcasecmp(cell, "True") == 0;
        if (*cell && i >= table->columns)
            return refuse(table, "more cells than columns");
        if (i == 1 && !is_enabled && strcasecmp(cell, "False") != 0)
            return refuse(table, "Enabled is True or False, not '%.40s'", cell);
        if (i == 1)
            fputs(is_enabled ? "ON " : "OFF ", to);
        else if (*cell && table->column[i])
            print_cell(to, table->column[i], cell);
    }
    return i > 1 ? STATUS_OK : refuse(table, "it has one cell");
}

static enum status apply(struct rew_table *table, char *text)
{
    static const bool first = true;
    struct eq_filter filter;
    TRY(eq_listing_filter(table->config, text, table->config->rate, &filter));
    eq_filter_note_grouped(&filter, table->config, table->has_grouped);
    enum status status = eq_filter_apply(&filter, table->matrix, &first);
    eq_filter_free(&filter);
    return status;
}

static enum status read_row(struct rew_table *table, char *line)
{
    char *text = NULL;
    size_t size;
    if (++table->rows > ROWS_MOST)
        return refuse(table, "more than %d filters", ROWS_MOST);
    FILE *to = text_stream_open(&text, &size);
    enum status status = to ? print_row(table, line, to) : STATUS_OK;
    if (text_stream_finish(to) != 0 && status == STATUS_OK)
        status = fail_memory("a mask");
    if (status == STATUS_OK)
        status = apply(table, text);
    free(text);
    return status;
}

static enum status read_table(struct mask_config *config, struct mask **mask)
{
    struct rew_table table = {.config = config};
    TRY(mask_config_settle_rate(config));
    TRY(mask_matrix_create(config, 1, 1, &config->matrix));
    TRY(mask_matrix_connect(config->matrix));
    table.matrix = config->matrix;
    for (char *line; (line = mask_config_line(config));) {
        eq_number_plain_blanks(line);
        line += strspn(line, " \t");
        if (is_header(line))
            TRY(read_columns(&table, line));
        else if (table.columns > 0 && isdigit((unsigned char)*line))
            TRY(read_row(&table, line));
    }
    return mask_matrix_to_column(config->matrix, mask);
}

static bool is_table(const struct mask_config *config)
{
    for (const char *line = config->text; *line; line += *line == '\n') {
        if (is_header(line))
            return true;
        line += strcspn(line, "\n");
    }
    return false;
}

const struct mask_reader mask_reader_rew_table = {
    .kind = "REW filter table",
    .is_my_config = is_table,
    .read_config = read_table,
};
