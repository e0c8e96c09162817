/* Samples on the bus: integers of n bits, s for s / 2^(n-1), if that is lossless, else float32. */
#ifndef HALO_GPU_PCM_H
#define HALO_GPU_PCM_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

enum pcm { PCM_16, PCM_24, PCM_FLOAT }; /* each can hold the samples of the formats before it */

static inline size_t pcm_bytes(enum pcm pcm)
{
    return pcm == PCM_16 ? 2 : pcm == PCM_24 ? 3 : 4;
}

/* False: a sample does not fit exactly, and `out` is undefined. Real-time. */
bool pcm_pack(enum pcm pcm, const float *in, size_t frames, unsigned char *out);

/* Converts, on the device, rows of `in`, in_pitch bytes apart, to rows of `out`, out_pitch floats
 * apart. Not for PCM_FLOAT, for which a copy is enough. */
cudaError_t pcm_unpack(enum pcm pcm, const unsigned char *in, size_t in_pitch, float *out,
                       size_t out_pitch, size_t frames, size_t rows, cudaStream_t stream);

#endif
