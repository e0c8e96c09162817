#include "gpu/fault.h"

#include "base/realtime.h"

#include <stdlib.h>
#include <string.h>

struct fault fault_wanted(void)
{
    static const char *const kinds[] = {
        [FAULT_MEMORY] = ":memory", [FAULT_LOST] = ":lost",   [FAULT_TRAP] = ":trap",
        [FAULT_LATE] = ":late",     [FAULT_NEVER] = ":never",
    };
    struct fault fault = {.step = UINT64_MAX};
    const char *text = getenv("HALO_GPU_FAULT");
    if (!text || *text < '0' || *text > '9')
        return fault;
    char *end;
    uint64_t step = strtoull(text, &end, 10);
    fault.step = step;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (strcmp(kinds[k], end) == 0)
            fault.kind = (enum fault_kind)k;
    return fault;
}

HALO_REALTIME bool fault_hides(const struct fault *fault, uint64_t step)
{
    if (step < fault->step)
        return false;
    return fault->kind == FAULT_NEVER ||
           (fault->kind == FAULT_LATE && step < fault->step + FAULT_LATE_BLOCKS);
}

cudaError_t fault_at(const struct fault *fault, uint64_t step, cudaStream_t stream)
{
    if (step != fault->step || fault->kind == FAULT_LATE || fault->kind == FAULT_NEVER)
        return cudaSuccess;
    if (fault->kind == FAULT_MEMORY)
        return cudaErrorMemoryAllocation;
    if (fault->kind == FAULT_LOST)
        return cudaErrorDevicesUnavailable;
    cudaError_t error = fault_trap(stream);
    return error == cudaSuccess ? cudaStreamSynchronize(stream) : error;
}
