/* Masks as text: one tap a line, a column for each channel, separated by blanks, semicolons or
 * commas. `#` begins a comment. So do `%`, `//` and `;` at the start of a line of text. All
 * decimals have a point, or all have a comma. A first line may name the columns. A first column of
 * times or counts is left out. One of frequencies is refused. Optional lines:
 *
 *   rate: 48000        Hz
 *   origin: 12         the tap at time zero, counted from 0
 *   inputs: 2          of a mask with its own paths
 *   outputs: 2
 *   path: 1 2 3        from input 1 to output 2 through column 3, all counted from 1
 *
 * A file with all of these lines is called NAME.mask. In it, all columns are taps. */
#include "base/decimal.h"
#include "base/plural.h"
#include "base/text_lines.h"
#include "import/mask_reader.h"
#include "import/number_table.h"
#include "import/response_file.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    COLUMNS_MOST = 256,
    PATHS_MOST = 1 << 14,
    NAMES_SHOWN = 60,
};

struct text_table {
    struct text_lines lines;
    size_t rate; /* 0: not given; this holds for the members below, too */
    size_t origin, inputs, outputs;
    size_t path_count;
    struct mask_path *paths;
    enum comma_role comma;
    char mark;    /* decimal mark; 0: none was read yet */
    size_t names; /* columns that a line names; 0: there is no such line */
    size_t names_line;
    char named[NAMES_SHOWN + 1]; /* the text of that line */
    size_t columns;              /* 0: no line of numbers was read yet */
    uint64_t gaps;               /* number_line_gaps of the last line */
    size_t first;                /* first column that holds taps, from 0 */
    struct mask_values taps;     /* row after row */
};

/* Parses a whole number and advances *text. */
static enum status read_count(struct text_table *table, const char *what, char **text, size_t least,
                              size_t most, size_t *value)
{
    char *end, *start = *text + strspn(*text, " \t");
    errno = 0;
    unsigned long count = strtoul(start, &end, 10);
    if (errno || !isdigit((unsigned char)*start) || (*end && *end != ' ' && *end != '\t') ||
        count < least || count > most)
        return text_lines_refuse(&table->lines, "%s must be a whole number from %zu to %zu", what,
                                 least, most);
    *text = end + strspn(end, " \t");
    *value = count;
    return STATUS_OK;
}

static enum status read_path(struct text_table *table, char *text)
{
    size_t input, output, column;
    TRY(read_count(table, "an input", &text, 1, MASK_CHANNELS_MOST, &input));
    TRY(read_count(table, "an output", &text, 1, MASK_CHANNELS_MOST, &output));
    TRY(read_count(table, "a column", &text, 1, COLUMNS_MOST, &column));
    if (*text)
        return text_lines_refuse(&table->lines, "a path is an input, an output and a column");
    if (table->path_count == PATHS_MOST)
        return text_lines_refuse(&table->lines, "more than %d paths", PATHS_MOST);
    struct mask_path *paths = realloc(table->paths, (table->path_count + 1) * sizeof *table->paths);
    if (!paths)
        return fail_memory("a mask");
    table->paths = paths;
    paths[table->path_count++] = (struct mask_path){input - 1, output - 1, column - 1};
    return STATUS_OK;
}

static enum status read_setting(struct text_table *table, const char *what, char *text,
                                size_t least, size_t most, size_t *setting)
{
    size_t value;
    TRY(read_count(table, what, &text, least, most, &value));
    if (*text)
        return text_lines_refuse(&table->lines, "%s must be one whole number", what);
    if (*setting && *setting != value)
        return text_lines_refuse(&table->lines, "%s is given twice", what);
    *setting = value;
    return STATUS_OK;
}

static const char *after(const char *line, const char *name)
{
    size_t length = strlen(name);
    return strncasecmp(line, name, length) == 0 ? line + length : NULL;
}

