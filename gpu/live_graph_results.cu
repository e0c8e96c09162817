/* The last kernels of a live graph: products of spectra, and their transforms back, a share of the
 * outputs in each block. */
#include "gpu/live_graph_tiles.cuh"

static constexpr unsigned PRODUCT_THREADS = 32 * LIVE_PRODUCT_TEAM; /* of a thread block */
static constexpr unsigned PRODUCTS_AT_ONCE = 4; /* thread blocks per processor that add products */

/* The work on one level's results for one slot. */
struct result_work {
    const live_graph_mask *mask; /* NULL: none */
    live_span outputs;
    unsigned job;
};

/* past: the job before, of which a new mask has missed all; what it has missed is due now. */
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

/* Two bins at a time; bin 0 holds two real bins, which do not mix. */
__device__ __forceinline__ void add_product(float4 &sum, float4 x, float4 h, bool real)
{
    sum.x += real ? x.x * h.x : x.x * h.x - x.y * h.y;
    sum.y += real ? x.y * h.y : x.x * h.y + x.y * h.x;
    sum.z += x.z * h.z - x.w * h.w;
    sum.w += x.z * h.w + x.w * h.z;
}

/* Partitions [p, end) of a path. A plain sum of hundreds loses up to 6 dB more than is allowed
 * where they are in phase. */
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

/* Two bins of an output: of the runs of products of all paths, each warp of a team takes some. */
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

/* The sums of a team's warps, in its first one. */
__device__ __forceinline__ void add_product_team(const live_graph_state &s, float4 *sums,
                                                 float4 &sum, float4 &lost)
{
    __syncthreads(); /* the sums before are read */
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned other = 1; other < s.product_team && threadIdx.x / 32 % s.product_team == 0;
         other++)
        add_run(sum, lost, sums[threadIdx.x + 32 * other]);
}

/* What a thread block adds at once: LIVE_PRODUCT_TEAM / s.product_team times 32 pairs of bins. */
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
    size_t before = 0; /* groups of the levels and slots before; the long ones come first */
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
    __syncthreads(); /* the tile before is written */
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
    const unsigned from = 2 * level.bins - level.size; /* what does not wrap */
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

cudaError_t live_results_load(unsigned bins_most)
{
    cudaFuncAttributes attributes;
    CUDA_TRY(allow_tiles((const void *)live_results, bins_most));
    return cudaFuncGetAttributes(&attributes, (const void *)live_products);
}

cudaError_t live_results_launch(const live_graph_state *state, bool past, cudaStream_t stream)
{
    void *arguments[] = {(void *)state, &past};
    CUDA_TRY(live_launch_kernel((const void *)live_products, PRODUCTS_AT_ONCE * state->processors,
                                PRODUCT_THREADS, 0, arguments, stream));
    return live_launch_kernel((const void *)live_results, state->processors, TILE_THREADS,
                              tile_bytes(state->tile), arguments, stream);
}
