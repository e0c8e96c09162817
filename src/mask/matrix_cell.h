/* A response of a matrix of them (mask_matrix.h), stored from its first tap to its last, so that a
 * delay takes no memory. Gains are linear, delays in frames. Threads: any. Not real-time. */
#ifndef HALO_MATRIX_CELL_H
#define HALO_MATRIX_CELL_H

#include "mask/mask_config.h"

/* All zero: silence. */
struct matrix_cell {
    size_t first; /* taps of silence before the others */
    size_t count;
    double *taps;       /* NULL: */
    const double *lent; /* somebody else's, times `gain` */
    double gain;
};

/* The taps, each to be multiplied by *gain. */
const double *matrix_cell_taps(const struct matrix_cell *cell, double *gain);

/* `count` of them from the first on, or 0 up to the first; to[0..cell->first + cell->count). */
void matrix_cell_write(const struct matrix_cell *cell, double *to);
bool matrix_cell_equal(const struct matrix_cell *a, const struct matrix_cell *b);

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
