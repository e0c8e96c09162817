#include "mask/mask2d_file.h"

#include "base/text_lines.h"
#include "mask/mask.h"
#include "mask/mask2d_design.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char ending[] = ".mask2d";

/* ---- reading ---- */

struct table {
    struct text_lines lines;
    size_t rows;
    size_t columns; /* of the first row; 0 before it */
    size_t count;
    float taps[MASK2D_TAPS_MOST];
};

static enum status read_number(struct table *table, char **text)
{
    char *end;
    double value = strtod(*text, &end);
    bool whole = end != *text && (!*end || strchr(" \t\v\f,;", *end));
    if (!whole || !isfinite((float)value)) {
        (*text)[strcspn(*text, " \t\v\f,;")] = '\0';
        return text_lines_refuse(&table->lines, "'%.40s' is not a %s", *text,
                                 whole ? "finite coefficient" : "number");
    }
    if (table->count == MASK2D_TAPS_MOST)
        return text_lines_refuse(&table->lines,
                                 "more than %d coefficients (64 KB), which is what a GPU's "
                                 "constant memory holds",
                                 MASK2D_TAPS_MOST);
    table->taps[table->count++] = (float)value;
    *text = end;
    return STATUS_OK;
}

/* Blanks, and at most one comma or semicolon among them. */
static enum status skip_separator(struct table *table, char **text)
{
    *text += strspn(*text, " \t\v\f");
    if (!**text || !strchr(",;", **text))
        return STATUS_OK;
    *text += 1 + strspn(*text + 1, " \t\v\f");
    if (!**text || strchr(",;", **text))
        return text_lines_refuse(&table->lines, "there is no number behind a separator");
    return STATUS_OK;
}

static enum status read_row(struct table *table, char *line)
{
    size_t columns = 0;
    enum status status = STATUS_OK;
    line[strcspn(line, "#")] = '\0';
    line += strspn(line, " \t\v\f");
    for (; *line && status == STATUS_OK; columns++) {
        status = read_number(table, &line);
        if (status == STATUS_OK)
            status = skip_separator(table, &line);
    }
    if (columns == 0 || status != STATUS_OK)
        return status;
    if (table->columns && table->columns != columns)
        return text_lines_refuse(&table->lines, "%zu columns where the rows before have %zu",
                                 columns, table->columns);
    table->columns = columns;
    table->rows++;
    return STATUS_OK;
}

enum status mask2d_read(const char *file, FILE *stream, struct mask2d **mask)
{
    if (!mask_looks_like_text(stream))
        return fail(STATUS_FAILED, "cannot read mask %s: it is not text", file);
    struct table *table = calloc(1, sizeof *table);
    if (!table)
        return fail_memory("a mask");
    enum status status = text_lines_init(&table->lines, file, stream);
    char *line = NULL;
    if (status == STATUS_OK)
        status = text_lines_next(&table->lines, &line);
    while (status == STATUS_OK && line) {
        status = read_row(table, line);
        if (status == STATUS_OK)
            status = text_lines_next(&table->lines, &line);
    }
    if (status == STATUS_OK && table->count == 0)
        status = fail(STATUS_FAILED, "cannot read mask %s: it holds no coefficient", file);
    if (status == STATUS_OK)
        status = mask2d_create(file, table->rows, table->columns, table->taps, mask);
    text_lines_free(&table->lines);
    free(table);
    return status;
}

enum status mask2d_load(const char *file, struct mask2d **mask)
{
    struct stat about;
    FILE *stream = fopen(file, "rb");
    if (!stream)
        return fail(STATUS_FAILED, "cannot open mask %s: %s", file, strerror(errno));
    enum status status = STATUS_OK;
    if (fstat(fileno(stream), &about) != 0)
        status = fail(STATUS_FAILED, "cannot read mask %s: %s", file, strerror(errno));
    else if (S_ISDIR(about.st_mode))
        status = fail(STATUS_FAILED, "cannot read mask %s: it is a directory", file);
    else if (!S_ISREG(about.st_mode))
        status = fail(STATUS_FAILED,
                      "cannot read mask %s: it is not a regular file; save it to one", file);
    else if (about.st_size == 0)
        status = fail(STATUS_FAILED, "cannot read mask %s: it is empty", file);
    if (status == STATUS_OK)
        status = mask2d_read(file, stream, mask);
    fclose(stream);
    return status;
}

/* ---- writing ---- */

void mask2d_write(const struct mask2d *mask, FILE *stream)
{
    fprintf(
        stream,
        "# %s\n"
        "# A mask of two dimensions, true convolution, origin at row %zu, column %zu (from 0).\n"
        "# Rows run from past to future, columns from low to high frequency.\n",
        mask->name, mask->rows / 2, mask->columns / 2);
    for (size_t i = 0; i < mask->rows; i++)
        for (size_t j = 0; j < mask->columns; j++)
            fprintf(stream, "%.9g%c", (double)mask->taps[i * mask->columns + j],
                    j + 1 < mask->columns ? ' ' : '\n');
}

/* ---- words ---- */

bool mask2d_is_named(const char *word)
{
    size_t length = strcspn(word, ","), size = sizeof ending - 1;
    return mask2d_design_is_spec(word) ||
           (length > size && memcmp(word + length - size, ending, size) == 0);
}

enum status mask2d_from_spec(char **spec, struct mask2d **mask)
{
    if (mask2d_design_is_spec(spec[0]))
        return mask2d_design_make(spec, mask);
    return mask2d_load(spec[0], mask);
}
