/* The kernels of a live graph (live_graph_kernels.h). */
#include "gpu/live_transform.cuh"

extern "C" {
#include "gpu/gpu.h"
#include "gpu/live_graph_kernels.h"
}

static constexpr unsigned SUM_RUN = 16; /* products that are summed without compensation */

/* sum += added. `lost` keeps what rounding loses (Kahan 1965). */
__device__ __forceinline__ void add_run(float &sum, float &lost, float added)
{
    added -= lost;
    float whole = sum + added;
    lost = (whole - sum) - added;
    sum = whole;
}

__device__ __forceinline__ void add_run(float4 &sum, float4 &lost, float4 run)
{
    add_run(sum.x, lost.x, run.x);
    add_run(sum.y, lost.y, run.y);
    add_run(sum.z, lost.z, run.z);
    add_run(sum.w, lost.w, run.w);
}

__device__ __forceinline__ const live_graph_mask *mask_in(const live_graph_state &s,
                                                          const live_header &header, unsigned slot)
{
    unsigned code = header.codes[slot];
    return code ? s.masks + (code - 1) % LIVE_MASKS : nullptr;
}

__device__ __forceinline__ live_path path_of(const live_graph_mask *mask, unsigned p)
{
    uint2 pair = __ldg(reinterpret_cast<const uint2 *>(mask->paths + p));
    live_path path = {pair.x, pair.y};
    return path;
}

static inline cudaError_t live_launch_kernel(const void *kernel, unsigned blocks, unsigned threads,
                                             size_t shared, void **arguments, cudaStream_t stream)
{
    return cudaLaunchKernel(kernel, dim3(blocks), dim3(threads), arguments, shared, stream);
}

/* ---- tiles of points, each transformed by one thread block ---- */

static constexpr unsigned LOADS = 4; /* points that a thread loads before it stores */

static_assert(LIVE_TILE % (LOADS * TILE_THREADS) == 0, "all threads load as many");

/* Number of tiles for `count` transforms of a level. */
__device__ __forceinline__ unsigned tiles_of(const live_graph_state &s, const live_level &level,
                                             unsigned count)
{
    unsigned each = s.tile >> level.bins_log2;
    return (count + each - 1) / each;
}

static inline size_t tile_bytes(unsigned points)
{
    return points * sizeof(double2);
}

/* Allows a kernel the shared memory of tiles of so many bins. */
static inline cudaError_t allow_tiles(const void *kernel, unsigned bins_most)
{
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                (int)tile_bytes(bins_most));
}

/* A live graph's forward transforms: a share of the inputs in each block, and new masks. */

/* ---- inputs ---- */

/* Two neighbouring samples of an input's last two partitions, as one point. */
__device__ __forceinline__ float2 input_point(const live_graph_state &s, const live_level &level,
                                              unsigned input, unsigned job, unsigned i)
{
    const float *time = s.time + (size_t)input * s.ladder.window * s.block;
    unsigned at;
    float2 x = make_float2(0, 0);
    if (live_sample_at(&s.ladder, &level, s.block, job, 2 * i, &at))
        x.x = __ldcg(time + at);
    if (live_sample_at(&s.ladder, &level, s.block, job, 2 * i + 1, &at))
        x.y = __ldcg(time + at);
    return x;
}

