#include "clap_effect.h"

#include "effect/processor.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- presets: the masks ---- */

/* The masks installed with halo, as presets of the plugins whose channels they fit. Threads: any
 * for the factory; one at a time for a provider. */

enum { PRESET_RATE = 48000 }; /* rate at which a mask is tried, in Hz */

static char folder[PATH_MAX]; /* folder of the masks; "": none */

static const struct clap_preset_discovery_provider_descriptor descriptor = {
    .clap_version = CLAP_VERSION_INIT,
    .id = "halo.masks",
    .name = "Masks of halo",
    .vendor = "halo",
};

/* Finds the folder of masks that belongs to the module at `path`. */
static void mask_presets_locate(const char *path)
{
    char there[PATH_MAX];
    const char *name = path ? strrchr(path, '/') : NULL;
    *folder = '\0';
    if (!name)
        return;
    int length =
        snprintf(there, sizeof there, "%.*s/" HALO_MASKS_FROM_MODULE, (int)(name - path), path);
    if (length > 0 && (size_t)length < sizeof there && !realpath(there, folder))
        *folder = '\0';
}

static bool provider_init(const struct clap_preset_discovery_provider *provider)
{
    const struct clap_preset_discovery_indexer *indexer = provider->provider_data;
    static const struct clap_preset_discovery_filetype types[] = {
        {"Mask as sound", "An impulse response", "wav"},
        {"Mask as text", "An impulse response, or a description of filters", "txt"},
    };
    const struct clap_preset_discovery_location location = {
        .flags = CLAP_PRESET_DISCOVERY_IS_FACTORY_CONTENT,
        .name = "Masks of halo",
        .kind = CLAP_PRESET_DISCOVERY_LOCATION_FILE,
        .location = folder,
    };
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        if (!indexer->declare_filetype(indexer, &types[t]))
            return false;
    return !*folder || indexer->declare_location(indexer, &location);
}

static void provider_destroy(const struct clap_preset_discovery_provider *provider)
{
    free((void *)provider);
}

static bool fits(const char *file, const struct effect_kind *kind, char *cause, size_t size)
{
    const struct processor_settings settings = {.file = file,
                                                .rate = PRESET_RATE,
                                                .channels = kind->channels,
                                                .may_cross = kind->may_cross};
    const struct log_keeper before = log_keep_in(cause, size);
    enum status status = processor_check(&settings);
    log_keep_again(&before);
    return status == STATUS_OK;
}

static void describe(const struct clap_preset_discovery_metadata_receiver *receiver,
                     const char *file, const bool fitting[EFFECT_VARIANTS])
{
    char name[CLAP_NAME_SIZE];
    const char *base = strrchr(file, '/');
    snprintf(name, sizeof name, "%s", base ? base + 1 : file);
    char *dot = strrchr(name, '.');
    if (dot && dot != name)
        *dot = '\0';
    if (!receiver->begin_preset(receiver, name, NULL))
        return;
    for (size_t v = 0; v < EFFECT_VARIANTS; v++)
        if (fitting[v]) {
            const struct clap_universal_plugin_id id = {"clap", clap_effect_descriptors[v].id};
            receiver->add_plugin_id(receiver, &id);
        }
}

static bool get_metadata(const struct clap_preset_discovery_provider *provider, uint32_t kind,
                         const char *location,
                         const struct clap_preset_discovery_metadata_receiver *receiver)
{
    char cause[1024] = "";
    bool fitting[EFFECT_VARIANTS], any = false;
    (void)provider;
    if (kind != CLAP_PRESET_DISCOVERY_LOCATION_FILE || !location)
        return false;
    for (size_t v = 0; v < EFFECT_VARIANTS; v++)
        any |= fitting[v] = fits(location, &effect_kinds[v], cause, sizeof cause);
    if (any)
        describe(receiver, location, fitting);
    else
        receiver->on_error(receiver, 0, cause);
    return any;
}

static const void *provider_extension(const struct clap_preset_discovery_provider *provider,
                                      const char *id)
{
    (void)provider, (void)id;
    return NULL;
}

static uint32_t provider_count(const struct clap_preset_discovery_factory *factory)
{
    (void)factory;
    return 1;
}

