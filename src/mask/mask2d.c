#include "mask/mask2d.h"

#include "base/decimal.h"
#include "base/printable.h"
#include "base/text_lines.h"
#include "mask/design_kind.h"
#include "mask/mask.h"
#include "signal/audio.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The allowed error of two passes, as a share of the sum of magnitudes: eight times that of taps
 * rounded to float. */
static const double SEPARABLE_WITHIN = 2.4e-7;

enum { REFINEMENTS = 8 };

enum status mask2d_check_size(const char *name, size_t rows, size_t columns)
{
    if (rows == 0 || columns == 0)
        return fail(CAUSE_DAMAGED, "cannot use mask %s: it holds no coefficient", name);
    if (rows > MASK2D_TAPS_MOST / columns)
        return fail(CAUSE_UNSUPPORTED,
                    "cannot use mask %s: %zu x %zu coefficients are more than %d (64 KB), which is "
                    "what a GPU's constant memory holds",
                    name, rows, columns, MASK2D_TAPS_MOST);
    return STATUS_OK;
}

static enum status check_finite(const struct mask2d *mask)
{
    size_t total = mask->rows * mask->columns, bad = audio_find_nonfinite(mask->taps, total);
    if (bad == total)
        return STATUS_OK;
    return fail(CAUSE_DAMAGED, "cannot use mask %s: row %zu, column %zu is %s", mask->name,
                bad / mask->columns + 1, bad % mask->columns + 1,
                isnan(mask->taps[bad]) ? "not a number" : "infinite");
}

static size_t largest(const float *values, size_t count)
{
    size_t at = 0;
    for (size_t i = 1; i < count; i++)
        if (fabsf(values[i]) > fabsf(values[at]))
            at = i;
    return at;
}

/* Alternating least squares for the nearest product of a column and a row, from a row of the mask.
 */
static void factor(const struct mask2d *mask, double *down, double *across)
{
    size_t rows = mask->rows, columns = mask->columns;
    const float *row = mask->taps + largest(mask->taps, rows * columns) / columns * columns;
    for (size_t j = 0; j < columns; j++)
        across[j] = (double)row[j];
    for (int turn = 0; turn < REFINEMENTS; turn++) {
        double power = 0;
        for (size_t j = 0; j < columns; j++)
            power += across[j] * across[j];
        for (size_t i = 0; i < rows; i++) {
            down[i] = 0;
            for (size_t j = 0; j < columns; j++)
                down[i] += (double)mask->taps[i * columns + j] * across[j] / power;
        }
        power = 0;
        for (size_t i = 0; i < rows; i++)
            power += down[i] * down[i];
        for (size_t j = 0; j < columns; j++) {
            across[j] = 0;
            for (size_t i = 0; i < rows; i++)
                across[j] += (double)mask->taps[i * columns + j] * down[i] / power;
        }
    }
}

/* Give both the same largest magnitude, so that neither leaves the range of float. */
static void balance(double *down, size_t rows, double *across, size_t columns)
{
    double high = 0, wide = 0;
    for (size_t i = 0; i < rows; i++)
        high = fmax(high, fabs(down[i]));
    for (size_t j = 0; j < columns; j++)
        wide = fmax(wide, fabs(across[j]));
    double share = sqrt(wide / high);
    for (size_t i = 0; i < rows; i++)
        down[i] *= share;
    for (size_t j = 0; j < columns; j++)
        across[j] /= share;
}

static bool is_product(const struct mask2d *mask)
{
    double sum = 0, error = 0;
    for (size_t i = 0; i < mask->rows; i++)
        for (size_t j = 0; j < mask->columns; j++) {
            double tap = (double)mask->taps[i * mask->columns + j];
            sum += fabs(tap);
            error += fabs(tap - (double)mask->down[i] * (double)mask->across[j]);
        }
    return error <= SEPARABLE_WITHIN * sum;
}

static enum status separate(struct mask2d *mask)
{
    size_t rows = mask->rows, columns = mask->columns;
    double *passes = calloc(rows + columns, sizeof *passes);
    mask->down = calloc(rows, sizeof *mask->down);
    mask->across = calloc(columns, sizeof *mask->across);
    if (!passes || !mask->down || !mask->across) {
        free(passes);
        return fail_memory("a mask");
    }
    if (mask->taps[largest(mask->taps, rows * columns)] != 0) {
        factor(mask, passes, passes + rows);
        balance(passes, rows, passes + rows, columns);
    }
    for (size_t i = 0; i < rows; i++)
        mask->down[i] = (float)passes[i];
    for (size_t j = 0; j < columns; j++)
        mask->across[j] = (float)passes[rows + j];
    free(passes);
    mask->is_separable = is_product(mask);
    if (!mask->is_separable) {
        free(mask->down);
        free(mask->across);
        mask->down = mask->across = NULL;
    }
    return STATUS_OK;
}

