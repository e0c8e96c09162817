/* The value that half of some values are below. */
#ifndef HALO_MEDIAN_H
#define HALO_MEDIAN_H

#include <stddef.h>

/* Sorts them; between the middle two of an even number. NaN of none. */
double median_of(double *values, size_t count);

#endif
