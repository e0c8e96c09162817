/* Each thread owns neighbouring outputs and slides a window of the sound through
 * registers, so that a loaded frame serves many products; the mask comes from
 * constant memory as an operand of the multiplication itself.
 *
 * Short masks (window): the whole window of a thread fits its registers and comes
 * straight from the L1 cache by 16-byte loads; the loop over taps is unrolled for
 * each length. Neither shared memory nor a barrier is in the way of the copy.
 *
 * Long masks (slide): the block's tile and halo lie in shared memory. A thread
 * takes 16 outputs and 16 taps at a time: 256 multiply-adds for four 16-byte
 * loads. Threads are 16 frames apart, which would hit the same banks: every 16
 * frames 4 unused ones are left (skew), so that eight threads' 16-byte loads meet
 * all 32 banks. Products are summed in runs of 64 taps, the
 * runs by sixteen, and those sums then: rounding grows with the root of each. */
#include "gpu/constant_mask.cuh"
#include "gpu/kernel_device.cuh"

static constexpr int WINDOW_TAPS_MOST = 196;
static constexpr int WINDOW_TAPS_FINE = 132;  /* a kernel for every 4 taps, above for every 16 */
static constexpr int WINDOW_TAPS_NARROW = 36; /* up to here 4 outputs a thread, above 8 */
static constexpr int WINDOW_RUN = 64; /* taps summed in a row */
static constexpr unsigned WINDOW_THREADS = 256;

static constexpr int SLIDE_OUTPUTS = 16;
static constexpr int SLIDE_SKEWED = 20; /* floats that 16 frames take in shared memory */
static constexpr int SLIDE_PAIRS = 2;   /* pairs of 16 taps summed in a row */
static constexpr int SLIDE_RUNS = 16;   /* such sums summed in a row */
static constexpr unsigned SLIDE_THREADS = 256; /* more would leave too few registers */
static constexpr unsigned SLIDE_BLOCKS = 2;    /* on a multiprocessor, at least */
static constexpr unsigned SLIDE_THREADS_SHORT = 128;
static constexpr size_t SLIDE_TAPS_SHORT = 512;

/* ---- short masks ---- */

/* A mask whose origin is no multiple of 4 is loaded behind as many zero taps as
 * are missing: the window then begins on 16 bytes. */
static size_t window_shift(const struct kernel_job *job)
{
    return (4 - job->origin % 4) % 4;
}

/* The taps of the kernel made for this many: 4, 8 ... 132, 148, 164 ... 196. */
static size_t window_taps(const struct kernel_job *job)
{
    size_t taps = job->taps + window_shift(job);
    if (taps <= WINDOW_TAPS_FINE)
        return (taps + 3) / 4 * 4;
    return WINDOW_TAPS_FINE + (taps - WINDOW_TAPS_FINE + 15) / 16 * 16;
}

template <int TAPS, int OUTPUTS>
__global__ void __launch_bounds__(WINDOW_THREADS) convolve_window(kernel_job job, int origin)
{
    constexpr int PAST = TAPS; /* a multiple of 4 that holds TAPS - 1 frames */
    long long frames = (long long)job.frames, frames_in = (long long)job.frames_in;
    long long tile = (long long)blockDim.x * OUTPUTS, base = blockIdx.x * tile;
    if (base + origin - PAST < 0 || base + origin + tile > frames_in || base + tile > frames) {
        for (long long i = base + threadIdx.x; i < base + tile && i < frames; i += blockDim.x) {
            float sum = 0;
            for (int start = 0; start < TAPS; start += WINDOW_RUN) {
                float run = 0;
                for (int k = start; k < TAPS && k < start + WINDOW_RUN; k++)
                    run += constant_mask[k] *
                           ghost(job.in, i + origin - k, frames_in, job.boundary);
                sum += run;
            }
            put(job, i, sum);
        }
        return;
    }
    long long i = base + (long long)threadIdx.x * OUTPUTS;
    const float *__restrict__ from = job.in + i + origin - PAST;
    float window[PAST + OUTPUTS], sum[OUTPUTS], total[OUTPUTS];
#pragma unroll
    for (int j = 0; j < PAST + OUTPUTS; j += 4) {
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
                sum[r] += constant_mask[k] * window[PAST + r - k];
#pragma unroll
        for (int r = 0; r < OUTPUTS; r++)
            total[r] += sum[r];
    }
#pragma unroll
    for (int r = 0; r < OUTPUTS; r += 4)
        put_four(job, i + r, make_float4(total[r], total[r + 1], total[r + 2], total[r + 3]));
}