__device__ void transform_inputs(const live_graph_state &s, unsigned l, unsigned number,
                                 live_span share, unsigned tile, double2 *points)
{
    const live_level &level = s.ladder.levels[l];
    unsigned job = live_job_in(&level, number), mask = level.bins - 1;
    unsigned first = share.first + tile * (s.tile >> level.bins_log2);
    __syncthreads(); /* the previous tile has been written */
    for (unsigned base = threadIdx.x; base < s.tile; base += LOADS * TILE_THREADS) {
        float2 x[LOADS];
#pragma unroll
        for (unsigned c = 0; c < LOADS; c++) {
            unsigned i = base + c * TILE_THREADS, input = first + (i >> level.bins_log2);
            x[c] = make_float2(0, 0);
            if (input < share.last)
                x[c] = input_point(s, level, input, job, i & mask);
        }
#pragma unroll
        for (unsigned c = 0; c < LOADS; c++)
            points[placed(base + c * TILE_THREADS)] = make_double2(x[c].x, x[c].y);
    }
    transform_forward(s, points, level.bins_log2);
    for (unsigned i = threadIdx.x; i < s.tile; i += TILE_THREADS) {
        unsigned input = first + (i >> level.bins_log2);
        size_t to = ((size_t)input * level.depth + live_entry(&level, job)) << level.bins_log2;
        if (input < share.last)
            s.spectra[l][to + (i & mask)] = real_bin(s, points, i & ~mask, i & mask);
    }
}

__global__ void __launch_bounds__(TILE_THREADS, 1) live_inputs(live_graph_state s)
{
    extern __shared__ __align__(16) double2 points[];
    const unsigned number = s.kept->number;
    unsigned before = 0; /* tiles of the levels before */
    for (unsigned l = 0; l < s.ladder.count; l++) {
        live_span share = live_inputs_in(&s.ladder.levels[l], number, s.inputs);
        unsigned tiles = tiles_of(s, s.ladder.levels[l], share.last - share.first);
        unsigned at = (blockIdx.x + gridDim.x - before % gridDim.x) % gridDim.x;
        for (; at < tiles; at += gridDim.x)
            transform_inputs(s, l, number, share, at, points);
        before += tiles;
    }
}

/* ---- masks ---- */

__global__ void __launch_bounds__(TILE_THREADS, 1)
    live_mask_spectra(live_graph_state s, unsigned l, const double *column, unsigned taps,
                      unsigned partitions, float2 *spectra)
{
    extern __shared__ __align__(16) double2 points[];
    const live_level &level = s.ladder.levels[l];
    const unsigned mask = level.bins - 1, each = s.tile >> level.bins_log2;
    const double scale = 0.5 / level.bins;
    for (unsigned first = blockIdx.x * each; first < partitions; first += gridDim.x * each) {
        __syncthreads();
        for (unsigned i = threadIdx.x; i < s.tile; i += TILE_THREADS) {
            unsigned p = first + (i >> level.bins_log2), from = level.first + p * level.size;
            double x[2];
            for (unsigned w = 0; w < 2; w++) {
                unsigned k = 2 * (i & mask) + w;
                bool is_tap = p < partitions && k < level.size && from + k < taps;
                x[w] = is_tap ? column[from + k] * scale : 0;
            }
            points[placed(i)] = make_double2(x[0], x[1]);
        }
        transform_forward(s, points, level.bins_log2);
        for (unsigned i = threadIdx.x; i < s.tile; i += TILE_THREADS) {
            unsigned p = first + (i >> level.bins_log2);
            if (p < partitions)
                spectra[((size_t)p << level.bins_log2) + (i & mask)] =
                    real_bin(s, points, i & ~mask, i & mask);
        }
    }
}

/* ---- launches ---- */

static cudaError_t live_spectra_load(unsigned bins_most)
{
    CUDA_TRY(allow_tiles((const void *)live_inputs, bins_most));
    return allow_tiles((const void *)live_mask_spectra, bins_most);
}

static cudaError_t live_inputs_launch(const live_graph_state *state, cudaStream_t stream)
{
    void *arguments[] = {(void *)state};
    return live_launch_kernel((const void *)live_inputs, state->processors, TILE_THREADS,
                              tile_bytes(state->tile), arguments, stream);
}

