/* Masks of 25 to 112 taps on tensor cores (compute capability 8.0). Up to about 70 taps, copying is
 * the limit.
 *
 * Sixteen neighbouring outputs, c = 0..15, are a Toeplitz matrix of the mask times a window of the
 * input, T[c][p] = h[c + P - 16 - p], p = 0..P-1. Eight windows, 16 frames apart, make the product
 * of matrices of one tile: 128 outputs. P is the least multiple of 16 that is at least taps + 15.
 *
 * Each float becomes the sum of two 16-bit floats, value = high + low / 2^11, after a power of two
 * has brought the largest value of a chunk into [2^14, 2^15). This keeps 22 bits and a sign. The
 * products high high, high low and low high are summed. The product low low, at most 2^-22 of the
 * whole, is left out. Either rounding is at most 2^-23. In the worst case, with all products of one
 * sign and the worst residual, the error is 2^-21, -126 dB. For noise it is about -145 dB. (Ootomo
 * and Yokota, "Recovering single precision accuracy from Tensor Cores while surpassing the FP32
 * theoretical peak performance", 2022.) Tensor cores truncate their sums instead of rounding them.
 * So at most two products of matrices are added there, the rest by FADD. (With all of 257 taps
 * added there, the error is -115 dB with DC.)
 *
 * Warps do not wait for each other. Each loops over chunks of four tiles, and has the next chunk
 * copied while it computes. The inner index may be permuted if both matrices have the same
 * permutation. So a thread takes four neighbouring frames by one 8-byte load, and rows are assigned
 * so that two of its outputs are neighbours.
 */
#include "gpu/kernel_device.cuh"

extern "C" {
#include "base/status.h"
#include "gpu/gpu.h"
}

#include <cuda_fp16.h>
#include <stdlib.h>

static constexpr size_t TENSOR_TAPS_MOST = 112; /* the transform is faster from 97 on */
static constexpr int STEPS_MOST = 9;            /* the most steps, of 16 frames each, of a window */
static constexpr int TILE_FRAMES = 128;         /* outputs of one product of matrices */
static constexpr int CHUNK_TILES = 4;           /* tiles of a chunk, which has one power of two */
static constexpr int SIDE_BY_SIDE = 2; /* tiles that use a loaded fragment of the mask in turn */
static constexpr int SUMMED_THERE = 2; /* products of matrices that a tensor core adds */
static constexpr unsigned TENSOR_THREADS = 256; /* threads of a block, at most */
static constexpr unsigned TENSOR_BLOCKS = 2;    /* thread blocks on a multiprocessor */
static constexpr float LOW_SCALE = 2048;        /* 2^11: the bits of a high part */
static constexpr int FORM_HEAD = 4;             /* floats; the inverse scale, then padding */
static constexpr int STEP_FLOATS = 2 * 32 * 4; /* floats of a step: high and low, 16 bytes a lane */
static constexpr int LINE_FOURS = 8;           /* fours in a cache line of 128 bytes */
static constexpr unsigned ALL_LANES = 0xFFFFFFFF;

struct tensor_plan {
    size_t taps;
};

/* Number of zero taps to put before the mask, so that windows begin at multiples of 16 bytes. */
static inline __host__ __device__ size_t tensor_shift(size_t origin)
{
    return (4 - origin % 4) % 4;
}

static inline __host__ __device__ int steps_for(size_t taps, size_t shift)
{
    return (int)((taps + shift + 15 + 15) / 16);
}

/* Where the mask with this shift lies in the form, which has all four shifts. */
static inline __host__ __device__ size_t form_offset(size_t taps, size_t shift)
{
    size_t offset = FORM_HEAD;
    for (size_t before = 0; before < shift; before++)
        offset += (size_t)steps_for(taps, before) * STEP_FLOATS;
    return offset;
}

/* ---- numbers of 16 bits ---- */

/* The power of two that brings `most` into [2^14, 2^15), within the range of floats. */
__device__ __forceinline__ float scale_for(float most)
{
    int exponent = __float_as_int(most) >> 23 & 255;
    return __int_as_float(min(2 * 127 + 14 - min(max(exponent, 1), 254), 254) << 23);
}

__device__ __forceinline__ unsigned pack(float a, float b)
{
    __half2 both = __floats2half2_rn(a, b);
    return *reinterpret_cast<unsigned *>(&both);
}

