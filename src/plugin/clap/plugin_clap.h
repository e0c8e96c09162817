/* What the files of the CLAP host share: libraries, the side of the host that a plugin calls, its
 * parameters as ports, and an instance.
 *
 * Names and rules are those of the specification (clap_abi.h). What a plugin says is bounded:
 * counts, lengths of texts, bytes of its state.
 *
 * Threads. CLAP tells [main] from [audio] calls, and one thread may be both by turns. A thread
 * takes a role for as long as it is within the plugin (clap_enter); thread-check answers from that.
 * In files the thread that processes also does what the plugin asks for on its main thread, between
 * blocks; live a thread of the instance does (struct clap_service).
 */
#ifndef HALO_PLUGIN_CLAP_H
#define HALO_PLUGIN_CLAP_H

#include "base/ring.h"
#include "plugin/clap/clap_abi.h"
#include "plugin/plugin.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    CLAP_TEXT_MOST = 1024,       /* bytes of a text of a plugin */
    CLAP_PLUGINS_MOST = 4096,    /* plugins of a library */
    CLAP_PARAMETERS_MOST = 8192, /* parameters of a plugin */
    CLAP_PORTS_MOST = 64,        /* ports in each direction */
    CLAP_CHANNELS_MOST = 64,     /* channels of a port */
};

/* A copy of a plugin's text, at most CLAP_TEXT_MOST bytes; NULL and "" become NULL. False: memory.
 */
bool clap_text(const char *text, char **copy);

/* ---- libraries: plugin_clap_host.c ---- */

struct clap_library {
    char *path;
    const struct clap_plugin_entry *entry; /* NULL: not initialised */
    const struct clap_plugin_factory *factory;
};

/* struct plugin_kind's list. Search path: CLAP_PATH, then ~/.clap and the system's folders, each
 * with the folders below. A library hides those of the same name in later folders. */
MUST_CHECK enum status clap_libraries(const struct plugin_found *found);

/* Runs code of the library, which then stays loaded. Errors: it cannot be loaded, or is no CLAP
 * library. */
MUST_CHECK enum status clap_library_open(const char *path, struct clap_library *library);
void clap_library_close(struct clap_library *library); /* a zeroed one is allowed */

/* NULL: past the last, or it has no id. */
const struct clap_plugin_descriptor *clap_library_at(const struct clap_library *library,
                                                     uint32_t index);
uint32_t clap_library_count(const struct clap_library *library);

/* Open the library of an id, or of PATH.clap:ID. Only libraries that contain the text of the id are
 * loaded, so that one that crashes hurts no other. Errors: there is none; those of opening. */
MUST_CHECK enum status clap_library_find(const char *id, struct clap_library *library,
                                         const struct clap_plugin_descriptor **descriptor);

/* The text that clap_library_find takes for a plugin of this library. Errors: memory. */
MUST_CHECK enum status clap_library_id(const char *path, const char *plugin, char **id);

/* ---- the host's side: plugin_clap_host.c ---- */

enum clap_role { CLAP_NO_THREAD, CLAP_MAIN_THREAD, CLAP_AUDIO_THREAD };

/* Take a role on this thread; returns the one before, to be taken again. Real-time. */
enum clap_role clap_enter(enum clap_role role);

/* What a plugin asked for: bits. */
enum {
    CLAP_ASKED_CALLBACK = 1,
    CLAP_ASKED_RESTART = 2,
    CLAP_ASKED_VALUES = 4, /* its parameters have new values */
};

enum { CLAP_COMPLAINT = 512 };

struct clap_host_side {
    struct clap_host host; /* given to the plugin; host_data is this */
    const char *name;      /* name of the plugin, for messages */
    atomic_uint asked;
    atomic_bool is_active;      /* between activate and deactivate */
    bool loads;                 /* errors go to `trouble` */
    struct ring *lines;         /* ring of struct clap_line: lines that came on the audio thread */
    atomic_bool has_complained; /* only one complaint is kept */
    char trouble[CLAP_COMPLAINT];
    char text[CLAP_COMPLAINT];         /* text of the complaint */
    _Atomic(const char *) complaint;   /* complete; NULL: none */
    char preset_error[CLAP_COMPLAINT]; /* error of the last preset */
};

/* Errors: memory. Call clap_host_free in any case. */
MUST_CHECK enum status clap_host_init(struct clap_host_side *side, const char *name);
void clap_host_free(struct clap_host_side *side);

/* Print what was said on the audio thread. On the main thread. */
void clap_host_report(struct clap_host_side *side);

/* Keep a complaint, if it is the first. Any thread; real-time. */
void clap_host_complain(struct clap_host_side *side, const char *what);

/* Create and init() a plugin. Errors: it fails, or lacks functions. */
MUST_CHECK enum status clap_plugin_make(const struct clap_library *library,
                                        struct clap_host_side *side, const char *id,
                                        const struct clap_plugin **plugin);
/* Deactivates it first. NULL is allowed. */
void clap_plugin_end(struct clap_host_side *side, const struct clap_plugin *plugin);

/* A complete extension, or NULL: all of its `functions` pointers are set. */
const void *clap_extension(const struct clap_plugin *plugin, const char *id, size_t functions);
#define CLAP_EXTENSION(plugin, id, type)                                                           \
    ((const struct type *)clap_extension(plugin, id, sizeof(struct type) / sizeof(void (*)(void))))

/* ---- descriptions and presets: plugin_clap_describe.c ---- */

/* struct plugin_kind's describe. */
MUST_CHECK enum status clap_describe(const char *id, struct plugin_info **info);

/* Load one by its URI of the info. Errors: the plugin cannot. */
MUST_CHECK enum status clap_preset_load(const struct clap_plugin *plugin,
                                        struct clap_host_side *side, const char *uri);

/* ---- an instance: plugin_clap.c ---- */

/* Values on their way to the plugin for one block, sorted by frame. */
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
    float sent; /* the value that the plugin has; NaN: to be sent */
};

struct clap_bus { /* the audio ports of one direction */
    uint32_t count;
    struct clap_audio_buffer *buffers; /* buffers by port */
    float **channels;                  /* channels of all ports */
};

struct clap_instance {
    struct plugin plugin;
    struct clap_library library;
    const char *id; /* within the library */
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
    size_t latency_port; /* past the ports: none */
    atomic_uint reported_latency;
    struct clap_bus in, out;
    struct clap_events events;
    struct plugin_tempo tempo;
    struct clap_event_transport transport;
    int64_t time; /* frames since the last reset */
    bool is_processing;
    struct clap_service *service; /* NULL: the thread that processes does the work */
};

/* Activate and deactivate. On the main thread, while nothing processes. */
bool clap_instance_activate(struct clap_instance *instance);
void clap_instance_deactivate(struct clap_instance *instance);

/* Do what the plugin asked for, but a restart. On the main thread. */
void clap_instance_attend(struct clap_instance *instance, unsigned asked);

/* ---- the main thread of a live plugin: plugin_clap_host.c ---- */

struct clap_service;
MUST_CHECK enum status clap_service_create(struct clap_instance *instance,
                                           struct clap_service **service);
void clap_service_destroy(struct clap_service *service); /* NULL is allowed */

/* Keep the thread from the plugin while the control thread is within it. */
void clap_service_pause(struct clap_service *service);
void clap_service_resume(struct clap_service *service);

/* Real-time: before each block. False: the plugin is being restarted. */
bool clap_service_admits(struct clap_service *service);

#endif
