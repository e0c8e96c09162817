/* The tiles of points that the kernels of a live graph transform, a thread block each. */
#ifndef HALO_GPU_LIVE_GRAPH_TILES_CUH
#define HALO_GPU_LIVE_GRAPH_TILES_CUH

#include "gpu/live_graph_device.cuh"
#include "gpu/live_transform.cuh"

static constexpr unsigned LOADS = 4; /* points that a thread loads before it stores */

static_assert(LIVE_TILE % (LOADS * TILE_THREADS) == 0, "all threads load as many");

/* The tiles of one level: [0, count) of some unit, units per tile. */
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

/* Allow a kernel the tiles of so many bins. */
static inline cudaError_t allow_tiles(const void *kernel, unsigned bins_most)
{
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                (int)tile_bytes(bins_most));
}

#endif