/* Returns the high parts of a and b. *low: their low parts. */
__device__ __forceinline__ unsigned split(float a, float b, unsigned *low)
{
    unsigned high = pack(a, b);
    float2 rounded = __half22float2(*reinterpret_cast<__half2 *>(&high));
    *low = pack((a - rounded.x) * LOW_SCALE, (b - rounded.y) * LOW_SCALE);
    return high;
}

__device__ __forceinline__ float most_of(float4 four)
{
    return fmaxf(fmaxf(fabsf(four.x), fabsf(four.y)), fmaxf(fabsf(four.z), fabsf(four.w)));
}

/* ---- the mask's form ---- */

/* Each block writes one step of one shift. Thread 32 r + lane writes register r of its lane's
 * fragment. Registers 0 and 2 have row 2 (lane / 4), 1 and 3 the next row. Registers 0 and 1 have
 * frames 4 (lane % 4) and the next one, 2 and 3 the two after them. */
__global__ void tensor_form(const float *taps, int count, float *form)
{
    int shift = (int)blockIdx.y, step = (int)blockIdx.x, steps = steps_for((size_t)count, shift);
    if (step >= steps)
        return;
    float most = 0;
    for (int k = 0; k < count; k++)
        most = fmaxf(most, fabsf(taps[k]));
    float scale = scale_for(most), pair[2];
    int lane = (int)threadIdx.x % 32, r = (int)threadIdx.x / 32;
    for (int q = 0; q < 2; q++) {
        int p = 16 * step + 4 * (lane % 4) + (r >= 2 ? 2 : 0) + q, row = 2 * (lane / 4) + r % 2;
        int k = row + 16 * steps - 16 - p - shift;
        pair[q] = k >= 0 && k < count ? taps[k] * scale : 0.0f;
    }
    unsigned *to = reinterpret_cast<unsigned *>(form + form_offset((size_t)count, (size_t)shift)) +
                   step * STEP_FLOATS + lane * 4 + r;
    to[0] = split(pair[0], pair[1], &to[STEP_FLOATS / 2]);
    if (shift == 0 && step == 0 && threadIdx.x == 0)
        form[0] = 1.0f / scale;
}

/* ---- convolution ---- */

/* Only these three functions use instructions that older GPUs lack. */
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 800
__device__ __forceinline__ void multiply(float (&sum)[4], const uint4 &mask, uint2 window)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(mask.x), "r"(mask.y), "r"(mask.z), "r"(mask.w), "r"(window.x), "r"(window.y));
}

__device__ __forceinline__ void copy_later(float4 *to, const float4 *from)
{
    asm volatile(
        "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)),
        "l"(from)
        : "memory");
}

__device__ __forceinline__ void await_copies()
{
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncwarp();
}
#else
__device__ void multiply(float (&)[4], const uint4 &, uint2)
{
}
__device__ void copy_later(float4 *, const float4 *)
{
}
__device__ void await_copies()
{
}
#endif

template <int STEPS> struct chunk {
    static constexpr int FRAMES = CHUNK_TILES * TILE_FRAMES;
    static constexpr int HISTORY = 16 * STEPS - 16;
    static constexpr int FOURS = (FRAMES + HISTORY) / 4;
    static constexpr int EACH = (FOURS + 31) / 32;    /* fours that a lane copies */
    static constexpr int LOADED = FOURS + LINE_FOURS; /* fours from the begin of a cache line on */
    static constexpr size_t BYTES =
        (LOADED + FOURS) * sizeof(float4); /* bytes of a warp: frames, then high and low halves */
};

/* The first frame to load for the outputs from `base` on. A multiple of 4. */
template <int STEPS>
__device__ __forceinline__ long long first_of(const kernel_job &job, long long base)
{
    return base + (long long)(job.origin + tensor_shift(job.origin)) - chunk<STEPS>::HISTORY;
}

/* The fours before frame `first` in its cache line. They are copied, too, which is faster. */
__device__ __forceinline__ int fours_before(long long first)
{
    return (int)(first / 4) & (LINE_FOURS - 1);
}

/* Copies the input of the chunk whose outputs begin at `base`. */
template <int STEPS>
__device__ __forceinline__ void fetch(const kernel_job &job, float4 *raw, long long base, int lane)
{
    constexpr int LOADED = chunk<STEPS>::LOADED;
    long long first = first_of<STEPS>(job, base), frames = (long long)job.frames_in;
    first -= 4 * fours_before(first);
    if (first >= 0 && first + 4 * LOADED <= frames) {
        const float4 *from = reinterpret_cast<const float4 *>(job.in + first);
#pragma unroll
        for (int f = 0; f < LOADED; f += 32)
            if (f + lane < LOADED)
                copy_later(raw + f + lane, from + f + lane);
    } else {
        float *to = reinterpret_cast<float *>(raw);
        for (int j = lane; j < 4 * LOADED; j += 32)
            to[j] = ghost(job.in, first + j, frames, job.boundary);
    }
}

