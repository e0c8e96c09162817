/* Presets of CLAP: found by the library's preset discovery, loaded by the plugin.
 *
 * The URI of a preset is plugin:KEY for one within the plugin, file:PATH for a file, and
 * file:PATH?key=KEY for one of several in a file.
 */
#include "plugin/plugin_clap.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PROVIDERS_MOST = 64, PLACES_MOST = 256, PRESETS_MOST = 16384, PRESET_DEPTH = 8 };

static const char in_plugin[] = "plugin:", in_file[] = "file:", key_mark[] = "?key=";

struct clap_places {
    size_t count;
    char *items[PLACES_MOST]; /* NULL: within the plugin */
    size_t ending_count;
    char *endings[PLACES_MOST];
    bool any_file;
};

struct preset_crawl {
    const char *plugin; /* the id */
    struct plugin_info *info;
    const struct clap_preset_discovery_provider *provider;
    struct clap_places places;
    uint32_t kind;        /* of the location that is being read */
    const char *location; /* NULL: the plugin */
    char *name, *key;     /* of the preset that is being read */
    bool has_begun, is_ours, names_plugins;
    bool failed; /* memory */
};

/* ---- a preset ---- */

static char *make_uri(const struct preset_crawl *crawl)
{
    char *uri = NULL;
    int made = crawl->kind == CLAP_PRESET_DISCOVERY_LOCATION_PLUGIN
                   ? asprintf(&uri, "%s%s", in_plugin, crawl->key ? crawl->key : "")
                   : asprintf(&uri, "%s%s%s%s", in_file, crawl->location,
                              crawl->key ? key_mark : "", crawl->key ? crawl->key : "");
    return made < 0 ? NULL : uri;
}

static const char *file_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path ? path : "preset";
}

/* A provider that names no plugin speaks of all in its library. */
static void end_preset(struct preset_crawl *crawl)
{
    struct plugin_info *info = crawl->info;
    bool is_ours = crawl->is_ours || !crawl->names_plugins;
    if (crawl->has_begun && is_ours && info->preset_count < PRESETS_MOST) {
        struct plugin_preset *more =
            realloc(info->presets, (info->preset_count + 1) * sizeof *more);
        if (more) {
            info->presets = more;
            more[info->preset_count] = (struct plugin_preset){
                .uri = make_uri(crawl),
                .name = strdup(crawl->name ? crawl->name : file_name(crawl->location))};
            crawl->failed |= !more[info->preset_count].uri || !more[info->preset_count].name;
            info->preset_count++;
        }
        crawl->failed |= !more;
    }
    free(crawl->name);
    free(crawl->key);
    crawl->name = crawl->key = NULL;
    crawl->has_begun = crawl->is_ours = crawl->names_plugins = false;
}

static bool begin_preset(const struct clap_preset_discovery_metadata_receiver *receiver,
                         const char *name, const char *key)
{
    struct preset_crawl *crawl = receiver->receiver_data;
    end_preset(crawl);
    crawl->has_begun = true;
    crawl->failed |= !clap_text(name, &crawl->name) || !clap_text(key, &crawl->key);
    return !crawl->failed && crawl->info->preset_count < PRESETS_MOST;
}

static void add_plugin_id(const struct clap_preset_discovery_metadata_receiver *receiver,
                          const struct clap_universal_plugin_id *id)
{
    struct preset_crawl *crawl = receiver->receiver_data;
    crawl->names_plugins = true;
    crawl->is_ours |= id && id->abi && id->id && strcmp(id->abi, "clap") == 0 &&
                      strcmp(id->id, crawl->plugin) == 0;
}

static void ignore_error(const struct clap_preset_discovery_metadata_receiver *receiver,
                         int32_t error, const char *text)
{
    (void)receiver, (void)error, (void)text;
}

static void ignore_text(const struct clap_preset_discovery_metadata_receiver *receiver,
                        const char *text)
{
    (void)receiver, (void)text;
}

