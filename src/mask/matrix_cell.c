#include "mask/matrix_cell.h"

#include "mask/mask_matrix.h"
#include "signal/taps.h"

#include <stdlib.h>
#include <string.h>

void matrix_cell_free(struct matrix_cell *cell)
{
    free(cell->taps);
    *cell = (struct matrix_cell){0};
}

enum status matrix_cell_check_length(const struct mask_config *config, uint64_t delay,
                                     uint64_t count)
{
    if (delay > MATRIX_TAPS_MOST || count > MATRIX_TAPS_MOST - delay)
        return mask_config_refuse(
            config, "%llu taps after a delay of %llu are too long; together at most %d",
            (unsigned long long)count, (unsigned long long)delay, MATRIX_TAPS_MOST);
    return STATUS_OK;
}

const double *matrix_cell_taps(const struct matrix_cell *cell, double *gain)
{
    *gain = cell->taps ? 1 : cell->gain;
    return cell->taps ? cell->taps : cell->lent;
}

/* As sums that begin with 0, so that no zero is negative. */
static void write_taps(const struct matrix_cell *cell, double *to)
{
    double gain;
    const double *taps = matrix_cell_taps(cell, &gain);
    for (size_t k = 0; k < cell->count; k++)
        to[k] = 0 + gain * taps[k];
}

void matrix_cell_write(const struct matrix_cell *cell, double *to)
{
    memset(to, 0, cell->first * sizeof *to);
    write_taps(cell, to + cell->first);
}

bool matrix_cell_equal(const struct matrix_cell *a, const struct matrix_cell *b)
{
    double gain_a, gain_b;
    const double *of_a = matrix_cell_taps(a, &gain_a), *of_b = matrix_cell_taps(b, &gain_b);
    if (a->first != b->first || a->count != b->count)
        return false;
    size_t k = of_a == of_b && gain_a == gain_b ? a->count : 0;
    while (k < a->count && gain_a * of_a[k] == gain_b * of_b[k])
        k++;
    return k == a->count;
}

/* Taps of its own, before they change. */
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

enum status matrix_cell_extend(struct matrix_cell *cell, size_t first, size_t end)
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

enum status matrix_cell_add(const struct mask_config *config, struct matrix_cell *cell, double gain,
                            uint64_t delay, const double *taps, size_t count)
{
    TRY(matrix_cell_check_length(config, delay, count));
    if (count == 0)
        return STATUS_OK;
    TRY(matrix_cell_extend(cell, (size_t)delay, (size_t)delay + count));
    double *to = cell->taps + ((size_t)delay - cell->first);
    for (size_t k = 0; k < count; k++)
        to[k] += gain * taps[k];
    return STATUS_OK;
}

enum status matrix_cell_filter(const struct mask_config *config, struct matrix_cell *cell,
                               double gain, uint64_t delay, const double *taps, size_t count)
{
    if (count == 0 || gain == 0)
        matrix_cell_free(cell);
    if (cell->count == 0)
        return STATUS_OK;
    TRY(matrix_cell_check_length(config, cell->first + delay, cell->count + count - 1));
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