enum status mask2d_create(const char *name, size_t rows, size_t columns, const float *taps,
                          struct mask2d **result)
{
    TRY(mask2d_check_size(name, rows, columns));
    size_t bytes = rows * columns * sizeof *taps;
    struct mask2d *mask = calloc(1, sizeof *mask);
    if (!mask)
        return fail_memory("a mask");
    mask->name = strdup(name);
    mask->rows = rows;
    mask->columns = columns;
    mask->taps = malloc(bytes);
    if (!mask->name || !mask->taps) {
        mask2d_destroy(mask);
        return fail_memory("a mask");
    }
    memcpy(mask->taps, taps, bytes);
    if (check_finite(mask) != STATUS_OK || separate(mask) != STATUS_OK) {
        mask2d_destroy(mask);
        return STATUS_FAILED;
    }
    *result = mask;
    return STATUS_OK;
}

void mask2d_destroy(struct mask2d *mask)
{
    if (!mask)
        return;
    free(mask->across);
    free(mask->down);
    free(mask->taps);
    free(mask->name);
    free(mask);
}

struct mask2d_table {
    struct text_lines lines;
    size_t rows;
    size_t columns; /* of the first row; 0 before it */
    size_t count;
    float taps[MASK2D_TAPS_MOST];
};

static enum status read_number(struct mask2d_table *table, char **text)
{
    char *end;
    double value;
    bool whole = decimal_read(*text, &end, &value) && (!*end || strchr(" \t\v\f,;", *end));
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
static enum status skip_separator(struct mask2d_table *table, char **text)
{
    *text += strspn(*text, " \t\v\f");
    if (!**text || !strchr(",;", **text))
        return STATUS_OK;
    *text += 1 + strspn(*text + 1, " \t\v\f");
    if (!**text || strchr(",;", **text))
        return text_lines_refuse(&table->lines, "a number is missing after a separator");
    return STATUS_OK;
}

static enum status read_row(struct mask2d_table *table, char *line)
{
    size_t columns = 0;
    line[strcspn(line, "#")] = '\0';
    line += strspn(line, " \t\v\f");
    for (; *line; columns++) {
        TRY(read_number(table, &line));
        TRY(skip_separator(table, &line));
    }
    if (columns == 0)
        return STATUS_OK;
    if (table->columns && table->columns != columns)
        return text_lines_refuse(&table->lines, "%zu columns where the rows before have %zu",
                                 columns, table->columns);
    table->columns = columns;
    table->rows++;
    return STATUS_OK;
}

static enum status read_table(struct mask2d_table *table, struct mask2d **mask)
{
    char *line;
    do {
        TRY(text_lines_next(&table->lines, &line));
        if (line)
            TRY(read_row(table, line));
    } while (line);
    return mask2d_create(table->lines.file, table->rows, table->columns, table->taps, mask);
}

enum status mask2d_read(const char *file, FILE *stream, struct mask2d **mask)
{
    if (!mask_looks_like_text(stream))
        return fail(CAUSE_DAMAGED, "cannot read mask %s: it is not text", file);
    struct mask2d_table *table = calloc(1, sizeof *table);
    if (!table)
        return fail_memory("a mask");
    enum status status = text_lines_init(&table->lines, file, stream);
    if (status == STATUS_OK)
        status = read_table(table, mask);
    text_lines_free(&table->lines);
    free(table);
    return status;
}

enum status mask2d_load(const char *file, struct mask2d **mask)
{
    FILE *stream;
    TRY(mask_file_open(file, false, &stream));
    enum status status = mask2d_read(file, stream, mask);
    fclose(stream);
    return status;
}

void mask2d_write(const struct mask2d *mask, FILE *stream)
{
    fprintf(
        stream,
        "# %s\n"
        "# A mask of two dimensions, true convolution, origin at row %zu, column %zu (from 0).\n"
        "# Rows run from past to future, columns from low to high frequency.\n",
        printable(mask->name), mask->rows / 2, mask->columns / 2);
    for (size_t i = 0; i < mask->rows; i++)
        for (size_t j = 0; j < mask->columns; j++)
            fprintf(stream, "%.9g%c", (double)mask->taps[i * mask->columns + j],
                    j + 1 < mask->columns ? ' ' : '\n');
}

bool mask2d_is_named(const char *word)
{
    static const char ending[] = ".mask2d";
    size_t length = strcspn(word, ","), size = sizeof ending - 1;
    return mask2d_design_is_spec(word) ||
           (length > size && memcmp(word + length - size, ending, size) == 0);
}

enum status mask2d_from_spec(char **spec, struct mask2d **mask)
{
    if (mask2d_design_is_spec(spec[0]))
        return mask2d_design_make(spec, mask);
    if (design_is_misspelt(spec[0]))
        return mask2d_design_refuse(spec[0]);
    return mask2d_load(spec[0], mask);
}
