/* The passes before, between and after cuFFT's transforms; each reads and writes all chunks. */
extern "C" {
#include "gpu/fft_kernels.h"
}
#include "gpu/kernel_device.cuh"

__global__ void pad_taps(const float *__restrict__ taps, size_t count, size_t fft,
                         float2 *__restrict__ work)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < fft)
        work[i] = make_float2(i < count ? taps[i] / (float)fft : 0.0f, 0.0f);
}

/* blockIdx.y is the pair; x runs along its points. */
__global__ void gather_pairs(kernel_job job, fft_plan plan, size_t first, float2 *__restrict__ work)
{
    size_t p = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= plan.fft)
        return;
    long long frames = (long long)job.frames_in;
    long long at = (long long)((first + blockIdx.y) * 2 * plan.hop + job.origin + p) -
                   (long long)plan.history_frames;
    work[blockIdx.y * plan.fft + p] =
        make_float2(ghost(job.in, at, frames, job.boundary),
                    ghost(job.in, at + (long long)plan.hop, frames, job.boundary));
}

__global__ void multiply_pairs(size_t fft, const float2 *__restrict__ form,
                               float2 *__restrict__ work)
{
    size_t p = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= fft)
        return;
    float2 x = work[blockIdx.y * fft + p], h = form[p];
    work[blockIdx.y * fft + p] = make_float2(x.x * h.x - x.y * h.y, x.x * h.y + x.y * h.x);
}

__global__ void scatter_pairs(kernel_job job, fft_plan plan, size_t first,
                              const float2 *__restrict__ work)
{
    size_t q = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (q >= plan.hop)
        return;
    float2 y = work[blockIdx.y * plan.fft + plan.history_frames + q];
    long long i = (long long)((first + blockIdx.y) * 2 * plan.hop + q);
    if (i < (long long)job.frames)
        put(job, i, y.x);
    i += (long long)plan.hop;
    if (i < (long long)job.frames)
        put(job, i, y.y);
}

/* The same for pairs of many sounds. */
__global__ void gather_any(size_t fft, const fft_pair *__restrict__ pairs,
                           float2 *__restrict__ work)
{
    size_t p = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= fft)
        return;
    const fft_pair &pair = pairs[blockIdx.y];
    long long frames = (long long)pair.job.frames_in;
    long long at = (long long)(pair.job.origin + p) - (long long)pair.history_frames;
    work[blockIdx.y * fft + p] = make_float2(
        ghost(pair.job.in, at, frames, KERNEL_ZERO),
        ghost(pair.job.in, at + (long long)(fft - pair.history_frames), frames, KERNEL_ZERO));
}

__global__ void multiply_any(size_t fft, const fft_pair *__restrict__ pairs,
                             float2 *__restrict__ work)
{
    size_t p = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= fft)
        return;
    float2 x = work[blockIdx.y * fft + p];
    float2 h = __ldg(reinterpret_cast<const float2 *>(pairs[blockIdx.y].job.mask) + p);
    work[blockIdx.y * fft + p] = make_float2(x.x * h.x - x.y * h.y, x.x * h.y + x.y * h.x);
}

__global__ void scatter_any(size_t fft, const fft_pair *__restrict__ pairs,
                            const float2 *__restrict__ work)
{
    const fft_pair &pair = pairs[blockIdx.y];
    size_t p = (size_t)blockIdx.x * blockDim.x + threadIdx.x, hop = fft - pair.history_frames;
    if (p >= fft || p < pair.history_frames)
        return;
    float2 y = work[blockIdx.y * fft + p];
    size_t i = p - pair.history_frames;
    if (i < pair.job.frames)
        put(pair.job, (long long)i, y.x);
    if (i + hop < pair.job.frames)
        put(pair.job, (long long)(i + hop), y.y);
}

static dim3 grid_for(size_t points, size_t pairs)
{
    return dim3(blocks_for(points, THREADS), (unsigned)pairs);
}

cudaError_t fft_pass_pad(const float *taps, size_t count, size_t fft, float2 *work,
                         cudaStream_t stream)
{
    pad_taps<<<blocks_for(fft, THREADS), THREADS, 0, stream>>>(taps, count, fft, work);
    return cudaGetLastError();
}

cudaError_t fft_pass_gather(const struct kernel_job *job, const struct fft_plan *plan, size_t first,
                            size_t pairs, float2 *work, cudaStream_t stream)
{
    gather_pairs<<<grid_for(plan->fft, pairs), THREADS, 0, stream>>>(*job, *plan, first, work);
    return cudaGetLastError();
}

cudaError_t fft_pass_multiply(const struct fft_plan *plan, size_t pairs, const float *form,
                              float2 *work, cudaStream_t stream)
{
    multiply_pairs<<<grid_for(plan->fft, pairs), THREADS, 0, stream>>>(
        plan->fft, reinterpret_cast<const float2 *>(form), work);
    return cudaGetLastError();
}

cudaError_t fft_pass_scatter(const struct kernel_job *job, const struct fft_plan *plan,
                             size_t first, size_t pairs, const float2 *work, cudaStream_t stream)
{
    scatter_pairs<<<grid_for(plan->hop, pairs), THREADS, 0, stream>>>(*job, *plan, first, work);
    return cudaGetLastError();
}

cudaError_t fft_pairs_gather(size_t fft, const struct fft_pair *pairs, size_t count, float2 *work,
                             cudaStream_t stream)
{
    gather_any<<<grid_for(fft, count), THREADS, 0, stream>>>(fft, pairs, work);
    return cudaGetLastError();
}

cudaError_t fft_pairs_multiply(size_t fft, const struct fft_pair *pairs, size_t count, float2 *work,
                               cudaStream_t stream)
{
    multiply_any<<<grid_for(fft, count), THREADS, 0, stream>>>(fft, pairs, work);
    return cudaGetLastError();
}

cudaError_t fft_pairs_scatter(size_t fft, const struct fft_pair *pairs, size_t count,
                              const float2 *work, cudaStream_t stream)
{
    scatter_any<<<grid_for(fft, count), THREADS, 0, stream>>>(fft, pairs, work);
    return cudaGetLastError();
}