cudaError_t live_graph_transform(const live_graph_state *state, unsigned l, const double *column,
                                 unsigned taps, unsigned partitions, float2 *spectra,
                                 cudaStream_t stream)
{
    unsigned each = state->tile >> state->ladder.levels[l].bins_log2;
    void *arguments[] = {(void *)state, &l, &column, &taps, &partitions, &spectra};
    return live_launch_kernel((const void *)live_mask_spectra, (partitions + each - 1) / each,
                              TILE_THREADS, tile_bytes(state->tile), arguments, stream);
}

/* The first kernel of a live graph: answers a block, from masks' first taps and due results. */

static constexpr unsigned PIECES_AT_ONCE = 8; /* thread blocks per processor that answer */

/* A warp's working memory. */
struct answer_scratch {
    float taps[LIVE_SPAN];
    float window[2 * LIVE_SPAN];
};

/* Loads taps from `tap` on, and the samples that they meet from frame `frame` on. */
__device__ __forceinline__ void load_span(const live_graph_state &s, const live_graph_mask *mask,
                                          live_path path, unsigned number, unsigned frame,
                                          unsigned tap, answer_scratch &r)
{
    const float *head = mask->heads + (size_t)path.column * s.block;
    const float *now = s.in + (size_t)path.input * s.stride;
    const float *before =
        s.time +
        ((size_t)path.input * s.ladder.window + ((number - 1) & (s.ladder.window - 1))) * s.block;
    unsigned lane = threadIdx.x % 32;
    int start = (int)frame - (int)tap - LIVE_SPAN, block = (int)s.block;
    __syncwarp();
    for (unsigned k = lane; k < LIVE_SPAN; k += 32)
        r.taps[k] = tap + k < mask->head ? __ldg(head + tap + k) : 0;
    for (unsigned k = lane; k < 2 * LIVE_SPAN; k += 32) {
        int at = start + (int)k;
        r.window[k] = at >= 0 ? (at < block ? __ldcg(now + at) : 0)
                              : (at >= -block ? __ldcg(before + (block + at)) : 0);
    }
    __syncwarp();
}

/* Adds a span of taps, four frames per lane. A window of eight samples slides along the taps. */
__device__ __forceinline__ void add_span(const answer_scratch &r, unsigned taps, float4 &sum,
                                         float4 &lost)
{
    const float4 *window = reinterpret_cast<const float4 *>(r.window) + threadIdx.x % 32;
    const float4 *head = reinterpret_cast<const float4 *>(r.taps);
    unsigned fours = (taps + 3) / 4;
    float4 now = window[LIVE_SPAN / 4];
    for (unsigned k = 0; k < fours;) {
        float4 run = make_float4(0, 0, 0, 0);
        unsigned end = k + SUM_RUN / 4 < fours ? k + SUM_RUN / 4 : fours;
        for (; k < end; k++) {
            float4 t = head[k], before = window[LIVE_SPAN / 4 - 1 - k];
            run.x += t.x * now.x + t.y * before.w + t.z * before.z + t.w * before.y;
            run.y += t.x * now.y + t.y * now.x + t.z * before.w + t.w * before.z;
            run.z += t.x * now.z + t.y * now.y + t.z * now.x + t.w * before.w;
            run.w += t.x * now.w + t.y * now.z + t.z * now.y + t.w * now.x;
            now = before;
        }
        add_run(sum, lost, run);
    }
}

/* Adds the results that are due from earlier jobs. */
__device__ __forceinline__ void add_due(const live_graph_state &s, const live_graph_mask *mask,
                                        unsigned slot, unsigned output, unsigned number,
                                        unsigned frame, float4 &sum, float4 &lost)
{
    for (unsigned l = 0; l < s.ladder.count; l++) {
        const live_level &level = s.ladder.levels[l];
        if (mask->partitions[l] == 0)
            continue;
        unsigned turn = (live_job_out(&level, number) - 1) & 1;
        const float *due = s.due[l] +
                           (((size_t)slot * 2 + turn) * s.outputs + output) * level.size +
                           live_due_at(&level, number, s.block) + frame;
        float x[4];
        for (unsigned w = 0; w < 4; w++)
            x[w] = frame + w < s.block ? __ldcg(due + w) : 0;
        add_run(sum, lost, make_float4(x[0], x[1], x[2], x[3]));
    }
}

