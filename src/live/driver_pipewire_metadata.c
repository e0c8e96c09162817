#include "live/driver_pipewire_metadata.h"

#include "base/monotonic.h"

#include <jansson.h>
#include <pipewire/extensions/metadata.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t READ_AGAIN_NS = 1000000000; /* a program has read them by then */

/* ---- what they say ---- */

/* {"name":"alsa_output.usb"} */
static void read_name(const char *value, char *name)
{
    json_t *object = value ? json_loads(value, 0, NULL) : NULL;
    const char *text = json_string_value(json_object_get(object, "name"));
    snprintf(name, PIPEWIRE_NAME, "%s", text ? text : "");
    json_decref(object);
}

/* Other subjects are programs' streams, which are moved, and end. No key: all of them are gone. */
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
    pipewire_registry_ask(graph);
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

/* ---- binding ---- */

/* All that they say follows, before the answer to the next sync. */
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

void pipewire_metadata_add(struct pipewire_registry *graph, uint32_t id,
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

void pipewire_metadata_removed(struct pipewire_registry *graph, uint32_t id)
{
    if (graph->defaults.id == id)
        unbind(&graph->defaults);
    if (graph->settings.id == id)
        unbind(&graph->settings);
}

void pipewire_metadata_close(struct pipewire_registry *graph)
{
    unbind(&graph->defaults);
    unbind(&graph->settings);
}

/* ---- reading again ---- */

void pipewire_metadata_doubt(struct pipewire_registry *graph)
{
    graph->is_doubted = true;
    graph->doubted_at = monotonic_ns();
}

/* The new binding is there before the old one goes, so that no change falls between them. */
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
