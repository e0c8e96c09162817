#include "plugin/plugin_lv2.h"

#include "base/suggest.h"
#include "base/text_stream.h"

#include <dlfcn.h>
#include <limits.h>
#include <lv2/core/lv2.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the world ---- */

enum { LIKE_MOST = 3 }; /* names that an error suggests */

struct known_node {
    const char *uri;
    LilvNode *node;
};

static LilvWorld *the_world;
static void *nodes; /* tsearch's tree of struct known_node, by URI */

/* `path` with absolute folders, as lilv needs them for URIs: it aborts otherwise. NULL: memory. */
static char *absolute_path(const char *path)
{
    char *text = NULL, here[PATH_MAX] = "";
    size_t size;
    FILE *stream = text_stream_open(&text, &size);
    bool begun = false, known = stream && getcwd(here, sizeof here);
    while (known && *path) {
        size_t length = strcspn(path, ":");
        bool relative = length > 0 && *path != '/' && *path != '~';
        fprintf(stream, "%s%s%s%.*s", begun ? ":" : "", relative ? here : "", relative ? "/" : "",
                (int)length, path);
        begun = begun || length > 0;
        path += length + (path[length] == ':');
    }
    if (text_stream_finish(stream) == 0 && known)
        return text;
    free(text);
    return NULL;
}

enum { LILV_BYTES = 1 << 24 }; /* 5 MB for 150 bundles, as measured */

static enum status set_path(LilvWorld *world)
{
    const char *given = getenv("LV2_PATH");
    if (!given)
        return STATUS_OK;
    char *path = absolute_path(given);
    LilvNode *node = path ? lilv_new_string(world, path) : NULL;
    free(path);
    if (!node)
        return fail_memory("the LV2 plugins");
    lilv_world_set_option(world, LILV_OPTION_LV2_PATH, node);
    lilv_node_free(node);
    return STATUS_OK;
}

enum status lv2_world_get(LilvWorld **world)
{
    if (!memory_is_there(LILV_BYTES))
        return fail_memory("the LV2 plugins");
    if (!the_world) {
        LilvWorld *made = lilv_world_new();
        enum status status = made ? set_path(made) : fail_memory("the LV2 plugins");
        if (status != STATUS_OK) {
            lilv_world_free(made);
            return status;
        }
        lilv_world_load_all(made);
        the_world = made;
    }
    *world = the_world;
    return STATUS_OK;
}

static int by_uri(const void *a, const void *b)
{
    const struct known_node *left = a, *right = b;
    return strcmp(left->uri, right->uri);
}

const LilvNode *lv2_world_node(const char *uri)
{
    const struct known_node wanted = {.uri = uri};
    struct known_node **found = tfind(&wanted, &nodes, by_uri);
    if (found)
        return (*found)->node;
    struct known_node *known = malloc(sizeof *known);
    LilvNode *node = lilv_new_uri(the_world, uri);
    if (!node)
        abort(); /* as lilv itself does without memory */
    if (known)
        *known = (struct known_node){.uri = lilv_node_as_uri(node), .node = node};
    if (!known || !tsearch(known, &nodes, by_uri)) /* it works, but is not found again */
        free(known);
    return node;
}

bool lv2_world_says(const LilvNode *subject, const char *predicate, const char *object)
{
    return lilv_world_ask(the_world, subject, lv2_world_node(predicate),
                          object ? lv2_world_node(object) : NULL);
}

char *lv2_world_text(LilvNode *node)
{
    const char *string = node ? lilv_node_as_string(node) : NULL;
    char *text = string ? strdup(string) : NULL;
    lilv_node_free(node);
    return text;
}

/* What follows the last / # or :, a trailing one ignored. */
static const char *last_part(const char *uri)
{
    const char *part = uri;
    for (const char *at = uri; *at; at++)
        if (strchr("/#:", *at) && at[1])
            part = at + 1;
    return part;
}

static bool is_like(const LilvPlugin *plugin, const char *wanted)
{
    if (strcasestr(lilv_node_as_uri(lilv_plugin_get_uri(plugin)), wanted))
        return true;
    LilvNode *name = lilv_plugin_get_name(plugin);
    bool is = name && strcasestr(lilv_node_as_string(name), wanted);
    lilv_node_free(name);
    return is;
}

/* "; is it A, B or another?" of the URIs and names that contain the last part, else of the URIs
 * spelt alike; or "". */
