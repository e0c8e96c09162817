#include "plugin/plugin_lv2.h"

#include "plugin/plugin_lv2_describe.h"
#include "plugin/plugin_lv2_instance.h"
#include "plugin/plugin_lv2_library.h"
#include "plugin/plugin_lv2_world.h"

static enum status list(void (*found)(void *context, const char *holder, const char *file),
                        void *context)
{
    LilvWorld *world;
    if (lv2_world_get(&world) != STATUS_OK)
        return STATUS_FAILED;
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

/* A URI holds itself alone, if its library holds it. */
static enum status open(const char *holder, void (*found)(void *context, const char *id),
                        void *context)
{
    const LilvPlugin *plugin;
    TRY(lv2_world_find(holder, &plugin));
    TRY(lv2_library_try(plugin));
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