static void ignore_flags(const struct clap_preset_discovery_metadata_receiver *receiver,
                         uint32_t flags)
{
    (void)receiver, (void)flags;
}

static void ignore_times(const struct clap_preset_discovery_metadata_receiver *receiver,
                         uint64_t made, uint64_t changed)
{
    (void)receiver, (void)made, (void)changed;
}

static void ignore_pair(const struct clap_preset_discovery_metadata_receiver *receiver,
                        const char *key, const char *value)
{
    (void)receiver, (void)key, (void)value;
}

static void read_place(struct preset_crawl *crawl, uint32_t kind, const char *location)
{
    const struct clap_preset_discovery_metadata_receiver receiver = {
        .receiver_data = crawl,
        .on_error = ignore_error,
        .begin_preset = begin_preset,
        .add_plugin_id = add_plugin_id,
        .set_soundpack_id = ignore_text,
        .set_flags = ignore_flags,
        .add_creator = ignore_text,
        .set_description = ignore_text,
        .set_timestamps = ignore_times,
        .add_feature = ignore_text,
        .add_extra_info = ignore_pair,
    };
    crawl->kind = kind;
    crawl->location = location;
    crawl->provider->get_metadata(crawl->provider, kind, location, &receiver);
    end_preset(crawl);
}

/* ---- places ---- */

static bool is_preset_file(const struct clap_places *places, const char *path)
{
    const char *dot = strrchr(file_name(path), '.');
    for (size_t i = 0; dot && i < places->ending_count; i++)
        if (strcmp(dot + 1, places->endings[i]) == 0)
            return true;
    return places->any_file;
}

