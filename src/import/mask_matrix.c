#include "import/mask_matrix.h"

#include "base/stop.h"
#include "base/workers.h"
#include "signal/taps.h"

#include <stdlib.h>
#include <string.h>

/* ---- one response ---- */

/* A response, stored from its first tap to its last. All zero: silence. */
struct matrix_cell {
    size_t first; /* taps of silence before `taps` */
    size_t count;
    double *taps;       /* own taps; NULL: `lent` has them */
    const double *lent; /* taps of another owner, to be multiplied by `gain`; or NULL */
    double gain;
};

static void cell_free(struct matrix_cell *cell)
{
    free(cell->taps);
    *cell = (struct matrix_cell){0};
}

static enum status check_length(const struct mask_config *config, uint64_t delay, uint64_t count)
{
    if (delay > MATRIX_TAPS_MOST || count > MATRIX_TAPS_MOST - delay)
        return mask_config_refuse(
            config, "%llu taps after a delay of %llu are too long; together at most %d",
            (unsigned long long)count, (unsigned long long)delay, MATRIX_TAPS_MOST);
    return STATUS_OK;
}

/* The cell's taps. Each is to be multiplied by *gain. */
static const double *cell_taps(const struct matrix_cell *cell, double *gain)
{
    *gain = cell->taps ? 1 : cell->gain;
    return cell->taps ? cell->taps : cell->lent;
}

/* Writes the taps. Each is a sum that begins with 0, so that no zero is negative. */
static void write_taps(const struct matrix_cell *cell, double *to)
{
    double gain;
    const double *taps = cell_taps(cell, &gain);
    for (size_t k = 0; k < cell->count; k++)
        to[k] = 0 + gain * taps[k];
}

static bool cells_equal(const struct matrix_cell *a, const struct matrix_cell *b)
{
    double gain_a, gain_b;
    const double *of_a = cell_taps(a, &gain_a), *of_b = cell_taps(b, &gain_b);
    if (a->first != b->first || a->count != b->count)
        return false;
    size_t k = of_a == of_b && gain_a == gain_b ? a->count : 0;
    while (k < a->count && gain_a * of_a[k] == gain_b * of_b[k])
        k++;
    return k == a->count;
}

/* Gives the cell taps of its own, so that they can change. */
static enum status own(struct matrix_cell *cell)
{
    if (cell->count == 0 || cell->taps)
        return STATUS_OK;
    double *taps = malloc(cell->count * sizeof *taps);
    if (!taps)
        return fail_memory("a mask");
    write_taps(cell, taps);
    cell->taps = taps;
    return STATUS_OK;
}

/* Makes room for the taps [first, end) and keeps the present ones. */
static enum status cell_extend(struct matrix_cell *cell, size_t first, size_t end)
{
    TRY(own(cell));
    size_t old_end = cell->first + cell->count;
    if (cell->count > 0 && first >= cell->first && end <= old_end)
        return STATUS_OK;
    if (cell->count > 0 && cell->first < first)
        first = cell->first;
    if (cell->count > 0 && old_end > end)
        end = old_end;
    double *taps = calloc(end - first, sizeof *taps);
    if (!taps)
        return fail_memory("a mask");
    if (cell->count > 0)
        memcpy(taps + (cell->first - first), cell->taps, cell->count * sizeof *taps);
    free(cell->taps);
    *cell = (struct matrix_cell){.first = first, .count = end - first, .taps = taps};
    return STATUS_OK;
}

static enum status cell_add(struct matrix_cell *cell, double gain, uint64_t delay,
                            const double *taps, size_t count)
{
    if (count == 0)
        return STATUS_OK;
    TRY(cell_extend(cell, (size_t)delay, (size_t)delay + count));
    double *to = cell->taps + ((size_t)delay - cell->first);
    for (size_t k = 0; k < count; k++)
        to[k] += gain * taps[k];
    return STATUS_OK;
}

