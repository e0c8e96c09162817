/* arrays.h for arrays in the memory of the current CUDA device. Implemented in gpu/; not available
 * without CUDA. Threads: any, several calls at once. */
#ifndef HALO_ARRAYS_DEVICE_H
#define HALO_ARRAYS_DEVICE_H

#include "convolve/arrays.h"

/* Bytes of scratch that arrays_convolve_device needs for the job. Errors: no GPU, memory. */
MUST_CHECK enum status arrays_scratch_device(const struct arrays_job *job, size_t *bytes);

/* Queues the job on `stream`, a cudaStream_t. Does not wait. scratch: device memory, aligned to 256
 * bytes, used in stream order; NULL: the call allocates it. Errors: too little scratch, memory,
 * errors of the driver when it queues the work. */
MUST_CHECK enum status arrays_convolve_device(const struct arrays_job *job, void *stream,
                                              void *scratch, size_t scratch_bytes);

#endif
