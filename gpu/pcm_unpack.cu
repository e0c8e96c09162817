/* Integers to float32. */
extern "C" {
#include "gpu/pcm.h"
}

#include <cuda_runtime.h>

static constexpr unsigned THREADS = 256;

/* blockIdx.y is the row. */
__global__ void unpack_16(const unsigned char *__restrict__ in, size_t in_pitch,
                          float *__restrict__ out, size_t out_pitch, size_t frames)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    const short *row = reinterpret_cast<const short *>(in + blockIdx.y * in_pitch);
    if (i < frames)
        out[blockIdx.y * out_pitch + i] = (float)row[i] * 0x1p-15f;
}

__global__ void unpack_24(const unsigned char *__restrict__ in, size_t in_pitch,
                          float *__restrict__ out, size_t out_pitch, size_t frames)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= frames)
        return;
    const unsigned char *three = in + blockIdx.y * in_pitch + 3 * i;
    /* The sample is in the upper bits, so that a shift extends its sign. */
    int sample =
        (int)((unsigned)three[0] << 8 | (unsigned)three[1] << 16 | (unsigned)three[2] << 24);
    out[blockIdx.y * out_pitch + i] = (float)(sample >> 8) * 0x1p-23f;
}

cudaError_t pcm_unpack(enum pcm pcm, const unsigned char *in, size_t in_pitch, float *out,
                       size_t out_pitch, size_t frames, size_t rows, cudaStream_t stream)
{
    dim3 grid((unsigned)((frames + THREADS - 1) / THREADS), (unsigned)rows);
    if (pcm == PCM_16)
        unpack_16<<<grid, THREADS, 0, stream>>>(in, in_pitch, out, out_pitch, frames);
    else
        unpack_24<<<grid, THREADS, 0, stream>>>(in, in_pitch, out, out_pitch, frames);
    return cudaGetLastError();
}
