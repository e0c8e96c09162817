/* cuFFT, opened on first use: the program starts without it. Threads: the control thread; what is
 * called through the struct, one thread at a time per plan. */
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

/* Load it, and let it load what transforms of masks need, on the current device: before it is
 * opened, on any thread. */
void cufft_library_expect(void);

/* Stays open. Errors: it is not installed. */
MUST_CHECK enum status cufft_library_open(const struct cufft_library **library);

/* `batch` transforms of `length` points, one after the other in memory. Errors: memory. */
MUST_CHECK enum status cufft_library_plan(const struct cufft_library *library, int length,
                                          cufftType type, int batch, cufftHandle *plan);

/* The error of CUDA behind one of cuFFT. */
cudaError_t cufft_library_error(cufftResult result);

#endif
