/* Between a device's calls and the live step: blocks of one length, and a clock.
 *
 * The step's first output channel goes to all of the device's where it has only one;
 * else each goes to its own, and the device's others are silent.
 * Threads: the control thread makes and reads; live_device_step is the device's.
 */
#ifndef HALO_LIVE_DEVICE_H
#define HALO_LIVE_DEVICE_H

#include "base/ring.h"
#include "live/live.h"
#include "sound/reblock.h"

#include <stdatomic.h>

/* What a block took. */
struct block_time {
    uint64_t frame; /* its first */
    int64_t ns;     /* of the step */
    bool lost;      /* the device said that it lost sound just before */
};

struct live_device {
    struct live *live;
    size_t device_outputs;
    struct reblock reblock;
    struct ring *times;       /* struct block_time */
    bool lost;                /* said of the call at hand */
    _Atomic uint64_t untimed; /* blocks that the ring had no room for */
};

/* Errors: memory. */
MUST_CHECK enum status live_device_init(struct live_device *device, struct live *live,
                                        size_t inputs, size_t outputs, size_t block,
                                        size_t device_outputs);
void live_device_free(struct live_device *device);

/* A device_step; `context` is the struct live_device. */
void live_device_step(void *context, const float *const *in, float *const *out, size_t frames,
                      bool lost);

/* Frames that blocks of another length than the device's cost; 0 as a rule. */
size_t live_device_latency(const struct live_device *device);

#endif