/* Reads a line that begins with a name. *known: whether it does. */
static enum status read_named(struct text_table *table, char *line, bool *known)
{
    struct {
        const char *name, *what;
        size_t least, most;
        size_t *setting;
    } settings[] = {
        {"rate:", "the rate in Hz", 1, MASK_RATE_MOST, &table->rate},
        {"origin:", "the origin", 0, INT32_MAX, &table->origin},
        {"inputs:", "the inputs", 1, MASK_CHANNELS_MOST, &table->inputs},
        {"outputs:", "the outputs", 1, MASK_CHANNELS_MOST, &table->outputs},
    };
    const char *text;
    *known = false;
    if (!isalpha((unsigned char)*line))
        return STATUS_OK;
    *known = true;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if ((text = after(line, settings[i].name)))
            return read_setting(table, settings[i].what, line + (text - line), settings[i].least,
                                settings[i].most, settings[i].setting);
    if ((text = after(line, "path:")))
        return read_path(table, line + (text - line));
    *known = false;
    return STATUS_OK;
}

/* Checks that all decimals have the same mark, a point or a comma. */
static enum status settle_mark(struct text_table *table, const char *word)
{
    const char *mark = strpbrk(word, ".,");
    if (mark && table->mark && *mark != table->mark)
        return text_lines_refuse(&table->lines,
                                 "'%.40s': decimals before it take a %s (columns are separated by "
                                 "blanks or semicolons)",
                                 word, table->mark == '.' ? "point" : "comma");
    if (mark)
        table->mark = *mark;
    return STATUS_OK;
}

static enum status refuse_word(const struct text_table *table, const char *word)
{
    double value;
    const char *advice = strchr(word, ',') ? " (separate columns by blanks or semicolons)" : "";
    if (table->columns == 0 && isalpha((unsigned char)*word))
        advice = " (remarks begin with #)";
    return text_lines_refuse(&table->lines, "'%.40s' is not a %s%s", word,
                             decimal_parse(word, &value) ? "finite coefficient" : "number", advice);
}

static enum status read_number(struct text_table *table, const char *word)
{
    double value;
    TRY(settle_mark(table, word));
    if (!text_number(word, true, &value))
        return refuse_word(table, word);
    return mask_values_add(&table->taps, value);
}

/* The line without remark, and without blanks around it. */
static char *bare_line(char *line)
{
    line[strcspn(line, "#")] = '\0';
    line += strspn(line, " \t");
    if (number_line_is_remark(line))
        *line = '\0';
    for (size_t end = strlen(line); end > 0 && strchr(" \t\v\f", line[end - 1]);)
        line[--end] = '\0';
    return line;
}

/* Whether a line before the first numbers names the columns. */
static bool read_names(struct text_table *table, const char *line)
{
    if (table->columns || table->names || number_line_is(line))
        return false;
    table->names = number_line_header(line);
    table->names_line = table->lines.number;
    snprintf(table->named, sizeof table->named, "%s", line);
    number_line_blank(table->named);
    return table->names > 0;
}

/* Reads a line of the most frequent form: as many numbers as columns, with points, separated by
 * blanks. *is_plain: whether it is one. */
static enum status read_plain(struct text_table *table, char *line, bool *is_plain)
{
    size_t columns = 0, before = table->taps.count;
    char *end = line;
    double value;
    *is_plain = false;
    while (table->mark == '.' && *(line += strspn(line, " \t")) &&
           decimal_read(line, &end, &value) && (!*end || *end == ' ' || *end == '\t') &&
           isfinite((float)value)) {
        TRY(mask_values_add(&table->taps, value));
        columns++;
        line = end;
    }
    *is_plain = !*line && columns > 0 && columns == table->columns && table->gaps == 0;
    if (!*is_plain)
        table->taps.count = before;
    return STATUS_OK;
}

