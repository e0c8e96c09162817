/* A cycle of PipeWire's graph: the call of the step, what is known of the graph's clock, and the
 * latencies that pass through halo.
 *
 * Of either kind of node: a filter between devices (driver_pipewire_filter.h), or a virtual sink
 * (driver_pipewire_sink.h).
 * Threads: the control thread with the loop's lock held, unless a function says otherwise.
 */
#ifndef HALO_DRIVER_PIPEWIRE_CYCLE_H
#define HALO_DRIVER_PIPEWIRE_CYCLE_H

#include "live/device_driver.h"
#include "live/pipewire_library.h"

#include <spa/param/latency-utils.h>

struct pipewire_cycle {
    struct device_stream *stream;
    float *scratch;       /* output without a link: DEVICE_FRAMES_MOST for each channel */
    uint32_t own_latency; /* frames, of the step */

    atomic_bool is_ready; /* set when the links are there: calls count from then on */
    atomic_bool failed;
    atomic_uint rate; /* Hz, of the last call; 0: none yet */
    atomic_uint duration;
    struct spa_latency_info latency[2]; /* SPA_DIRECTION_INPUT: to the output device,
                                           SPA_DIRECTION_OUTPUT: from the input device */
    atomic_bool moves; /* set where a device changes: what is lost then, nobody lost */
    uint32_t clock_id; /* the real-time thread's */
    uint64_t expected;
    uint32_t unsettled; /* frames until gaps count again */
};

struct pipewire_request {
    struct device_stream *stream;
    const char *(*channel)(void *context, bool is_input, size_t channel); /* FL, FR, ... */
    void *context;
    uint32_t rate; /* Hz to request; 0: the graph's */
    size_t block;  /* frames to request; 0: the graph's */
    uint32_t rate_of_block;
};

/* Errors: memory. */
MUST_CHECK enum status pipewire_cycle_init(struct device_stream *stream,
                                           struct pipewire_cycle *cycle);
void pipewire_cycle_free(struct pipewire_cycle *cycle);

/* Call the step; `in` and `out` have the opened channels, of which those without a buffer are NULL
 * and may be replaced. Real-time, on PipeWire's thread. */
void pipewire_cycle_run(struct pipewire_cycle *cycle, const struct spa_io_clock *clock,
                        const float **in, float **out, uint32_t frames);

/* Add what is requested to the properties of a node. */
void pipewire_cycle_request(const struct pipewire_request *request,
                            struct pw_properties *properties);

/* The latency that arrived from one side; the step's own is added for the other one. */
void pipewire_cycle_pass_latency(struct pipewire_cycle *cycle, struct spa_latency_info *info);

/* The step's own, as a parameter for a node, in `buffer`. */
const struct spa_pod *pipewire_cycle_own_latency(const struct pipewire_cycle *cycle,
                                                 uint8_t *buffer, uint32_t size);

/* Of the devices, in frames; the directions are those of `latency`. */
uint64_t pipewire_cycle_latency(const struct pipewire_cycle *cycle, enum spa_direction direction);

#endif
