/* cuFFT, opened at its first use, so that the program starts without it. Threads: the control
 * thread. A plan's functions: one thread at a time. */
#ifndef HALO_GPU_CUFFT_LIBRARY_H
#define HALO_GPU_CUFFT_LIBRARY_H

#include "base/status.h"

#include <cufft.h>

struct cufft_library {
    cufftResult (*plan)(cufftHandle *plan, int length, cufftType type, int batch);
    cufftResult (*destroy)(cufftHandle plan);
    cufftResult (*set_stream)(cufftHandle plan, cudaStream_t stream);
    cufftResult (*complex)(cufftHandle plan, cufftComplex *in, cufftComplex *out, int direction);
    cufftResult (*forward_double)(cufftHandle plan, cufftDoubleReal *in, cufftDoubleComplex *out);
    cufftResult (*inverse_double)(cufftHandle plan, cufftDoubleComplex *in, cufftDoubleReal *out);
};

/* Loads cuFFT and what it needs on the current device. Before cufft_library_open, on any thread. */
void cufft_library_expect(void);

/* The library stays open. Errors: it is not installed. */
MUST_CHECK enum status cufft_library_open(const struct cufft_library **library);

/* `batch` transforms of `length` points, one after the other in memory. Errors: memory. */
MUST_CHECK enum status cufft_library_plan(const struct cufft_library *library, int length,
                                          cufftType type, int batch, cufftHandle *plan);

/* CUDA's error for an error of cuFFT. */
cudaError_t cufft_library_error(cufftResult result);

#endif
