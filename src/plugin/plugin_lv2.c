#include "plugin/plugin.h"

#include "plugin/plugin_lv2_describe.h"
#include "plugin/plugin_lv2_instance.h"
#include "plugin/plugin_lv2_world.h"

#include <dlfcn.h>
#include <lv2/core/lv2.h>
#include <stdlib.h>
#include <string.h>

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

static bool has_plugin(LV2_Descriptor_Function descriptor, const char *uri)
{
    const LV2_Descriptor *one;
    for (uint32_t i = 0; i < DESCRIPTORS_MOST && (one = descriptor(i)) != NULL; i++)
        if (one->URI && strcmp(one->URI, uri) == 0)
            return true;
    return false;
}

/* A library of the newer form, which is given its bundle and the host's features, is left to lilv
 * when an instance is made. */
static enum status look_into(void *handle, const char *path, const char *uri)
{
    if (dlsym(handle, "lv2_lib_descriptor"))
        return STATUS_OK;
    void *symbol = dlsym(handle, "lv2_descriptor");
    if (!symbol)
        return fail(STATUS_FAILED, "%s is not an LV2 library: it has no lv2_descriptor", path);
    LV2_Descriptor_Function descriptor;
    memcpy(&descriptor, &symbol, sizeof symbol);
    return has_plugin(descriptor, uri)
               ? STATUS_OK
               : fail(STATUS_FAILED, "its library %s does not contain it", path);
}

/* Load the library and look for the plugin, in the child process of a scan: what crashes or hangs
 * over it does so there and not in a chain. Errors: it cannot be loaded, or lacks the plugin. */
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

/* A URI holds itself alone, if its library holds it. */
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
