/* Each thread owns neighbouring outputs and slides a window of the input through registers, so that
 * a loaded frame is used many times. The mask is a constant-memory operand of the FMA.
 *
 * Short masks (window): kernel_window.cuh.
 *
 * Long masks (slide): tile and halo are in shared memory. A thread takes 16 outputs and 16 taps at
 * a time: 256 FMAs for four 16-byte loads. Threads are 16 frames apart, so every 16 frames are
 * followed by 4 unused ones (skew). Then eight threads' 16-byte loads use all 32 banks. To limit
 * rounding, sums have three levels: products in runs of 64 taps, runs by sixteen, then these sums.
 */
#include "gpu/kernel_window.cuh"

static constexpr int SLIDE_OUTPUTS = 16;
static constexpr int SLIDE_SKEWED = 20;        /* floats that 16 frames take in shared memory */
static constexpr int SLIDE_PAIRS = 2;          /* pairs of 16 taps whose products are one sum */
static constexpr int SLIDE_RUNS = 16;          /* runs that are added to one sum */
static constexpr unsigned SLIDE_THREADS = 256; /* more threads would have too few registers each */
static constexpr unsigned SLIDE_BLOCKS = 2;    /* blocks on a multiprocessor, at least */
static constexpr unsigned SLIDE_THREADS_SHORT = 128;
static constexpr size_t SLIDE_TAPS_SHORT = 512;

/* ---- long masks ---- */

__device__ __forceinline__ void load_frames(float (&frames)[SLIDE_OUTPUTS], const float *from)
{
#pragma unroll
    for (int j = 0; j < SLIDE_OUTPUTS; j += 4) {
        float4 four = *reinterpret_cast<const float4 *>(from + j);
        frames[j] = four.x, frames[j + 1] = four.y, frames[j + 2] = four.z, frames[j + 3] = four.w;
    }
}

/* sum[r] += taps [first, first + 16), applied to a window of 32 frames. `near`: the outputs' own
 * frames. `far`: the 16 frames before them. LAST: stops at the next multiple of 4 taps. */
template <bool LAST>
__device__ __forceinline__ void add_taps(float (&sum)[SLIDE_OUTPUTS],
                                         const float (&near)[SLIDE_OUTPUTS],
                                         const float (&far)[SLIDE_OUTPUTS], int first, int taps)
{
#pragma unroll
    for (int four = 0; four < SLIDE_OUTPUTS; four += 4) {
        if (LAST && first + four >= taps)
            break;
#pragma unroll
        for (int t = four; t < four + 4; t++)
#pragma unroll
            for (int r = 0; r < SLIDE_OUTPUTS; r++)
                sum[r] +=
                    constant_mask[first + t] * (r >= t ? near[r - t] : far[SLIDE_OUTPUTS + r - t]);
    }
}

__device__ __forceinline__ void move_sum(float (&total)[SLIDE_OUTPUTS], float (&sum)[SLIDE_OUTPUTS])
{
#pragma unroll
    for (int r = 0; r < SLIDE_OUTPUTS; r++) {
        total[r] += sum[r];
        sum[r] = 0;
    }
}

__device__ __forceinline__ int skewed(int j)
{
    return j + j / SLIDE_OUTPUTS * (SLIDE_SKEWED - SLIDE_OUTPUTS);
}

/* shared[skewed(j)] = frame first + j for j < count. `count` and the block size: multiples of 4. */
__device__ __forceinline__ void load_tile(const kernel_job &job, float *shared, long long first,
                                          int count)
{
    long long frames = (long long)job.frames_in;
    bool whole = first % 4 == 0 && first >= 0 && first + count <= frames;
    if (whole) {
        for (int j = (int)threadIdx.x * 4; j < count; j += (int)blockDim.x * 4)
            *reinterpret_cast<float4 *>(shared + skewed(j)) =
                __ldg(reinterpret_cast<const float4 *>(job.in + first + j));
    } else {
        for (int j = (int)threadIdx.x; j < count; j += (int)blockDim.x)
            shared[skewed(j)] = ghost(job.in, first + j, frames, job.boundary);
    }
}

