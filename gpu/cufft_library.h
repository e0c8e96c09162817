/* NVIDIA's cuFFT, opened when it is first needed: the program starts without it.
 * Threads: opening, one at a time. */
#ifndef HALO_GPU_CUFFT_LIBRARY_H
#define HALO_GPU_CUFFT_LIBRARY_H

#include "base/status.h"

#include <cufft.h>

struct cufft_library {
    cufftResult (*plan)(cufftHandle *plan, int length, cufftType type, int batch);
    cufftResult (*destroy)(cufftHandle plan);
    cufftResult (*set_stream)(cufftHandle plan, cudaStream_t stream);
    cufftResult (*transform)(cufftHandle plan, cufftComplex *in, cufftComplex *out, int direction);
};

/* The one library, which stays open. Errors: it is not installed. */
MUST_CHECK enum status cufft_library_open(const struct cufft_library **library);

#endif
