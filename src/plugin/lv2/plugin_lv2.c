#include "plugin/lv2/plugin_lv2.h"

#include <dlfcn.h>
#include <lv2/core/lv2.h>
#include <lv2/dynmanifest/dynmanifest.h>
#include <lv2/presets/presets.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Read the manifest of a bundle, an absolute path. */
static void lv2_world_load(LilvWorld *world, const char *bundle)
{
    char *folder;
    if (asprintf(&folder, "%s/", bundle) < 0)
        return;
    LilvNode *node = lilv_new_file_uri(world, NULL, folder);
    lilv_world_load_bundle(world, node);
    lilv_node_free(node);
    free(folder);
}

/* ---- bundles by name ---- */

static enum status list_one(void *context, const char *bundle)
{
    const struct plugin_found *found = context;
    char *manifest;
    if (asprintf(&manifest, "%s/manifest.ttl", bundle) < 0)
        return fail_memory("a list of plugins");
    if (access(manifest, R_OK) == 0)
        found->take(found->context, bundle);
    free(manifest);
    return STATUS_OK;
}

/* Paths are absolute, as lilv needs them for URIs. */
static enum status lv2_bundles_list(const struct plugin_found *found)
{
    enum status status = STATUS_OK;
    const char *own = getenv("LV2_PATH"), *list = own ? own : HALO_LV2_PLACES;
    for (char *place; status == STATUS_OK && (place = plugin_places_next(&list)); free(place)) {
        char *whole = realpath(place, NULL);
        if (whole)
            status = plugin_places_each(whole, list_one, (void *)found);
        free(whole);
    }
    return status;
}

/* ---- contents of a bundle ---- */

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

/* Add a text to a list unless the list has it. */
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

static enum status lv2_bundles_contents(const char *holder, bool computes,
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
    /* Read now the terms that the bundle defines: they must not affect other bundles later. */
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

/* ---- the world ---- */

struct known_node {
    const char *uri;
    LilvNode *node;
};

static LilvWorld *the_world;
static void *nodes; /* tsearch's tree of struct known_node, by URI */

/* memory that must be free for lilv; measured: 5 MB for 150 bundles */
enum { LILV_BYTES = 1 << 24 };

static char **used; /* bundles that the world has read */
static size_t used_count;

static bool is_used(const char *bundle)
{
    for (size_t i = 0; i < used_count; i++)
        if (strcmp(used[i], bundle) == 0)
            return true;
    return false;
}

static enum status use(char *const *bundles, size_t count)
{
    bool is_first = !the_world;
    TRY(library_open(&lilv_library));
    char **more = realloc(used, (used_count + count + 1) * sizeof *more);
    if (more)
        used = more;
    if (is_first && memory_is_there(LILV_BYTES))
        the_world = lilv_world_new();
    if (!more || !the_world)
        return fail_memory("the LV2 plugins");
    for (size_t i = 0; i < count; i++) {
        if (is_used(bundles[i]))
            continue;
        used[used_count] = strdup(bundles[i]);
        if (!used[used_count])
            return fail_memory("the LV2 plugins");
        lv2_world_load(the_world, used[used_count++]);
    }
    if (is_first) { /* the bases are the same each time */
        lilv_world_load_specifications(the_world);
        lilv_world_load_plugin_classes(the_world);
    }
    return STATUS_OK;
}

static void free_node(void *known)
{
    lilv_node_free(((struct known_node *)known)->node);
    free(known);
}

static void forget(void)
{
    if (!the_world) /* lilv may not be open */
        return;
    tdestroy(nodes, free_node);
    nodes = NULL;
    lilv_world_free(the_world);
    the_world = NULL;
    for (size_t i = 0; i < used_count; i++)
        free(used[i]);
    used_count = 0;
}

enum status lv2_world_get(LilvWorld **world)
{
    *world = NULL;
    if (!memory_is_there(LILV_BYTES))
        return fail_memory("the LV2 plugins");
    if (!the_world)
        TRY(use(NULL, 0));
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
        abort(); /* lilv itself aborts without memory */
    if (known)
        *known = (struct known_node){.uri = lilv_node_as_uri(node), .node = node};
    /* without memory for the cache, the node is valid but not found again */
    if (!known || !tsearch(known, &nodes, by_uri))
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
    return fail(CAUSE_MISSING, "cannot find the LV2 plugin %s in its bundle", uri);
}

/* ---- the kind ---- */

enum { DESCRIPTORS_MOST = 10000 };

/* Look for the plugin in its library, but let lilv look if the library has lv2_lib_descriptor. */
static enum status look_into(void *handle, const char *path, const char *uri)
{
    if (dlsym(handle, "lv2_lib_descriptor"))
        return STATUS_OK;
    void *symbol = dlsym(handle, "lv2_descriptor");
    if (!symbol)
        return fail(CAUSE_DAMAGED, "%s is not an LV2 library: it has no lv2_descriptor", path);
    LV2_Descriptor_Function descriptor;
    memcpy(&descriptor, &symbol, sizeof symbol);
    const LV2_Descriptor *one;
    for (uint32_t i = 0; i < DESCRIPTORS_MOST && (one = descriptor(i)) != NULL; i++)
        if (one->URI && strcmp(one->URI, uri) == 0)
            return STATUS_OK;
    return fail(CAUSE_DAMAGED, "its library %s does not contain it", path);
}

static enum status probe(const char *id)
{
    const LilvPlugin *plugin;
    TRY(lv2_world_find(id, &plugin));
    const LilvNode *library = lilv_plugin_get_library_uri(plugin);
    char *path = library ? lilv_node_get_path(library, NULL) : NULL;
    if (!path)
        return fail(CAUSE_DAMAGED, "its bundle names no library");
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    enum status status;
    if (handle) {
        status = look_into(handle, path, id);
        dlclose(handle);
    } else {
        const char *reason = dlerror();
        status = fail(CAUSE_DAMAGED, "cannot load its library: %s", reason ? reason : path);
    }
    lilv_free(path);
    return status;
}

static bool is_in(const LilvPlugin *plugin, const char *holder)
{
    char *bundle = lilv_node_get_path(lilv_plugin_get_bundle_uri(plugin), NULL);
    size_t length = strlen(holder);
    bool is = bundle && strncmp(bundle, holder, length) == 0 && strcmp(bundle + length, "/") == 0;
    lilv_free(bundle);
    return is;
}

static enum status open(const char *holder, const struct plugin_found *found)
{
    LilvWorld *world;
    TRY(lv2_world_get(&world));
    const LilvPlugins *plugins = lilv_world_get_all_plugins(world);
    LILV_FOREACH(plugins, i, plugins)
    {
        const LilvPlugin *plugin = lilv_plugins_get(plugins, i);
        if (is_in(plugin, holder))
            found->take(found->context, lilv_node_as_uri(lilv_plugin_get_uri(plugin)));
    }
    return STATUS_OK;
}

const struct plugin_kind plugin_lv2 = {
    .name = "lv2",
    .argument = "URI",
    .path_variable = "LV2_PATH",
    .library = &lilv_library,
    .describe = lv2_describe,
    .list = lv2_bundles_list,
    .contents = lv2_bundles_contents,
    .use = use,
    .forget = forget,
    .open = open,
    .probe = probe,
    .create = lv2_instance_create,
    .process = lv2_instance_process,
    .reset = lv2_instance_reset,
    .save = lv2_instance_save,
    .destroy = lv2_instance_destroy,
};
