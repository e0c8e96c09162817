/* Convolution of arrays by transforms in three passes, as in fft_long.cu: columns, rows with the
 * product, columns. T is float2 or double2. Chunks and their points: device_arrays_plan.h. */
#ifndef HALO_GPU_ARRAYS_LONG_CUH
#define HALO_GPU_ARRAYS_LONG_CUH

#include "gpu/arrays_device.cuh"
#include "gpu/fft_long.cuh"

namespace
{

/* ---- columns ---- */

/* Index of a thread's points in the first stage: v[held_in(m)] is point thread + m N1 / 16. */
template <int N1> __device__ __forceinline__ constexpr int held_in(int m)
{
    constexpr int RADIX = radices<N1>::of[0], BUTTERFLIES = POINTS / RADIX;
    return m % BUTTERFLIES * RADIX + m / BUTTERFLIES;
}

/* Multiplies v[k] by exp(-2 pi i column frequency / fft) and by the column's part of the twist,
 * exp(i pi column / (2 fft)), or by their conjugates. */
template <int N1, bool BACK, typename T>
__device__ __forceinline__ void turn_columns(T *v, int thread, int column, int fft)
{
    using real = real_of<T>;
    real scale = real(0.5) / (real)fft;
    int units = column - 4 * column * frequency_of<N1>(thread), step = column * (N1 / POINTS) * 4;
#pragma unroll
    for (int k = 0; k < POINTS; k++, units -= step) {
        T factor = unit((real)(units < -2 * fft ? units + 4 * fft : units) * scale);
        v[k] = turn<BACK>(v[k], factor);
    }
}

/* Transforms the columns of items, or of masks, from `first` on: one for each blockIdx.y. */
template <int N1, int C, typename T>
__global__ void __launch_bounds__(columns<N1, C, T>::THREADS, columns<N1, C, T>::BLOCKS)
    array_columns_forth(const __grid_constant__ array_pieces pieces, bool of_masks, unsigned first,
                        int width, const T *__restrict__ table, T *__restrict__ work)
{
    using real = real_of<T>;
    extern __shared__ __align__(16) unsigned char memory[];
    T *shared = reinterpret_cast<T *>(memory);
    int thread = (int)threadIdx.x / C, lane = (int)threadIdx.x % C;
    int column = (int)blockIdx.x * C + lane, fft = N1 * width;
    const array_window in =
        of_masks ? mask_of(pieces, first + blockIdx.y) : item_of(pieces, first + blockIdx.y).in;
    T v[POINTS];
    if (sizeof(real) == sizeof(float) && in.is_plain(2 * fft)) {
        const float *__restrict__ from = static_cast<const float *>(in.samples) + in.at + column;
        each_point<N1, 0>(thread, [&](int i, int p) {
            v[i] = {__ldg(from + (size_t)p * width), __ldg(from + fft + (size_t)p * width)};
        });
    } else {
        with_samples<real>(in.sample, [&](auto s) {
            each_point<N1, 0>(thread, [&](int i, int p) {
                int n = p * width + column;
                v[i] = {in.frame<decltype(s)>(n), in.frame<decltype(s)>(n + fft)};
            });
        });
    }
    twist<POINTS>(v, unit((real)thread / (2 * N1)), held_in<N1>);
    transform<N1, 0, false, C>(v, shared + lane, table, thread);
    turn_columns<N1, false>(v, thread, column, fft);
    T *to = work + (size_t)blockIdx.y * fft + column;
    each_point<N1, stages<N1>() - 1>(thread, [&](int i, int p) { to[(size_t)p * width] = v[i]; });
}

template <int N1, int C, typename T>
__global__ void __launch_bounds__(columns<N1, C, T>::THREADS, columns<N1, C, T>::BLOCKS)
    array_columns_back(const __grid_constant__ array_pieces pieces, unsigned first, int width,
                       const T *__restrict__ table, const T *__restrict__ work)
{
    using real = real_of<T>;
    extern __shared__ __align__(16) unsigned char memory[];
    T *shared = reinterpret_cast<T *>(memory);
    int thread = (int)threadIdx.x / C, lane = (int)threadIdx.x % C;
    int column = (int)blockIdx.x * C + lane, fft = N1 * width;
    T v[POINTS];
    const T *from = work + (size_t)blockIdx.y * fft + column;
    each_point<N1, stages<N1>() - 1>(thread,
                                     [&](int i, int p) { v[i] = __ldg(from + (size_t)p * width); });
    turn_columns<N1, true>(v, thread, column, fft);
    transform<N1, stages<N1>() - 1, true, C>(v, shared + lane, table, thread);
    twist<POINTS, true>(v, unit((real)thread / (2 * N1)), held_in<N1>);
    const array_item item = item_of(pieces, first + blockIdx.y);
    with_samples<real>(pieces.sample, [&](auto s) {
        each_point<N1, 0>(thread, [&](int i, int p) {
            int n = p * width + column;
            item.template put<decltype(s)>(n, v[i].x);
            item.template put<decltype(s)>(n + fft, v[i].y);
        });
    });
}

/* ---- rows ---- */

/* The form of a row. Point m of thread t is at m * threads + t. */
template <int N, typename T>
__global__ void __launch_bounds__(N / POINTS)
    array_rows_form(const T *__restrict__ table, real_of<T> scale, T *forms)
{
    extern __shared__ __align__(16) unsigned char memory[];
    T *shared = reinterpret_cast<T *>(memory);
    int thread = (int)threadIdx.x;
    T v[POINTS], *row = forms + ((size_t)blockIdx.x * gridDim.y + blockIdx.y) * N;
    each_point<N, 0>(thread, [&](int i, int p) { v[i] = row[p]; });
    transform<N, 0, false>(v, shared, table, thread);
#pragma unroll
    for (int m = 0; m < POINTS; m++)
        row[m * (N / POINTS) + thread] = {v[m].x * scale, v[m].y * scale};
}

/* Convolves one row of one item. The same row of all items runs side by side, so that the caches
 * serve its form. `table_back` is the same table as `table`; see fft_long.cu. */
template <int N, typename T>
__global__ void __launch_bounds__(N / POINTS, sizeof(T) == sizeof(double2) ? 1 : blocks<N>())
    array_rows_convolve(const __grid_constant__ array_pieces pieces, unsigned first,
                        const T *__restrict__ forms, const T *__restrict__ table,
                        const T *__restrict__ table_back, T *__restrict__ work)
{
    extern __shared__ __align__(16) unsigned char memory[];
    T *shared = reinterpret_cast<T *>(memory);
    int thread = (int)threadIdx.x;
    T v[POINTS], *row = work + ((size_t)blockIdx.x * gridDim.y + blockIdx.y) * N;
    each_point<N, 0>(thread, [&](int i, int p) { v[i] = row[p]; });
    const T *__restrict__ spectrum =
        forms + ((size_t)form_of(pieces, first + blockIdx.x) * gridDim.y + blockIdx.y) * N + thread;
    transform<N, 0, false>(v, shared, table, thread);
#pragma unroll
    for (int m = 0; m < POINTS; m++)
        v[m] = v[m] * __ldg(spectrum + m * (N / POINTS));
    transform<N, stages<N>() - 1, true>(v, shared, table_back, thread);
    each_point<N, 0>(thread, [&](int i, int p) { row[p] = v[i]; });
}

/* ---- launchers ---- */

template <typename T> struct long_call {
    const array_pieces *pieces;
    unsigned first, count; /* items; or masks, for forms */
    size_t height, width;
    const T *table_columns, *table_rows, *forms;
    T *work;
    cudaStream_t stream;
};

enum columns_pass { FORTH, FORTH_MASKS, BACK };

template <int N1, int C, typename T>
cudaError_t launch_columns(columns_pass pass, const long_call<T> &call)
{
    using shape = columns<N1, C, T>;
    dim3 grid((unsigned)(call.width / C), call.count);
    auto forth = array_columns_forth<N1, C, T>;
    auto back = array_columns_back<N1, C, T>;
    if (pass == BACK) {
        CUDA_TRY(allow_shared(back, shape::SHARED));
        back<<<grid, shape::THREADS, shape::SHARED, call.stream>>>(
            *call.pieces, call.first, (int)call.width, call.table_columns, call.work);
    } else {
        CUDA_TRY(allow_shared(forth, shape::SHARED));
        forth<<<grid, shape::THREADS, shape::SHARED, call.stream>>>(
            *call.pieces, pass == FORTH_MASKS, call.first, (int)call.width, call.table_columns,
            call.work);
    }
    return cudaGetLastError();
}

/* Wide groups of long columns use more of each memory transfer. */
template <int N1, typename T> cudaError_t run_columns(columns_pass pass, const long_call<T> &call)
{
    constexpr int NARROW = 4096 / N1;
    constexpr int WIDE = sizeof(T) == sizeof(double2) || N1 <= 256 ? NARROW
                         : N1 == 512                               ? 16
                         : N1 <= 2048                              ? 8
                                                                   : 4;
    if constexpr (WIDE > NARROW) {
        int shared;
        CUDA_TRY(gpu_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, &shared));
        if (columns<N1, WIDE, T>::SHARED <= shared)
            return launch_columns<N1, WIDE>(pass, call);
    }
    return launch_columns<N1, NARROW>(pass, call);
}

