#include "design/mask2d.h"

#include "base/decimal.h"
#include "base/printable.h"
#include "base/text_lines.h"
#include "design/design_kind.h"
#include "import/mask_reader.h"
#include "signal/audio.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- specifications ---- */

struct mask2d_size {
    size_t rows, columns;
};

struct mask2d_kind {
    struct design_kind spec; /* only name, options and help are used */
    enum status (*make)(const struct design_spec *spec, struct mask2d_size size, double *taps);
};

/* Reads a size such as "7x5", or "7" for a square. */
static enum status read_size(const struct design_spec *spec, struct mask2d_size *size)
{
    char *end = (char *)spec->value;
    size_t numbers[2] = {0};
    for (int i = 0; i < 2; i++) {
        if (!isdigit((unsigned char)*end))
            break;
        numbers[i] = strtoul(end, &end, 10);
        if (i == 0 && *end == 'x')
            end++;
        else if (i == 0)
            numbers[++i] = numbers[0];
    }
    if (*end || numbers[0] == 0 || numbers[1] == 0)
        return fail(CAUSE_USAGE, "%s: the size is rows x columns, as in %s, not '%s'",
                    spec->kind->name, spec->kind->example, spec->value);
    *size = (struct mask2d_size){numbers[0], numbers[1]};
    return STATUS_OK;
}

static enum status need_odd(const struct design_spec *spec, struct mask2d_size size)
{
    if (size.rows % 2 && size.columns % 2)
        return STATUS_OK;
    return fail(CAUSE_USAGE, "%s: rows and columns must be odd, not %zu x %zu: it has a middle",
                spec->kind->name, size.rows, size.columns);
}

/* Refuses median2d, which has no coefficients. */
static enum status refuse_medians(const struct design_spec *spec, struct mask2d_size size,
                                  double *taps)
{
    (void)size, (void)taps;
    return fail(CAUSE_USAGE, "%s takes medians and has no coefficients: use it in --spectral",
                spec->kind->name);
}

static enum status make_identity(const struct design_spec *spec, struct mask2d_size size,
                                 double *taps)
{
    (void)spec, (void)size;
    taps[0] = 1;
    return STATUS_OK;
}

static enum status make_box(const struct design_spec *spec, struct mask2d_size size, double *taps)
{
    (void)spec;
    for (size_t i = 0; i < size.rows * size.columns; i++)
        taps[i] = 1 / (double)(size.rows * size.columns);
    return STATUS_OK;
}

static double bell(size_t at, size_t count, double sigma)
{
    double place = ((double)at - ((double)count - 1) / 2) / sigma;
    return exp(-0.5 * place * place);
}

/* The sum is 1. With the default sigma the ends are at three sigma. */
static enum status make_gaussian(const struct design_spec *spec, struct mask2d_size size,
                                 double *taps)
{
    double most = MASK2D_TAPS_MOST, sum = 0, sigma = 0;
    enum status status = design_number(spec, "sigma", DESIGN_RANGE(PLAIN, 0.1, most), &sigma);
    double high = sigma > 0 ? sigma : fmax((double)size.rows / 6, 0.1);
    double wide = sigma > 0 ? sigma : fmax((double)size.columns / 6, 0.1);
    for (size_t i = 0; i < size.rows; i++)
        for (size_t j = 0; j < size.columns; j++)
            sum += taps[i * size.columns + j] =
                bell(i, size.rows, high) * bell(j, size.columns, wide);
    for (size_t i = 0; i < size.rows * size.columns; i++)
        taps[i] /= sum;
    return status;
}

static enum status make_sharpen(const struct design_spec *spec, struct mask2d_size size,
                                double *taps)
{
    double amount = 1;
    TRY(design_number(spec, "amount", DESIGN_RANGE(PLAIN, -100, 100), &amount));
    TRY(need_odd(spec, size));
    for (size_t i = 0; i < size.rows * size.columns; i++)
        taps[i] = -amount / (double)(size.rows * size.columns);
    taps[size.rows * size.columns / 2] += 1 + amount;
    return STATUS_OK;
}

