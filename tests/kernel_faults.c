/* Loaded into halo by LD_PRELOAD, damages a kernel: a bit of each KERNEL_FAULT-th transform in
 * single precision, inverse real or any complex one, is flipped, the exponent's of one bin. */
#include <complex.h> /* before fftw3.h, whose complex numbers are then C's */
#include <dlfcn.h>
#include <fftw3.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *own(const char *name)
{
    return dlsym(dlopen("libfftw3f.so.3", RTLD_NOW | RTLD_NOLOAD), name);
}

static void damage(fftwf_complex *bins)
{
    static atomic_int count;
    const char *every = getenv("KERNEL_FAULT");
    if (!every || ++count % atoi(every) != 0)
        return;
    uint32_t bits;
    memcpy(&bits, bins + 3, sizeof bits);
    bits ^= UINT32_C(1) << 24;
    memcpy(bins + 3, &bits, sizeof bits);
}

void fftwf_execute_dft_c2r(const fftwf_plan plan, fftwf_complex *bins, float *samples)
{
    static void (*next)(const fftwf_plan plan, fftwf_complex *bins, float *samples);
    if (!next)
        *(void **)&next = own("fftwf_execute_dft_c2r");
    damage(bins);
    next(plan, bins, samples);
}

void fftwf_execute_dft(const fftwf_plan plan, fftwf_complex *from, fftwf_complex *to)
{
    static void (*next)(const fftwf_plan plan, fftwf_complex *from, fftwf_complex *to);
    if (!next)
        *(void **)&next = own("fftwf_execute_dft");
    damage(from);
    next(plan, from, to);
}
