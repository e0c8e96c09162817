/* Tables of an equaliser's filters that REW (Room EQ Wizard) exports as formatted text:
 *
 *   Generic
 *   Number  Enabled  Control  Type  Frequency(Hz)  Gain(dB)  Q      Bandwidth(Hz)
 *   1       True     Auto     PK    63.80          -7.5      6.850  9.31
 *   2       False    Manual   LS_Q  100.0          2.0       0.707
 *   3       True     Auto     None
 *
 * Cells are separated by tabs, or as the words of the header: by semicolons, commas, or blanks
 * where none is empty. Each row becomes a line of a listing (eq_listing.h) and is read as such.
 * Columns of other names say nothing about the filter. Lines of anything else are remarks. */
#include "base/text_stream.h"
#include "mask/eq_listing.h"
#include "mask/mask_matrix.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { CELLS_MOST = 16, ROWS_MOST = 1000 };

/* What a column's cells are in a listing: between these. */
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
    size_t columns;                              /* 0: before the first header */
    char separator;                              /* of the header */
    const struct rew_column *column[CELLS_MOST]; /* NULL: not used */
    size_t rows;
    bool has_grouped[2];
};

/* The next cell of a line, in place; NULL: none left. */
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

/* What a column says of the filter; NULL: nothing. A value in another unit is refused. */
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
    return *column || !is_other
               ? STATUS_OK
               : mask_config_refuse(table->config, "a column '%.40s' cannot be read", name);
}

static enum status read_header(struct rew_table *table, char *line)
{
    table->columns = 0;
    table->separator = line[strcspn(line, "\t;,")];
    if (!table->separator)
        table->separator = ' ';
    for (char *cell; (cell = next_cell(&line, table->separator));) {
        if (!*cell)
            continue;
        if (table->columns == CELLS_MOST)
            return mask_config_refuse(table->config, "more than %d columns", CELLS_MOST);
        TRY(find_column(table, cell, &table->column[table->columns++]));
    }
    return STATUS_OK;
}

/* LS_Q is LSQ in a listing. */
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
            return mask_config_refuse(table->config, "more cells than columns");
        if (i == 1 && !is_enabled && strcasecmp(cell, "False") != 0)
            return mask_config_refuse(table->config, "Enabled is True or False, not '%.40s'", cell);
        if (i == 1)
            fputs(is_enabled ? "ON " : "OFF ", to);
        else if (*cell && table->column[i])
            print_cell(to, table->column[i], cell);
    }
    return i > 1 ? STATUS_OK : mask_config_refuse(table->config, "it has one cell");
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
        return mask_config_refuse(table->config, "more than %d filters", ROWS_MOST);
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
            TRY(read_header(&table, line));
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
