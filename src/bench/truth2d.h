/* Reference for the two-dimensional kernels: outputs in double precision. Threads: any. */
#ifndef HALO_TRUTH2D_H
#define HALO_TRUTH2D_H

#include "gpu/kernel2d.h"

struct truth2d {
    const float *cells; /* channel after channel, row after row, packed */
    struct picture2d picture;
    enum kernel_boundary boundary;
    const float *mask;
    size_t mask_rows;
    size_t mask_columns;
};

double truth2d_at(const struct truth2d *truth, size_t channel, size_t row, size_t column);

/* sum |m|: bound of an output if cells are at most 1 */
double truth2d_norm(const struct truth2d *truth);

#endif