static int not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int by_file_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void crawl_path(struct preset_crawl *crawl, const char *path, size_t depth)
{
    struct stat about;
    struct dirent **entries;
    if (depth > PRESET_DEPTH || stat(path, &about) != 0)
        return;
    if (S_ISREG(about.st_mode) && (depth == 0 || is_preset_file(&crawl->places, path)))
        read_place(crawl, CLAP_PRESET_DISCOVERY_LOCATION_FILE, path);
    int count = S_ISDIR(about.st_mode) ? scandir(path, &entries, not_hidden, by_file_name) : -1;
    for (int i = 0; i < count; i++) {
        char *inner;
        if (!crawl->failed && asprintf(&inner, "%s/%s", path, entries[i]->d_name) >= 0) {
            crawl_path(crawl, inner, depth + 1);
            free(inner);
        }
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
}

static bool declare_filetype(const struct clap_preset_discovery_indexer *indexer,
                             const struct clap_preset_discovery_filetype *type)
{
    struct clap_places *places = &((struct preset_crawl *)indexer->indexer_data)->places;
    char *text;
    if (!type || places->ending_count == PLACES_MOST || !clap_text(type->file_extension, &text))
        return false;
    places->any_file |= !text;
    if (text)
        places->endings[places->ending_count++] = text;
    return true;
}

static bool declare_location(const struct clap_preset_discovery_indexer *indexer,
                             const struct clap_preset_discovery_location *location)
{
    struct clap_places *places = &((struct preset_crawl *)indexer->indexer_data)->places;
    char *text = NULL;
    if (!location || places->count == PLACES_MOST)
        return false;
    if (location->kind == CLAP_PRESET_DISCOVERY_LOCATION_FILE &&
        (!clap_text(location->location, &text) || !text))
        return false;
    places->items[places->count++] = text;
    return true;
}

static bool declare_soundpack(const struct clap_preset_discovery_indexer *indexer,
                              const struct clap_preset_discovery_soundpack *pack)
{
    (void)indexer, (void)pack;
    return true;
}

static const void *no_extension(const struct clap_preset_discovery_indexer *indexer, const char *id)
{
    (void)indexer, (void)id;
    return NULL;
}

static void free_places(struct clap_places *places)
{
    for (size_t i = 0; i < places->count; i++)
        free(places->items[i]);
    for (size_t i = 0; i < places->ending_count; i++)
        free(places->endings[i]);
    *places = (struct clap_places){0};
}

/* ---- providers ---- */

static void read_provider(struct preset_crawl *crawl,
                          const struct clap_preset_discovery_factory *factory, const char *id)
{
    const struct clap_preset_discovery_indexer indexer = {
        .clap_version = CLAP_VERSION_INIT,
        .name = "halo",
        .indexer_data = crawl,
        .declare_filetype = declare_filetype,
        .declare_location = declare_location,
        .declare_soundpack = declare_soundpack,
        .get_extension = no_extension,
    };
    const struct clap_preset_discovery_provider *provider = factory->create(factory, &indexer, id);
    if (!provider)
        return;
    crawl->provider = provider;
    bool is_ready = provider->init && provider->get_metadata && provider->init(provider);
    for (size_t i = 0; is_ready && !crawl->failed && i < crawl->places.count; i++)
        if (crawl->places.items[i])
            crawl_path(crawl, crawl->places.items[i], 0);
        else
            read_place(crawl, CLAP_PRESET_DISCOVERY_LOCATION_PLUGIN, NULL);
    if (provider->destroy)
        provider->destroy(provider);
    free_places(&crawl->places);
}

enum status clap_describe_presets(const struct clap_library *library, const char *plugin,
                                  struct plugin_info *info)
{
    const struct clap_preset_discovery_factory *factory =
        library->entry->get_factory(CLAP_PRESET_DISCOVERY_FACTORY_ID);
    if (!factory)
        factory = library->entry->get_factory(CLAP_PRESET_DISCOVERY_FACTORY_ID_COMPAT);
    if (!factory || !factory->count || !factory->get_descriptor || !factory->create)
        return STATUS_OK;
    struct preset_crawl *crawl = calloc(1, sizeof *crawl);
    if (!crawl)
        return fail_memory("a plugin");
    *crawl = (struct preset_crawl){.plugin = plugin, .info = info};
    uint32_t count = factory->count(factory);
    for (uint32_t i = 0; i < count && i < PROVIDERS_MOST && !crawl->failed; i++) {
        const struct clap_preset_discovery_provider_descriptor *about =
            factory->get_descriptor(factory, i);
        if (about && about->id)
            read_provider(crawl, factory, about->id);
    }
    bool failed = crawl->failed;
    free(crawl);
    return failed ? fail_memory("a plugin") : STATUS_OK;
}

/* ---- loading ---- */

enum status clap_preset_load(const struct clap_plugin *plugin, struct clap_host_side *side,
                             const char *uri)
{
    const struct clap_plugin_preset_load *loader =
        CLAP_EXTENSION(plugin, CLAP_EXT_PRESET_LOAD, clap_plugin_preset_load);
    if (!loader)
        loader = CLAP_EXTENSION(plugin, CLAP_EXT_PRESET_LOAD_COMPAT, clap_plugin_preset_load);
    if (!loader)
        return fail(CAUSE_UNSUPPORTED, "cannot load a preset of %s: it loads none", side->name);
    bool is_inside = strncmp(uri, in_plugin, sizeof in_plugin - 1) == 0;
    const char *rest = uri + (is_inside ? sizeof in_plugin : sizeof in_file) - 1;
    const char *mark = is_inside ? NULL : strstr(rest, key_mark);
    char *path = is_inside ? NULL : strndup(rest, mark ? (size_t)(mark - rest) : strlen(rest));
    const char *key = is_inside ? rest : mark ? mark + sizeof key_mark - 1 : NULL;
    if (!is_inside && !path)
        return fail_memory("a plugin");
    side->preset_error[0] = '\0';
    bool loaded = loader->from_location(plugin,
                                        is_inside ? CLAP_PRESET_DISCOVERY_LOCATION_PLUGIN
                                                  : CLAP_PRESET_DISCOVERY_LOCATION_FILE,
                                        path, key);
    free(path);
    if (loaded)
        return STATUS_OK;
    return fail(CAUSE_OTHER, "%s cannot load the preset %s%s%s", side->name, uri,
                side->preset_error[0] ? ": " : "", side->preset_error);
}
