/* A filter that scales every channel by one factor. */
#ifndef HALO_GAIN_H
#define HALO_GAIN_H

#include "filter.h"
#include "status.h"

/* `factor` is linear. Errors: memory. */
MUST_CHECK enum status gain_create(size_t channels, size_t block, double factor,
                                   struct filter **filter);

#endif
