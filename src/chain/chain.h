/* A filter that runs filters in series. */
#ifndef HALO_CHAIN_H
#define HALO_CHAIN_H

#include "base/status.h"
#include "sound/filter.h"

/* Create an empty chain: `channels` channels pass through. _in_double: doubles. Errors: memory. */
MUST_CHECK enum status chain_create(size_t channels, size_t block, struct filter **chain);
MUST_CHECK enum status chain_create_in_double(size_t channels, size_t block, struct filter **chain);

/* Append a filter with matching inputs, block, precision. Owned even on failure. Errors: memory. */
MUST_CHECK enum status chain_append(struct filter *chain, struct filter *filter);
MUST_CHECK enum status chain_append_in_double(struct filter *chain, struct filter *filter);

/* Precision adapters, which convert the samples. The first makes a filter in single precision, such
 * as a device needs, around one in double. The second makes one in double around one in single,
 * such as a plugin. The adapter owns `inner`, also on failure. Errors: memory. */
MUST_CHECK enum status precision_adapter_create(struct filter *inner, struct filter **filter);
MUST_CHECK enum status precision_adapter_create_in_double(struct filter *inner,
                                                          struct filter **filter);

#endif
