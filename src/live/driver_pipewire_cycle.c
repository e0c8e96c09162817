#include "live/driver_pipewire_cycle.h"

#include "base/realtime.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SETTLES = 2 }; /* in half a second */

enum status pipewire_cycle_init(struct device_stream *stream, struct pipewire_cycle *cycle)
{
    size_t outputs = stream->out.opened;
    cycle->stream = stream;
    for (uint32_t d = 0; d < 2; d++) /* each side keeps its own, before any latency arrives */
        cycle->latency[d] = SPA_LATENCY_INFO((enum spa_direction)d);
    cycle->scratch = calloc(outputs ? outputs : 1, DEVICE_FRAMES_MOST * sizeof *cycle->scratch);
    return cycle->scratch ? STATUS_OK : fail_memory("a node of PipeWire");
}

void pipewire_cycle_free(struct pipewire_cycle *cycle)
{
    free(cycle->scratch);
    *cycle = (struct pipewire_cycle){0};
}

/* ---- real-time ---- */

/* A cycle that did not reach this node leaves a gap in the position of the driver's clock. A driver
 * that is left repeats its last one. */
HALO_REALTIME static bool has_gap(struct pipewire_cycle *cycle, const struct spa_io_clock *clock)
{
    bool gap = clock->id == cycle->clock_id && clock->position > cycle->expected;
    uint32_t duration = (uint32_t)clock->duration;
    cycle->clock_id = clock->id;
    cycle->expected = clock->position + clock->duration;
    if (atomic_exchange_explicit(&cycle->moves, false, memory_order_relaxed))
        cycle->unsettled = clock->rate.denom / SETTLES;
    bool settled = cycle->unsettled == 0;
    cycle->unsettled -= cycle->unsettled < duration ? cycle->unsettled : duration;
    return gap && settled;
}

HALO_REALTIME void pipewire_cycle_run(struct pipewire_cycle *cycle,
                                      const struct spa_io_clock *clock, const float **in,
                                      float **out, uint32_t frames)
{
    struct device_stream *stream = cycle->stream;
    if (frames == 0 || frames > DEVICE_FRAMES_MOST)
        return;
    for (size_t c = 0; c < stream->in.opened; c++)
        in[c] = in[c] ? in[c] : stream->silence;
    for (size_t c = 0; c < stream->out.opened; c++)
        out[c] = out[c] ? out[c] : cycle->scratch + c * DEVICE_FRAMES_MOST;
    bool lost = has_gap(cycle, clock);
    atomic_store_explicit(&cycle->duration, frames, memory_order_relaxed);
    atomic_store_explicit(&cycle->rate, clock->rate.denom, memory_order_relaxed);
    if (atomic_load_explicit(&cycle->is_ready, memory_order_acquire))
        device_process(stream, in, out, frames, lost);
    else
        for (size_t c = 0; c < stream->out.opened; c++)
            memset(out[c], 0, frames * sizeof *out[c]);
}

/* ---- the graph ---- */

void pipewire_cycle_request(const struct pipewire_request *request,
                            struct pw_properties *properties)
{
    pw_properties_set(properties, PW_KEY_NODE_ALWAYS_PROCESS, "true");
    pw_properties_set(properties, PW_KEY_NODE_WANT_DRIVER, "true");
    if (request->block)
        pw_properties_setf(properties, PW_KEY_NODE_LATENCY, "%zu/%u", request->block,
                           request->rate_of_block);
    if (request->rate)
        pw_properties_setf(properties, PW_KEY_NODE_RATE, "1/%u", request->rate);
}

/* The type of its rate depends on PipeWire's version. */
static struct spa_process_latency_info own_info(uint32_t frames)
{
    struct spa_process_latency_info own = {.ns = 0};
    own.rate = (__typeof__(own.rate))frames;
    return own;
}

void pipewire_cycle_pass_latency(struct pipewire_cycle *cycle, struct spa_latency_info *info)
{
    const struct spa_process_latency_info own = own_info(cycle->own_latency);
    cycle->latency[info->direction] = *info;
    spa_process_latency_info_add(&own, info);
}

const struct spa_pod *pipewire_cycle_own_latency(const struct pipewire_cycle *cycle,
                                                 uint8_t *buffer, uint32_t size)
{
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(buffer, size);
    const struct spa_process_latency_info own = own_info(cycle->own_latency);
    return spa_process_latency_build(&builder, SPA_PARAM_ProcessLatency, &own);
}

uint64_t pipewire_cycle_latency(const struct pipewire_cycle *cycle, enum spa_direction direction)
{
    const struct spa_latency_info *info = &cycle->latency[direction];
    double rate = atomic_load(&cycle->rate), quantum = atomic_load(&cycle->duration);
    return (uint64_t)llround((double)info->max_quantum * quantum + (double)info->max_rate +
                             1e-9 * (double)info->max_ns * rate);
}
