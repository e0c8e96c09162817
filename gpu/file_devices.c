#include "gpu/file_devices.h"

#include "convolve/file_gpus.h"
#include "gpu/gpu.h"

enum status file_devices_choose(const struct convolver_shape *shape, size_t columns,
                                int devices[GPU_MOST], size_t *count, char why[CONVOLVER_WHY])
{
    int available;
    TRY(gpu_choose(&shape->gpu.devices, devices, count));
    *count = gpu_distinct(devices, *count);
    if (shape->live || gpu_devices_are_given(&shape->gpu.devices))
        return STATUS_OK;
    TRY(gpu_count(&available));
    *count = file_gpus_wanted(shape, columns, available < GPU_MOST ? (size_t)available : GPU_MOST,
                              machine_speed_now(), why);
    for (size_t d = 0; d < *count; d++)
        devices[d] = (int)d;
    return STATUS_OK;
}
