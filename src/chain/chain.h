/* A filter that runs filters in series. */
#ifndef HALO_CHAIN_H
#define HALO_CHAIN_H

#include "base/status.h"
#include "sound/filter.h"

/* An empty chain passes `channels` through. The second is for double precision. Errors: memory. */
MUST_CHECK enum status chain_create(size_t channels, size_t block, struct filter **chain);
MUST_CHECK enum status chain_create_in_double(size_t channels, size_t block, struct filter **chain);

/* Append `filter`, whose inputs, block and precision fit. The chain owns it, also on failure.
 * Errors: memory. */
MUST_CHECK enum status chain_append(struct filter *chain, struct filter *filter);
MUST_CHECK enum status chain_append_in_double(struct filter *chain, struct filter *filter);

/* A filter of one precision around one of the other: samples are converted at its edges. */

/* In single precision around one in double, as a device's samples are; and in double precision
 * around one in single, as plugins are. Takes over `inner`, also on failure. Errors: memory. */
MUST_CHECK enum status precision_adapter_create(struct filter *inner, struct filter **filter);
MUST_CHECK enum status precision_adapter_create_in_double(struct filter *inner,
                                                          struct filter **filter);

#endif