static enum status cell_filter(const struct mask_config *config, struct matrix_cell *cell,
                               double gain, uint64_t delay, const double *taps, size_t count)
{
    if (count == 0 || gain == 0)
        cell_free(cell);
    if (cell->count == 0)
        return STATUS_OK;
    TRY(check_length(config, cell->first + delay, cell->count + count - 1));
    TRY(own(cell));
    size_t length = cell->count + count - 1;
    double *result = calloc(length, sizeof *result);
    if (!result)
        return fail_memory("a mask");
    enum status status = taps_convolve(cell->taps, cell->count, taps, count, result);
    for (size_t i = 0; i < length; i++)
        result[i] *= gain;
    free(cell->taps);
    *cell =
        (struct matrix_cell){.first = cell->first + (size_t)delay, .count = length, .taps = result};
    return status;
}

/* ---- the matrix ---- */

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
static const uint64_t TAPS_MOST = 1 << 20;
static const uint64_t WORK_MOST = 1 << 24;
static const uint64_t WORK_EACH = 1;
#else
static const uint64_t TAPS_MOST = UINT64_MAX;        /* memory limits it */
static const uint64_t WORK_MOST = (uint64_t)1 << 33; /* taps processed */
static const uint64_t WORK_EACH =
    4; /* the limit in times the taps that memory holds, if that is more */
#endif

struct mask_matrix {
    const struct mask_config *config;
    size_t inputs;
    size_t outputs;
    struct matrix_cell *cells; /* output by output, with all inputs of each */
    uint64_t held;             /* taps in all cells */
    uint64_t work;             /* taps processed so far */
};

static struct matrix_cell *cell(const struct mask_matrix *matrix, size_t input, size_t output)
{
    return &matrix->cells[output * matrix->inputs + input];
}

static void free_cells(struct matrix_cell *cells, size_t count)
{
    for (size_t i = 0; cells && i < count; i++)
        cell_free(&cells[i]);
    free(cells);
}

static uint64_t taps_most(void)
{
    uint64_t most = mask_taps_most();
    return most < TAPS_MOST ? most : TAPS_MOST;
}

static uint64_t work_most(void)
{
    uint64_t all = taps_most() / 2 < UINT64_MAX / 2 / WORK_EACH ? WORK_EACH * taps_most() : 0;
    return all > WORK_MOST ? all : WORK_MOST;
}

/* Checks the memory before a response of `before` taps gets `after` taps. */
static enum status check_held(const struct mask_matrix *matrix, uint64_t before, uint64_t after)
{
    uint64_t held = matrix->held - before + after, most = taps_most();
    if (held > most)
        return mask_config_refuse(
            matrix->config,
            "its responses have %llu taps so far, more than the %llu that this machine's memory "
            "holds; use fewer or shorter ones",
            (unsigned long long)held, (unsigned long long)most);
    return STATUS_OK;
}

enum status mask_matrix_work(struct mask_matrix *matrix, uint64_t taps)
{
    uint64_t most = work_most();
    if (taps > most || matrix->work > most - taps)
        return mask_config_refuse(
            matrix->config,
            "its responses take too long to make: more than %llu taps are processed",
            (unsigned long long)most);
    matrix->work += taps;
    return STATUS_OK;
}

static enum status account(struct mask_matrix *matrix, const struct matrix_cell *response,
                           size_t before)
{
    matrix->held += response->count;
    matrix->held -= before;
    return mask_matrix_work(matrix, response->count);
}

/* The number of taps of a response after `count` taps are added with `delay`. */
static uint64_t extended(const struct matrix_cell *response, uint64_t delay, size_t count)
{
    uint64_t first = delay, end = delay + count;
    if (count == 0)
        return response->count;
    if (response->count > 0 && response->first < first)
        first = response->first;
    if (response->count > 0 && response->first + response->count > end)
        end = response->first + response->count;
    return end - first;
}

/* The work of a convolution: a product for each tap, or an FFT with about so many. */
static uint64_t convolution_work(size_t a, size_t b)
{
    static const uint64_t fft = 64;
    uint64_t fewer = a < b ? a : b;
    return ((uint64_t)a + b) * (fewer < fft ? fewer : fft);
}

enum status mask_matrix_create(const struct mask_config *config, size_t inputs, size_t outputs,
                               struct mask_matrix **result)
{
    struct mask_matrix *matrix = calloc(1, sizeof *matrix);
    if (!matrix)
        return fail_memory("a mask");
    *matrix = (struct mask_matrix){.config = config, .inputs = inputs, .outputs = outputs};
    matrix->cells = calloc(inputs * outputs, sizeof *matrix->cells);
    if (!matrix->cells) {
        mask_matrix_destroy(matrix);
        return fail_memory("a mask");
    }
    *result = matrix;
    return STATUS_OK;
}

