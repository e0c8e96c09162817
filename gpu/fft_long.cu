/* Overlap-save with transforms that no multiprocessor can hold, in three passes over device memory.
 * A transform has N = N1 N2 points (Bailey, "FFTs in External or Hierarchical Memory", 1990).
 *   1. The columns of N1 points are transformed and multiplied by factors.
 *   2. The rows of N2 points are transformed. While a row is in shared memory, it is multiplied by
 *   the mask's spectrum and transformed back.
 *   3. The columns are transformed back.
 * The first pass reads the chunks and the last writes their valid parts, so there are no other
 * copies.
 *
 * A pair of chunks is one complex sequence, as in fft_fused.cu. Both transforms leave their
 * frequencies digit-reversed. A frequency's place in the columns is its row in `work`.
 */
extern "C" {
#include "gpu/fft_kernels.h"
#include "gpu/gpu.h"
}
#include "gpu/fft_long.cuh"
#include "gpu/kernel_device.cuh"

/* Input and output of the passes: a pair of chunks for each blockIdx.y. */
struct long_pairs {
    const fft_pair *any; /* pairs of any sounds; NULL: pairs of the one sound below */
    kernel_job job;
    size_t history_frames;
    size_t first; /* first pair of that sound */
};

/* One pair of chunks. */
struct chunks {
    const float *in;
    float *out;
    long long from; /* frame of `in` at which the first chunk begins */
    long long frames_in;
    long long frames; /* frames that both chunks write to `out` */
    int history;
    int hop;
    bool add;
    kernel_boundary boundary;
};

__device__ __forceinline__ chunks chunks_of(const long_pairs &pairs, int fft)
{
    const kernel_job &job = pairs.any ? pairs.any[blockIdx.y].job : pairs.job;
    int history = (int)(pairs.any ? pairs.any[blockIdx.y].history_frames : pairs.history_frames);
    int hop = fft - history;
    long long base = pairs.any ? 0 : (long long)(pairs.first + blockIdx.y) * 2 * hop;
    return {job.in,
            job.out + base,
            base + (long long)job.origin - history,
            (long long)job.frames_in,
            (long long)job.frames - base,
            history,
            hop,
            job.add,
            job.boundary};
}

/* ---- columns ---- */

/* Multiplies v[k] by exp(-2 pi i column frequency / fft), or the conjugate. The angle is exact: a
 * multiple of a power of two with less than 24 bits. */
template <int N1, bool BACK>
__device__ __forceinline__ void turn_columns(float2 *v, int thread, int column, int fft)
{
    float unit = 2.0f / (float)fft;
    int units = column * frequency_of<N1>(thread), step = column * (N1 / POINTS);
#pragma unroll
    for (int k = 0; k < POINTS; k++, units += step) {
        float sine, cosine;
        sincospif((float)(2 * units >= fft ? units - fft : units) * unit, &sine, &cosine);
        v[k] = turn<BACK>(v[k], make_float2(cosine, -sine));
    }
}

template <int N1, int C>
__global__ void __launch_bounds__(columns<N1, C>::THREADS, columns<N1, C>::BLOCKS)
    columns_forth(const __grid_constant__ long_pairs pairs, int width,
                  const float2 *__restrict__ table, float2 *__restrict__ work)
{
    extern __shared__ float2 shared[];
    int thread = (int)threadIdx.x / C, lane = (int)threadIdx.x % C;
    int column = (int)blockIdx.x * C + lane;
    chunks pair = chunks_of(pairs, N1 * width);
    float2 v[POINTS];
    long long from = pair.from + column;
    if (pair.from >= 0 && pair.from + pair.hop + (long long)N1 * width <= pair.frames_in) {
        const float *__restrict__ in = pair.in + from;
        each_point<N1, 0>(thread, [&](int i, int p) {
            v[i] = make_float2(__ldg(in + (size_t)p * width),
                               __ldg(in + pair.hop + (size_t)p * width));
        });
    } else {
        each_point<N1, 0>(thread, [&](int i, int p) {
            long long at = from + (long long)p * width;
            v[i] = make_float2(ghost(pair.in, at, pair.frames_in, pair.boundary),
                               ghost(pair.in, at + pair.hop, pair.frames_in, pair.boundary));
        });
    }
    transform<N1, 0, false, C>(v, shared + lane, table, thread);
    turn_columns<N1, false>(v, thread, column, N1 * width);
    float2 *to = work + (size_t)blockIdx.y * N1 * width + column;
    each_point<N1, stages<N1>() - 1>(thread, [&](int i, int p) { to[(size_t)p * width] = v[i]; });
}

