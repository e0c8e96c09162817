/* The installed bundles, and what each contains: a bundle is a holder of LV2 plugins (plugin.h). */
#include "plugin/plugin_lv2.h"

#include "plugin/plugin_places.h"

#include <dirent.h>
#include <lv2/core/lv2.h>
#include <lv2/dynmanifest/dynmanifest.h>
#include <lv2/presets/presets.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- by name ---- */

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static bool has_manifest(const char *bundle)
{
    char *path;
    if (asprintf(&path, "%s/manifest.ttl", bundle) < 0)
        return false;
    bool has = access(path, R_OK) == 0;
    free(path);
    return has;
}

/* Absolute, as lilv needs it for URIs. */
static enum status report_place(const char *place,
                                void (*found)(void *context, const char *holder, const char *file),
                                void *context)
{
    char *whole = realpath(place, NULL);
    struct dirent **entries;
    int count = whole ? scandir(whole, &entries, visible, by_bytes) : -1;
    enum status status = STATUS_OK;
    for (int i = 0; i < count; i++) {
        char *path = NULL;
        if (asprintf(&path, "%s/%s", whole, entries[i]->d_name) < 0)
            status = fail_memory("a list of plugins");
        else if (has_manifest(path))
            found(context, path, path);
        if (status == STATUS_OK)
            free(path);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    free(whole);
    return status;
}

enum status lv2_bundles_list(void (*found)(void *context, const char *holder, const char *file),
                             void *context)
{
    enum status status = STATUS_OK;
    const char *own = getenv("LV2_PATH"), *list = own ? own : HALO_LV2_PLACES;
    for (char *place; status == STATUS_OK && (place = plugin_places_next(&list)); free(place))
        status = report_place(place, found, context);
    return status;
}

/* ---- what one contains ---- */

static LilvNodes *things(LilvWorld *world, const char *type)
{
    LilvNode *is = lilv_new_uri(world, LILV_NS_RDF "type"), *what = lilv_new_uri(world, type);
    LilvNodes *found = lilv_world_find_nodes(world, NULL, is, what);
    lilv_node_free(is);
    lilv_node_free(what);
    return found;
}

static bool has_things(LilvWorld *world, const char *type)
{
    LilvNodes *found = things(world, type);
    bool has = lilv_nodes_size(found) > 0;
    lilv_nodes_free(found);
    return has;
}

/* Unless it is there. */
static enum status add_text(char ***texts, size_t *count, const char *text)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp((*texts)[i], text) == 0)
            return STATUS_OK;
    char **more = realloc(*texts, (*count + 1) * sizeof *more);
    if (!more)
        return fail_memory("a list of plugins");
    *texts = more;
    more[*count] = strdup(text);
    return more[*count] && ++*count ? STATUS_OK : fail_memory("a list of plugins");
}

static enum status add_plugins(LilvWorld *world, struct plugin_contents *contents)
{
    const LilvPlugins *plugins = lilv_world_get_all_plugins(world);
    contents->ids = calloc(lilv_plugins_size(plugins) + 1, sizeof *contents->ids);
    if (!contents->ids)
        return fail_memory("a list of plugins");
    LILV_FOREACH(plugins, i, plugins)
    {
        const LilvNode *uri = lilv_plugin_get_uri(lilv_plugins_get(plugins, i));
        char *id = contents->ids[contents->count] = strdup(lilv_node_as_uri(uri));
        if (!id)
            return fail_memory("a list of plugins");
        contents->count++;
    }
    return STATUS_OK;
}

static enum status add_served(LilvWorld *world, struct plugin_contents *contents)
{
    const LilvPlugins *plugins = lilv_world_get_all_plugins(world);
    LilvNode *applies = lilv_new_uri(world, LV2_CORE__appliesTo);
    LilvNodes *presets = things(world, LV2_PRESETS__Preset);
    enum status status = STATUS_OK;
    LILV_FOREACH(nodes, i, presets)
    {
        LilvNode *plugin = lilv_world_get(world, lilv_nodes_get(presets, i), applies, NULL);
        if (status == STATUS_OK && lilv_node_is_uri(plugin) &&
            !lilv_plugins_get_by_uri(plugins, plugin))
            status = add_text(&contents->served, &contents->served_count, lilv_node_as_uri(plugin));
        lilv_node_free(plugin);
    }
    lilv_nodes_free(presets);
    lilv_node_free(applies);
    return status;
}

enum status lv2_bundles_contents(const char *holder, bool computes,
                                 struct plugin_contents *contents)
{
    *contents = (struct plugin_contents){0};
    TRY(library_open(&lilv_library));
    LilvWorld *world = lilv_world_new();
    if (!world)
        return fail_memory("the LV2 plugins");
    LilvNode *option = lilv_new_bool(world, computes);
    lilv_world_set_option(world, LILV_OPTION_DYN_MANIFEST, option);
    lilv_node_free(option);
    lv2_world_load(world, holder);
    /* What it says of terms is read now, so that it can spoil no other bundle later. */
    lilv_world_load_specifications(world);
    lilv_world_load_plugin_classes(world);
    contents->is_base = has_things(world, LV2_CORE__Specification) ||
                        has_things(world, "http://www.w3.org/2002/07/owl#Ontology");
    contents->is_changing = has_things(world, LV2_DYN_MANIFEST_PREFIX "DynManifest");
    enum status status = add_plugins(world, contents);
    if (status == STATUS_OK)
        status = add_served(world, contents);
    lilv_world_free(world);
    return status;
}