/* Converts the chunk to 16-bit numbers; `raw` is free then. Returns the inverse power of two. */
template <int STEPS>
__device__ __forceinline__ float convert(const float4 *raw, uint2 *high, uint2 *low, int lane)
{
    constexpr int FOURS = chunk<STEPS>::FOURS, EACH = chunk<STEPS>::EACH;
    float4 x[EACH];
    float most = 0;
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        x[e] = 32 * e + lane < FOURS ? raw[32 * e + lane] : make_float4(0, 0, 0, 0);
        most = fmaxf(most, most_of(x[e]));
    }
    for (int other = 16; other > 0; other /= 2)
        most = fmaxf(most, __shfl_xor_sync(ALL_LANES, most, other));
    float scale = scale_for(most);
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        if (32 * e + lane >= FOURS)
            break;
        uint2 highs, lows;
        highs.x = split(x[e].x * scale, x[e].y * scale, &lows.x);
        highs.y = split(x[e].z * scale, x[e].w * scale, &lows.y);
        high[32 * e + lane] = highs;
        low[32 * e + lane] = lows;
    }
    __syncwarp();
    return 1.0f / scale;
}

__device__ __forceinline__ void put_two(const kernel_job &job, bool whole, long long i, float a,
                                        float b)
{
    if (whole) {
        __stcs(reinterpret_cast<float2 *>(job.out + i), make_float2(a, b));
        return;
    }
    if (i < (long long)job.frames)
        put(job, i, a);
    if (i + 1 < (long long)job.frames)
        put(job, i + 1, b);
}

/* Computes SIDE_BY_SIDE tiles, whose windows begin at `high` and `low`, to outputs from `i` on. */
template <int STEPS>
__device__ __forceinline__ void convolve_tiles(const kernel_job &job, const uint4 (&mask)[STEPS][2],
                                               const uint2 *high, const uint2 *low, float back,
                                               bool whole, long long i)
{
    constexpr int TILE_PAIRS = TILE_FRAMES / 4; /* pairs of 16-bit numbers (uint2) of a tile */
    float total[SIDE_BY_SIDE][4] = {}, cross[SIDE_BY_SIDE][4] = {}, sum[SIDE_BY_SIDE][4];
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
#pragma unroll
        for (int tile = 0; tile < SIDE_BY_SIDE; tile++) {
            uint2 highs = high[TILE_PAIRS * tile + 4 * s], lows = low[TILE_PAIRS * tile + 4 * s];
            if (s % SUMMED_THERE == 0)
                sum[tile][0] = sum[tile][1] = sum[tile][2] = sum[tile][3] = 0;
            multiply(sum[tile], mask[s][0], highs);
            multiply(cross[tile], mask[s][0], lows);
            multiply(cross[tile], mask[s][1], highs);
            if (s % SUMMED_THERE == SUMMED_THERE - 1 || s == STEPS - 1)
#pragma unroll
                for (int q = 0; q < 4; q++)
                    total[tile][q] += sum[tile][q];
        }
    }
#pragma unroll
    for (int tile = 0; tile < SIDE_BY_SIDE; tile++) {
        float y[4]; /* rows r, r, r + 1, r + 1; windows w, w + 1, w, w + 1 */
#pragma unroll
        for (int q = 0; q < 4; q++)
            y[q] = (total[tile][q] + cross[tile][q] * (1 / LOW_SCALE)) * back;
        put_two(job, whole, i + tile * TILE_FRAMES, y[0], y[2]);
        put_two(job, whole, i + tile * TILE_FRAMES + 16, y[1], y[3]);
    }
}

