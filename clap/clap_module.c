/* The module: its entry and its factory of plugins. Threads: any. */
#include "clap_effect.h"

#include <string.h>

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

/* Nothing here has to be undone, so that calls need not be counted. */
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
