#include "live/device/driver_pipewire.h"

#include "base/monotonic.h"

#include <errno.h>
#include <jansson.h>
#include <pipewire/extensions/metadata.h>
#include <spa/utils/result.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- metadata: the default devices, and the rates of the clock
 *
 * The name of a default device can arrive before its node or after, and before halo has bound the
 * metadata or after. It can also change while another program reads the metadata for the first
 * time. Then the server (metadata.c of its module, up to 1.4 at least) informs only that program.
 * So halo reads the metadata again some time after a program came or went. If the session manager
 * restarts, there are new metadata; the old values hold until the new metadata have some. ---- */

static const int64_t READ_AGAIN_NS = 1000000000; /* time in which a program reads the metadata */

/* Calls `changed` when all has arrived that the server has sent until now. */
static void ask(struct pipewire_registry *graph)
{
    graph->asked = pw_core_sync(graph->core, PW_ID_CORE, 0);
}

/* Reads the name in {"name":"alsa_output.usb"}. */
static void read_name(const char *value, char *name)
{
    json_t *object = value ? json_loads(value, 0, NULL) : NULL;
    const char *text = json_string_value(json_object_get(object, "name"));
    snprintf(name, PIPEWIRE_NAME, "%s", text ? text : "");
    json_decref(object);
}

/* `subject` 0: default devices; others: streams, ignored. `key` NULL: all values are gone. */
static int default_changed(void *context, uint32_t subject, const char *key, const char *type,
                           const char *value)
{
    struct pipewire_registry *graph = context;
    (void)type;
    if (subject != PW_ID_CORE)
        return 0;
    if (!key || strcmp(key, "default.audio.sink") == 0)
        read_name(key ? value : NULL, graph->default_sink);
    if (!key || strcmp(key, "default.configured.audio.sink") == 0)
        read_name(key ? value : NULL, graph->configured_sink);
    if (!key || strcmp(key, "default.audio.source") == 0)
        read_name(key ? value : NULL, graph->default_source);
    ask(graph);
    return 0;
}

static const struct pw_metadata_events defaults_events = {
    PW_VERSION_METADATA_EVENTS,
    .property = default_changed,
};

static int setting_changed(void *context, uint32_t subject, const char *key, const char *type,
                           const char *value)
{
    struct pipewire_registry *graph = context;
    uint32_t number = value ? (uint32_t)strtoul(value, NULL, 10) : 0;
    (void)subject, (void)type;
    if (key && strcmp(key, "clock.rate") == 0)
        graph->rate = number;
    if (key && strcmp(key, "clock.force-rate") == 0)
        graph->forced_rate = number;
    return 0;
}

static const struct pw_metadata_events settings_events = {
    PW_VERSION_METADATA_EVENTS,
    .property = setting_changed,
};

/* Requests the metadata. Their values arrive before the answer to the next sync. */
static void bind_metadata(struct pipewire_registry *graph, struct pipewire_metadata *metadata)
{
    metadata->proxy = pw_registry_bind(graph->registry, metadata->id, PW_TYPE_INTERFACE_Metadata,
                                       PW_VERSION_METADATA, 0);
    if (metadata->proxy)
        pw_metadata_add_listener((struct pw_metadata *)metadata->proxy, &metadata->hook,
                                 metadata == &graph->defaults ? &defaults_events : &settings_events,
                                 graph);
}

static void unbind(struct pipewire_metadata *metadata)
{
    if (!metadata->proxy)
        return;
    spa_hook_remove(&metadata->hook);
    pw_proxy_destroy(metadata->proxy);
    metadata->proxy = NULL;
}

static void metadata_add(struct pipewire_registry *graph, uint32_t id,
                         const struct spa_dict *properties)
{
    const char *name = properties ? spa_dict_lookup(properties, PW_KEY_METADATA_NAME) : NULL;
    bool are_defaults = name && strcmp(name, "default") == 0;
    struct pipewire_metadata *metadata = are_defaults ? &graph->defaults : &graph->settings;
    if (!name || (!are_defaults && strcmp(name, "settings") != 0) || metadata->proxy)
        return;
    metadata->id = id;
    bind_metadata(graph, metadata);
}

static void metadata_removed(struct pipewire_registry *graph, uint32_t id)
{
    if (graph->defaults.id == id)
        unbind(&graph->defaults);
    if (graph->settings.id == id)
        unbind(&graph->settings);
}

