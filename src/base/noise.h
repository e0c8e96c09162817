/* The random samples that the laboratories measure with. */
#ifndef HALO_NOISE_H
#define HALO_NOISE_H

#include <stdint.h>

/* Uniform in -1..1; any state will do to begin with (splitmix64, Steele et al. 2014). */
static inline float noise_next(uint64_t *state)
{
    *state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    z ^= z >> 31;
    return (float)((double)(z >> 11) * 0x1p-52 - 1.0);
}

#endif
