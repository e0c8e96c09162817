/* The shape of transforms in three passes over device memory (fft_long.cu, arrays_long.cuh):
 * columns of N1 points and rows of N2. T is float2 or double2. */
#ifndef HALO_GPU_FFT_LONG_CUH
#define HALO_GPU_FFT_LONG_CUH

#include "gpu/fft_device.cuh"

/* A thread block transforms C neighbouring columns. */
template <int N1, int C, typename T = float2> struct columns {
    static constexpr int THREADS_EACH = N1 / POINTS, THREADS = THREADS_EACH * C;
    static constexpr int BLOCKS = sizeof(T) == sizeof(double2) ? 1
                                  : THREADS == 256             ? 3
                                                               : 1024 / THREADS;
    static constexpr int SHARED = stages<N1>() > 1 ? shared_bytes<N1, T>() * C : 0;
};

/* Point p = 16 u + k of a spectrum has frequency frequency_of(u) + k N1 / 16. */
template <int N1, int S = 0> __device__ __forceinline__ int frequency_of(int u)
{
    if constexpr (S + 1 < stages<N1>()) {
        constexpr int WEIGHT = N1 / length<N1, S>();
        constexpr int STRIDE = length<N1, S>() / radices<N1>::of[S] / POINTS;
        return u / STRIDE * WEIGHT + frequency_of<N1, S + 1>(u % STRIDE);
    } else {
        return 0;
    }
}

/* The points of a row: as many as are fast with 16 a thread. Columns have at least 16 points. */
static inline size_t width_of(size_t fft)
{
    size_t width = fft / 16 < 4096 ? fft / 16 : 4096;
    return fft / width > 4096 ? fft / 4096 : width;
}

template <int N> static inline size_t table_points()
{
    return (size_t)table_at<N>();
}

#define FOR_HEIGHT(height, function, ...)                                                          \
    ((height) == 16     ? function<16>(__VA_ARGS__)                                                \
     : (height) == 32   ? function<32>(__VA_ARGS__)                                                \
     : (height) == 64   ? function<64>(__VA_ARGS__)                                                \
     : (height) == 128  ? function<128>(__VA_ARGS__)                                               \
     : (height) == 256  ? function<256>(__VA_ARGS__)                                               \
     : (height) == 512  ? function<512>(__VA_ARGS__)                                               \
     : (height) == 1024 ? function<1024>(__VA_ARGS__)                                              \
     : (height) == 2048 ? function<2048>(__VA_ARGS__)                                              \
                        : function<4096>(__VA_ARGS__))

#define FOR_WIDTH(width, function, ...)                                                            \
    ((width) == 512    ? function<512>(__VA_ARGS__)                                                \
     : (width) == 1024 ? function<1024>(__VA_ARGS__)                                               \
     : (width) == 2048 ? function<2048>(__VA_ARGS__)                                               \
     : (width) == 4096 ? function<4096>(__VA_ARGS__)                                               \
                       : function<8192>(__VA_ARGS__))

static inline size_t column_table_points(size_t fft)
{
    return FOR_HEIGHT(fft / width_of(fft), table_points);
}

template <typename F> static inline cudaError_t allow_shared(F *kernel, int bytes)
{
    if (bytes <= 48 * 1024)
        return cudaSuccess;
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

#endif