static void metadata_close(struct pipewire_registry *graph)
{
    unbind(&graph->defaults);
    unbind(&graph->settings);
}

/* Notes that a program came or went. */
static void metadata_doubt(struct pipewire_registry *graph)
{
    graph->is_doubted = true;
    graph->doubted_at = monotonic_ns();
}

/* Binds the metadata again before the old binding is removed, so that no change is missed. */
void pipewire_metadata_check(struct pipewire_registry *graph)
{
    int64_t now = monotonic_ns();
    struct pipewire_metadata old = graph->defaults;
    if (!graph->is_doubted || !old.proxy || graph->gone || now - graph->read_at < READ_AGAIN_NS)
        return;
    graph->is_doubted = now - graph->doubted_at < READ_AGAIN_NS;
    graph->read_at = now;
    spa_hook_remove(&graph->defaults.hook);
    bind_metadata(graph, &graph->defaults);
    pw_proxy_destroy(old.proxy);
}

enum { ANSWER_MS = 2000, MANAGER_MS = 2000, LOOK_MS = 20 };

/* ---- what the registry announces ---- */

static const char *text_of(const struct spa_dict *properties, const char *key)
{
    const char *text = properties ? spa_dict_lookup(properties, key) : NULL;
    return text ? text : "";
}

static uint32_t number_of(const struct spa_dict *properties, const char *key)
{
    return (uint32_t)strtoul(text_of(properties, key), NULL, 10);
}

/* Appends a row of zeros. NULL: no memory. */
static void *append(void **rows, size_t *count, size_t size)
{
    char *grown = realloc(*rows, (*count + 1) * size);
    if (!grown)
        return NULL;
    *rows = grown;
    return memset(grown + size * (*count)++, 0, size);
}

static void add_node(struct pipewire_registry *graph, uint32_t id,
                     const struct spa_dict *properties)
{
    struct pipewire_registry_node *node =
        append((void **)&graph->nodes, &graph->node_count, sizeof *graph->nodes);
    if (!node)
        return;
    const char *class = text_of(properties, PW_KEY_MEDIA_CLASS);
    const char *description = text_of(properties, PW_KEY_NODE_DESCRIPTION);
    const char *name = text_of(properties, PW_KEY_NODE_NAME);
    node->id = id;
    node->is_sink = strcmp(class, "Audio/Sink") == 0 || strcmp(class, "Audio/Duplex") == 0;
    node->is_source = strncmp(class, "Audio/Source", strlen("Audio/Source")) == 0 ||
                      strcmp(class, "Audio/Duplex") == 0;
    node->is_stream = strncmp(class, "Stream/", strlen("Stream/")) == 0;
    node->priority = atoi(text_of(properties, PW_KEY_PRIORITY_SESSION));
    snprintf(node->name, sizeof node->name, "%s", name);
    snprintf(node->description, sizeof node->description, "%s", *description ? description : name);
}

static void add_port(struct pipewire_registry *graph, uint32_t id,
                     const struct spa_dict *properties)
{
    struct pipewire_registry_port *port =
        append((void **)&graph->ports, &graph->port_count, sizeof *graph->ports);
    if (!port)
        return;
    port->id = id;
    port->node = number_of(properties, PW_KEY_NODE_ID);
    port->is_input = strcmp(text_of(properties, PW_KEY_PORT_DIRECTION), "in") == 0;
    port->is_monitor = strcmp(text_of(properties, PW_KEY_PORT_MONITOR), "true") == 0;
    snprintf(port->name, sizeof port->name, "%s", text_of(properties, PW_KEY_PORT_NAME));
    snprintf(port->channel, sizeof port->channel, "%s", text_of(properties, PW_KEY_AUDIO_CHANNEL));
}

static void add_link(struct pipewire_registry *graph, uint32_t id,
                     const struct spa_dict *properties)
{
    struct pipewire_registry_link *link =
        append((void **)&graph->links, &graph->link_count, sizeof *graph->links);
    if (link)
        *link = (struct pipewire_registry_link){
            .id = id,
            .out_port = number_of(properties, PW_KEY_LINK_OUTPUT_PORT),
            .in_port = number_of(properties, PW_KEY_LINK_INPUT_PORT),
            .out_node = number_of(properties, PW_KEY_LINK_OUTPUT_NODE),
            .in_node = number_of(properties, PW_KEY_LINK_INPUT_NODE),
        };
}

/* ---- events ---- */