static void suggest_like(const LilvPlugins *plugins, const char *uri, char *text, size_t size)
{
    const char *wanted = last_part(uri);
    size_t count = 0, length = 0;
    struct suggest near;
    suggest_init(&near, uri);
    LILV_FOREACH(plugins, i, plugins)
    {
        const LilvPlugin *plugin = lilv_plugins_get(plugins, i);
        const char *other = lilv_node_as_uri(lilv_plugin_get_uri(plugin));
        suggest_offer(&near, other);
        if (!*wanted || !is_like(plugin, wanted) || length >= size)
            continue;
        if (count < LIKE_MOST)
            length += (size_t)snprintf(text + length, size - length, "%s%s",
                                       count ? ", " : "; is it ", other);
        count++;
    }
    if (count == 0)
        snprintf(text, size, "%s", suggest_text(&near));
    else if (length < size)
        snprintf(text + length, size - length, count > LIKE_MOST ? " or another?" : "?");
    suggest_free(&near);
}

enum status lv2_world_find(const char *uri, const LilvPlugin **plugin)
{
    LilvWorld *world;
    TRY(lv2_world_get(&world));
    const LilvPlugins *plugins = lilv_world_get_all_plugins(world);
    LilvNode *node = strchr(uri, ':') ? lilv_new_uri(world, uri) : NULL; /* lilv prints errors */
    *plugin = node ? lilv_plugins_get_by_uri(plugins, node) : NULL;
    lilv_node_free(node);
    if (*plugin)
        return STATUS_OK;
    char like[512];
    suggest_like(plugins, uri, like, sizeof like);
    return fail(STATUS_FAILED, "cannot find the LV2 plugin %s%s (halo plugins list lists them all)",
                uri, like);
}

/* ---- the kind ---- */

static enum status list(void (*found)(void *context, const char *holder, const char *file),
                        void *context)
{
    LilvWorld *world;
    TRY(lv2_world_get(&world));
    const LilvPlugins *plugins = lilv_world_get_all_plugins(world);
    LILV_FOREACH(plugins, i, plugins)
    {
        const LilvPlugin *plugin = lilv_plugins_get(plugins, i);
        const LilvNode *library = lilv_plugin_get_library_uri(plugin);
        char *file = library ? lilv_node_get_path(library, NULL) : NULL;
        found(context, lilv_node_as_uri(lilv_plugin_get_uri(plugin)), file);
        lilv_free(file);
    }
    return STATUS_OK;
}

enum { DESCRIPTORS_MOST = 10000 };

/* A library with lv2_lib_descriptor, which takes the bundle and features, is left to lilv. */
static enum status look_into(void *handle, const char *path, const char *uri)
{
    if (dlsym(handle, "lv2_lib_descriptor"))
        return STATUS_OK;
    void *symbol = dlsym(handle, "lv2_descriptor");
    if (!symbol)
        return fail(STATUS_FAILED, "%s is not an LV2 library: it has no lv2_descriptor", path);
    LV2_Descriptor_Function descriptor;
    memcpy(&descriptor, &symbol, sizeof symbol);
    const LV2_Descriptor *one;
    for (uint32_t i = 0; i < DESCRIPTORS_MOST && (one = descriptor(i)) != NULL; i++)
        if (one->URI && strcmp(one->URI, uri) == 0)
            return STATUS_OK;
    return fail(STATUS_FAILED, "its library %s does not contain it", path);
}

/* Load the library in the child process of a scan, so that a crash or hang happens there and not in
 * a chain. Errors: it cannot be loaded, or lacks the plugin. */
static enum status try_library(const LilvPlugin *plugin)
{
    const LilvNode *library = lilv_plugin_get_library_uri(plugin);
    char *path = library ? lilv_node_get_path(library, NULL) : NULL;
    if (!path)
        return fail(STATUS_FAILED, "its bundle names no library");
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    enum status status;
    if (handle) {
        status = look_into(handle, path, lilv_node_as_uri(lilv_plugin_get_uri(plugin)));
        dlclose(handle);
    } else {
        const char *reason = dlerror();
        status = fail(STATUS_FAILED, "cannot load its library: %s", reason ? reason : path);
    }
    lilv_free(path);
    return status;
}

/* The holder of an LV2 plugin is its own URI. */
static enum status open(const char *holder, void (*found)(void *context, const char *id),
                        void *context)
{
    const LilvPlugin *plugin;
    TRY(lv2_world_find(holder, &plugin));
    TRY(try_library(plugin));
    found(context, holder);
    return STATUS_OK;
}

const struct plugin_kind plugin_lv2 = {
    .name = "lv2",
    .argument = "URI",
    .describe = lv2_describe,
    .list = list,
    .open = open,
    .create = lv2_instance_create,
    .process = lv2_instance_process,
    .reset = lv2_instance_reset,
    .save = lv2_instance_save,
    .destroy = lv2_instance_destroy,
};