/* Adds the sums of a team, all of the thread block's warps, in its first warp. */
__device__ __forceinline__ void add_team(answer_scratch *scratch, unsigned part, float4 &sum,
                                         float4 &lost)
{
    unsigned lane = threadIdx.x % 32;
    __syncwarp();
    reinterpret_cast<float4 *>(scratch[part].window)[lane] = sum;
    __syncthreads();
    for (unsigned other = 1; other < LIVE_PIECE && part == 0; other++)
        add_run(sum, lost, reinterpret_cast<const float4 *>(scratch[other].window)[lane]);
    __syncthreads();
}

/* Answers an item. The spans of taps of all paths are divided among the warps of a team. */
__device__ __forceinline__ void answer_item(const live_graph_state &s, const live_header &header,
                                            unsigned slot, unsigned item, unsigned part,
                                            answer_scratch *scratch)
{
    const live_graph_mask *mask = mask_in(s, header, slot);
    if (!mask || header.flags & LIVE_ARMED << slot)
        return;
    answer_scratch &r = scratch[threadIdx.x / 32];
    unsigned output = item / s.items, begin = item % s.items * LIVE_SPAN;
    unsigned frame = begin + 4 * (threadIdx.x % 32);
    float4 sum = make_float4(0, 0, 0, 0), lost = sum;
    if (part == 0)
        add_due(s, mask, slot, output, header.number, frame, sum, lost);
    unsigned first = __ldg(mask->first + output), head = mask->head;
    unsigned spans = (head + LIVE_SPAN - 1) / LIVE_SPAN;
    unsigned all = (__ldg(mask->first + output + 1) - first) * spans;
    for (unsigned u = part; u < all; u += s.team) {
        unsigned tap = u % spans * LIVE_SPAN;
        load_span(s, mask, path_of(mask, first + u / spans), header.number, begin, tap, r);
        add_span(r, head - tap < LIVE_SPAN ? head - tap : LIVE_SPAN, sum, lost);
    }
    if (s.team > 1)
        add_team(scratch, part, sum, lost);
    float *to = s.out + ((size_t)slot * s.outputs + output) * s.stride + frame;
    /* the stride is a multiple of 4, so whole fours can be stored */
    if (frame < s.block && part == 0)
        *reinterpret_cast<float4 *>(to) = sum;
}

/* Adds the block to the inputs' recent samples, before the last flag lets the host overwrite it. */
__device__ __forceinline__ void keep_inputs(const live_graph_state &s, unsigned number)
{
    size_t count = (size_t)s.inputs * s.block, step = (size_t)gridDim.x * blockDim.x;
    for (size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += step) {
        size_t input = at / s.block, frame = at % s.block;
        s.time[(input * s.ladder.window + (number & (s.ladder.window - 1))) * s.block + frame] =
            __ldcg(s.in + input * s.stride + frame);
    }
}

__global__ void __launch_bounds__(32 * LIVE_PIECE) live_answer(live_graph_state s)
{
    __shared__ __align__(16) answer_scratch scratch[LIVE_PIECE];
    const live_header header = *s.header;
    if (header.flags & LIVE_TRAP)
        __trap();
    if (blockIdx.x == 0 && threadIdx.x == 0)
        *s.kept = header;
    keep_inputs(s, header.number);
    for (unsigned piece = blockIdx.x; piece < s.pieces; piece += gridDim.x) {
        unsigned warp = threadIdx.x / 32, item = (piece * LIVE_PIECE + warp) / s.team;
        for (unsigned v = 0; v < LIVE_SLOTS && item < s.outputs * s.items; v++)
            answer_item(s, header, v, item, warp % s.team, scratch);
        __threadfence_system();
        __syncthreads();
        if (threadIdx.x == 0)
            *(volatile unsigned *)(s.flags + piece) = header.number;
    }
}

