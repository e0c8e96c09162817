#include "gpu/live_devices.h"

#include "gpu/gpu.h"
#include "gpu/live_need.h"

#include <stdio.h>

static void note_places(const struct gpu_devices *devices)
{
    char what[48] = "the stream";
    for (size_t d = 0; d < devices->count; d++) {
        if (devices->count > 1)
            snprintf(what, sizeof what, "share %zu of the outputs", d + 1);
        gpu_note_place(devices->of[d], what);
    }
}

static enum status choose_named(const struct gpu_devices *wanted, struct gpu_devices *devices)
{
    int chosen[GPU_MOST];
    *devices = (struct gpu_devices){0};
    TRY(gpu_choose(wanted, chosen, &devices->count));
    for (size_t d = 0; d < devices->count; d++)
        devices->of[d] = (unsigned char)chosen[d];
    note_places(devices);
    return STATUS_OK;
}

/* False: the driver does not say. */
static bool measure(int device, struct live_device *measured)
{
    struct cudaDeviceProp properties;
    int clock = 0, width = 0; /* kHz, bits; two transfers a clock */
    if (cudaGetDeviceProperties(&properties, device) != cudaSuccess ||
        cudaDeviceGetAttribute(&clock, cudaDevAttrMemoryClockRate, device) != cudaSuccess ||
        cudaDeviceGetAttribute(&width, cudaDevAttrGlobalMemoryBusWidth, device) != cudaSuccess ||
        clock <= 0 || width <= 0) {
        (void)cudaGetLastError();
        return false;
    }
    measured->bytes = (double)properties.totalGlobalMem;
    measured->bandwidth = 1e3 * (double)clock * 2 * (double)width / 8;
    return true;
}

static struct live_job job_of(const struct convolver_shape *shape, const struct mask *mask)
{
    return (struct live_job){.inputs = shape->inputs,
                             .outputs = shape->outputs,
                             .paths = mask->path_count,
                             .columns = mask->columns,
                             .taps = shape->taps,
                             .block = shape->block,
                             .period = 1e-9 * (double)convolver_period(shape),
                             .masks = shape->has_choices ? 2 : 1};
}

static void explain_choice(size_t count, size_t available, const struct live_job *job,
                           const struct live_need *need, const struct live_device *device,
                           char why[CONVOLVER_WHY])
{
    snprintf(why, CONVOLVER_WHY,
             "live on %zu of %zu GPUs: one would need %.1f GB of its %.1f and about %.2f ms of "
             "a block's %.2f",
             count, available, 1e-9 * need->bytes, 1e-9 * device->bytes, 1e3 * need->seconds,
             1e3 * job->period);
}

enum status live_share_out(const struct convolver_shape *shape, const struct mask *mask,
                           struct gpu_devices *devices, char why[CONVOLVER_WHY])
{
    const struct gpu_devices *wanted = &shape->gpu.devices;
    struct live_device measured[GPU_MOST];
    struct live_need need;
    int available;
    if (gpu_devices_are_given(wanted))
        return choose_named(wanted, devices);
    TRY(gpu_count(&available));
    *devices = (struct gpu_devices){.count = 1};
    size_t count = available < GPU_MOST ? (size_t)available : GPU_MOST;
    for (size_t d = 0; d < count; d++)
        if (!measure((int)d, &measured[d]))
            return STATUS_OK;
    const struct live_job job = job_of(shape, mask);
    devices->count = live_devices_needed(&job, measured, count, &need);
    for (size_t d = 0; d < devices->count; d++)
        devices->of[d] = (unsigned char)d;
    if (count > 1)
        explain_choice(devices->count, count, &job, &need, &measured[0], why);
    note_places(devices);
    return STATUS_OK;
}

/* What all of it would need of a device; its paths may each have a column. */
static struct live_need need_of(const struct convolver_shape *shape,
                                const struct live_device *device, struct live_job *job)
{
    *job = (struct live_job){.inputs = shape->inputs,
                             .outputs = shape->outputs,
                             .paths = shape->paths,
                             .columns = shape->paths,
                             .taps = shape->taps,
                             .block = shape->block,
                             .period = 1e-9 * (double)convolver_period(shape),
                             .masks = shape->has_choices ? 2 : 1};
    return live_need_for(job, 1, device);
}

static size_t shares_on(const struct gpu_devices *taken, int device)
{
    size_t count = 0;
    for (size_t p = 0; p < taken->count; p++)
        count += taken->of[p] == device;
    return count;
}

/* With the shares that it has. */
static bool has_room(const struct convolver_shape *shape, const struct gpu_devices *taken,
                     int device)
{
    struct live_device measured;
    struct live_job job;
    size_t free = 0, all = 0, shares = shares_on(taken, device);
    if (!measure(device, &measured) || cudaSetDevice(device) != cudaSuccess ||
        cudaMemGetInfo(&free, &all) != cudaSuccess) {
        (void)cudaGetLastError();
        return false;
    }
    const struct live_need need = need_of(shape, &measured, &job);
    return live_spare_suits(&job, &need, shares, (double)free);
}

/* One without a share first, and the share's own GPU last, where it is named twice. */
bool live_choose_spare(const struct convolver_shape *shape, const struct gpu_devices *taken,
                       unsigned char *device)
{
    int available;
    size_t most = taken->count;
    if (gpu_count(&available) != STATUS_OK)
        return false;
    for (size_t shares = 0; shares <= most; shares++)
        for (int d = 0; d < available && d < GPU_MOST; d++) {
            bool is_own = d == shape->gpu.devices.of[0];
            bool is_next = shares_on(taken, d) == shares && (!is_own || shares == most);
            if (is_next && has_room(shape, taken, d)) {
                *device = (unsigned char)d;
                return true;
            }
        }
    return false;
}
