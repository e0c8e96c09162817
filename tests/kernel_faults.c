/* Linked into halo in place of the inverse transform, damages it: in each KERNEL_FAULT-th one in
 * single precision a bit is flipped, the exponent's of one bin. */
#include "signal/fft_odd.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { DAMAGED = 3 }; /* number of a spectrum */

void __real_odd_fft_inverse(const struct odd_fft *fft, const float *spectrum, float *scratch,
                            size_t from, size_t frames, float *samples);
void __wrap_odd_fft_inverse(const struct odd_fft *fft, const float *spectrum, float *scratch,
                            size_t from, size_t frames, float *samples);

static void damage(float *number)
{
    static atomic_int count;
    const char *every = getenv("KERNEL_FAULT");
    if (!every || ++count % atoi(every) != 0)
        return;
    uint32_t bits;
    memcpy(&bits, number, sizeof bits);
    bits ^= UINT32_C(1) << 24;
    memcpy(number, &bits, sizeof bits);
}

void __wrap_odd_fft_inverse(const struct odd_fft *fft, const float *spectrum, float *scratch,
                            size_t from, size_t frames, float *samples)
{
    damage((float *)spectrum + DAMAGED); /* a sum, which the caller clears */
    __real_odd_fft_inverse(fft, spectrum, scratch, from, frames, samples);
}
