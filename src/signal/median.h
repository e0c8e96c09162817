/* The median. */
#ifndef HALO_MEDIAN_H
#define HALO_MEDIAN_H

#include <stddef.h>

/* Sorts the values. An even count: the mean of the middle two. None: NaN. */
double median_of(double *values, size_t count);

#endif