template <int N, typename T> cudaError_t run_rows(const long_call<T> &call)
{
    auto kernel = array_rows_convolve<N, T>;
    CUDA_TRY(allow_shared(kernel, shared_bytes<N, T>()));
    kernel<<<dim3(call.count, (unsigned)call.height), N / POINTS, shared_bytes<N, T>(),
             call.stream>>>(*call.pieces, call.first, call.forms, call.table_rows, call.table_rows,
                            call.work);
    return cudaGetLastError();
}

template <int N, typename T> cudaError_t run_rows_form(const long_call<T> &call)
{
    auto kernel = array_rows_form<N, T>;
    CUDA_TRY(allow_shared(kernel, shared_bytes<N, T>()));
    kernel<<<dim3(call.count, (unsigned)call.height), N / POINTS, shared_bytes<N, T>(),
             call.stream>>>(call.table_rows, 1 / (real_of<T>)(call.height * call.width), call.work);
    return cudaGetLastError();
}

template <typename T> size_t long_table_bytes(unsigned power)
{
    size_t fft = (size_t)1 << power;
    return sizeof(T) * (column_table_points(fft) + FOR_ROWS(width_of(fft), table_points));
}

template <typename T> void long_fill_table(unsigned power, void *table)
{
    size_t fft = (size_t)1 << power;
    T *points = static_cast<T *>(table);
    FOR_HEIGHT(fft / width_of(fft), fill_table, points);
    FOR_ROWS(width_of(fft), fill_table, points + column_table_points(fft));
}

