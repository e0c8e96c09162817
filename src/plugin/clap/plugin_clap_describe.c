#include "plugin/clap/plugin_clap.h"
#include "plugin/plugin_values.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* ---- parameters ---- */

struct clap_question {
    const struct clap_plugin *plugin;
    const struct clap_plugin_params *params;
    uint32_t id;
};

static bool text_of_value(const void *context, double value, char *text, uint32_t size)
{
    const struct clap_question *ask = context;
    return ask->params->value_to_text(ask->plugin, ask->id, value, text, size);
}

/* Fill in the range, unit and points of a parameter. */
static enum status clap_describe_parameter(const struct clap_plugin *plugin,
                                           const struct clap_plugin_params *params,
                                           const struct clap_param_info *about,
                                           struct plugin_port *port)
{
    const struct clap_question question = {plugin, params, about->id};
    const struct plugin_value_texts texts = {text_of_value, &question};
    bool is_stepped =
        about->flags & (CLAP_PARAM_IS_STEPPED | CLAP_PARAM_IS_ENUM | CLAP_PARAM_IS_BYPASS);
    port->minimum = (float)about->min_value;
    port->maximum = (float)about->max_value;
    port->initial = (float)about->default_value;
    return plugin_values_describe(&texts, is_stepped, port);
}

/* ---- ports ---- */

/* All inputs but the main input are side chains. If none is marked as main, the first input is. */
static enum status add_audio_port(struct plugin_info *info, const struct clap_audio_port_info *port,
                                  uint32_t index, bool is_input)
{
    char text[CLAP_NAME_SIZE + 16];
    bool is_main = index == 0 || port->flags & CLAP_AUDIO_PORT_IS_MAIN;
    const struct plugin_port channel = {.type = PLUGIN_AUDIO,
                                        .is_input = is_input,
                                        .is_side_chain = is_input && !is_main,
                                        .name = text,
                                        .minimum = -INFINITY,
                                        .maximum = INFINITY};
    for (uint32_t i = 0; i < port->channel_count; i++) {
        plugin_channel_name(port->name, sizeof port->name, port->channel_count, i, text,
                            sizeof text);
        TRY(plugin_info_add_port(info, &channel));
    }
    return STATUS_OK;
}

static enum status add_sound(const struct clap_plugin *plugin, struct plugin_info *info,
                             bool is_input)
{
    const struct clap_plugin_audio_ports *ports =
        CLAP_EXTENSION(plugin, CLAP_EXT_AUDIO_PORTS, clap_plugin_audio_ports);
    uint32_t count = ports ? ports->count(plugin, is_input) : 0;
    if (count > CLAP_PORTS_MOST)
        return plugin_info_refuse(info, "it has %u audio ports, more than %d", count,
                                  CLAP_PORTS_MOST);
    for (uint32_t i = 0; i < count; i++) {
        struct clap_audio_port_info port = {0};
        if (!ports->get(plugin, i, is_input, &port))
            return plugin_info_refuse(info, "it does not describe its audio port %u", i + 1);
        if (port.channel_count > CLAP_CHANNELS_MOST)
            return plugin_info_refuse(info, "its audio port %u has %u channels, more than %d",
                                      i + 1, port.channel_count, CLAP_CHANNELS_MOST);
        TRY(add_audio_port(info, &port, i, is_input));
    }
    return STATUS_OK;
}

