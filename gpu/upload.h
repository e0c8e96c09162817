/* Copies from ordinary memory to a device through a small pinned buffer. While one half of the
 * buffer is on its way, the other is filled. Threads: one at a time. */
#ifndef HALO_GPU_UPLOAD_H
#define HALO_GPU_UPLOAD_H

#include "base/workers.h"

#include <cuda_runtime_api.h>

enum { UPLOAD_HALVES = 2, UPLOAD_BYTES = 1 << 22 /* bytes of a half */ };

struct gpu_upload {
    char *pinned; /* both halves; NULL: not open */
    cudaEvent_t sent[UPLOAD_HALVES];
    unsigned half; /* number of the half that is filled next */
};

/* Closing is safe after a failure, and if all members are zero. */
cudaError_t gpu_upload_open(struct gpu_upload *upload);
void gpu_upload_close(struct gpu_upload *upload);

/* `from` may change once it returns. `to` is filled in stream order. Workers share the work. */
cudaError_t gpu_upload(struct gpu_upload *upload, void *to, const void *from, size_t bytes,
                       struct workers *workers, cudaStream_t stream);

#endif
