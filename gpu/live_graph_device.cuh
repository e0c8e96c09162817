/* What the kernels of a live graph share (live_graph_kernels.h): sums, the masks of a block, and
 * launches. */
#ifndef HALO_GPU_LIVE_GRAPH_DEVICE_CUH
#define HALO_GPU_LIVE_GRAPH_DEVICE_CUH

extern "C" {
#include "gpu/gpu.h"
#include "gpu/live_graph_kernels.h"
}

static constexpr unsigned SUM_RUN = 16; /* products per plain sum */

/* sum += added, with what its roundings lost (Kahan 1965). */
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

#endif