static void global_added(void *context, uint32_t id, uint32_t permissions, const char *type,
                         uint32_t version, const struct spa_dict *properties)
{
    static const struct {
        const char *type;
        void (*add)(struct pipewire_registry *graph, uint32_t id,
                    const struct spa_dict *properties);
    } kinds[] = {
        {PW_TYPE_INTERFACE_Node, add_node},
        {PW_TYPE_INTERFACE_Port, add_port},
        {PW_TYPE_INTERFACE_Link, add_link},
        {PW_TYPE_INTERFACE_Metadata, metadata_add},
    };
    (void)permissions, (void)version;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(type, kinds[i].type) == 0) {
            kinds[i].add(context, id, properties);
            ask(context);
        }
    if (strcmp(type, PW_TYPE_INTERFACE_Client) == 0)
        metadata_doubt(context);
}

/* Removes the row with this id, the first member of each row. Returns false if there is none. */
static bool remove_row(void *rows, size_t *count, size_t size, uint32_t id)
{
    for (size_t i = 0; i < *count; i++) {
        char *row = (char *)rows + i * size;
        if (*(uint32_t *)row != id)
            continue;
        memmove(row, row + size, (*count - i - 1) * size);
        --*count;
        return true;
    }
    return false;
}

static void global_removed(void *context, uint32_t id)
{
    struct pipewire_registry *graph = context;
    bool is_known = remove_row(graph->nodes, &graph->node_count, sizeof *graph->nodes, id) ||
                    remove_row(graph->ports, &graph->port_count, sizeof *graph->ports, id) ||
                    remove_row(graph->links, &graph->link_count, sizeof *graph->links, id);
    metadata_removed(graph, id);
    if (is_known)
        ask(graph);
    else
        metadata_doubt(graph); /* most of these objects are programs */
}

static const struct pw_registry_events registry_events = {
    PW_VERSION_REGISTRY_EVENTS,
    .global = global_added,
    .global_remove = global_removed,
};

/* Each change is followed by a sync. Since changes come in groups, only the last answer counts. */
static void answered(void *context, uint32_t id, int sequence)
{
    struct pipewire_registry *graph = context;
    if (id != PW_ID_CORE)
        return;
    graph->answered = sequence;
    if (sequence == graph->asked && graph->changed)
        graph->changed(graph->context_of_changed);
    pw_thread_loop_signal(graph->loop, false);
}

static void failed(void *context, uint32_t id, int sequence, int error, const char *message)
{
    struct pipewire_registry *graph = context;
    (void)sequence, (void)message;
    if (id == PW_ID_CORE && error == -EPIPE)
        graph->gone = true;
    pw_thread_loop_signal(graph->loop, false);
}

static const struct pw_core_events core_events = {
    PW_VERSION_CORE_EVENTS,
    .done = answered,
    .error = failed,
};

/* ---- opening and closing ---- */

/* The library does not tell when the rate is set, for example. So `is_done` is polled. */
bool pipewire_registry_wait(struct pipewire_registry *graph, bool (*is_done)(void *context),
                            void *context, int milliseconds)
{
    int64_t deadline = monotonic_ns() + milliseconds * SPA_NSEC_PER_MSEC;
    while (!is_done(context) && !graph->gone && monotonic_ns() < deadline) {
        struct timespec limit;
        pw_thread_loop_get_time(graph->loop, &limit, LOOK_MS * SPA_NSEC_PER_MSEC);
        (void)pw_thread_loop_timed_wait_full(graph->loop, &limit);
    }
    return is_done(context);
}

static bool is_answered(void *context)
{
    const struct pipewire_registry *graph = context;
    return graph->answered == graph->asked;
}

/* Whether the session manager has named the default devices. It may start after the server. */
static bool is_managed(void *context)
{
    const struct pipewire_registry *graph = context;
    return graph->defaults.proxy && graph->default_sink[0];
}

/* PipeWire's own module raises the priority of the data thread. These configurations load it. */
static struct pw_context *make_context(struct pw_loop *loop)
{
    static const char *const configurations[] = {"client-rt.conf", "client.conf"};
    struct pw_context *context = NULL;
    for (size_t i = 0; i < 2 && !context; i++)
        context =
            pw_context_new(loop, pw_properties_new(PW_KEY_CONFIG_NAME, configurations[i], NULL), 0);
    return context;
}

