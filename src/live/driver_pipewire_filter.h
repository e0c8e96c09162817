/* halo's own node in PipeWire's graph: a filter with a port for each channel.
 *
 * PipeWire's real-time thread calls the step; channels without a link are silent. Latencies arrive
 * at its ports and leave them with the step's own added, in both directions.
 * Threads: the control thread with the loop's lock held.
 */
#ifndef HALO_DRIVER_PIPEWIRE_FILTER_H
#define HALO_DRIVER_PIPEWIRE_FILTER_H

#include "live/driver_pipewire_cycle.h"

struct pipewire_filter_port {
    enum spa_direction direction;
    struct spa_latency_info latency; /* that arrived here */
};

struct pipewire_filter {
    struct pw_filter *filter;
    struct spa_hook hook;
    struct pipewire_cycle *cycle;
    struct pipewire_filter_port *in[DEVICE_CHANNELS_MOST], *out[DEVICE_CHANNELS_MOST];
};

/* `cycle` must outlive it. Errors: memory, the server's. */
MUST_CHECK enum status pipewire_filter_open(struct pw_core *core,
                                            const struct pipewire_request *request,
                                            struct pipewire_cycle *cycle,
                                            struct pipewire_filter *filter);
void pipewire_filter_close(struct pipewire_filter *filter);

/* SPA_ID_INVALID: not known yet. */
uint32_t pipewire_filter_id(const struct pipewire_filter *filter);

/* Tell the graph the cycle's own latency, which has changed. */
void pipewire_filter_update_latency(struct pipewire_filter *filter);

#endif
