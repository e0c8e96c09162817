/* The variants of the backend "cuda", each a backend of its own: for files, for live streams, and
 * for both in double precision. */
#ifndef HALO_GPU_CONVOLVER_CUDA_H
#define HALO_GPU_CONVOLVER_CUDA_H

#include "convolve/convolver_backend.h"

extern const struct convolver_backend convolver_cuda_batch;
extern const struct convolver_backend convolver_cuda_live;
extern const struct convolver_backend convolver_cuda_in_double;

/* The `enter` of all variants. Memory that host and device share, and the threads that copy it, are
 * then on the device's own memory node. */
void convolver_cuda_enter(const struct convolver_shape *shape, struct numa_before *before);

/* Stops all resident kernels, so that device memory can be freed. They restart with their
 * convolvers' next blocks. Control thread, while no step runs. */
void convolver_cuda_send_home(void);

#endif
