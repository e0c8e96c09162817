extern "C" {
#include "gpu/gpu.h"
}

#include <cuda_runtime.h>

__global__ void trap()
{
    __trap();
}

cudaError_t fault_trap(cudaStream_t stream)
{
    trap<<<1, 1, 0, stream>>>();
    return cudaGetLastError();
}