void mask_matrix_destroy(struct mask_matrix *matrix)
{
    if (!matrix)
        return;
    free_cells(matrix->cells, matrix->inputs * matrix->outputs);
    free(matrix);
}

size_t mask_matrix_inputs(const struct mask_matrix *matrix)
{
    return matrix->inputs;
}

size_t mask_matrix_outputs(const struct mask_matrix *matrix)
{
    return matrix->outputs;
}

enum status mask_matrix_crop(struct mask_matrix *matrix, size_t inputs, size_t outputs)
{
    struct matrix_cell *cells = calloc(inputs * outputs, sizeof *cells);
    if (!cells)
        return fail_memory("a mask");
    for (size_t i = 0; i < inputs * outputs; i++) {
        struct matrix_cell *old = cell(matrix, i % inputs, i / inputs);
        cells[i] = *old;
        *old = (struct matrix_cell){0};
    }
    free_cells(matrix->cells, matrix->inputs * matrix->outputs);
    matrix->cells = cells;
    matrix->inputs = inputs;
    matrix->outputs = outputs;
    return STATUS_OK;
}

enum status mask_matrix_connect(struct mask_matrix *matrix)
{
    static const double one = 1;
    for (size_t c = 0; c < matrix->inputs && c < matrix->outputs; c++)
        TRY(mask_matrix_add(matrix, c, c, 1, 0, &one, 1));
    return STATUS_OK;
}

enum status mask_matrix_add(struct mask_matrix *matrix, size_t input, size_t output, double gain,
                            uint64_t delay, const double *taps, size_t count)
{
    struct matrix_cell *response = cell(matrix, input, output);
    size_t before = response->count;
    TRY(check_length(matrix->config, delay, count));
    TRY(check_held(matrix, before, extended(response, delay, count)));
    TRY(cell_add(response, gain, delay, taps, count));
    return account(matrix, response, before);
}

enum status mask_matrix_lend(struct mask_matrix *matrix, size_t input, size_t output, double gain,
                             uint64_t delay, const double *taps, size_t count)
{
    struct matrix_cell *response = cell(matrix, input, output);
    if (response->count > 0 || count == 0)
        return mask_matrix_add(matrix, input, output, gain, delay, taps, count);
    TRY(check_length(matrix->config, delay, count));
    TRY(check_held(matrix, 0, count));
    *response =
        (struct matrix_cell){.first = (size_t)delay, .count = count, .lent = taps, .gain = gain};
    return account(matrix, response, 0);
}

enum status mask_matrix_copy(struct mask_matrix *matrix, size_t input, size_t output,
                             size_t from_input, size_t from_output)
{
    const struct matrix_cell *from = cell(matrix, from_input, from_output);
    double gain;
    const double *taps = cell_taps(from, &gain);
    return mask_matrix_add(matrix, input, output, gain, from->first, taps, from->count);
}

enum status mask_matrix_filter(struct mask_matrix *matrix, size_t output, double gain,
                               uint64_t delay, const double *taps, size_t count)
{
    for (size_t i = 0; i < matrix->inputs; i++) {
        struct matrix_cell *response = cell(matrix, i, output);
        size_t before = response->count;
        /* counted before it is done */
        TRY(mask_matrix_work(matrix, convolution_work(before, count)));
        if (before > 0 && count > 0 && gain != 0)
            TRY(check_held(matrix, before, (uint64_t)before + count - 1));
        TRY(cell_filter(matrix->config, response, gain, delay, taps, count));
        TRY(account(matrix, response, before));
    }
    return STATUS_OK;
}

enum status mask_matrix_gain(struct mask_matrix *matrix, size_t output, double gain, uint64_t delay)
{
    static const double one = 1;
    return mask_matrix_filter(matrix, output, gain, delay, &one, 1);
}

/* The length of the filter's response, at most MATRIX_RING_MOST and the work that is left. *length
 * 0: it is not stable, or rings longer. */
