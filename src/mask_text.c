/* Masks as text: one tap a line, a column a channel, separated by blanks;
 * `#` begins a comment; an optional line `rate: 48000` names the rate in Hz. */
#include "mask.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    HEAD_BYTES = 1024,
    COLUMNS_MOST = 256,
    LINE_MOST = 64 * COLUMNS_MOST, /* bytes; more is not a line of numbers */
    RATE_MOST = 10000000,
};

struct table {
    const char *file;
    size_t line;
    unsigned long rate;
    size_t columns; /* 0 until the first line of numbers */
    float *values;  /* row after row */
    size_t count;
    size_t room;
};

static bool looks_like_text(FILE *stream)
{
    unsigned char head[HEAD_BYTES];
    size_t size = fread(head, 1, sizeof head, stream);
    rewind(stream);
    for (size_t i = 0; i < size; i++)
        if (head[i] < 0x20 && !isspace(head[i]))
            return false;
    return size > 0;
}

static enum status append(struct table *table, float value)
{
    if (table->count == table->room) {
        size_t room = table->room ? 2 * table->room : 1024;
        float *values = realloc(table->values, room * sizeof *values);
        if (!values)
            return fail_memory("a mask");
        table->values = values;
        table->room = room;
    }
    table->values[table->count++] = value;
    return STATUS_OK;
}

static enum status read_rate(struct table *table, const char *text)
{
    char *end;
    errno = 0;
    unsigned long rate = strtoul(text, &end, 10);
    end += strspn(end, " \t\r\n");
    if (errno || *end || rate < 1 || rate > RATE_MOST || strchr(text, '-'))
        return fail(STATUS_FAILED,
                    "cannot read mask %s: line %zu: the rate must be a whole number "
                    "of Hz from 1 to %d",
                    table->file, table->line, RATE_MOST);
    if (table->rate && table->rate != rate)
        return fail(STATUS_FAILED, "cannot read mask %s: line %zu: a second rate", table->file,
                    table->line);
    table->rate = rate;
    return STATUS_OK;
}

static enum status read_number(struct table *table, const char *word)
{
    char *end;
    double value = strtod(word, &end);
    if (end == word || *end)
        return fail(STATUS_FAILED, "cannot read mask %s: line %zu: '%.40s' is not a number%s",
                    table->file, table->line, word,
                    strchr(word, ',') ? " (decimals take a point, columns are separated by blanks)"
                                      : "");
    float coefficient = (float)value;
    if (!isfinite(coefficient))
        return fail(STATUS_FAILED,
                    "cannot read mask %s: line %zu: %.40s is not a finite "
                    "coefficient",
                    table->file, table->line, word);
    return append(table, coefficient);
}

static enum status read_line(struct table *table, char *line)
{
    line[strcspn(line, "#")] = '\0';
    line += strspn(line, " \t\r\n");
    if (strncasecmp(line, "rate:", 5) == 0)
        return read_rate(table, line + 5);
    size_t columns = 0;
    char *rest;
    for (char *word = strtok_r(line, " \t\r\n", &rest); word;
         word = strtok_r(NULL, " \t\r\n", &rest), columns++) {
        enum status status = read_number(table, word);
        if (status != STATUS_OK)
            return status;
    }
    if (columns == 0)
        return STATUS_OK;
    if (columns > COLUMNS_MOST)
        return fail(STATUS_FAILED, "cannot read mask %s: line %zu: %zu columns; at most %d",
                    table->file, table->line, columns, COLUMNS_MOST);
    if (table->columns && table->columns != columns)
        return fail(STATUS_FAILED,
                    "cannot read mask %s: line %zu: %zu columns where the lines "
                    "before have %zu",
                    table->file, table->line, columns, table->columns);
    table->columns = columns;
    return STATUS_OK;
}

static enum status read_table(struct table *table, FILE *stream)
{
    char *line = malloc(LINE_MOST);
    if (!line)
        return fail_memory("a mask");
    enum status status = STATUS_OK;
    while (status == STATUS_OK && fgets(line, LINE_MOST, stream)) {
        table->line++;
        size_t length = strlen(line);
        char *text = line;
        if (table->line == 1 && strncmp(text, "\xEF\xBB\xBF", 3) == 0)
            text += 3; /* a byte order mark, as Windows editors leave it */
        bool whole = feof(stream) || (length > 0 && line[length - 1] == '\n');
        if (!whole && length < LINE_MOST - 1)
            status = fail(STATUS_FAILED, "cannot read mask %s: line %zu holds a zero byte",
                          table->file, table->line);
        else if (!whole)
            status = fail(STATUS_FAILED,
                          "cannot read mask %s: line %zu is too long for a line of "
                          "numbers",
                          table->file, table->line);
        else
            status = read_line(table, text);
    }
    free(line);
    if (status == STATUS_OK && ferror(stream))
        status = fail(STATUS_FAILED, "cannot read mask %s: %s", table->file, strerror(errno));
    if (status == STATUS_OK && table->count == 0)
        status = fail(STATUS_FAILED, "cannot read mask %s: it holds no coefficient", table->file);
    return status;
}

static enum status table_to_mask(const struct table *table, struct mask **result)
{
    size_t taps = table->count / table->columns;
    struct mask *mask;
    enum status status = mask_create(table->file, table->columns, taps, &mask);
    if (status != STATUS_OK)
        return status;
    mask->rate = (uint32_t)table->rate;
    for (size_t c = 0; c < table->columns; c++)
        for (size_t k = 0; k < taps; k++)
            mask_column(mask, c)[k] = table->values[k * table->columns + c];
    *result = mask;
    return STATUS_OK;
}

static enum mask_reading mask_text_read(const char *file, FILE *stream, bool allow_truncated,
                                        struct mask **mask)
{
    (void)allow_truncated; /* text has no header to be shorter than */
    if (!looks_like_text(stream))
        return MASK_NOT_MINE;
    struct table table = {.file = file};
    enum status status = read_table(&table, stream);
    if (status == STATUS_OK)
        status = table_to_mask(&table, mask);
    free(table.values);
    return status == STATUS_OK ? MASK_READ : MASK_BROKEN;
}

const struct mask_reader mask_reader_text = {
    .kind = "text",
    .read = mask_text_read,
};