template <typename T>
long_call<T> long_call_of(unsigned power, const array_pieces *pieces, const void *table,
                          cudaStream_t stream)
{
    size_t fft = (size_t)1 << power;
    long_call<T> call = {};
    call.pieces = pieces;
    call.width = width_of(fft);
    call.height = fft / call.width;
    call.table_columns = static_cast<const T *>(table);
    call.table_rows = call.table_columns + column_table_points(fft);
    call.stream = stream;
    return call;
}

template <typename T>
cudaError_t long_form(unsigned power, const array_pieces *pieces, const void *table, void *forms,
                      cudaStream_t stream)
{
    long_call<T> call = long_call_of<T>(power, pieces, table, stream);
    call.count = pieces->masks;
    call.work = static_cast<T *>(forms);
    CUDA_TRY(FOR_HEIGHT(call.height, run_columns, FORTH_MASKS, call));
    return FOR_ROWS(call.width, run_rows_form, call);
}

template <typename T>
cudaError_t long_run(unsigned power, const array_pieces *pieces, unsigned first, unsigned count,
                     const void *table, const void *forms, void *work, cudaStream_t stream)
{
    long_call<T> call = long_call_of<T>(power, pieces, table, stream);
    call.first = first;
    call.count = count;
    call.forms = static_cast<const T *>(forms);
    call.work = static_cast<T *>(work);
    CUDA_TRY(FOR_HEIGHT(call.height, run_columns, FORTH, call));
    CUDA_TRY(FOR_ROWS(call.width, run_rows, call));
    return FOR_HEIGHT(call.height, run_columns, BACK, call);
}

} /* namespace */

#endif