static enum status ring_length(struct mask_matrix *matrix, const struct recursive *filter,
                               size_t *length)
{
    /* The search doubles its range: up to twice the length, after half of that. */
    uint64_t each = 4 * ((uint64_t)filter->memory + 1), left = (work_most() - matrix->work) / each;
    TRY(recursive_length(filter, left < MATRIX_RING_MOST ? (size_t)left : MATRIX_RING_MOST,
                         length));
    matrix->work += each * (*length ? *length : left < MATRIX_RING_MOST ? left : MATRIX_RING_MOST);
    return STATUS_OK;
}

static enum status filter_recursive(struct mask_matrix *matrix, size_t output,
                                    const struct recursive *filter, size_t length)
{
    for (size_t i = 0; i < matrix->inputs; i++) {
        struct matrix_cell *response = cell(matrix, i, output);
        size_t before = response->count, count = before + length - 1;
        if (before == 0)
            continue;
        matrix->work += (uint64_t)count * filter->memory;
        TRY(check_length(matrix->config, response->first, count));
        TRY(check_held(matrix, before, count));
        TRY(account(matrix, response, before)); /* counted before the work is done */
        TRY(cell_extend(response, response->first, response->first + count));
        filter->run(filter->data, response->taps, count);
        response->count = recursive_kept(response->taps, count);
        TRY(account(matrix, response, before));
    }
    return STATUS_OK;
}

enum status mask_matrix_recursive_where(struct mask_matrix *matrix, const bool *is_selected,
                                        const struct recursive *filter)
{
    size_t length = 0;
    TRY(ring_length(matrix, filter, &length));
    if (length == 0)
        return mask_config_refuse(matrix->config,
                                  "the filter is not stable, or rings for more than %d taps",
                                  MATRIX_RING_MOST);
    for (size_t output = 0; output < matrix->outputs; output++)
        if (is_selected[output])
            TRY(filter_recursive(matrix, output, filter, length));
    return STATUS_OK;
}

enum status mask_matrix_biquads_where(struct mask_matrix *matrix, const bool *is_selected,
                                      const struct biquad *biquads, size_t count)
{
    const struct biquad_series series = {count, biquads};
    const struct recursive filter = {biquad_series_run, &series, 2 * count};
    for (size_t i = 0; i < count; i++)
        if (!(biquad_pole(&biquads[i]) < 1))
            return mask_config_refuse(matrix->config,
                                      "the filter is not stable: its response does not decay");
    return count > 0 ? mask_matrix_recursive_where(matrix, is_selected, &filter) : STATUS_OK;
}

enum status mask_matrix_biquads(struct mask_matrix *matrix, size_t output,
                                const struct biquad *biquads, size_t count)
{
    bool is_selected[MATRIX_CHANNELS_MOST] = {0};
    is_selected[output] = true;
    return mask_matrix_biquads_where(matrix, is_selected, biquads, count);
}

enum status mask_matrix_add_output(struct mask_matrix *matrix, size_t output,
                                   const struct mask_matrix *from, size_t from_output, double gain)
{
    for (size_t i = 0; i < matrix->inputs; i++) {
        const struct matrix_cell *old = cell(from, i, from_output);
        double own_gain;
        const double *taps = cell_taps(old, &own_gain);
        if (old->count > 0 && gain != 0)
            TRY(mask_matrix_add(matrix, i, output, gain * own_gain, old->first, taps, old->count));
    }
    return STATUS_OK;
}

enum status mask_matrix_mix(struct mask_matrix *matrix, size_t outputs, const double *gains)
{
    struct mask_matrix *mixed = NULL;
    enum status status = STATUS_OK;
    TRY(mask_matrix_create(matrix->config, matrix->inputs, outputs, &mixed));
    for (size_t to = 0; to < outputs; to++)
        for (size_t from = 0; from < matrix->outputs && status == STATUS_OK; from++)
            status =
                mask_matrix_add_output(mixed, to, matrix, from, gains[to * matrix->outputs + from]);
    struct mask_matrix old = *matrix;
    if (status == STATUS_OK) {
        mixed->work += matrix->work;
        *matrix = *mixed;
        *mixed = old;
    }
    mask_matrix_destroy(mixed);
    return status;
}

