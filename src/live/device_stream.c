/* All that runs on the device's thread. */
#include "live/device_stream.h"

#include "base/realtime.h"

#include <pthread.h>
#include <string.h>

static const PaStreamCallbackFlags LOST_FLAGS =
    paInputUnderflow | paInputOverflow | paOutputUnderflow | paOutputOverflow;

enum { PRIORITY_LEAST = 10 }; /* below that others of the system easily come before */

/* The device's thread asks about itself once, while silence plays. PortAudio gives it the
 * lowest real-time priority or none, where no server has given it one. */
static void look_at_thread(struct device_stream *stream)
{
    struct sched_param parameters;
    struct realtime_before before;
    int policy = SCHED_OTHER;
    if (pthread_getschedparam(pthread_self(), &policy, &parameters) != 0)
        return;
    bool realtime = policy == SCHED_FIFO || policy == SCHED_RR;
    if (realtime && parameters.sched_priority >= PRIORITY_LEAST)
        stream->priority = parameters.sched_priority;
    else if (realtime_raise(REALTIME_PRIORITY, &before))
        stream->priority = REALTIME_PRIORITY;
    else
        stream->priority = realtime ? parameters.sched_priority : 0;
}

/* The first call of a stream may bring what gathered before: it says nothing of others. */
static void keep_count(struct device_stream *stream, size_t frames)
{
    size_t calls = atomic_load_explicit(&stream->calls, memory_order_relaxed);
    if (calls == 0)
        look_at_thread(stream);
    if (calls > 1 && frames != atomic_load_explicit(&stream->period, memory_order_relaxed))
        atomic_store_explicit(&stream->varies, true, memory_order_relaxed);
    atomic_store_explicit(&stream->period, frames, memory_order_relaxed);
    atomic_store_explicit(&stream->calls, calls + 1, memory_order_release);
}

static void fill_silence(const struct device_channels *channels, float *const *out, size_t frames,
                         bool mapped_too)
{
    for (size_t c = 0; c < channels->opened; c++)
        if (mapped_too || !channels->mapped[c])
            memset(out[c], 0, frames * sizeof *out[c]);
}

static void run_slot(const struct device_stream *stream, const struct device_slot *slot,
                      const float *const *input, float *const *output, size_t frames, bool lost)
{
    const float *in[DEVICE_CHANNELS_MOST];
    float *out[DEVICE_CHANNELS_MOST];
    for (size_t at = 0, length; at < frames; at += length, lost = false) {
        length = frames - at < DEVICE_FRAMES_MOST ? frames - at : DEVICE_FRAMES_MOST;
        for (size_t c = 0; c < stream->in.count; c++)
            in[c] = input ? input[stream->in.map[c]] + at : stream->silence;
        for (size_t c = 0; c < stream->out.count; c++)
            out[c] = output[stream->out.map[c]] + at;
        slot->step(slot->context, in, out, length, lost);
    }
}

int device_stream_call(const void *input, void *output, unsigned long frames,
                       const PaStreamCallbackTimeInfo *time, PaStreamCallbackFlags flags,
                       void *context)
{
    (void)time;
    struct device_stream *stream = context;
    keep_count(stream, frames);
    /* Said before `current` is read, so that whoever takes it away sees one or the other. */
    atomic_store(&stream->inside, true);
    const struct device_slot *slot = atomic_load(&stream->current);
    if (slot)
        run_slot(stream, slot, input, output, frames, (flags & LOST_FLAGS) != 0);
    atomic_store(&stream->inside, false);
    if (output)
        fill_silence(&stream->out, output, frames, !slot);
    return paContinue;
}