static enum status add_parameter(const struct clap_plugin *plugin,
                                 const struct clap_plugin_params *params, uint32_t index,
                                 struct plugin_info *info)
{
    struct clap_param_info about = {0};
    if (!params->get_info(plugin, index, &about))
        return plugin_info_refuse(info, "it does not describe its parameter %u", index + 1);
    about.name[sizeof about.name - 1] = about.module[sizeof about.module - 1] = '\0';
    bool is_range = isfinite((float)about.min_value) && isfinite((float)about.max_value) &&
                    isfinite(about.default_value) && about.min_value <= about.max_value;
    if (!is_range)
        return plugin_info_refuse(
            info, "its parameter '%s' has the range %g to %g, and the default %g", about.name,
            about.min_value, about.max_value, about.default_value);
    const struct plugin_port port = {.type = PLUGIN_CONTROL,
                                     .is_input = !(about.flags & CLAP_PARAM_IS_READONLY),
                                     .name = about.name};
    TRY(plugin_info_add_port(info, &port));
    struct plugin_port *added = &info->ports[info->port_count - 1];
    if (!plugin_text(about.module, &added->group))
        return fail_memory("a plugin");
    return clap_describe_parameter(plugin, params, &about, added);
}

static enum status add_parameters(const struct clap_plugin *plugin, struct plugin_info *info)
{
    const struct clap_plugin_params *params =
        CLAP_EXTENSION(plugin, CLAP_EXT_PARAMS, clap_plugin_params);
    uint32_t count = params ? params->count(plugin) : 0;
    if (count > CLAP_PARAMETERS_MOST)
        return plugin_info_refuse(info, "it has %u parameters, more than %d", count,
                                  CLAP_PARAMETERS_MOST);
    for (uint32_t i = 0; i < count && !info->refusal; i++)
        TRY(add_parameter(plugin, params, i, info));
    return STATUS_OK;
}

static enum status add_latency(const struct clap_plugin *plugin, struct plugin_info *info)
{
    static const struct plugin_port latency = {
        .type = PLUGIN_CONTROL, .name = "Latency", .is_latency = true, .maximum = INFINITY};
    return CLAP_EXTENSION(plugin, CLAP_EXT_LATENCY, clap_plugin_latency)
               ? plugin_info_add_port(info, &latency)
               : STATUS_OK;
}

/* Refuse a plugin that has note inputs and no audio inputs: halo sends no notes. */
static enum status refuse_instrument(const struct clap_plugin *plugin, struct plugin_info *info)
{
    const struct clap_plugin_note_ports *notes =
        CLAP_EXTENSION(plugin, CLAP_EXT_NOTE_PORTS, clap_plugin_note_ports);
    for (size_t i = 0; i < info->port_count; i++)
        if (info->ports[i].type == PLUGIN_AUDIO && info->ports[i].is_input)
            return STATUS_OK;
    return notes && notes->count(plugin, true) > 0
               ? plugin_info_refuse(info, "it has an input for notes and none for sound, and halo "
                                          "sends no notes")
               : STATUS_OK;
}

/* Fill the ports of an info: the channels of the audio ports in their order, inputs first, then the
 * parameters by index, then the latency. Sets info->refusal if they break the specification. */
static enum status clap_describe_ports(const struct clap_plugin *plugin, struct plugin_info *info)
{
    TRY(add_sound(plugin, info, true));
    if (!info->refusal)
        TRY(refuse_instrument(plugin, info));
    if (!info->refusal)
        TRY(add_sound(plugin, info, false));
    if (!info->refusal)
        TRY(add_parameters(plugin, info));
    if (!info->refusal)
        TRY(add_latency(plugin, info));
    return plugin_port_symbols(info);
}

/* ---- presets ---- */

/* The library's preset discovery finds presets, the plugin loads them. URIs: plugin:KEY for a
 * preset in the plugin, file:PATH for a file, file:PATH?key=KEY for one of several in a file. */

enum { PROVIDERS_MOST = 64, PLACES_MOST = 256, PRESETS_MOST = 16384, PRESET_DEPTH = 8 };

static const char in_plugin[] = "plugin:", in_file[] = "file:", key_mark[] = "?key=";

struct clap_places {
    size_t count;
    char *items[PLACES_MOST]; /* paths; NULL: presets in the plugin itself */
    size_t ending_count;
    char *endings[PLACES_MOST];
    bool any_file;
};