static enum status read_line(struct text_table *table, char *line)
{
    bool is_plain;
    TRY(read_plain(table, line, &is_plain));
    if (is_plain)
        return STATUS_OK;
    line = bare_line(line);
    bool named;
    TRY(read_named(table, line, &named));
    if (named || read_names(table, line))
        return STATUS_OK;
    uint64_t gaps = number_line_gaps(line, table->comma);
    if (table->columns && gaps != table->gaps)
        return text_lines_refuse(&table->lines,
                                 "'%.40s': other cells are empty than in the lines before", line);
    table->gaps = gaps;
    number_line_blank(line);
    if (table->comma == COMMA_SEPARATES)
        number_line_settle(line, table->comma);
    size_t columns = 0;
    char *rest;
    for (char *word = strtok_r(line, " \t\v\f", &rest); word;
         word = strtok_r(NULL, " \t\v\f", &rest), columns++)
        TRY(read_number(table, word));
    if (columns == 0)
        return STATUS_OK;
    if (columns > COLUMNS_MOST)
        return text_lines_refuse(&table->lines,
                                 "%zu columns; at most %d (taps of one channel stand one a line)",
                                 columns, COLUMNS_MOST);
    if (table->columns && table->columns != columns)
        return text_lines_refuse(&table->lines, "%zu columns where the lines before have %zu",
                                 columns, table->columns);
    if (table->names && table->names != columns)
        return text_lines_refuse(&table->lines, "%zu columns where %zu are named", columns,
                                 table->names);
    table->columns = columns;
    return STATUS_OK;
}

static bool has_comma(struct text_table *table)
{
    char piece[1 << 14];
    size_t got;
    bool found = false;
    while (!found && (got = fread(piece, 1, sizeof piece, table->lines.stream)) > 0)
        found = memchr(piece, ',', got) != NULL;
    text_lines_restart(&table->lines);
    return found;
}

/* Finds out what commas mean. In the first lines it may be open, and later lines decide. */
static enum status find_commas(struct text_table *table)
{
    struct comma_evidence evidence = {0};
    if (!has_comma(table))
        return STATUS_OK;
    for (;;) {
        char *line;
        TRY(text_lines_next(&table->lines, &line));
        if (!line)
            break;
        line = bare_line(line);
        if (number_line_is(line)) {
            number_line_blank(line);
            comma_evidence_add(&evidence, line);
        } else if (strchr(line, ',') && !strchr(line, ';') && number_line_header(line) > 1) {
            evidence.separates = true;
        }
    }
    if (evidence.separates && evidence.is_decimal)
        return fail(CAUSE_DAMAGED,
                    "cannot read mask %s: its commas separate columns in one line and decimals in "
                    "another",
                    table->lines.file);
    table->comma = evidence.separates    ? COMMA_SEPARATES
                   : evidence.is_decimal ? COMMA_IS_DECIMAL
                                         : COMMA_UNKNOWN;
    text_lines_restart(&table->lines);
    return STATUS_OK;
}

static enum status check_paths(const struct text_table *table)
{
    const char *file = table->lines.file;
    if (table->path_count && (!table->inputs || !table->outputs))
        return fail(CAUSE_DAMAGED,
                    "cannot read mask %s: it has paths but no inputs: N and outputs: N", file);
    if (!table->path_count && (table->inputs || table->outputs))
        return fail(
            CAUSE_DAMAGED,
            "cannot read mask %s: it has inputs: or outputs: but no path:, to which they belong",
            file);
    for (size_t p = 0; p < table->path_count; p++) {
        const struct mask_path *path = &table->paths[p];
        if (path->input >= table->inputs || path->output >= table->outputs ||
            path->column >= table->columns)
            return fail(CAUSE_DAMAGED,
                        "cannot read mask %s: path %zu goes from input %zu to output %zu through "
                        "column %zu, but it has %zu input%s, %zu output%s and %zu column%s",
                        file, p + 1, path->input + 1, path->output + 1, path->column + 1,
                        table->inputs, plural_s(table->inputs), table->outputs,
                        plural_s(table->outputs), table->columns, plural_s(table->columns));
    }
    return STATUS_OK;
}

/* Decides what the first column holds that is not left out yet. If these are not taps, leaves it
 * out; if they are times, sets their rate. */
