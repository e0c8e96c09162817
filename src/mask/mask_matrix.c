#include "mask/mask_matrix.h"

#include "mask/response_chain.h"

#include <stdlib.h>
#include <string.h>

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
enum { MASK_TAPS_MOST = 1 << 20 };
static const uint64_t WORK_MOST = 1 << 24;
#else
enum { MASK_TAPS_MOST = 1 << 28 };                   /* of all columns of a configuration: 1 GiB */
static const uint64_t WORK_MOST = (uint64_t)1 << 33; /* taps gone through while it is read */
#endif

struct mask_matrix {
    const struct mask_config *config;
    size_t inputs;
    size_t outputs;
    struct response_chain *cells; /* output after output, all inputs each */
    uint64_t held;                /* taps of all cells */
    uint64_t work;                /* taps gone through so far */
};

static struct response_chain *cell(const struct mask_matrix *matrix, size_t input, size_t output)
{
    return &matrix->cells[output * matrix->inputs + input];
}

static void free_cells(struct response_chain *cells, size_t count)
{
    for (size_t i = 0; cells && i < count; i++)
        response_chain_free(&cells[i]);
    free(cells);
}

/* After a cell changed, that had `before` taps. */
static enum status account(struct mask_matrix *matrix, const struct response_chain *response,
                           size_t before)
{
    matrix->held += response->count;
    matrix->held -= before;
    matrix->work += response->count;
    if (matrix->held > MASK_TAPS_MOST || matrix->work > WORK_MOST)
        return mask_config_refuse(matrix->config, "responses that are too many and too long");
    return STATUS_OK;
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
    struct response_chain *cells = calloc(inputs * outputs, sizeof *cells);
    if (!cells)
        return fail_memory("a mask");
    for (size_t i = 0; i < inputs * outputs; i++) {
        struct response_chain *old = cell(matrix, i % inputs, i / inputs);
        cells[i] = *old;
        *old = (struct response_chain){0};
    }
    free_cells(matrix->cells, matrix->inputs * matrix->outputs);
    matrix->cells = cells;
    matrix->inputs = inputs;
    matrix->outputs = outputs;
    return STATUS_OK;
}

enum status mask_matrix_connect(struct mask_matrix *matrix)
{
    static const float one = 1;
    for (size_t c = 0; c < matrix->inputs && c < matrix->outputs; c++)
        TRY(mask_matrix_add(matrix, c, c, 1, 0, &one, 1));
    return STATUS_OK;
}

enum status mask_matrix_add(struct mask_matrix *matrix, size_t input, size_t output, double gain,
                            uint64_t delay, const float *taps, size_t count)
{
    struct response_chain *response = cell(matrix, input, output);
    size_t before = response->count;
    TRY(response_chain_add(matrix->config, response, gain, delay, taps, count));
    return account(matrix, response, before);
}

enum status mask_matrix_copy(struct mask_matrix *matrix, size_t input, size_t output,
                             size_t from_input, size_t from_output)
{
    const struct response_chain *from = cell(matrix, from_input, from_output);
    return mask_matrix_add(matrix, input, output, 1, from->first, from->taps, from->count);
}

enum status mask_matrix_filter(struct mask_matrix *matrix, size_t output, double gain,
                               uint64_t delay, const float *taps, size_t count)
{
    for (size_t i = 0; i < matrix->inputs; i++) {
        struct response_chain *response = cell(matrix, i, output);
        size_t before = response->count;
        TRY(response_chain_filter(matrix->config, response, gain, delay, taps, count));
        TRY(account(matrix, response, before));
    }
    return STATUS_OK;
}

enum status mask_matrix_gain(struct mask_matrix *matrix, size_t output, double gain, uint64_t delay)
{
    static const float one = 1;
    return mask_matrix_filter(matrix, output, gain, delay, &one, 1);
}

enum status mask_matrix_add_output(struct mask_matrix *matrix, size_t output,
                                   const struct mask_matrix *from, size_t from_output, double gain)
{
    for (size_t i = 0; i < matrix->inputs; i++) {
        const struct response_chain *old = cell(from, i, from_output);
        if (old->count > 0 && gain != 0)
            TRY(mask_matrix_add(matrix, i, output, gain, old->first, old->taps, old->count));
    }
    return STATUS_OK;
}

enum status mask_matrix_mix(struct mask_matrix *matrix, size_t outputs, const double *gains)
{
    struct mask_matrix *mixed = NULL;
    enum status status = mask_matrix_create(matrix->config, matrix->inputs, outputs, &mixed);
    if (status != STATUS_OK)
        return status;
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

/* ---- to a mask ---- */

/* The column of each cell: the first with the same response. *columns: how many there are. */
static void share_columns(const struct mask_matrix *matrix, size_t *column_of, size_t *columns)
{
    size_t cells = matrix->inputs * matrix->outputs;
    size_t count = 0;
    for (size_t i = 0; i < cells; i++) {
        size_t same = 0;
        if (matrix->cells[i].count == 0)
            continue;
        while (same < i && !response_chain_equal(&matrix->cells[same], &matrix->cells[i]))
            same++;
        column_of[i] = same < i ? column_of[same] : count++;
    }
    *columns = count;
}

static enum status fill(const struct mask_matrix *matrix, const size_t *column_of,
                        struct mask *mask)
{
    size_t cells = matrix->inputs * matrix->outputs;
    mask->paths = calloc(cells, sizeof *mask->paths);
    if (!mask->paths)
        return fail_memory("a mask");
    for (size_t i = 0; i < cells; i++) {
        const struct response_chain *response = &matrix->cells[i];
        if (response->count == 0)
            continue;
        memcpy(mask_column(mask, column_of[i]) + response->first, response->taps,
               response->count * sizeof(float));
        mask->paths[mask->path_count++] =
            (struct mask_path){i % matrix->inputs, i / matrix->inputs, column_of[i]};
    }
    mask->inputs = matrix->inputs;
    mask->outputs = matrix->outputs;
    mask->has_own_paths = true;
    return STATUS_OK;
}

static enum status make(const struct mask_matrix *matrix, const size_t *column_of, size_t columns,
                        struct mask **result)
{
    size_t taps = 0;
    for (size_t i = 0; i < matrix->inputs * matrix->outputs; i++) {
        size_t end = matrix->cells[i].first + matrix->cells[i].count;
        if (matrix->cells[i].count > 0 && end > taps)
            taps = end;
    }
    if (columns == 0)
        return mask_config_refuse(matrix->config, "nothing of it sounds");
    if (taps > MASK_TAPS_MOST / columns)
        return mask_config_refuse(matrix->config, "%zu responses of %zu taps are too many", columns,
                                  taps);
    struct mask *mask;
    enum status status = mask_create(matrix->config->file, columns, taps, &mask);
    if (status != STATUS_OK)
        return status;
    mask->rate = matrix->config->rate;
    status = fill(matrix, column_of, mask);
    if (status != STATUS_OK) {
        mask_destroy(mask);
        return status;
    }
    *result = mask;
    return STATUS_OK;
}

enum status mask_matrix_to_mask(const struct mask_matrix *matrix, struct mask **mask)
{
    size_t columns, *column_of = calloc(matrix->inputs * matrix->outputs, sizeof *column_of);
    if (!column_of)
        return fail_memory("a mask");
    share_columns(matrix, column_of, &columns);
    enum status status = make(matrix, column_of, columns, mask);
    free(column_of);
    return status;
}
