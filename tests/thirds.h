/* Levels by thirds of an octave from 20 Hz on, computed for the tests alone. */
#ifndef HALO_TESTS_THIRDS_H
#define HALO_TESTS_THIRDS_H

#include "mask/mask.h"

enum { THIRDS = 31 };

/* Adds the mean power of a column in each third, through the column `by` of `filter` if there is
 * one. */
void thirds_add(const struct mask *mask, size_t column, const struct mask *filter, size_t by,
                double powers[THIRDS]);

/* The mean from the third `first` to before `end`. */
double thirds_mean(const double *levels, size_t first, size_t end);

#endif
