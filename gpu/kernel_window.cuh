/* Short masks of the kernel "register". A thread's whole window is in registers, loaded by 16-byte
 * loads through the L1 cache. The loop over taps is unrolled for each length. No shared memory, no
 * barrier.
 *
 * The 37 lengths take long to compile. So they are divided among files, kernel_register_N.cu, which
 * can be compiled in parallel. Each file has its own bank of constant memory.
 */
#ifndef HALO_GPU_KERNEL_WINDOW_CUH
#define HALO_GPU_KERNEL_WINDOW_CUH

#include "gpu/constant_mask.cuh"
#include "gpu/kernel_device.cuh"

static constexpr int WINDOW_TAPS_FINE = 132; /* up to here one for each 4 taps, above for each 16 */
static constexpr int WINDOW_TAPS_NARROW = 36; /* up to here 4 outputs per thread, above 8 */
static constexpr int WINDOW_RUN = 64;         /* taps whose products are one sum */
static constexpr unsigned WINDOW_THREADS = 256;

/* The lengths of one file. */
struct window_kernels {
    size_t taps_most; /* the longest mask, as window_taps() counts taps */
    cudaError_t (*load)(const struct kernel_job *job, cudaStream_t stream);
    void (*launch)(const struct kernel_job *job, cudaStream_t stream);
};

extern const struct window_kernels window_kernels_84, window_kernels_120, window_kernels_196;

/* Zero taps before the mask: origin + shift is a multiple of 4, so that the window is aligned. */
static inline size_t window_shift(const struct kernel_job *job)
{
    return (4 - job->origin % 4) % 4;
}

/* The length of the kernel for this job: 4, 8 ... 132, 148, 164 ... 196. */
static inline size_t window_taps(const struct kernel_job *job)
{
    size_t taps = job->taps + window_shift(job);
    if (taps <= WINDOW_TAPS_FINE)
        return (taps + 3) / 4 * 4;
    return WINDOW_TAPS_FINE + (taps - WINDOW_TAPS_FINE + 15) / 16 * 16;
}

template <int TAPS, int OUTPUTS>
__global__ void __launch_bounds__(WINDOW_THREADS) convolve_window(kernel_job job, int origin)
{
    constexpr int HISTORY = TAPS; /* a multiple of 4 that holds TAPS - 1 frames */
    long long frames = (long long)job.frames, frames_in = (long long)job.frames_in;
    long long tile = (long long)blockDim.x * OUTPUTS, base = blockIdx.x * tile;
    if (base + origin - HISTORY < 0 || base + origin + tile > frames_in || base + tile > frames) {
        for (long long i = base + threadIdx.x; i < base + tile && i < frames; i += blockDim.x) {
            float sum = 0;
            for (int start = 0; start < TAPS; start += WINDOW_RUN) {
                float run = 0;
                for (int k = start; k < TAPS && k < start + WINDOW_RUN; k++)
                    run +=
                        constant_mask[k] * ghost(job.in, i + origin - k, frames_in, job.boundary);
                sum += run;
            }
            put(job, i, sum);
        }
        return;
    }
    long long i = base + (long long)threadIdx.x * OUTPUTS;
    const float *__restrict__ from = job.in + i + origin - HISTORY;
    float window[HISTORY + OUTPUTS], sum[OUTPUTS], total[OUTPUTS];
#pragma unroll
    for (int j = 0; j < HISTORY + OUTPUTS; j += 4) {
        float4 four = __ldg(reinterpret_cast<const float4 *>(from + j));
        window[j] = four.x, window[j + 1] = four.y, window[j + 2] = four.z, window[j + 3] = four.w;
    }
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++)
        total[r] = 0;
#pragma unroll
    for (int start = 0; start < TAPS; start += WINDOW_RUN) {
#pragma unroll
        for (int r = 0; r < OUTPUTS; r++)
            sum[r] = 0;
#pragma unroll
        for (int k = start; k < TAPS && k < start + WINDOW_RUN; k++)
#pragma unroll
            for (int r = 0; r < OUTPUTS; r++)
                sum[r] += constant_mask[k] * window[HISTORY + r - k];
#pragma unroll
        for (int r = 0; r < OUTPUTS; r++)
            total[r] += sum[r];
    }
#pragma unroll
    for (int r = 0; r < OUTPUTS; r += 4)
        put_four(job, i + r, make_float4(total[r], total[r + 1], total[r + 2], total[r + 3]));
}

/* Launches the kernel of the right length, from LEAST to TAPS. */
template <int TAPS, int LEAST>
static void launch_window(const struct kernel_job *job, cudaStream_t stream)
{
    constexpr int SHORTER = TAPS > WINDOW_TAPS_FINE ? TAPS - 16 : TAPS - 4;
    if constexpr (SHORTER >= LEAST) {
        if (window_taps(job) <= (size_t)SHORTER) {
            launch_window<SHORTER, LEAST>(job, stream);
            return;
        }
    }
    constexpr int OUTPUTS = TAPS <= WINDOW_TAPS_NARROW ? 4 : 8;
    unsigned threads = job->threads ? job->threads : WINDOW_THREADS;
    if (threads > WINDOW_THREADS)
        threads = WINDOW_THREADS;
    convolve_window<TAPS, OUTPUTS>
        <<<blocks_for(job->frames, (size_t)threads * OUTPUTS), threads, 0, stream>>>(
            *job, (int)(job->origin + window_shift(job)));
}

static inline cudaError_t load_window(const struct kernel_job *job, cudaStream_t stream)
{
    size_t before = window_shift(job);
    return constant_mask_load_between(job->mask, before, job->taps,
                                      window_taps(job) - before - job->taps, stream);
}

#endif