template <int N1, int C>
__global__ void __launch_bounds__(columns<N1, C>::THREADS, columns<N1, C>::BLOCKS)
    columns_back(const __grid_constant__ long_pairs pairs, int width,
                 const float2 *__restrict__ table, const float2 *__restrict__ work)
{
    extern __shared__ float2 shared[];
    int thread = (int)threadIdx.x / C, lane = (int)threadIdx.x % C;
    int column = (int)blockIdx.x * C + lane;
    float2 v[POINTS];
    const float2 *from = work + (size_t)blockIdx.y * N1 * width + column;
    each_point<N1, stages<N1>() - 1>(thread,
                                     [&](int i, int p) { v[i] = __ldg(from + (size_t)p * width); });
    turn_columns<N1, true>(v, thread, column, N1 * width);
    transform<N1, stages<N1>() - 1, true, C>(v, shared + lane, table, thread);
    chunks pair = chunks_of(pairs, N1 * width);
    each_point<N1, 0>(thread, [&](int i, int p) {
        int q = p * width + column - pair.history;
        if (q < 0)
            return;
        if (q < pair.frames)
            pair.out[q] = pair.add ? pair.out[q] + v[i].x : v[i].x;
        if (pair.hop + (long long)q < pair.frames)
            pair.out[pair.hop + q] = pair.add ? pair.out[pair.hop + q] + v[i].y : v[i].y;
    });
}

/* ---- rows ---- */

/* The form of a row. Point m of thread t is at m * threads + t. */
template <int N>
__global__ void __launch_bounds__(N / POINTS)
    rows_form(const float2 *__restrict__ table, float scale, float2 *form)
{
    extern __shared__ float2 shared[];
    int thread = (int)threadIdx.x;
    float2 v[POINTS], *row = form + (size_t)blockIdx.x * N;
    each_point<N, 0>(thread, [&](int i, int p) { v[i] = row[p]; });
    transform<N, 0, false>(v, shared, table, thread);
#pragma unroll
    for (int m = 0; m < POINTS; m++)
        row[m * (N / POINTS) + thread] = make_float2(v[m].x * scale, v[m].y * scale);
}

/* Convolves one row of one pair. The same row of all pairs runs side by side, so that the caches
 * serve its form. `table_back` is the same table as `table`. If the compiler knew this, it would
 * keep the factors in registers, and only half as many threads would fit. */
template <int N>
__global__ void __launch_bounds__(N / POINTS, blocks<N>())
    rows_convolve(const fft_pair *__restrict__ any, const float2 *__restrict__ form,
                  const float2 *__restrict__ table, const float2 *__restrict__ table_back,
                  float2 *__restrict__ work)
{
    extern __shared__ float2 shared[];
    int thread = (int)threadIdx.x;
    float2 v[POINTS], *row = work + ((size_t)blockIdx.x * gridDim.y + blockIdx.y) * N;
    each_point<N, 0>(thread, [&](int i, int p) { v[i] = row[p]; });
    transform<N, 0, false>(v, shared, table, thread);
    const float2 *__restrict__ spectrum =
        (any ? reinterpret_cast<const float2 *>(any[blockIdx.x].job.mask) : form) +
        (size_t)blockIdx.y * N;
#pragma unroll
    for (int m = 0; m < POINTS; m++)
        v[m] = v[m] * __ldg(spectrum + m * (N / POINTS) + thread);
    transform<N, stages<N>() - 1, true>(v, shared, table_back, thread);
    each_point<N, 0>(thread, [&](int i, int p) { row[p] = v[i]; });
}

/* ---- launchers ---- */

struct passes {
    size_t height; /* N1 */
    size_t width;  /* N2 */
    const float2 *table_columns;
    const float2 *table_rows;
};

size_t fft_long_table_floats(size_t fft)
{
    return 2 * (column_table_points(fft) + FOR_WIDTH(width_of(fft), table_points));
}

void fft_long_fill_table(size_t fft, float *table)
{
    float2 *points = reinterpret_cast<float2 *>(table);
    FOR_HEIGHT(fft / width_of(fft), fill_table, points);
    FOR_WIDTH(width_of(fft), fill_table, points + column_table_points(fft));
}

static struct passes passes_of(size_t fft, const float *table)
{
    const float2 *points = reinterpret_cast<const float2 *>(table);
    return {fft / width_of(fft), width_of(fft), points, points + column_table_points(fft)};
}

