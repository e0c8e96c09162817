/* Samples of 16 bits: IEEE 754's binary16, and bfloat16, the upper half of a float32. They are
 * rounded to the nearest, ties to even. Threads: any. */
#ifndef HALO_HALVES_H
#define HALO_HALVES_H

#include <stddef.h>
#include <stdint.h>

void halves_widen(const uint16_t *from, size_t count, float *to);
void halves_round(const float *from, size_t count, uint16_t *to);
void bfloats_widen(const uint16_t *from, size_t count, float *to);
void bfloats_round(const float *from, size_t count, uint16_t *to);

#endif
