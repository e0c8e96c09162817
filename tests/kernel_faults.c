/* Loaded into halo by LD_PRELOAD, damages a kernel: a bit of each KERNEL_FAULT-th inverse transform
 * in single precision is flipped, the exponent's of one bin. */
#include <complex.h> /* before fftw3.h, whose complex numbers are then C's */
#include <dlfcn.h>
#include <fftw3.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void fftwf_execute_dft_c2r(const fftwf_plan plan, fftwf_complex *bins, float *samples)
{
    static void (*next)(const fftwf_plan plan, fftwf_complex *bins, float *samples);
    static atomic_int count;
    const char *every = getenv("KERNEL_FAULT");
    if (!next)
        *(void **)&next =
            dlsym(dlopen("libfftw3f.so.3", RTLD_NOW | RTLD_NOLOAD), "fftwf_execute_dft_c2r");
    if (every && ++count % atoi(every) == 0) {
        uint32_t bits;
        memcpy(&bits, bins + 3, sizeof bits);
        bits ^= UINT32_C(1) << 24;
        memcpy(bins + 3, &bits, sizeof bits);
    }
    next(plan, bins, samples);
}
