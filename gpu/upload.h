/* Copies from ordinary memory to a device through a little pinned memory: one half is filled while
 * the other is on its way. Threads: one at a time. */
#ifndef HALO_GPU_UPLOAD_H
#define HALO_GPU_UPLOAD_H

#include "base/workers.h"

#include <cuda_runtime_api.h>

enum { UPLOAD_HALVES = 2, UPLOAD_BYTES = 1 << 22 /* a half */ };

struct gpu_upload {
    char *pinned; /* both halves; NULL: not open */
    cudaEvent_t sent[UPLOAD_HALVES];
    unsigned half; /* to be filled next */
};

/* On failure, and when all is zero, closing is safe. */
cudaError_t gpu_upload_open(struct gpu_upload *upload);
void gpu_upload_close(struct gpu_upload *upload);

/* The host memory is free again when it returns, the device's filled in stream order. Workers share
 * the filling; NULL: the caller alone. */
cudaError_t gpu_upload(struct gpu_upload *upload, void *to, const void *from, size_t bytes,
                       struct workers *workers, cudaStream_t stream);

#endif
