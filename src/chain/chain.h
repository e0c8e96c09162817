/* A filter made of filters, one after the other. */
#ifndef HALO_CHAIN_H
#define HALO_CHAIN_H

#include "base/status.h"
#include "sound/filter.h"

/* An empty chain passes `channels` through. Errors: memory. */
MUST_CHECK enum status chain_create(size_t channels, size_t block, struct filter **chain);

/* Append `filter`, whose inputs and block fit; the chain owns it from here,
 * also when this fails. Errors: memory. */
MUST_CHECK enum status chain_append(struct filter *chain, struct filter *filter);

#endif
