/* A response of a matrix of them (mask_matrix.h), stored from its first tap to its last, so that a
 * delay takes no memory. Gains are linear, delays in frames. Threads: any. Not real-time. */
#ifndef HALO_MATRIX_CELL_H
#define HALO_MATRIX_CELL_H

#include "mask/mask_config.h"

/* All zero: silence. */
struct matrix_cell {
    size_t first; /* taps of silence before `taps` */
    size_t count;
    double *taps;
};

void matrix_cell_free(struct matrix_cell *cell);

/* Errors, at the current line of `config`: more than MATRIX_TAPS_MOST. */
MUST_CHECK enum status matrix_cell_check_length(const struct mask_config *config, uint64_t delay,
                                                uint64_t count);

/* Make space for the taps [first, end), keeping the present ones. Errors: memory. */
MUST_CHECK enum status matrix_cell_extend(struct matrix_cell *cell, size_t first, size_t end);

/* Add taps in parallel, or filter with them in series. Errors: too long, memory. */
MUST_CHECK enum status matrix_cell_add(const struct mask_config *config, struct matrix_cell *cell,
                                       double gain, uint64_t delay, const double *taps,
                                       size_t count);
MUST_CHECK enum status matrix_cell_filter(const struct mask_config *config,
                                          struct matrix_cell *cell, double gain, uint64_t delay,
                                          const double *taps, size_t count);

#endif
