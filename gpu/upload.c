#include "gpu/upload.h"

#include "gpu/gpu.h"

#include <string.h>

enum { PIECE = 1 << 18 }; /* bytes that a worker copies at a time */

struct fill_job {
    char *to;
    const char *from;
    size_t bytes;
};

static void fill_piece(void *context, size_t piece, size_t worker)
{
    (void)worker;
    const struct fill_job *job = context;
    size_t at = piece * PIECE, left = job->bytes - at;
    memcpy(job->to + at, job->from + at, left < PIECE ? left : PIECE);
}

cudaError_t gpu_upload_open(struct gpu_upload *upload)
{
    CUDA_TRY(cudaHostAlloc((void **)&upload->pinned, (size_t)UPLOAD_HALVES * UPLOAD_BYTES,
                           cudaHostAllocPortable));
    for (size_t h = 0; h < UPLOAD_HALVES; h++)
        CUDA_TRY(cudaEventCreateWithFlags(&upload->sent[h], cudaEventDisableTiming));
    return cudaSuccess;
}

void gpu_upload_close(struct gpu_upload *upload)
{
    for (size_t h = 0; h < UPLOAD_HALVES; h++)
        if (upload->sent[h])
            cudaEventDestroy(upload->sent[h]);
    cudaFreeHost(upload->pinned);
    *upload = (struct gpu_upload){0};
}

cudaError_t gpu_upload(struct gpu_upload *upload, void *to, const void *from, size_t bytes,
                       struct workers *workers, cudaStream_t stream)
{
    for (size_t at = 0; at < bytes; at += UPLOAD_BYTES) {
        unsigned half = upload->half;
        size_t left = bytes - at, size = left < UPLOAD_BYTES ? left : UPLOAD_BYTES;
        struct fill_job job = {upload->pinned + (size_t)half * UPLOAD_BYTES,
                               (const char *)from + at, size};
        /* returns at once before the first copy */
        CUDA_TRY(cudaEventSynchronize(upload->sent[half]));
        workers_run(workers, (size + PIECE - 1) / PIECE, fill_piece, &job);
        CUDA_TRY(cudaMemcpyAsync((char *)to + at, job.to, size, cudaMemcpyHostToDevice, stream));
        CUDA_TRY(cudaEventRecord(upload->sent[half], stream));
        upload->half = (half + 1) % UPLOAD_HALVES;
    }
    return cudaSuccess;
}
