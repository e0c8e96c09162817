/* The parts of the driver for PipeWire: the graph of the server (driver_pipewire_registry.c), the
 * links between halo's nodes and the devices (_links.c), and halo's own nodes (_node.c).
 *
 * `id` is an identifier of the server. Private to driver_pipewire*.c. Threads: any that holds the
 * loop's lock. The loop's own thread holds it while it calls `changed`. The step runs on PipeWire's
 * real-time thread. */
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
    bool is_sink;        /* plays sound (Audio/Sink); its monitor can be recorded */
    bool is_source;      /* records sound (Audio/Source) */
    bool is_stream;      /* plays or records for a program; the session manager links it */
    int priority;        /* priority for the session manager's choice of a default device */
    bool is_passed_over; /* the node was there while another sink was the default */
};

struct pipewire_registry_port {
    uint32_t id, node;
    bool is_input;   /* sound goes into the node through this port */
    bool is_monitor; /* port of a sink's monitor */
    char name[PIPEWIRE_NAME];
    char channel[16]; /* FL, FR, AUX0, ... */
};

struct pipewire_registry_link {
    uint32_t id, out_port, in_port;
    uint32_t out_node, in_node;
};

struct pipewire_metadata {
    uint32_t id;
    struct pw_proxy *proxy; /* NULL: not bound yet */
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
    char default_sink[PIPEWIRE_NAME];    /* name of the default sink's node; empty: none */
    char default_source[PIPEWIRE_NAME];  /* name of the default source's node; empty: none */
    char configured_sink[PIPEWIRE_NAME]; /* name of the user's default sink, even if absent */
    uint32_t rate, forced_rate;          /* Hz; 0: `rate` is unknown, no rate is forced */
    bool is_doubted; /* the names of the default devices may be out of date; read them again */
    int64_t doubted_at, read_at; /* monotonic ns: when they were last doubted, and last read */

    atomic_bool gone;               /* the server has ended */
    int asked, answered;            /* numbers of syncs: the last one sent, the last one answered */
    void (*changed)(void *context); /* called after changes have arrived; may be NULL */
    void *context_of_changed;
};

/* ---- driver_pipewire_registry.c ---- */

/* Connects to the server and reads its graph. *found: a server answers. Errors: memory. */
MUST_CHECK enum status pipewire_registry_open(struct pipewire_registry *graph, bool *found);
void pipewire_registry_close(struct pipewire_registry *graph);

/* Waits until `is_done` is true, the server is gone or time is over. Returns is_done()'s result. */
bool pipewire_registry_wait(struct pipewire_registry *graph, bool (*is_done)(void *context),
                            void *context, int milliseconds);

/* Reads the names of the default devices again if in doubt. Call it several times a second. */
void pipewire_metadata_check(struct pipewire_registry *graph);

/* The node, or NULL if there is none with this id. */
const struct pipewire_registry_node *pipewire_registry_node(const struct pipewire_registry *graph,
                                                            uint32_t id);
/* The sink or source with this node name, or NULL if there is none. */
const struct pipewire_registry_node *pipewire_registry_named(const struct pipewire_registry *graph,
                                                             const char *name);
/* The port, or NULL if there is none with this id. */
const struct pipewire_registry_port *pipewire_registry_port(const struct pipewire_registry *graph,
                                                            uint32_t id);
bool pipewire_registry_has_link(const struct pipewire_registry *graph, uint32_t out_port,
                                uint32_t in_port);

/* Finds up to `most` ports of a node in one direction, in the server's order; returns how many. */
size_t pipewire_registry_ports(const struct pipewire_registry *graph, uint32_t node, bool is_input,
                               bool is_monitor, const struct pipewire_registry_port **ports,
                               size_t most);

/* ---- driver_pipewire_links.c ----
 *
 * Each direction has a target: the named device, or the server's default device. When the default
 * changes, the links follow. A link that a user cuts is not made again. Links that a user makes are
 * remembered by the names of their ports, and made again after a reconnect. */

/* One direction of halo's links: from the input device, or to the output device. */
struct pipewire_end {
    bool is_wanted;       /* halo links this direction; false: there is none, or programs link it */
    bool is_monitor;      /* the input device is the monitor of a sink */
    bool is_default_sink; /* the input device is the monitor of the default sink, and follows it */
    char named[PIPEWIRE_NAME];       /* node that the user named; empty: follow the default */
    char target[PIPEWIRE_NAME];      /* node name of the target, or of the last one if it is gone */
    char description[PIPEWIRE_NAME]; /* description of `target`; empty: there was none yet */
    bool is_there;                   /* the target exists */
    bool is_stated; /* the layout of halo's channels is set by the user or the chain */
};

