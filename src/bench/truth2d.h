/* What a convolution of two dimensions comes to, in double precision, one output at a time: what
 * the kernels are compared with. Threads: any. */
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

/* sum |m|, what an output of cells up to 1 can come to. */
double truth2d_norm(const struct truth2d *truth);

/* How far a byte is from the truth, clamped, beyond the half that rounding takes. */
double truth2d_byte_error(double truth, unsigned char value);

#endif