struct preset_crawl {
    const char *plugin; /* id of the plugin */
    struct plugin_info *info;
    const struct clap_preset_discovery_provider *provider;
    struct clap_places places;
    uint32_t kind;        /* kind of the location that is being read */
    const char *location; /* path that is being read; NULL: the plugin */
    char *name, *key;     /* name and key of the preset that is being read */
    bool has_begun, is_ours, names_plugins;
    size_t depth; /* depth of the folder below the location */
    bool failed;  /* memory ran out */
};

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

/* Keep the preset that was read if it is for this plugin: if it names this plugin, or none. */
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
    crawl->failed |= !plugin_text(name, &crawl->name) || !plugin_text(key, &crawl->key);
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

static bool is_preset_file(const struct clap_places *places, const char *path)
{
    const char *dot = strrchr(file_name(path), '.');
    for (size_t i = 0; dot && i < places->ending_count; i++)
        if (strcmp(dot + 1, places->endings[i]) == 0)
            return true;
    return places->any_file;
}

static enum status crawl_path(void *context, const char *path)
{
    struct preset_crawl *crawl = context;
    struct stat about;
    if (crawl->failed || crawl->depth > PRESET_DEPTH || stat(path, &about) != 0)
        return STATUS_OK;
    if (S_ISREG(about.st_mode) && (crawl->depth == 0 || is_preset_file(&crawl->places, path)))
        read_place(crawl, CLAP_PRESET_DISCOVERY_LOCATION_FILE, path);
    if (!S_ISDIR(about.st_mode))
        return STATUS_OK;
    crawl->depth++;
    enum status status = plugin_places_each(path, crawl_path, crawl);
    crawl->depth--;
    return status;
}

static bool declare_filetype(const struct clap_preset_discovery_indexer *indexer,
                             const struct clap_preset_discovery_filetype *type)
{
    struct clap_places *places = &((struct preset_crawl *)indexer->indexer_data)->places;
    char *text;
    if (!type || places->ending_count == PLACES_MOST || !plugin_text(type->file_extension, &text))
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
        (!plugin_text(location->location, &text) || !text))
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
            crawl->failed |= crawl_path(crawl, crawl->places.items[i]) != STATUS_OK;
        else
            read_place(crawl, CLAP_PRESET_DISCOVERY_LOCATION_PLUGIN, NULL);
    if (provider->destroy)
        provider->destroy(provider);
    free_places(&crawl->places);
}

/* Fill in the presets of info->id that the library knows. */
static enum status clap_describe_presets(const struct clap_library *library, const char *plugin,
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

enum status clap_preset_load(const struct clap_plugin *plugin, struct clap_host_side *side,
                             const char *uri)
{
    const struct clap_plugin_preset_load *loader =
        CLAP_EXTENSION(plugin, CLAP_EXT_PRESET_LOAD, clap_plugin_preset_load);
    if (!loader)
        loader = CLAP_EXTENSION(plugin, CLAP_EXT_PRESET_LOAD_COMPAT, clap_plugin_preset_load);
    if (!loader)
        return fail(CAUSE_UNSUPPORTED, "cannot load a preset of %s: it loads none",
                    side->common.name);
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
    return fail(CAUSE_OTHER, "%s cannot load the preset %s%s%s", side->common.name, uri,
                side->preset_error[0] ? ": " : "", side->preset_error);
}

/* ---- the plugin ---- */

/* Whether a keyword is too general to be the category of a plugin. */
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

/* The category, such as "Reverb": the first keyword that is not general, else the first. */
static bool name_category(const char *const *features, char **category)
{
    const char *feature = features ? features[0] : NULL;
    for (size_t i = 0; features && i < FEATURES_MOST && features[i]; i++)
        if (!is_general(features[i])) {
            feature = features[i];
            break;
        }
    if (!plugin_text(feature, category))
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
    bool whole = info->file && plugin_text(descriptor->name, &info->name) &&
                 plugin_text(descriptor->vendor, &info->maker) &&
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

/* Fill in the description. CLAP describes ports and parameters of instances, so this makes one. */
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
