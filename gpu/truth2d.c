#include "truth2d.h"

#include <math.h>

/* Where `at` has its value, or -1 for zero. */
static ptrdiff_t place(ptrdiff_t at, ptrdiff_t count, enum kernel2d_boundary boundary)
{
    if (at >= 0 && at < count)
        return at;
    if (boundary == KERNEL2D_ZERO)
        return -1;
    if (boundary == KERNEL2D_REPLICATE || count == 1)
        return at < 0 ? 0 : count - 1;
    ptrdiff_t period = 2 * (count - 1);
    at = (at % period + period) % period;
    return at < count ? at : period - at;
}

double truth2d_at(const struct truth2d *truth, size_t channel, size_t row, size_t column)
{
    const struct picture2d *picture = &truth->picture;
    ptrdiff_t rows = (ptrdiff_t)picture->rows, columns = (ptrdiff_t)picture->columns;
    const float *cells = truth->cells + channel * picture->rows * picture->columns;
    double sum = 0;
    for (size_t i = 0; i < truth->mask_rows; i++) {
        ptrdiff_t r = (ptrdiff_t)row - (ptrdiff_t)i + (ptrdiff_t)(truth->mask_rows / 2);
        r = place(r, rows, truth->boundary);
        for (size_t j = 0; r >= 0 && j < truth->mask_columns; j++) {
            ptrdiff_t c = (ptrdiff_t)column - (ptrdiff_t)j + (ptrdiff_t)(truth->mask_columns / 2);
            c = place(c, columns, truth->boundary);
            if (c >= 0)
                sum += (double)cells[r * columns + c] *
                       (double)truth->mask[i * truth->mask_columns + j];
        }
    }
    return sum;
}

double truth2d_norm(const struct truth2d *truth)
{
    double norm = 0;
    for (size_t k = 0; k < truth->mask_rows * truth->mask_columns; k++)
        norm += fabs((double)truth->mask[k]);
    return norm;
}

double truth2d_byte_error(double truth, unsigned char value)
{
    return fmax(0, fabs((double)value - fmin(fmax(truth, 0), 255)) - 0.5);
}
