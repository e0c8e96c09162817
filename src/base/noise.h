/* Reproducible random numbers: splitmix64 (Steele, Lea and Flood 2014). */
#ifndef HALO_NOISE_H
#define HALO_NOISE_H

#include <stdint.h>

#define NOISE_STEP UINT64_C(0x9E3779B97F4A7C15)

/* A hash of a counter. */
static inline uint64_t noise_hash(uint64_t x)
{
    x += NOISE_STEP;
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

/* The next number, uniform in -1..1. Any initial state works. */
static inline float noise_next(uint64_t *state)
{
    uint64_t bits = noise_hash(*state);
    *state += NOISE_STEP;
    return (float)((double)(bits >> 11) * 0x1p-52 - 1.0);
}

#endif
