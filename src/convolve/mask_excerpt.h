/* The excerpt of a mask that some of its outputs need, for a processor that computes those: a mask
 * of its own, whose columns stay where they are in the whole one, which must outlive it.
 */
#ifndef HALO_MASK_EXCERPT_H
#define HALO_MASK_EXCERPT_H

#include "mask/mask.h"

/* Inputs or outputs in a row. */
struct channel_span {
    size_t first, count;
};

/* The inputs from the first to the last one that the outputs need; at least one. */
struct channel_span mask_excerpt_inputs(const struct mask *mask, struct channel_span outputs);

/* Paths between other inputs and outputs are left out, and so are columns that no path uses.
 * Errors: memory; a path leads to one of these outputs from another input. */
MUST_CHECK enum status mask_excerpt_create(const struct mask *mask, struct channel_span inputs,
                                           struct channel_span outputs, struct mask **excerpt);
void mask_excerpt_destroy(struct mask *excerpt);

#endif
