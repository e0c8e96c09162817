/* Declarations that the files of the CLAP host share: libraries, the functions of the host that a
 * plugin calls, parameters as ports, and an instance.
 *
 * Names and rules are those of the specification (clap_abi.h). halo limits what it takes from a
 * plugin: counts, lengths of texts, bytes of its state.
 *
 * Threads. CLAP tells [main] from [audio] calls, and one thread may make both by turns. A thread
 * takes a role while it calls the plugin (clap_enter); the extension thread-check answers by the
 * role. In files the processing thread also makes the plugin's [main] calls, between blocks. Live a
 * thread of the instance makes them (struct clap_service). */
#ifndef HALO_PLUGIN_CLAP_H
#define HALO_PLUGIN_CLAP_H

#include "base/ring.h"
#include "plugin/clap/clap_abi.h"
#include "plugin/plugin_host.h"

enum {
    CLAP_PLUGINS_MOST = 4096,    /* plugins of a library */
    CLAP_PARAMETERS_MOST = 8192, /* parameters of a plugin */
    CLAP_PORTS_MOST = 64,        /* ports in each direction */
    CLAP_CHANNELS_MOST = 64,     /* channels of a port */
};

/* ---- libraries: plugin_clap_host.c ---- */

struct clap_library {
    char *path;
    const struct clap_plugin_entry *entry; /* NULL: the library is not open */
    const struct clap_plugin_factory *factory;
};

/* Implements plugin_kind.list. */
MUST_CHECK enum status clap_libraries(const struct plugin_found *found);

/* Load a library for good, and run its init code. Errors: it cannot be loaded; no CLAP library. */
MUST_CHECK enum status clap_library_open(const char *path, struct clap_library *library);
void clap_library_close(struct clap_library *library); /* a zeroed one is allowed */

/* The descriptor of a plugin. NULL: the index is past the last, or the plugin has no id. */
const struct clap_plugin_descriptor *clap_library_at(const struct clap_library *library,
                                                     uint32_t index);
uint32_t clap_library_count(const struct clap_library *library);

/* Open the library of an id, or of PATH.clap:ID. Only libraries whose file contains the text of the
 * id are loaded, so a library that crashes does no harm to plugins of others. Errors: no library
 * has the id; those of opening. */
MUST_CHECK enum status clap_library_find(const char *id, struct clap_library *library,
                                         const struct clap_plugin_descriptor **descriptor);

/* The text that clap_library_find takes for a plugin of this library. Errors: memory. */
MUST_CHECK enum status clap_library_id(const char *path, const char *plugin, char **id);

/* ---- the host's side: plugin_clap_host.c ---- */

enum clap_role { CLAP_NO_THREAD, CLAP_MAIN_THREAD, CLAP_AUDIO_THREAD };

/* Take a role on this thread. Returns the old role, to be entered again afterwards. Real-time. */
enum clap_role clap_enter(enum clap_role role);

/* Requests of a plugin beside PLUGIN_ASKED_RESTART, as bits. */
enum {
    CLAP_ASKED_CALLBACK = 2,
    CLAP_ASKED_VALUES = 4, /* the plugin changed values of its parameters */
};

struct clap_host_side {
    struct plugin_side common;
    struct clap_host host; /* given to the plugin; host_data points to this struct */
    struct ring *lines;    /* ring of struct clap_line: lines logged on the audio thread */
    char preset_error[PLUGIN_COMPLAINT]; /* error of the last preset */
};

/* Errors: memory. Call clap_host_free also after an error. */
MUST_CHECK enum status clap_host_init(struct clap_host_side *side, const char *name);
void clap_host_free(struct clap_host_side *side);

/* Print the lines logged on the audio thread. Called on the main thread. */
void clap_host_report(struct clap_host_side *side);

/* Create and init() a plugin. Errors: the plugin fails, or lacks functions. */
MUST_CHECK enum status clap_plugin_make(const struct clap_library *library,
                                        struct clap_host_side *side, const char *id,
                                        const struct clap_plugin **plugin);
/* Deactivate and destroy a plugin. NULL is allowed. */
void clap_plugin_end(struct clap_host_side *side, const struct clap_plugin *plugin);

/* An extension of the plugin. NULL: the plugin lacks it or one of its `functions` pointers. */
const void *clap_extension(const struct clap_plugin *plugin, const char *id, size_t functions);
#define CLAP_EXTENSION(plugin, id, type)                                                           \
    ((const struct type *)clap_extension(plugin, id, sizeof(struct type) / sizeof(void (*)(void))))

/* ---- descriptions and presets: plugin_clap_describe.c ---- */

/* Implements plugin_kind.describe. */
MUST_CHECK enum status clap_describe(const char *id, struct plugin_info **info);

/* Load a preset by its URI (plugin_info.presets). Errors: the plugin cannot load it. */
MUST_CHECK enum status clap_preset_load(const struct clap_plugin *plugin,
                                        struct clap_host_side *side, const char *uri);

/* ---- an instance: plugin_clap.c ---- */

/* Values to send to the plugin with the next block, sorted by frame. */
struct clap_events {
    struct clap_input_events in;
    struct clap_output_events out;
    size_t count, size;
    struct clap_event_param_value *values;
};

struct clap_parameter {
    size_t port;
    uint32_t id;
    void *cookie;
    double minimum, maximum;
    float sent; /* value that the plugin has; NaN: the value must be sent */
};

struct clap_bus { /* the audio ports of one direction */
    uint32_t count;
    struct clap_audio_buffer *buffers; /* buffers by port */
    struct plugin_channels channels;   /* channels of all ports */
};

struct clap_instance {
    struct plugin plugin;
    struct clap_library library;
    const char *id; /* id of the plugin within the library */
    struct clap_host_side side;
    const struct clap_plugin *handle;
    const struct clap_plugin_params *params; /* extensions; NULL: none */
    const struct clap_plugin_latency *latency;
    const struct clap_plugin_tail *tail;
    const struct clap_plugin_state *state;
    uint32_t rate, block;
    bool live;
    char *preset;
    size_t parameter_count;
    struct clap_parameter *parameters;
    size_t latency_port; /* index of the port for the latency; port_count: none */
    atomic_uint reported_latency;
    struct clap_bus in, out;
    struct clap_events events;
    struct plugin_tempo tempo;
    struct clap_event_transport transport;
    int64_t time;                   /* frames since the last reset */
    struct plugin_service *service; /* live only; NULL: the processing thread makes [main] calls */
};

#endif
