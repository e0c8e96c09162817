/* The graph of a PipeWire server as its registry shows it: nodes, ports, links, and the metadata
 * that names the default devices.
 *
 * Identifiers (id) are the server's. All here is read and changed with the loop's lock held; the
 * loop's own thread holds it while it calls `changed`.
 */
#ifndef HALO_DRIVER_PIPEWIRE_REGISTRY_H
#define HALO_DRIVER_PIPEWIRE_REGISTRY_H

#include "base/status.h"

#include "live/pipewire_library.h"

#include <stdatomic.h>

enum { PIPEWIRE_NAME = 128 };

struct pipewire_registry_node {
    uint32_t id;
    char name[PIPEWIRE_NAME];
    char description[PIPEWIRE_NAME];
    bool is_sink; /* of sound; its monitor can be recorded */
    bool is_source;
    bool is_stream;      /* of a program, and linked by the session manager */
    int priority;        /* of the session manager, for defaults */
    bool is_passed_over; /* another one was the default while it was there */
};

struct pipewire_registry_port {
    uint32_t id, node;
    bool is_input; /* sound goes into the node */
    bool is_monitor;
    char name[PIPEWIRE_NAME];
    char channel[16]; /* FL, FR, AUX0, ... */
};

struct pipewire_registry_link {
    uint32_t id, out_port, in_port;
    uint32_t out_node, in_node;
};

struct pipewire_metadata {
    uint32_t id;
    struct pw_proxy *proxy; /* NULL: not there yet */
    struct spa_hook hook;
};

struct pipewire_registry {
    struct pw_thread_loop *loop;
    struct pw_context *context;
    struct pw_core *core;
    struct pw_registry *registry;
    struct pipewire_metadata defaults, settings;
    struct spa_hook core_hook, registry_hook;

    struct pipewire_registry_node *nodes;
    struct pipewire_registry_port *ports;
    struct pipewire_registry_link *links;
    size_t node_count, port_count, link_count;
    char default_sink[PIPEWIRE_NAME]; /* names of nodes; empty: none */
    char default_source[PIPEWIRE_NAME];
    char configured_sink[PIPEWIRE_NAME]; /* by the user as default, also while it is not there */
    uint32_t rate, forced_rate;          /* Hz; 0: unknown, none */
    bool is_doubted;                     /* the names of the defaults: read them again */
    int64_t doubted_at, read_at;         /* the last time, monotonic */

    atomic_bool gone;               /* the server */
    int asked, answered;            /* syncs: the last sent, the last answered */
    void (*changed)(void *context); /* after changes have arrived; may be NULL */
    void *context_of_changed;
};

/* Connect and read what there is; *found is false where no server answers. Errors: memory. */
MUST_CHECK enum status pipewire_registry_open(struct pipewire_registry *graph, bool *found);
void pipewire_registry_close(struct pipewire_registry *graph);

/* Wait until `is_done` holds, the server is gone or the time is over. Returns whether it holds. */
bool pipewire_registry_wait(struct pipewire_registry *graph, bool (*is_done)(void *context),
                            void *context, int milliseconds);

/* Have `changed` called when all has arrived that the server has sent until now. */
void pipewire_registry_ask(struct pipewire_registry *graph);

/* NULL: none. */
const struct pipewire_registry_node *pipewire_registry_node(const struct pipewire_registry *graph,
                                                            uint32_t id);
const struct pipewire_registry_node *pipewire_registry_named(const struct pipewire_registry *graph,
                                                             const char *name);
const struct pipewire_registry_port *pipewire_registry_port(const struct pipewire_registry *graph,
                                                            uint32_t id);
bool pipewire_registry_has_link(const struct pipewire_registry *graph, uint32_t out_port,
                                uint32_t in_port);

/* The ports of a node for one direction, in its order; at most `most`. */
size_t pipewire_registry_ports(const struct pipewire_registry *graph, uint32_t node, bool is_input,
                               bool is_monitor, const struct pipewire_registry_port **ports,
                               size_t most);

#endif