__global__ void __launch_bounds__(SLIDE_THREADS, SLIDE_BLOCKS) convolve_slide(kernel_job job)
{
    extern __shared__ __align__(16) float shared[];
    int taps = (int)job.taps;
    int history_frames = (taps + SLIDE_OUTPUTS - 1) / SLIDE_OUTPUTS * SLIDE_OUTPUTS;
    int tile = (int)blockDim.x * SLIDE_OUTPUTS;
    long long base = (long long)blockIdx.x * tile;
    load_tile(job, shared, base + (long long)job.origin - history_frames, history_frames + tile);
    __syncthreads();

    float total[SLIDE_OUTPUTS] = {0}, runs[SLIDE_OUTPUTS] = {0}, sum[SLIDE_OUTPUTS] = {0};
    float even[SLIDE_OUTPUTS], odd[SLIDE_OUTPUTS];
    const float *at = shared + skewed(history_frames + (int)threadIdx.x * SLIDE_OUTPUTS);
    load_frames(even, at);
    int k = 0, pairs = taps / (2 * SLIDE_OUTPUTS);
    for (int pair = 0, run = 1; pair < pairs; run++) {
        int end = min(pair + SLIDE_PAIRS, pairs);
        for (; pair < end; pair++, k += 2 * SLIDE_OUTPUTS) {
            load_frames(odd, at -= SLIDE_SKEWED);
            add_taps<false>(sum, even, odd, k, taps);
            load_frames(even, at -= SLIDE_SKEWED);
            add_taps<false>(sum, odd, even, k + SLIDE_OUTPUTS, taps);
        }
        move_sum(runs, sum);
        if (run % SLIDE_RUNS == 0)
            move_sum(total, runs);
    }
    if (k < taps) {
        load_frames(odd, at -= SLIDE_SKEWED);
        add_taps<true>(sum, even, odd, k, taps);
    }
    if (k + SLIDE_OUTPUTS < taps) {
        load_frames(even, at -= SLIDE_SKEWED);
        add_taps<true>(sum, odd, even, k + SLIDE_OUTPUTS, taps);
    }
    move_sum(runs, sum);
    move_sum(total, runs);

    long long i = base + (long long)threadIdx.x * SLIDE_OUTPUTS;
    if (i + SLIDE_OUTPUTS <= (long long)job.frames) {
#pragma unroll
        for (int r = 0; r < SLIDE_OUTPUTS; r += 4)
            put_four(job, i + r, make_float4(total[r], total[r + 1], total[r + 2], total[r + 3]));
    } else {
#pragma unroll
        for (int r = 0; r < SLIDE_OUTPUTS; r++)
            if (i + r < (long long)job.frames)
                put(job, i + r, total[r]);
    }
}

static size_t slide_bytes(size_t threads, size_t taps)
{
    size_t rows = threads + (taps + SLIDE_OUTPUTS - 1) / SLIDE_OUTPUTS;
    return rows * SLIDE_SKEWED * sizeof(float);
}

static unsigned slide_threads(const struct kernel_job *job)
{
    unsigned threads = job->taps <= SLIDE_TAPS_SHORT ? SLIDE_THREADS_SHORT : SLIDE_THREADS;
    if (job->threads)
        threads = job->threads < SLIDE_THREADS ? job->threads : SLIDE_THREADS;
    int most; /* shared memory; some GPUs have too little for long masks */
    if (gpu_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, &most) == cudaSuccess)
        while (threads > 32 && slide_bytes(threads, job->taps) > (size_t)most)
            threads /= 2;
    return threads;
}

/* ---- both ---- */

/* The kernels of the file with the right lengths. NULL: the mask is too long for them. */
static const struct window_kernels *window_kernels_for(const struct kernel_job *job)
{
    static const struct window_kernels *const files[] = {&window_kernels_84, &window_kernels_120,
                                                         &window_kernels_196};
    for (const struct window_kernels *file : files)
        if (window_taps(job) <= file->taps_most)
            return file;
    return NULL;
}

static cudaError_t register_load(const struct kernel_job *job, cudaStream_t stream)
{
    const struct window_kernels *window = window_kernels_for(job);
    if (window)
        return window->load(job, stream);
    CUDA_TRY(cudaFuncSetAttribute(convolve_slide, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  (int)slide_bytes(slide_threads(job), job->taps)));
    size_t after = (job->taps + 3) / 4 * 4 - job->taps; /* zeros up to a multiple of 4 taps */
    return constant_mask_load_between(job->mask, 0, job->taps, after, stream);
}

static cudaError_t register_launch(const struct kernel_job *job, cudaStream_t stream)
{
    const struct window_kernels *window = window_kernels_for(job);
    unsigned threads = slide_threads(job);
    if (window)
        window->launch(job, stream);
    else
        convolve_slide<<<blocks_for(job->frames, (size_t)threads * SLIDE_OUTPUTS), threads,
                         slide_bytes(threads, job->taps), stream>>>(*job);
    return cudaGetLastError();
}

const struct kernel kernel_register = {
    .name = "register",
    .technique = "direct, window in registers",
    .taps_most = KERNEL_TAPS_CONSTANT,
    .load = register_load,
    .launch = register_launch,
};
