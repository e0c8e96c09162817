#include "live/live_device.h"

#include "base/monotonic.h"

#include <string.h>

enum { TIMES = 1 << 14 }; /* blocks: seconds of the shortest ones */

enum status live_device_init(struct live_device *device, struct live *live, size_t inputs,
                             size_t outputs, size_t block, size_t device_outputs)
{
    *device = (struct live_device){.live = live, .device_outputs = device_outputs};
    enum status status = reblock_init(&device->reblock, inputs, outputs, block);
    if (status == STATUS_OK)
        status = ring_create(sizeof(struct block_time), TIMES, "a stream", &device->times);
    return status;
}

void live_device_free(struct live_device *device)
{
    reblock_free(&device->reblock);
    ring_destroy(device->times);
}

static void run_block(void *context, const float *const *in, float *const *out)
{
    struct live_device *device = context;
    struct block_time time = {.frame = live_frames(device->live), .lost = device->lost};
    int64_t begin = monotonic_ns();
    live_process(device->live, in, out);
    time.ns = monotonic_ns() - begin;
    device->lost = false;
    if (ring_write(device->times, &time, 1) == 0)
        atomic_fetch_add(&device->untimed, 1);
}

void live_device_step(void *context, const float *const *in, float *const *out, size_t frames,
                      bool lost)
{
    struct live_device *device = context;
    size_t outputs = device->reblock.outputs;
    device->lost = device->lost || lost;
    reblock_process(&device->reblock, in, out, frames, run_block, device);
    for (size_t c = outputs; c < device->device_outputs; c++)
        if (outputs == 1)
            memcpy(out[c], out[0], frames * sizeof(float));
        else
            memset(out[c], 0, frames * sizeof(float));
}

size_t live_device_latency(const struct live_device *device)
{
    return device->reblock.adapts ? device->reblock.block : 0;
}