template <int STEPS>
__global__ void __launch_bounds__(TENSOR_THREADS, TENSOR_BLOCKS) convolve_tensor(kernel_job job)
{
    extern __shared__ __align__(16) float4 tensor_shared[];
    constexpr int FOURS = chunk<STEPS>::FOURS, FRAMES = chunk<STEPS>::FRAMES;
    int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, warps = (int)blockDim.x / 32;
    float4 *raw = tensor_shared + warp * (chunk<STEPS>::LOADED + FOURS);
    uint2 *high = reinterpret_cast<uint2 *>(raw + chunk<STEPS>::LOADED), *low = high + FOURS;

    size_t shift = tensor_shift(job.origin);
    const uint4 *form =
        reinterpret_cast<const uint4 *>(job.mask + form_offset(job.taps, shift)) + lane;
    uint4 mask[STEPS][2];
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
        mask[s][0] = __ldg(form + 64 * s);
        mask[s][1] = __ldg(form + 64 * s + 32);
    }
    float mask_back = __ldg(job.mask);

    long long frames = (long long)job.frames, step = (long long)gridDim.x * warps * FRAMES;
    long long base = ((long long)blockIdx.x * warps + warp) * FRAMES;
    if (base < frames)
        fetch<STEPS>(job, raw, base, lane);
    for (; base < frames; base += step) {
        await_copies();
        float back =
            convert<STEPS>(raw + fours_before(first_of<STEPS>(job, base)), high, low, lane) *
            mask_back;
        bool whole = base + FRAMES <= frames && !job.add;
        if (base + step < frames)
            fetch<STEPS>(job, raw, base + step, lane);
        long long i = base + 32 * (lane % 4) + 2 * (lane / 4);
#pragma unroll 1
        for (int tile = 0; tile < CHUNK_TILES; tile += SIDE_BY_SIDE)
            convolve_tiles<STEPS>(job, mask, high + TILE_FRAMES / 4 * tile + lane,
                                  low + TILE_FRAMES / 4 * tile + lane, back, whole,
                                  i + tile * TILE_FRAMES);
        __syncwarp();
    }
}

template <int STEPS>
static cudaError_t launch_steps(const struct kernel_job *job, cudaStream_t stream)
{
    if constexpr (STEPS > 1)
        if (steps_for(job->taps, tensor_shift(job->origin)) < STEPS)
            return launch_steps<STEPS - 1>(job, stream);
    unsigned threads = job->threads ? job->threads : TENSOR_THREADS;
    if (threads > TENSOR_THREADS)
        threads = TENSOR_THREADS;
    int processors;
    CUDA_TRY(gpu_attribute(cudaDevAttrMultiProcessorCount, &processors));
    unsigned needed = blocks_for(job->frames, (size_t)chunk<STEPS>::FRAMES * (threads / 32));
    unsigned most = (unsigned)processors * TENSOR_BLOCKS * (TENSOR_THREADS / threads);
    unsigned blocks = needed < most ? needed : most;
    size_t bytes = threads / 32 * chunk<STEPS>::BYTES;
    convolve_tensor<STEPS><<<blocks, threads, bytes, stream>>>(*job);
    return cudaGetLastError();
}

/* ---- the kernel ---- */

/* Decided by what the code was compiled for, since a newer GPU may run code made for older ones. */
static bool tensor_is_usable(void)
{
    struct cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, convolve_tensor<1>) == cudaSuccess &&
           attributes.ptxVersion >= 80;
}

static enum status tensor_open(const struct kernel_shape *shape, struct kernel_plan **result)
{
    struct tensor_plan *plan = static_cast<struct tensor_plan *>(malloc(sizeof *plan));
    if (!plan)
        return fail_memory("a kernel");
    plan->taps = shape->taps;
    *result = reinterpret_cast<struct kernel_plan *>(plan);
    return STATUS_OK;
}

static void tensor_close(struct kernel_plan *plan)
{
    free(plan);
}

static size_t taps_of(const struct kernel_plan *plan)
{
    return reinterpret_cast<const struct tensor_plan *>(plan)->taps;
}

static size_t tensor_form_floats(const struct kernel_plan *plan)
{
    return form_offset(taps_of(plan), 4);
}

static cudaError_t tensor_form_mask(struct kernel_plan *plan, const float *taps, float *form,
                                    cudaStream_t stream)
{
    dim3 blocks((unsigned)STEPS_MOST, 4);
    tensor_form<<<blocks, 128, 0, stream>>>(taps, (int)taps_of(plan), form);
    return cudaGetLastError();
}

static cudaError_t tensor_launch(const struct kernel_job *job, cudaStream_t stream)
{
    return launch_steps<STEPS_MOST>(job, stream);
}

const struct kernel kernel_tensor = {
    .name = "tensor",
    .technique = "direct, on tensor cores",
    .taps_most = TENSOR_TAPS_MOST,
    .is_usable = tensor_is_usable,
    .open = tensor_open,
    .close = tensor_close,
    .form_floats = tensor_form_floats,
    .form = tensor_form_mask,
    .launch = tensor_launch,
};