static bool connect_core(struct pipewire_registry *graph)
{
    graph->core = pw_context_connect(
        graph->context, pw_properties_new(PW_KEY_APP_NAME, "halo", PW_KEY_APP_ID, "halo", NULL), 0);
    if (!graph->core)
        return false;
    pw_core_add_listener(graph->core, &graph->core_hook, &core_events, graph);
    graph->registry = pw_core_get_registry(graph->core, PW_VERSION_REGISTRY, 0);
    if (!graph->registry)
        return false;
    pw_registry_add_listener(graph->registry, &graph->registry_hook, &registry_events, graph);
    ask(graph);
    if (!pipewire_registry_wait(graph, is_answered, graph, ANSWER_MS))
        return false;
    if (!graph->defaults.proxy)
        pipewire_registry_wait(graph, is_managed, graph, MANAGER_MS);
    return !graph->gone;
}

/* Starts the library only once: it cannot safely end. Its log is off without PIPEWIRE_DEBUG. */
static void begin(void)
{
    static bool begun;
    if (begun)
        return;
    begun = true;
    pw_init(NULL, NULL);
    if (!getenv("PIPEWIRE_DEBUG"))
        pw_log_set_level(SPA_LOG_LEVEL_NONE);
}

enum status pipewire_registry_open(struct pipewire_registry *graph, bool *found)
{
    *graph = (struct pipewire_registry){.answered = -1};
    *found = false;
    begin();
    graph->loop = pw_thread_loop_new("halo pipewire", NULL);
    if (!graph->loop || pw_thread_loop_start(graph->loop) < 0)
        return fail_memory("the connection with PipeWire");
    pw_thread_loop_lock(graph->loop);
    graph->context = make_context(pw_thread_loop_get_loop(graph->loop));
    *found = graph->context && connect_core(graph);
    pw_thread_loop_unlock(graph->loop);
    return STATUS_OK;
}

static void disconnect(struct pipewire_registry *graph)
{
    metadata_close(graph);
    if (graph->registry)
        pw_proxy_destroy((struct pw_proxy *)graph->registry);
    if (graph->core)
        pw_core_disconnect(graph->core);
    if (graph->context)
        pw_context_destroy(graph->context);
}

void pipewire_registry_close(struct pipewire_registry *graph)
{
    if (!graph->loop)
        return;
    pw_thread_loop_stop(graph->loop);
    disconnect(graph);
    pw_thread_loop_destroy(graph->loop);
    free(graph->nodes);
    free(graph->ports);
    free(graph->links);
    *graph = (struct pipewire_registry){0};
}

/* ---- looking up ---- */

const struct pipewire_registry_node *pipewire_registry_node(const struct pipewire_registry *graph,
                                                            uint32_t id)
{
    for (size_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].id == id)
            return &graph->nodes[i];
    return NULL;
}

const struct pipewire_registry_node *pipewire_registry_named(const struct pipewire_registry *graph,
                                                             const char *name)
{
    for (size_t i = 0; i < graph->node_count; i++)
        if (strcmp(graph->nodes[i].name, name) == 0 &&
            (graph->nodes[i].is_sink || graph->nodes[i].is_source))
            return &graph->nodes[i];
    return NULL;
}

const struct pipewire_registry_port *pipewire_registry_port(const struct pipewire_registry *graph,
                                                            uint32_t id)
{
    for (size_t i = 0; i < graph->port_count; i++)
        if (graph->ports[i].id == id)
            return &graph->ports[i];
    return NULL;
}

bool pipewire_registry_has_link(const struct pipewire_registry *graph, uint32_t out_port,
                                uint32_t in_port)
{
    for (size_t i = 0; i < graph->link_count; i++)
        if (graph->links[i].out_port == out_port && graph->links[i].in_port == in_port)
            return true;
    return false;
}

size_t pipewire_registry_ports(const struct pipewire_registry *graph, uint32_t node, bool is_input,
                               bool is_monitor, const struct pipewire_registry_port **ports,
                               size_t most)
{
    size_t count = 0;
    const struct pipewire_registry_node *of = pipewire_registry_node(graph, node);
    bool is_source =
        of && of->is_source && !of->is_sink; /* virtual sources record from monitor ports */
    for (size_t i = 0; i < graph->port_count && count < most; i++) {
        const struct pipewire_registry_port *port = &graph->ports[i];
        if (port->node == node && port->is_input == is_input &&
            (port->is_monitor == is_monitor || is_source))
            ports[count++] = port;
    }
    return count;
}