static const struct clap_preset_discovery_provider_descriptor *
provider_descriptor(const struct clap_preset_discovery_factory *factory, uint32_t index)
{
    (void)factory;
    return index == 0 ? &descriptor : NULL;
}

static const struct clap_preset_discovery_provider *
provider_create(const struct clap_preset_discovery_factory *factory,
                const struct clap_preset_discovery_indexer *indexer, const char *id)
{
    (void)factory;
    struct clap_preset_discovery_provider *provider =
        strcmp(id, descriptor.id) == 0 ? malloc(sizeof *provider) : NULL;
    if (provider)
        *provider = (struct clap_preset_discovery_provider){
            .desc = &descriptor,
            .provider_data = (void *)indexer,
            .init = provider_init,
            .destroy = provider_destroy,
            .get_metadata = get_metadata,
            .get_extension = provider_extension,
        };
    return provider;
}

static const struct clap_preset_discovery_factory mask_presets = {
    .count = provider_count,
    .get_descriptor = provider_descriptor,
    .create = provider_create,
};

/* ---- the module: its entry and its factory of plugins; any thread ---- */

static const char *const mono_features[] = {"audio-effect", "reverb", "filter", "mono", NULL};
static const char *const stereo_features[] = {"audio-effect", "reverb", "filter", "stereo", NULL};

#define DESCRIPTOR(name_, title, purpose, its_features)                                            \
    {                                                                                              \
        .clap_version = CLAP_VERSION_INIT,                                                         \
        .id = "halo.convolver." name_,                                                             \
        .name = title,                                                                             \
        .vendor = "halo",                                                                          \
        .url = "",                                                                                 \
        .manual_url = "",                                                                          \
        .support_url = "",                                                                         \
        .version = HALO_CLAP_VERSION,                                                              \
        .description = purpose ". The mask is a preset.",                                          \
        .features = its_features,                                                                  \
    }

const struct clap_plugin_descriptor clap_effect_descriptors[EFFECT_VARIANTS] = {
    [EFFECT_MONO] =
        DESCRIPTOR("mono", "halo convolver, mono", "Convolution of one channel", mono_features),
    [EFFECT_STEREO] = DESCRIPTOR("stereo", "halo convolver, stereo",
                                 "Convolution of each of two channels", stereo_features),
    [EFFECT_TRUE_STEREO] = DESCRIPTOR("true-stereo", "halo convolver, true stereo",
                                      "Convolution of two channels by four paths", stereo_features),
};

static uint32_t plugin_count(const struct clap_plugin_factory *factory)
{
    (void)factory;
    return EFFECT_VARIANTS;
}

static const struct clap_plugin_descriptor *
plugin_descriptor(const struct clap_plugin_factory *factory, uint32_t index)
{
    (void)factory;
    return index < EFFECT_VARIANTS ? &clap_effect_descriptors[index] : NULL;
}

static const struct clap_plugin *create_plugin(const struct clap_plugin_factory *factory,
                                               const struct clap_host *host, const char *id)
{
    (void)factory;
    if (!host || host->clap_version.major < 1)
        return NULL;
    for (enum effect_variant v = 0; v < EFFECT_VARIANTS; v++)
        if (strcmp(clap_effect_descriptors[v].id, id) == 0)
            return clap_effect_create(v, host);
    return NULL;
}

static const struct clap_plugin_factory factory = {plugin_count, plugin_descriptor, create_plugin};

/* deinit has nothing to undo, so calls need not be counted */
static bool init(const char *path)
{
    note_verbosity(VERBOSITY_QUIET); /* the terminal belongs to the host */
    mask_presets_locate(path);
    return true;
}

static void deinit(void)
{
}

static const void *get_factory(const char *id)
{
    if (strcmp(id, CLAP_PLUGIN_FACTORY_ID) == 0)
        return &factory;
    if (strcmp(id, CLAP_PRESET_DISCOVERY_FACTORY_ID) == 0 ||
        strcmp(id, CLAP_PRESET_DISCOVERY_FACTORY_ID_COMPAT) == 0)
        return &mask_presets;
    return NULL;
}

extern const struct clap_plugin_entry clap_entry;
__attribute__((visibility("default"))) const struct clap_plugin_entry clap_entry = {
    .clap_version = CLAP_VERSION_INIT,
    .init = init,
    .deinit = deinit,
    .get_factory = get_factory,
};