static cudaError_t live_answer_load(void)
{
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, (const void *)live_answer);
}

static cudaError_t live_answer_launch(const live_graph_state *state, cudaStream_t stream)
{
    void *arguments[] = {(void *)state};
    unsigned most = PIECES_AT_ONCE * state->processors;
    return live_launch_kernel((const void *)live_answer,
                              state->pieces < most ? state->pieces : most, 32 * LIVE_PIECE, 0,
                              arguments, stream);
}

/* The last kernels of a live graph: products of spectra, transformed back, a share in a block. */

static constexpr unsigned PRODUCT_THREADS = 32 * LIVE_PRODUCT_TEAM; /* threads of a thread block */
static constexpr unsigned PRODUCTS_AT_ONCE = 4; /* thread blocks per processor that add products */

/* The work on one level's results for one slot. */
struct result_work {
    const live_graph_mask *mask; /* NULL: nothing to do */
    live_span outputs;
    unsigned job;
};

/* past: the previous job, whose results are due now, for a mask that is new and has missed it. */
__device__ __forceinline__ result_work work_of(const live_graph_state &s, const live_header &header,
                                               unsigned l, unsigned slot, bool past)
{
    const live_level &level = s.ladder.levels[l];
    const live_span all = {0, s.outputs};
    bool is_new = header.flags & LIVE_FRESH << slot;
    result_work work = {mask_in(s, header, slot), all, live_job_out(&level, header.number) - past};
    if (!past)
        work.outputs = live_outputs_in(&level, header.number, s.outputs, is_new);
    if ((past && !is_new) || (work.mask && work.mask->partitions[l] == 0) ||
        work.outputs.first == work.outputs.last)
        work.mask = nullptr;
    return work;
}

/* Adds the products of two bins. `real`: the first holds two real bins, which do not mix. */
__device__ __forceinline__ void add_product(float4 &sum, float4 x, float4 h, bool real)
{
    sum.x += real ? x.x * h.x : x.x * h.x - x.y * h.y;
    sum.y += real ? x.y * h.y : x.x * h.y + x.y * h.x;
    sum.z += x.z * h.z - x.w * h.w;
    sum.w += x.z * h.w + x.w * h.z;
}

/* Adds partitions [p, end) of a path. With hundreds in phase, a plain sum would lose 6 dB more. */
__device__ __forceinline__ void add_products(const live_graph_state &s, unsigned l,
                                             const result_work &work, live_path path, unsigned pair,
                                             unsigned p, unsigned end, float4 &sum, float4 &lost)
{
    const live_level &level = s.ladder.levels[l];
    const unsigned pairs = level.bins / 2, count = work.mask->partitions[l];
    const float4 *ring = reinterpret_cast<const float4 *>(
                             s.spectra[l] + ((size_t)path.input * level.depth << level.bins_log2)) +
                         pair;
    const float4 *mask =
        reinterpret_cast<const float4 *>(work.mask->spectra[l] +
                                         ((size_t)path.column * count << level.bins_log2)) +
        pair;
    float4 run = make_float4(0, 0, 0, 0);
#pragma unroll 8
    for (; p < end; p++)
        add_product(run, __ldcg(ring + (size_t)live_entry(&level, work.job - p) * pairs),
                    __ldcs(mask + (size_t)p * pairs), pair == 0);
    add_run(sum, lost, run);
}

