/* The two ways of the backend "cuda": blocks of files, and blocks of a live stream.
 * Each is a backend of its own; convolver_cuda.c chooses. */
#ifndef HALO_GPU_CONVOLVER_CUDA_H
#define HALO_GPU_CONVOLVER_CUDA_H

#include "convolve/convolver.h"

extern const struct convolver_backend convolver_cuda_batch;
extern const struct convolver_backend convolver_cuda_live;

/* End all resident kernels, which come back with their convolvers' next blocks: device
 * memory is not freed while one runs. Control thread, while no step runs. */
void convolver_cuda_send_home(void);

#endif
