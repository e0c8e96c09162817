/* The random samples that the benches measure with. */
#ifndef HALO_NOISE_H
#define HALO_NOISE_H

#include <stdint.h>

/* Uniform in -1..1; any state will do to begin with (splitmix64, Steele et al. 2014). */
float noise_next(uint64_t *state);

#endif