/* Adds two bins of an output. A team's warps share the products of all paths, run by run. */
__device__ __forceinline__ void add_paths(const live_graph_state &s, unsigned l,
                                          const result_work &work, unsigned output, unsigned pair,
                                          unsigned part, float4 &sum, float4 &lost)
{
    const unsigned count = work.mask->partitions[l], runs = (count + SUM_RUN - 1) / SUM_RUN;
    const unsigned last = __ldg(work.mask->first + output + 1);
    unsigned path = __ldg(work.mask->first + output), run = part;
    for (;; run += s.product_team) {
        for (; run >= runs; run -= runs)
            path++;
        if (path >= last)
            return;
        unsigned p = run * SUM_RUN, end = p + SUM_RUN < count ? p + SUM_RUN : count;
        add_products(s, l, work, path_of(work.mask, path), pair, p, end, sum, lost);
    }
}

/* Adds the sums of a team's warps, in the first warp. */
__device__ __forceinline__ void add_product_team(const live_graph_state &s, float4 *sums,
                                                 float4 &sum, float4 &lost)
{
    __syncthreads(); /* the previous sums have been read */
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned other = 1; other < s.product_team && threadIdx.x / 32 % s.product_team == 0;
         other++)
        add_run(sum, lost, sums[threadIdx.x + 32 * other]);
}

/* Computes a group's products: 32 pairs of bins for each LIVE_PRODUCT_TEAM / product_team teams. */
__device__ __forceinline__ void make_products(const live_graph_state &s, unsigned l, unsigned slot,
                                              const result_work &work, size_t group, float4 *sums)
{
    const unsigned pairs_log2 = s.ladder.levels[l].bins_log2 - 1, warp = threadIdx.x / 32;
    const size_t units = (size_t)(work.outputs.last - work.outputs.first) << pairs_log2;
    size_t at = (group * (LIVE_PRODUCT_TEAM / s.product_team) + warp / s.product_team) * 32 +
                threadIdx.x % 32;
    unsigned output = work.outputs.first + (unsigned)(at >> pairs_log2);
    unsigned pair = (unsigned)at & ((1u << pairs_log2) - 1), part = warp % s.product_team;
    float4 sum = make_float4(0, 0, 0, 0), lost = sum;
    if (at < units)
        add_paths(s, l, work, output, pair, part, sum, lost);
    if (s.product_team > 1)
        add_product_team(s, sums, sum, lost);
    if (at < units && part == 0)
        s.sums[l][(((size_t)slot * s.outputs + output) << pairs_log2) + pair] = sum;
}

__global__ void __launch_bounds__(PRODUCT_THREADS) live_products(live_graph_state s, bool past)
{
    const live_header header = past ? *s.header : *s.kept;
    __shared__ float4 sums[PRODUCT_THREADS];
    const size_t each = PRODUCT_THREADS / s.product_team; /* pairs of bins */
    size_t before = 0; /* groups of the levels and slots before; long levels come first */
    for (unsigned l = s.ladder.count; l-- > 0;)
        for (unsigned v = 0; v < LIVE_SLOTS; v++) {
            result_work work = work_of(s, header, l, v, past);
            if (!work.mask)
                continue;
            size_t units = (size_t)(work.outputs.last - work.outputs.first)
                           << (s.ladder.levels[l].bins_log2 - 1);
            size_t groups = (units + each - 1) / each;
            size_t at = (blockIdx.x + gridDim.x - before % gridDim.x) % gridDim.x;
            for (; at < groups; at += gridDim.x)
                make_products(s, l, v, work, at, sums);
            before += groups;
        }
}