/* Finds the kernel made for this many taps. */
template <int TAPS> static void launch_window(const struct kernel_job *job, cudaStream_t stream)
{
    constexpr int SHORTER = TAPS > WINDOW_TAPS_FINE ? TAPS - 16 : TAPS > 4 ? TAPS - 4 : TAPS;
    if (window_taps(job) <= (size_t)SHORTER && SHORTER < TAPS) {
        launch_window<SHORTER>(job, stream);
        return;
    }
    constexpr int OUTPUTS = TAPS <= WINDOW_TAPS_NARROW ? 4 : 8;
    unsigned threads = job->threads ? job->threads : WINDOW_THREADS;
    if (threads > WINDOW_THREADS)
        threads = WINDOW_THREADS;
    convolve_window<TAPS, OUTPUTS>
        <<<blocks_for(job->frames, (size_t)threads * OUTPUTS), threads, 0, stream>>>(
            *job, (int)(job->origin + window_shift(job)));
}

/* ---- long masks ---- */

__device__ __forceinline__ void load_frames(float (&frames)[SLIDE_OUTPUTS], const float *from)
{
#pragma unroll
    for (int j = 0; j < SLIDE_OUTPUTS; j += 4) {
        float4 four = *reinterpret_cast<const float4 *>(from + j);
        frames[j] = four.x, frames[j + 1] = four.y, frames[j + 2] = four.z, frames[j + 3] = four.w;
    }
}

/* sum[r] += taps [first, first + 16) on a window of 32 frames: `near` holds those
 * of the outputs, `far` the 16 before. In the last 16 taps, whole fours. */
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
                sum[r] += constant_mask[first + t] *
                          (r >= t ? near[r - t] : far[SLIDE_OUTPUTS + r - t]);
    }
}

__device__ __forceinline__ void move_sum(float (&total)[SLIDE_OUTPUTS],
                                         float (&sum)[SLIDE_OUTPUTS])
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

/* shared[skewed(j)] = frame first + j, j = 0..count-1; count and the block even in 4s. */
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
    int device = 0, most = 0; /* of shared memory: smaller GPUs have not room for all lengths */
    if (cudaGetDevice(&device) == cudaSuccess &&
        cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) ==
            cudaSuccess)
        while (threads > 32 && slide_bytes(threads, job->taps) > (size_t)most)
            threads /= 2;
    return threads;
}

/* ---- both ---- */

static bool is_short(const struct kernel_job *job)
{
    return window_taps(job) <= (size_t)WINDOW_TAPS_MOST;
}

static cudaError_t register_load(const struct kernel_job *job, cudaStream_t stream)
{
    static const float zeros[SLIDE_OUTPUTS] = {0};
    size_t shift = is_short(job) ? window_shift(job) : 0;
    size_t end = shift + job->taps;
    /* Taps are taken by fours, or as many as the kernel was made for. */
    size_t after = (is_short(job) ? window_taps(job) : (end + 3) / 4 * 4) - end;
    cudaError_t error = cudaSuccess;
    if (!is_short(job))
        error = cudaFuncSetAttribute(convolve_slide, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     (int)slide_bytes(slide_threads(job), job->taps));
    if (error == cudaSuccess && shift > 0)
        error = constant_mask_load(zeros, 0, shift, stream);
    if (error == cudaSuccess)
        error = constant_mask_load(job->mask, shift, job->taps, stream);
    if (error == cudaSuccess && after > 0)
        error = constant_mask_load(zeros, end, after, stream);
    return error;
}

static cudaError_t register_launch(const struct kernel_job *job, cudaStream_t stream)
{
    unsigned threads = slide_threads(job);
    if (is_short(job))
        launch_window<WINDOW_TAPS_MOST>(job, stream);
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
