#include "plugin/plugin_clap.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* What a plugin is, is said by the first keyword that tells more than these. */
static bool is_general(const char *feature)
{
    static const char *const general[] = {"instrument", "audio-effect", "note-effect", "mono",
                                          "stereo",     "surround",     "ambisonic"};
    for (size_t i = 0; i < sizeof general / sizeof *general; i++)
        if (strcmp(general[i], feature) == 0)
            return true;
    return false;
}

enum { FEATURES_MOST = 64 };

/* "Reverb"; the first keyword if all are general. */
static bool name_category(const char *const *features, char **category)
{
    const char *feature = features ? features[0] : NULL;
    for (size_t i = 0; features && i < FEATURES_MOST && features[i]; i++)
        if (!is_general(features[i])) {
            feature = features[i];
            break;
        }
    if (!clap_text(feature, category))
        return false;
    if (*category)
        **category = (char)toupper((unsigned char)**category);
    return true;
}

static enum status fill_texts(const struct clap_plugin_descriptor *descriptor,
                              const struct clap_library *library, struct plugin_info *info)
{
    info->kind = &plugin_clap;
    info->file = strdup(library->path);
    bool whole = info->file && clap_text(descriptor->name, &info->name) &&
                 clap_text(descriptor->vendor, &info->maker) &&
                 name_category(descriptor->features, &info->category);
    if (whole && !info->name)
        info->name = strdup(descriptor->id);
    if (!whole || !info->name)
        return fail_memory("a plugin");
    return clap_library_id(library->path, descriptor->id, &info->id);
}

static enum status fill_from_plugin(const struct clap_library *library,
                                    const struct clap_plugin *plugin, const char *id,
                                    struct plugin_info *info)
{
    info->keeps_state = CLAP_EXTENSION(plugin, CLAP_EXT_STATE, clap_plugin_state) != NULL;
    TRY(clap_describe_ports(plugin, info));
    info->loads_presets =
        CLAP_EXTENSION(plugin, CLAP_EXT_PRESET_LOAD, clap_plugin_preset_load) ||
        CLAP_EXTENSION(plugin, CLAP_EXT_PRESET_LOAD_COMPAT, clap_plugin_preset_load);
    return info->loads_presets ? clap_describe_presets(library, id, info) : STATUS_OK;
}

/* CLAP describes ports and parameters by an instance. */
static enum status fill(const struct clap_library *library,
                        const struct clap_plugin_descriptor *descriptor, struct plugin_info *info)
{
    struct clap_host_side side;
    const struct clap_plugin *plugin = NULL;
    TRY(fill_texts(descriptor, library, info));
    enum status status = clap_host_init(&side, info->name);
    if (status == STATUS_OK)
        status = clap_plugin_make(library, &side, descriptor->id, &plugin);
    if (status == STATUS_OK) {
        enum clap_role before = clap_enter(CLAP_MAIN_THREAD);
        status = fill_from_plugin(library, plugin, descriptor->id, info);
        clap_enter(before);
    }
    clap_plugin_end(&side, plugin);
    clap_host_free(&side);
    return status;
}

enum status clap_describe(const char *id, struct plugin_info **result)
{
    struct clap_library library = {0};
    const struct clap_plugin_descriptor *descriptor;
    struct plugin_info *info = calloc(1, sizeof *info);
    enum status status =
        info ? clap_library_find(id, &library, &descriptor) : fail_memory("a plugin");
    if (status == STATUS_OK)
        status = fill(&library, descriptor, info);
    clap_library_close(&library);
    if (status == STATUS_OK)
        *result = info;
    else
        plugin_info_destroy(info);
    return status;
}
