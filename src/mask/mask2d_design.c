#include "mask/mask2d.h"

#include "mask/design_kind.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct mask2d_size {
    size_t rows, columns;
};

struct mask2d_kind {
    struct design_kind spec; /* name, options and help */
    enum status (*make)(const struct design_spec *spec, struct mask2d_size size, double *taps);
};

/* "7x5", or "7" for a square. */
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

/* median2d */
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

/* Sum 1. The default sigma puts the ends at three sigma. */
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

/* The mean of the future, which the first rows weigh, less that of the past. */
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

enum status mask2d_design_refuse(const char *word)
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

enum status mask2d_design_make(char **spec, struct mask2d **mask)
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
