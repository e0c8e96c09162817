/* The parts of the driver for PipeWire: the graph of the server (driver_pipewire_registry.c), links
 * between halo's node and the devices (_links.c), and halo's own nodes (_node.c).
 *
 * Identifiers (id) are the server's. Private to driver_pipewire*.c. Threads: any, with the loop's
 * lock held; the loop's own thread holds it while it calls `changed`. The step runs on PipeWire's
 * real-time thread.
 */
#ifndef HALO_DRIVER_PIPEWIRE_H
#define HALO_DRIVER_PIPEWIRE_H

#include "live/device/device_driver.h"
#include "live/device/pipewire_library.h"

#include <spa/param/latency-utils.h>

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

/* ---- driver_pipewire_registry.c ---- */

/* Connect and read what there is; *found is false where no server answers. Errors: memory. */
MUST_CHECK enum status pipewire_registry_open(struct pipewire_registry *graph, bool *found);
void pipewire_registry_close(struct pipewire_registry *graph);

/* Wait until `is_done` holds, the server is gone or the time is over. Returns whether it holds. */
bool pipewire_registry_wait(struct pipewire_registry *graph, bool (*is_done)(void *context),
                            void *context, int milliseconds);

/* Read the names of the defaults again where that is due; call it several times a second. */
void pipewire_metadata_check(struct pipewire_registry *graph);

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

/* ---- driver_pipewire_links.c ----
 *
 * Each direction has a target: the named device, or the server's default one, which is followed.
 * A direction whose links a user cuts by hand is left to the user. Links made by hand are
 * remembered by the names of their ports, and made again after a reconnect. */

struct pipewire_end {
    bool is_wanted;                  /* it is linked, not left to programs */
    bool is_monitor;                 /* the input is the monitor of a sink */
    bool is_default_sink;            /* the input is that of the default sink, as it changes */
    char named[PIPEWIRE_NAME];       /* of the device; empty: the server's default one */
    char target[PIPEWIRE_NAME];      /* of the last one */
    char description[PIPEWIRE_NAME]; /* of the same; empty: none was there */
    bool is_there;                   /* the target */
    bool is_stated;                  /* halo's channels are called as a user or the chain says */
};

struct pipewire_own_link {
    bool is_input;   /* of halo */
    bool is_by_hand; /* it was made by a user before a reconnect */
    bool is_cut;     /* by someone else */
    int tries;
    uint32_t out_port, in_port;
    struct pw_proxy *proxy; /* NULL: it failed, or is cut */
    struct spa_hook hook;
    struct pipewire_own_link *next;
};

struct pipewire_links {
    struct pipewire_registry *graph;
    uint32_t nodes[2];               /* halo's own for each direction; SPA_ID_INVALID: not yet */
    char own_sink[PIPEWIRE_NAME];    /* never played to; empty: none */
    struct pipewire_end ends[2];     /* output, input */
    struct pipewire_own_link *own;   /* a list */
    size_t moves;                    /* times that a device was replaced by another */
    char refused[2 * PIPEWIRE_NAME]; /* the sink whose monitor was refused; empty: none */
};

enum { PIPEWIRE_OUTPUT, PIPEWIRE_INPUT };

/* Adapt the links to the graph. */
void pipewire_links_update(struct pipewire_links *links);

/* All ports of all wanted directions have their links, as far as they can. */
bool pipewire_links_are_there(const struct pipewire_links *links);

/* Forget the links that the stream before had. */
void pipewire_links_forget(void);

void pipewire_links_free(struct pipewire_links *links);

/* ---- driver_pipewire_node.c ---- */

/* A cycle of the graph: the call of the step, what is known of the graph's clock, and the latencies
 * that pass through halo. */
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
    const char *(*channel)(bool is_input, size_t channel); /* FL, FR, ... */
    uint32_t rate;                                         /* Hz to request; 0: the graph's */
    size_t block;                                          /* frames to request; 0: the graph's */
    uint32_t rate_of_block;
};

struct pipewire_filter_port {
    enum spa_direction direction;
    struct spa_latency_info latency; /* that arrived here */
};

/* Either a filter with a port for each channel, or a virtual sink, which programs play to, with the
 * node that plays on what halo made of it. */
struct pipewire_own_node {
    struct pipewire_cycle cycle;
    const char *sink_description; /* not owned; NULL: a filter */
    struct pw_filter *filter;
    struct spa_hook hook;
    struct pipewire_filter_port *in[DEVICE_CHANNELS_MOST], *out[DEVICE_CHANNELS_MOST];
    struct pw_stream *capture, *playback; /* of a sink */
    struct spa_hook capture_hook, playback_hook;
    struct spa_io_position *_Atomic position; /* of a sink, in the graph; NULL: not in one */
};

/* The name of a sink's node for a description that a user chose, such as "halo.Room-correction". */
void pipewire_sink_name(const char *description, char name[static PIPEWIRE_NAME]);

/* Waits for a sink of that name that is about to end, as where a service starts anew. Errors: the
 * name is taken, memory, the server's; close in any case. */
MUST_CHECK enum status pipewire_own_node_open(struct pipewire_registry *graph, const char *sink,
                                              const struct pipewire_request *request,
                                              struct pipewire_own_node *node);
void pipewire_own_node_close(struct pipewire_own_node *node);

/* The node that records, and the one that plays; SPA_ID_INVALID: not known yet. */
uint32_t pipewire_own_node_id(const struct pipewire_own_node *node, bool is_input);

/* Report the cycle's own latency to the graph, if it is another one. */
void pipewire_own_node_set_latency(struct pipewire_own_node *node, uint64_t frames);

/* The latency of the devices, in frames; the directions are those of `latency`. */
uint64_t pipewire_cycle_latency(const struct pipewire_cycle *cycle, enum spa_direction direction);

#endif
