/* The variants of the backend "cuda": for files, live streams, and both in double precision. */
#ifndef HALO_GPU_CONVOLVER_CUDA_H
#define HALO_GPU_CONVOLVER_CUDA_H

#include "convolve/convolver_backend.h"

extern const struct convolver_backend convolver_cuda_batch;
extern const struct convolver_backend convolver_cuda_live;
extern const struct convolver_backend convolver_cuda_in_double;

/* The `enter` of all variants: memory for copies, and their threads, are then near the device. */
void convolver_cuda_enter(const struct convolver_shape *shape, struct numa_before *before);

/* Stops all resident kernels, so that device memory can be freed. They restart with their
 * convolvers' next blocks. Control thread, while no step runs. */
void convolver_cuda_send_home(void);

#endif