/* A link that halo made. */
struct pipewire_own_link {
    bool is_input;   /* the link leads to halo's input */
    bool is_by_hand; /* made again after a reconnect, for a user's link */
    bool is_cut;     /* somebody else removed the link */
    int tries;       /* times that the server was asked for the link */
    uint32_t out_port, in_port;
    struct pw_proxy *proxy; /* NULL: the link failed or was cut */
    struct spa_hook hook;
    struct pipewire_own_link *next;
};

struct pipewire_links {
    struct pipewire_registry *graph;
    uint32_t nodes[2]; /* ids of halo's own nodes, by direction; SPA_ID_INVALID: not known yet */
    char own_sink[PIPEWIRE_NAME];  /* name of halo's virtual sink, never a target; empty: none */
    struct pipewire_end ends[2];   /* index: PIPEWIRE_OUTPUT, PIPEWIRE_INPUT */
    struct pipewire_own_link *own; /* list of the links that halo made */
    size_t moves; /* number of times that a target was replaced by another device */
    /* Description of the sink whose monitor was refused as input: halo plays to it; empty: none */
    char refused[2 * PIPEWIRE_NAME];
};

enum { PIPEWIRE_OUTPUT, PIPEWIRE_INPUT };

/* Adapts the links to the graph. Call it after each change of the graph. */
void pipewire_links_update(struct pipewire_links *links);

/* Whether all links that halo wants exist or were cut by a user. */
bool pipewire_links_are_there(const struct pipewire_links *links);

/* Forgets the links of the previous stream. */
void pipewire_links_forget(void);

void pipewire_links_free(struct pipewire_links *links);

/* ---- driver_pipewire_node.c ---- */

/* A node between cycles of the graph: the stream, the clock, and the latencies through halo. */
struct pipewire_cycle {
    struct device_stream *stream;
    float *scratch; /* buffers for outputs that have none: DEVICE_FRAMES_MOST frames per channel */
    uint32_t own_latency; /* latency of the step, in frames */

    atomic_bool is_ready; /* set when the links are there; the step is not called before */
    atomic_bool failed;   /* the node failed */
    atomic_uint rate;     /* rate of the last cycle in Hz; 0: none yet */
    atomic_uint duration; /* frames of the last cycle */
    /* [SPA_DIRECTION_INPUT]: halo to the output device; [..._OUTPUT]: the input device to halo */
    struct spa_latency_info latency[2];
    atomic_bool moves; /* set when a device changes; gaps that follow do not count as lost sound */
    /* id of the clock in the last cycle; used by the real-time thread, as are the next two */
    uint32_t clock_id;
    uint64_t expected;  /* position of the clock at which the next cycle should begin */
    uint32_t unsettled; /* frames until gaps count as lost sound again */
};

/* What the nodes are made for. */
struct pipewire_request {
    struct device_stream *stream;
    /* returns the name of a channel: FL, FR, ... */
    const char *(*channel)(bool is_input, size_t channel);
    uint32_t rate;          /* Hz; 0: the graph's rate */
    size_t block;           /* frames; 0: the graph's period */
    uint32_t rate_of_block; /* rate that `block` is stated for, in Hz */
};

struct pipewire_filter_port {
    enum spa_direction direction;
    struct spa_latency_info latency; /* latency that arrived at this port */
};

/* halo's node or nodes: a filter with a port for each channel, or two streams. `capture` is a
 * virtual sink that programs play to; `playback` plays the filtered sound. */
struct pipewire_own_node {
    struct pipewire_cycle cycle;
    const char *sink_description; /* virtual sink's description, not owned; NULL: a filter */
    struct pw_filter *filter;
    struct spa_hook hook;
    struct pipewire_filter_port *in[DEVICE_CHANNELS_MOST], *out[DEVICE_CHANNELS_MOST];
    struct pw_stream *capture, *playback; /* virtual sink only */
    struct spa_hook capture_hook, playback_hook;
    struct spa_io_position *_Atomic position; /* virtual sink: graph's clock; NULL: no graph */
};

/* The node name of a virtual sink with this description, such as "halo.Room-correction". */
void pipewire_sink_name(const char *description, char name[static PIPEWIRE_NAME]);

/* If a sink of that name is about to end, for example while a service restarts, waits for its end.
 * Errors: the name is taken, memory, the server's. Call close in any case. */
MUST_CHECK enum status pipewire_own_node_open(struct pipewire_registry *graph, const char *sink,
                                              const struct pipewire_request *request,
                                              struct pipewire_own_node *node);
void pipewire_own_node_close(struct pipewire_own_node *node);

/* Id of the node that records (`is_input`) or plays. SPA_ID_INVALID: not known yet. */
uint32_t pipewire_own_node_id(const struct pipewire_own_node *node, bool is_input);

/* Tells the graph halo's own latency, in frames, if it has changed. */
void pipewire_own_node_set_latency(struct pipewire_own_node *node, uint64_t frames);

/* Latency of the input or output device, in frames. For `direction` see `latency` of the struct. */
uint64_t pipewire_cycle_latency(const struct pipewire_cycle *cycle, enum spa_direction direction);

#endif
