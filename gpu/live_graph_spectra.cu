/* The transforms of a live graph that go forward: spectra of the inputs, a share in each block, and
 * those of a new mask. */
#include "gpu/live_graph_tiles.cuh"

/* ---- inputs ---- */

/* Two samples of an input's last two partitions. */
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
    __syncthreads(); /* the tile before is written */
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

cudaError_t live_spectra_load(unsigned bins_most)
{
    CUDA_TRY(allow_tiles((const void *)live_inputs, bins_most));
    return allow_tiles((const void *)live_mask_spectra, bins_most);
}

cudaError_t live_inputs_launch(const live_graph_state *state, cudaStream_t stream)
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
