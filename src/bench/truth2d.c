#include "bench/truth2d.h"

#include "convolve/convolve2d.h"

#include <assert.h>
#include <math.h>

static_assert((int)CONVOLVE2D_ZERO == (int)KERNEL_ZERO &&
                  (int)CONVOLVE2D_REPLICATE == (int)KERNEL_REPLICATE &&
                  (int)CONVOLVE2D_REFLECT == (int)KERNEL_REFLECT,
              "the same numbers");

double truth2d_at(const struct truth2d *truth, size_t channel, size_t row, size_t column)
{
    const struct picture2d *picture = &truth->picture;
    ptrdiff_t columns = (ptrdiff_t)picture->columns;
    enum convolve2d_boundary boundary = (enum convolve2d_boundary)truth->boundary;
    const float *cells = truth->cells + channel * picture->rows * picture->columns;
    double sum = 0;
    for (size_t i = 0; i < truth->mask_rows; i++) {
        ptrdiff_t r = (ptrdiff_t)row - (ptrdiff_t)i + (ptrdiff_t)(truth->mask_rows / 2);
        r = convolve2d_column(boundary, r, picture->rows);
        for (size_t j = 0; r >= 0 && j < truth->mask_columns; j++) {
            ptrdiff_t c = (ptrdiff_t)column - (ptrdiff_t)j + (ptrdiff_t)(truth->mask_columns / 2);
            c = convolve2d_column(boundary, c, picture->columns);
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