__device__ void make_results(const live_graph_state &s, unsigned l, unsigned slot,
                             const result_work &work, unsigned tile, double2 *points)
{
    const live_level &level = s.ladder.levels[l];
    const unsigned mask = level.bins - 1;
    unsigned first = work.outputs.first + tile * (s.tile >> level.bins_log2);
    const float2 *sums =
        reinterpret_cast<const float2 *>(s.sums[l]) + ((size_t)slot * s.outputs << level.bins_log2);
    __syncthreads(); /* the previous tile has been written */
    for (unsigned base = threadIdx.x; base < s.tile; base += LOADS * TILE_THREADS) {
        double2 x[LOADS];
#pragma unroll
        for (unsigned c = 0; c < LOADS; c++) {
            unsigned i = base + c * TILE_THREADS, output = first + (i >> level.bins_log2);
            x[c] = make_double2(0, 0);
            if (output < work.outputs.last)
                x[c] = complex_bin(s, sums + ((size_t)output << level.bins_log2), i & mask);
        }
#pragma unroll
        for (unsigned c = 0; c < LOADS; c++)
            points[placed(base + c * TILE_THREADS)] = x[c];
    }
    transform_back(s, points, level.bins_log2);
    const unsigned from = 2 * level.bins - level.size; /* the samples from here on do not wrap */
    for (unsigned i = threadIdx.x; i < 2 * s.tile; i += TILE_THREADS) {
        unsigned output = first + (i >> (level.bins_log2 + 1)), at = i & (2 * level.bins - 1);
        size_t row = ((size_t)slot * 2 + (work.job & 1)) * s.outputs + output;
        double2 point = points[placed(i / 2)];
        if (output < work.outputs.last && at >= from)
            s.due[l][row * level.size + at - from] = (float)(i % 2 ? point.y : point.x);
    }
}

__global__ void __launch_bounds__(TILE_THREADS, 1) live_results(live_graph_state s, bool past)
{
    extern __shared__ __align__(16) double2 points[];
    const live_header header = past ? *s.header : *s.kept;
    unsigned before = 0;
    for (unsigned l = 0; l < s.ladder.count; l++)
        for (unsigned v = 0; v < LIVE_SLOTS; v++) {
            result_work work = work_of(s, header, l, v, past);
            if (!work.mask)
                continue;
            unsigned tiles =
                tiles_of(s, s.ladder.levels[l], work.outputs.last - work.outputs.first);
            unsigned at = (blockIdx.x + gridDim.x - before % gridDim.x) % gridDim.x;
            for (; at < tiles; at += gridDim.x)
                make_results(s, l, v, work, at, points);
            before += tiles;
        }
}

/* ---- launches ---- */

static cudaError_t live_results_load(unsigned bins_most)
{
    cudaFuncAttributes attributes;
    CUDA_TRY(allow_tiles((const void *)live_results, bins_most));
    return cudaFuncGetAttributes(&attributes, (const void *)live_products);
}

/* `past`: computes results of the previous job, for new masks. */
static cudaError_t live_results_launch(const live_graph_state *state, bool past,
                                       cudaStream_t stream)
{
    void *arguments[] = {(void *)state, &past};
    CUDA_TRY(live_launch_kernel((const void *)live_products, PRODUCTS_AT_ONCE * state->processors,
                                PRODUCT_THREADS, 0, arguments, stream));
    return live_launch_kernel((const void *)live_results, state->processors, TILE_THREADS,
                              tile_bytes(state->tile), arguments, stream);
}

/* ---- a block: all kernels in their order ---- */

cudaError_t live_graph_load(unsigned *bins_most)
{
    int most;
    CUDA_TRY(gpu_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, &most));
    *bins_most = LIVE_BINS_MOST;
    while ((size_t)*bins_most * sizeof(double2) > (size_t)most)
        *bins_most /= 2;
    CUDA_TRY(live_spectra_load(*bins_most));
    CUDA_TRY(live_answer_load());
    return live_results_load(*bins_most);
}

cudaError_t live_graph_launch(const struct live_graph_state *state, bool is_new,
                              cudaStream_t stream)
{
    if (is_new && state->ladder.count > 0)
        CUDA_TRY(live_results_launch(state, true, stream));
    CUDA_TRY(live_answer_launch(state, stream));
    if (state->ladder.count == 0)
        return cudaSuccess;
    CUDA_TRY(live_inputs_launch(state, stream));
    return live_results_launch(state, false, stream);
}
