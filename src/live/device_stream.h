/* A device's stream from within: what its callback and the control thread share.
 *
 * Private to device*.c. Threads: what is atomic is shared; the rest is written before the
 * stream starts.
 */
#ifndef HALO_DEVICE_STREAM_H
#define HALO_DEVICE_STREAM_H

#include "live/device.h"

#include <portaudio.h>
#include <stdatomic.h>

/* The device's channels that a step sees. */
struct device_channels {
    size_t opened; /* up to the highest one mapped */
    size_t count;
    size_t map[DEVICE_CHANNELS_MOST]; /* from 0 */
    bool mapped[DEVICE_CHANNELS_MOST];
};

struct device_slot {
    device_step *step;
    void *context;
};

struct device_stream {
    struct device_channels in;
    struct device_channels out;
    float *silence; /* DEVICE_FRAMES_MOST, for input that does not come */
    struct device_slot slot;
    struct device_slot *_Atomic current; /* NULL: silence */
    atomic_bool inside;                   /* the callback may be using `current` */
    atomic_size_t calls;
    atomic_size_t period;
    atomic_bool varies;
    atomic_int priority;
};

/* PortAudio's callback; `context` is the struct device_stream. Real-time. */
int device_stream_call(const void *input, void *output, unsigned long frames,
                       const PaStreamCallbackTimeInfo *time, PaStreamCallbackFlags flags,
                       void *context);

#endif