static enum status settle_column(struct text_table *table, enum first_column_kind *kind)
{
    static const char advice[] = "is left out; in a file named .mask all columns are taps";
    const char *file = table->lines.file, *which = table->first ? "second" : "first";
    struct first_column first;
    TRY(first_column_find(table->taps.values, table->taps.count / table->columns, table->columns,
                          table->first, &first));
    *kind = first.kind;
    switch (first.kind) {
    case FIRST_COLUMN_TAPS:
        return STATUS_OK;
    case FIRST_COLUMN_FREQUENCIES:
        return response_file_refuse_as_taps(file);
    case FIRST_COLUMN_COUNTS:
        note("mask %s: its %s column counts and %s, and response:%s would take it as frequencies",
             file, which, advice, file);
        break;
    case FIRST_COLUMN_TIMES:
        if (first.rate == 0)
            note("mask %s: its %s column rises evenly, as times do, and %s", file, which, advice);
        else
            note("mask %s: its %s column holds times of %u Hz and %s", file, which, first.rate,
                 advice);
    }
    table->first++;
    if (first.rate && table->rate && table->rate != first.rate)
        return fail(CAUSE_DAMAGED,
                    "cannot read mask %s: its rate is %zu Hz, but its times are of %u", file,
                    table->rate, first.rate);
    if (first.rate)
        table->rate = first.rate;
    return STATUS_OK;
}

/* Leaves out columns before the taps. A column of times or frequencies may follow an index. */
static enum status settle_columns(struct text_table *table)
{
    enum first_column_kind kind;
    if (table->taps.count == table->columns && table->columns > 2)
        note("mask %s: its only line is one tap of each of %zu channels; taps of one channel stand "
             "one a line",
             table->lines.file, table->columns);
    TRY(settle_column(table, &kind));
    return kind == FIRST_COLUMN_COUNTS ? settle_column(table, &kind) : STATUS_OK;
}

static enum status read_table(struct text_table *table)
{
    char *line;
    const char *file = table->lines.file;
    TRY(find_commas(table));
    do {
        TRY(text_lines_next(&table->lines, &line));
        if (line)
            TRY(read_line(table, line));
    } while (line);
    if (table->taps.count == 0 && table->names)
        return fail(CAUSE_DAMAGED, "cannot read mask %s: line %zu: '%.40s' is not a number", file,
                    table->names_line, table->named);
    if (table->taps.count == 0)
        return fail(CAUSE_DAMAGED, "cannot read mask %s: it holds no coefficient", file);
    if (table->origin >= table->taps.count / table->columns)
        return fail(CAUSE_DAMAGED, "cannot read mask %s: it has no tap %zu, its origin", file,
                    table->origin);
    if (table->names)
        note("mask %s: a line is taken as the name%s of its column%s: %s", file,
             plural_s(table->names), plural_s(table->names), table->named);
    if (table->mark == ',' && table->comma == COMMA_UNKNOWN)
        note("mask %s: its commas are read as decimal marks; columns are separated by blanks or "
             "semicolons",
             file);
    if (!mask_file_ends_with(file, ".mask") && !table->path_count)
        TRY(settle_columns(table));
    return check_paths(table);
}

static enum status table_to_mask(struct text_table *table, struct mask **result)
{
    size_t taps = table->taps.count / table->columns;
    struct mask *mask;
    size_t columns = table->columns - table->first;
    TRY(mask_create(table->lines.file, columns, taps, &mask));
    mask->rate = (uint32_t)table->rate;
    mask->origin = table->origin;
    if (table->path_count) {
        mask->inputs = table->inputs;
        mask->outputs = table->outputs;
        mask->path_count = table->path_count;
        mask->paths = table->paths;
        mask->has_own_paths = true;
        table->paths = NULL;
    }
    for (size_t c = 0; c < columns; c++)
        for (size_t k = 0; k < taps; k++)
            mask_column(mask, c)[k] = table->taps.values[k * table->columns + table->first + c];
    *result = mask;
    return STATUS_OK;
}

static enum status is_text(const char *file, FILE *stream, const struct mask_load_options *options,
                           bool *mine)
{
    (void)file, (void)options;
    *mine = mask_looks_like_text(stream);
    return STATUS_OK;
}

static enum status read_text(const char *file, FILE *stream,
                             const struct mask_load_options *options, struct mask **mask)
{
    (void)options; /* text does not give a length */
    struct text_table table = {0};
    enum status status = text_lines_init(&table.lines, file, stream);
    if (status == STATUS_OK)
        status = read_table(&table);
    if (status == STATUS_OK)
        status = table_to_mask(&table, mask);
    text_lines_free(&table.lines);
    free(table.paths);
    free(table.taps.values);
    return status;
}

const struct mask_reader mask_reader_text = {
    .kind = "text",
    .is_mine = is_text,
    .read = read_text,
};
