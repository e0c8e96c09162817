/* One impulse response to which others are added (in parallel) or joined (in series).
 *
 * Only from its first tap to its last: what lies before and behind is silence. Empty: silence.
 * Errors of all: memory; longer than MATRIX_TAPS_MOST, which `config` says with file and line.
 */
#ifndef HALO_RESPONSE_CHAIN_H
#define HALO_RESPONSE_CHAIN_H

#include "mask/mask_config.h"

struct response_chain {
    size_t first; /* taps of silence before */
    size_t count;
    float *taps;
};

void response_chain_free(struct response_chain *response);

MUST_CHECK enum status response_chain_add(const struct mask_config *config,
                                          struct response_chain *response, double gain,
                                          uint64_t delay, const float *taps, size_t count);
MUST_CHECK enum status response_chain_filter(const struct mask_config *config,
                                             struct response_chain *response, double gain,
                                             uint64_t delay, const float *taps, size_t count);

bool response_chain_equal(const struct response_chain *a, const struct response_chain *b);

#endif