bool mask_matrix_is_silent(const struct mask_matrix *matrix)
{
    size_t cells = matrix->inputs * matrix->outputs, i = 0;
    while (i < cells && matrix->cells[i].count == 0)
        i++;
    return i == cells;
}

/* Sets the column of each cell, which equal responses share. Returns the number of columns. */
static size_t share_columns(const struct mask_matrix *matrix, size_t *column_of)
{
    size_t cells = matrix->inputs * matrix->outputs, count = 0;
    for (size_t i = 0; i < cells; i++) {
        size_t same = 0;
        if (matrix->cells[i].count == 0)
            continue;
        while (same < i && !cells_equal(&matrix->cells[same], &matrix->cells[i]))
            same++;
        column_of[i] = same < i ? column_of[same] : count++;
    }
    return count;
}

struct matrix_fill {
    const struct mask_matrix *matrix;
    const size_t *cells; /* [column] cell that has its response */
    struct mask *mask;
};

static void fill_column(void *context, size_t column, size_t worker)
{
    (void)worker;
    const struct matrix_fill *job = context;
    const struct matrix_cell *response = &job->matrix->cells[job->cells[column]];
    double *taps = mask_column(job->mask, column);
    size_t end = response->first + response->count;
    memset(taps, 0, response->first * sizeof *taps);
    write_taps(response, taps + response->first);
    memset(taps + end, 0, (job->mask->taps - end) * sizeof *taps);
}

static enum status fill(const struct mask_matrix *matrix, const size_t *column_of,
                        struct mask *mask)
{
    size_t cells = matrix->inputs * matrix->outputs, count = 0;
    size_t *cell_of = calloc(mask->columns, sizeof *cell_of);
    mask->paths = calloc(cells, sizeof *mask->paths);
    if (!mask->paths || !cell_of) {
        free(cell_of);
        return fail_memory("a mask");
    }
    for (size_t i = 0; i < cells; i++) {
        if (matrix->cells[i].count == 0)
            continue;
        mask->paths[mask->path_count++] =
            (struct mask_path){i % matrix->inputs, i / matrix->inputs, column_of[i]};
        if (column_of[i] == count)
            cell_of[count++] = i;
    }
    struct matrix_fill job = {matrix, cell_of, mask};
    workers_run(mask_workers(matrix->config->options->workers, mask), count, fill_column, &job);
    free(cell_of);
    if (stop_requested()) /* a signal ended the reading, so taps are missing */
        return STATUS_INTERRUPTED;
    mask->inputs = matrix->inputs;
    mask->outputs = matrix->outputs;
    mask->has_own_paths = true;
    return STATUS_OK;
}

static enum status make(const struct mask_matrix *matrix, const size_t *column_of, size_t columns,
                        struct mask **mask)
{
    size_t taps = 0;
    for (size_t i = 0; i < matrix->inputs * matrix->outputs; i++) {
        size_t end = matrix->cells[i].first + matrix->cells[i].count;
        if (matrix->cells[i].count > 0 && end > taps)
            taps = end;
    }
    if (columns == 0)
        return mask_config_refuse(matrix->config, "all responses are silent");
    if (taps > taps_most() / columns)
        return mask_config_refuse(matrix->config,
                                  "%zu responses of %zu taps do not fit this machine's memory",
                                  columns, taps);
    TRY(mask_create_unset(matrix->config->file, columns, taps, mask));
    (*mask)->rate = matrix->config->rate;
    return fill(matrix, column_of, *mask);
}

enum status mask_matrix_to_mask(const struct mask_matrix *matrix, struct mask **mask)
{
    size_t *column_of = calloc(matrix->inputs * matrix->outputs, sizeof *column_of);
    if (!column_of)
        return fail_memory("a mask");
    enum status status = make(matrix, column_of, share_columns(matrix, column_of), mask);
    free(column_of);
    return status;
}

enum status mask_matrix_to_column(const struct mask_matrix *matrix, struct mask **mask)
{
    TRY(mask_matrix_to_mask(matrix, mask));
    (*mask)->has_own_paths = false;
    (*mask)->inputs = (*mask)->outputs = (*mask)->path_count = 0;
    return STATUS_OK;
}
