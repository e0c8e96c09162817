/* A filter of one precision around one of the other: samples are converted at its edges. */
#ifndef HALO_PRECISION_ADAPTER_H
#define HALO_PRECISION_ADAPTER_H

#include "base/status.h"
#include "sound/filter.h"

/* In single precision around one in double, as a device's samples are; and in double precision
 * around one in single, as plugins are. Takes over `inner`, also on failure. Errors: memory. */
MUST_CHECK enum status precision_adapter_create(struct filter *inner, struct filter **filter);
MUST_CHECK enum status precision_adapter_create_in_double(struct filter *inner,
                                                          struct filter **filter);

#endif
