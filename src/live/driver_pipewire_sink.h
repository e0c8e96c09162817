/* A virtual sink in PipeWire's graph, which programs play to, and the node that plays on what halo
 * made of it.
 *
 * Two streams in one cycle: the session manager converts what is played to the first one, whose
 * volume applies, and it triggers the second. Latencies pass through both as through a filter.
 * Threads: the control thread with the loop's lock held.
 */
#ifndef HALO_DRIVER_PIPEWIRE_SINK_H
#define HALO_DRIVER_PIPEWIRE_SINK_H

#include "live/driver_pipewire_cycle.h"
#include "live/driver_pipewire_registry.h"

enum { PIPEWIRE_SINK_NAME = 128 };

struct pipewire_sink {
    struct pw_stream *capture, *playback;
    struct spa_hook capture_hook, playback_hook;
    struct pipewire_cycle *cycle;
    struct spa_io_position *_Atomic position; /* of the graph; NULL: not in one */
};

/* The node's name for a description that a user chose, such as "halo.Room-correction". */
void pipewire_sink_name(const char *description, char *name, size_t size);

/* Whether the name is free: a sink that is about to end, as where a service starts anew, is waited
 * for. Errors: it is not. */
MUST_CHECK enum status pipewire_sink_check(struct pipewire_registry *graph,
                                           const char *description);

/* `cycle` must outlive it. Errors: memory, the server's. */
MUST_CHECK enum status pipewire_sink_open(struct pw_core *core, const char *description,
                                          const struct pipewire_request *request,
                                          struct pipewire_cycle *cycle, struct pipewire_sink *sink);
void pipewire_sink_close(struct pipewire_sink *sink);

/* The nodes that are played to, and that play on; SPA_ID_INVALID: not known yet. */
uint32_t pipewire_sink_id(const struct pipewire_sink *sink);
uint32_t pipewire_sink_playing_id(const struct pipewire_sink *sink);

/* Tell the graph the cycle's own latency, which has changed. */
void pipewire_sink_update_latency(struct pipewire_sink *sink);

#endif
