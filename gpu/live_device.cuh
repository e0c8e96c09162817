/* A part of the live kernel: its state, and access to memory that other threads or the host write.
 * Values that another thread block may have written are read past the L1 cache. */
#ifndef HALO_GPU_LIVE_DEVICE_CUH
#define HALO_GPU_LIVE_DEVICE_CUH

extern "C" {
#include "gpu/gpu.h"
#include "gpu/live_kernels.h"
}

#include <cuda_runtime.h>

/* ---- memory written by other threads or the host ---- */

__device__ __forceinline__ uint4 load_packet(const uint4 *packet)
{
    uint4 value;
    asm volatile("ld.volatile.global.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "l"(packet)
                 : "memory");
    return value;
}

__device__ __forceinline__ void store_packet(uint4 *packet, uint4 value)
{
    asm volatile("st.volatile.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(packet), "r"(value.x),
                 "r"(value.y), "r"(value.z), "r"(value.w)
                 : "memory");
}

__device__ __forceinline__ uint4 await_packet(const uint4 *packet, unsigned number)
{
    uint4 value = load_packet(packet);
    while (value.w != number)
        value = load_packet(packet);
    return value;
}

__device__ __forceinline__ void publish(unsigned *flag, unsigned number)
{
    __threadfence();
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(number) : "memory");
}

/* One thread waits for the thread block until the flag reaches `number`. Numbers may wrap. */
__device__ __forceinline__ void await_flag(const unsigned *flag, unsigned number)
{
    if (threadIdx.x == 0) {
        unsigned value;
        do
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                         : "=r"(value)
                         : "l"(flag)
                         : "memory");
        while ((int)(value - number) < 0);
    }
    __syncthreads();
}

/* ---- sums ---- */

/* sum += added. `lost` keeps what rounding loses (Kahan 1965). */
__device__ __forceinline__ void add_run(float &sum, float &lost, float added)
{
    added -= lost;
    float whole = sum + added;
    lost = (whole - sum) - added;
    sum = whole;
}

/* ---- the state of a thread block ---- */

struct live_slot {
    unsigned code; /* code of the current mask; 0: silent */
    bool fresh;
    live_mask mask;
};

__device__ __forceinline__ live_path path_of(const live_mask &mask, unsigned p)
{
    uint2 pair = __ldcg(reinterpret_cast<const uint2 *>(mask.paths + p));
    live_path path = {pair.x, pair.y};
    return path;
}

/* A thread block's shared memory. */
struct live_scratch {
    double2 *fft; /* bins double2; before that, rows of products */
    float *mine;  /* 2 block floats: previous and current block of this thread block's only input */
    float *other; /* 2 block floats: previous and current block of another input */
    float *head;  /* block floats */
    float *sum;   /* block floats: the answer */
    float *lost;  /* block floats: what rounding lost in `sum` */
};

__host__ __device__ __forceinline__ size_t fft_bytes(const live_state &s)
{
    size_t rows = LIVE_THREADS * sizeof(float4), fft = s.bins * sizeof(double2);
    return rows > fft ? rows : fft;
}

__device__ __forceinline__ live_scratch scratch_of(const live_state &s, char *shared)
{
    live_scratch r;
    r.fft = reinterpret_cast<double2 *>(shared);
    r.mine = reinterpret_cast<float *>(shared + fft_bytes(s));
    r.other = r.mine + 2 * s.block;
    r.head = r.other + 2 * s.block;
    r.sum = r.head + s.block;
    r.lost = r.sum + s.block;
    return r;
}

static size_t scratch_bytes(const live_state &s)
{
    return fft_bytes(s) + 7 * s.block * sizeof(float);
}

/* Whether each thread block has only one role. Then its input stays in shared memory. */
__device__ __forceinline__ bool is_single(const live_state &s)
{
    return s.roles <= gridDim.x;
}

__device__ __forceinline__ bool is_mine(const live_state &s, unsigned input)
{
    return is_single(s) && input == blockIdx.x;
}

#endif