template <int N1, int C>
static cudaError_t launch_columns(bool back, const long_pairs &pairs, size_t count,
                                  const passes &by, float2 *work, cudaStream_t stream)
{
    using shape = columns<N1, C>;
    dim3 grid((unsigned)(by.width / C), (unsigned)count);
    CUDA_TRY(allow_shared(columns_forth<N1, C>, shape::SHARED));
    CUDA_TRY(allow_shared(columns_back<N1, C>, shape::SHARED));
    if (back)
        columns_back<N1, C><<<grid, shape::THREADS, shape::SHARED, stream>>>(
            pairs, (int)by.width, by.table_columns, work);
    else
        columns_forth<N1, C><<<grid, shape::THREADS, shape::SHARED, stream>>>(
            pairs, (int)by.width, by.table_columns, work);
    return cudaGetLastError();
}

/* 4096 points fit every multiprocessor's shared memory. If there is more of it, long columns are
 * processed in wider groups, which use more of each memory transfer. */
template <int N1>
static cudaError_t run_columns(bool back, const long_pairs &pairs, size_t count, const passes &by,
                               float2 *work, cudaStream_t stream)
{
    constexpr int NARROW = 4096 / N1;
    constexpr int WIDE = N1 <= 256 ? NARROW : N1 == 512 ? 16 : N1 <= 2048 ? 8 : 4;
    if (WIDE > NARROW) {
        int shared;
        CUDA_TRY(gpu_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, &shared));
        if (columns<N1, WIDE>::SHARED <= shared)
            return launch_columns<N1, WIDE>(back, pairs, count, by, work, stream);
    }
    return launch_columns<N1, NARROW>(back, pairs, count, by, work, stream);
}

template <int N>
static cudaError_t run_rows(const fft_pair *any, const float *form, size_t count, const passes &by,
                            float2 *work, cudaStream_t stream)
{
    CUDA_TRY(allow_shared(rows_convolve<N>, shared_bytes<N>()));
    dim3 grid((unsigned)count, (unsigned)by.height);
    rows_convolve<N><<<grid, N / POINTS, shared_bytes<N>(), stream>>>(
        any, reinterpret_cast<const float2 *>(form), by.table_rows, by.table_rows, work);
    return cudaGetLastError();
}

template <int N>
static cudaError_t run_rows_form(const passes &by, float2 *form, cudaStream_t stream)
{
    CUDA_TRY(allow_shared(rows_form<N>, shared_bytes<N>()));
    rows_form<N><<<(unsigned)by.height, N / POINTS, shared_bytes<N>(), stream>>>(
        by.table_rows, 1.0f / (float)(by.height * by.width), form);
    return cudaGetLastError();
}

/* Transforms a pair whose second chunk is beyond the taps. */
cudaError_t fft_long_form(size_t fft, const float *table, const float *taps, size_t count,
                          float *form, cudaStream_t stream)
{
    passes by = passes_of(fft, table);
    long_pairs pairs = {};
    pairs.job.in = taps;
    pairs.job.frames_in = count;
    pairs.job.boundary = KERNEL_ZERO;
    float2 *points = reinterpret_cast<float2 *>(form);
    CUDA_TRY(FOR_HEIGHT(by.height, run_columns, false, pairs, 1, by, points, stream));
    return FOR_WIDTH(by.width, run_rows_form, by, points, stream);
}

static cudaError_t run_passes(const long_pairs &pairs, size_t count, const float *form,
                              const passes &by, float2 *work, cudaStream_t stream)
{
    CUDA_TRY(FOR_HEIGHT(by.height, run_columns, false, pairs, count, by, work, stream));
    CUDA_TRY(FOR_WIDTH(by.width, run_rows, pairs.any, form, count, by, work, stream));
    return FOR_HEIGHT(by.height, run_columns, true, pairs, count, by, work, stream);
}

cudaError_t fft_long_launch(const struct kernel_job *job, const struct fft_plan *plan, size_t first,
                            size_t count, const float *table, float2 *work, cudaStream_t stream)
{
    long_pairs pairs = {NULL, *job, plan->history_frames, first};
    return run_passes(pairs, count, job->mask, passes_of(plan->fft, table), work, stream);
}

cudaError_t fft_long_pairs(size_t fft, const struct fft_pair *pairs, size_t count,
                           const float *table, float2 *work, cudaStream_t stream)
{
    long_pairs all = {};
    all.any = pairs;
    return run_passes(all, count, NULL, passes_of(fft, table), work, stream);
}