/* The mean of the future, which the first rows weigh, minus the mean of the past. */
static enum status make_onset(const struct design_spec *spec, struct mask2d_size size, double *taps)
{
    if (size.rows < 3)
        return fail(CAUSE_USAGE, "%s: 3 rows at least, not %zu: past, present and future",
                    spec->kind->name, size.rows);
    double share = 1 / (double)(size.rows / 2 * size.columns);
    for (size_t i = 0; i < size.rows; i++)
        for (size_t j = 0; j < size.columns; j++)
            taps[i * size.columns + j] = i == size.rows / 2  ? 0
                                         : i < size.rows / 2 ? share
                                                             : -share;
    return need_odd(spec, size);
}

static enum status make_harmonic(const struct design_spec *spec, struct mask2d_size size,
                                 double *taps)
{
    if (size.columns < 3)
        return fail(CAUSE_USAGE, "%s: 3 columns at least, not %zu", spec->kind->name, size.columns);
    for (size_t i = 0; i < size.rows; i++)
        for (size_t j = 0; j < size.columns; j++)
            taps[i * size.columns + j] =
                (j == size.columns / 2 ? 1 : -1 / (double)(size.columns - 1)) / (double)size.rows;
    return need_odd(spec, size);
}

static const struct mask2d_kind kinds[] = {
    {{"identity2d", "identity2d", "", .help = "the picture itself"}, make_identity},
    {{"box2d", "box2d:3x3", "", .help = "the mean of rows (time) x columns (frequency)"}, make_box},
    {{"gaussian2d", "gaussian2d:7x7,sigma=1.5", "sigma",
      .help = "a bell; sigma= in rows and columns (a sixth of their number)"},
     make_gaussian},
    {{"sharpen2d", "sharpen2d:3x3,amount=1", "amount",
      .help = "the picture plus amount= of what a box2d removes"},
     make_sharpen},
    {{"onset2d", "onset2d:5x5", "",
      .help = "onsets: the mean of the coming rows less that of the previous rows"},
     make_onset},
    {{"harmonic2d", "harmonic2d:9x9", "",
      .help = "what exceeds the neighbouring columns, averaged over the rows"},
     make_harmonic},
    {{"median2d", "median2d:17x31,part=percussive", "part, power, margin",
      .help = "in --spectral alone: part=harmonic, percussive or residual, by the medians over\n"
              "rows and over columns; power= (2) of the soft mask, margin= (1)"},
     refuse_medians},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const struct mask2d_kind *kind_of(const char *word)
{
    size_t length = strcspn(word, ":,");
    for (size_t k = 0; k < KINDS; k++)
        if (strlen(kinds[k].spec.name) == length && memcmp(kinds[k].spec.name, word, length) == 0)
            return &kinds[k];
    return NULL;
}

bool mask2d_design_is_spec(const char *word)
{
    return kind_of(word) != NULL;
}

const char *mask2d_design_made_at(size_t index, const char **keys)
{
    if (index >= KINDS)
        return NULL;
    *keys = kinds[index].spec.options;
    return kinds[index].spec.example;
}

static enum status refuse_kind(const char *word)
{
    char list[256] = "";
    for (size_t k = 0; k < KINDS; k++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", k ? ", " : "",
                 kinds[k].spec.name);
    return design_refuse_kind(word, list);
}

static enum status round_to_mask(const char *name, struct mask2d_size size, const double *taps,
                                 struct mask2d **mask)
{
    size_t count = size.rows * size.columns;
    float *rounded = calloc(count, sizeof *rounded);
    if (!rounded)
        return fail_memory("a mask");
    for (size_t i = 0; i < count; i++)
        rounded[i] = (float)taps[i];
    enum status status = mask2d_create(name, size.rows, size.columns, rounded, mask);
    free(rounded);
    return status;
}

static void spell(const struct mask2d_kind *kind, const struct design_spec *spec, char *name,
                  size_t size)
{
    int length = snprintf(name, size, "%s%s%s", kind->spec.name, spec->value ? ":" : "",
                          spec->value ? spec->value : "");
    for (size_t i = 0; i < spec->count && length > 0 && (size_t)length < size; i++)
        length += snprintf(name + length, size - (size_t)length, ",%s=%s", spec->options[i].key,
                           spec->options[i].value);
}

static enum status make_kind(char **spec, struct mask2d **mask)
{
    char name[160];
    struct mask2d_size size = {1, 1};
    const struct mask2d_kind *kind = kind_of(spec[0]);
    struct design_spec own = {.kind = &kind->spec};
    TRY(design_parse_options(&own, spec));
    spell(kind, &own, name, sizeof name);
    if (kind->make == make_identity) {
        TRY(design_no_value(&own));
    } else {
        TRY(design_need_value(&own));
        TRY(read_size(&own, &size));
        TRY(mask2d_check_size(name, size.rows, size.columns));
    }
    double *taps = calloc(size.rows * size.columns, sizeof *taps);
    if (!taps)
        return fail_memory("a mask");
    enum status status = kind->make(&own, size, taps);
    if (status == STATUS_OK)
        status = round_to_mask(name, size, taps, mask);
    free(taps);
    return status;
}

const char *const separation_part_names[] = {[SEPARATION_HARMONIC] = "harmonic",
                                             [SEPARATION_PERCUSSIVE] = "percussive",
                                             [SEPARATION_RESIDUAL] = "residual",
                                             NULL};

bool separation_is_spec(const char *word)
{
    const struct mask2d_kind *kind = kind_of(word);
    return kind && kind->make == refuse_medians;
}

enum status separation_from_spec(char **spec, struct separation *separation)
{
    struct mask2d_size size = {0};
    size_t part = SEPARATION_HARMONIC;
    double power = 2, margin = 1;
    struct design_spec own = {.kind = &kind_of(spec[0])->spec};
    TRY(design_parse_options(&own, spec));
    TRY(design_need_value(&own));
    TRY(read_size(&own, &size));
    TRY(need_odd(&own, size));
    TRY(design_choose(&own, "part", separation_part_names, &part));
    TRY(design_number(&own, "power", DESIGN_RANGE(PLAIN, 0.1, 100), &power));
    TRY(design_number(&own, "margin", DESIGN_RANGE(PLAIN, 1, 1000), &margin));
    if (size.rows > SEPARATION_EXTENT_MOST || size.columns > SEPARATION_EXTENT_MOST)
        return fail(CAUSE_USAGE, "%s: medians are over %d rows and columns at most, not %zu x %zu",
                    own.kind->name, SEPARATION_EXTENT_MOST, size.rows, size.columns);
    if (!design_option(&own, "part"))
        return fail(CAUSE_USAGE, "%s: part= says what to keep: harmonic, percussive or residual",
                    own.kind->name);
    *separation =
        (struct separation){size.rows, size.columns, (enum separation_part)part, power, margin};
    return STATUS_OK;
}

void mask2d_design_print_kinds(FILE *stream)
{
    for (size_t k = 0; k < KINDS; k++)
        design_print_kind(stream, &kinds[k].spec);
}

/* ---- the mask ---- */

/* Allowed error of two passes, over the sum of magnitudes: eight times that of float's rounding. */
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

/* Finds the nearest product of a column and a row, by alternating least squares that begin with a
 * row of the mask. */
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

/* Scales both to the same largest magnitude, so that neither exceeds the range of float. */
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
    size_t columns; /* columns of the first row; 0: no row was read yet */
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

/* Skips blanks, and at most one comma or semicolon among them. */
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
        return make_kind(spec, mask);
    if (design_is_misspelt(spec[0]))
        return refuse_kind(spec[0]);
    return mask2d_load(spec[0], mask);
}
