#include "plugin/plugin_lv2_features.h"

#include "plugin/plugin_lv2_urid.h"

#include <lv2/atom/atom.h>
#include <lv2/buf-size/buf-size.h>
#include <lv2/core/lv2.h>
#include <lv2/parameters/parameters.h>
#include <string.h>

/* instance-access and data-access are for a plugin's own windows: not offered. */
static const char *const known_features[] = {
    LV2_URID__map,
    LV2_URID__unmap,
    LV2_OPTIONS__options,
    LV2_BUF_SIZE__boundedBlockLength,
    LV2_BUF_SIZE__fixedBlockLength,
    LV2_BUF_SIZE__powerOf2BlockLength,
    LV2_BUF_SIZE__coarseBlockLength,
    LV2_WORKER__schedule,
    LV2_LOG__log,
    LV2_STATE__makePath,
    LV2_STATE__mapPath,
    LV2_STATE__freePath,
    LV2_STATE__loadDefaultState,
    LV2_STATE__threadSafeRestore,
    LV2_CORE__isLive,
    LV2_CORE__inPlaceBroken,
    LV2_CORE__hardRTCapable,
};

static const char *const known_options[] = {
    LV2_PARAMETERS__sampleRate,       LV2_BUF_SIZE__minBlockLength, LV2_BUF_SIZE__maxBlockLength,
    LV2_BUF_SIZE__nominalBlockLength, LV2_BUF_SIZE__sequenceSize,
};

static bool is_among(const char *const *names, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], word) == 0)
            return true;
    return false;
}

bool lv2_features_know(const char *uri)
{
    return is_among(known_features, sizeof known_features / sizeof *known_features, uri);
}

bool lv2_features_know_option(const char *uri)
{
    return is_among(known_options, sizeof known_options / sizeof *known_options, uri);
}

static void add(struct lv2_features *features, const char *uri, void *data)
{
    size_t at = features->count++;
    features->features[at] = (LV2_Feature){.URI = uri, .data = data};
    features->list[at] = &features->features[at];
}

static LV2_Options_Option option(const char *uri, const char *type, const void *value)
{
    return (LV2_Options_Option){.context = LV2_OPTIONS_INSTANCE,
                                .key = lv2_urid(uri),
                                .size = sizeof(int32_t), /* a float's too */
                                .type = lv2_urid(type),
                                .value = value};
}

static void set_options(struct lv2_features *features)
{
    const LV2_Options_Option options[LV2_OPTIONS_MOST] = {
        option(LV2_PARAMETERS__sampleRate, LV2_ATOM__Float, &features->rate),
        option(LV2_BUF_SIZE__minBlockLength, LV2_ATOM__Int, &features->block),
        option(LV2_BUF_SIZE__maxBlockLength, LV2_ATOM__Int, &features->block),
        option(LV2_BUF_SIZE__nominalBlockLength, LV2_ATOM__Int, &features->block),
        option(LV2_BUF_SIZE__sequenceSize, LV2_ATOM__Int, &features->sequence),
    };
    memcpy(features->options, options, sizeof options);
}

/* Those that need no data are true of halo, as the URIs say. */
static void add_promises(struct lv2_features *features, const struct plugin_settings *settings)
{
    add(features, LV2_BUF_SIZE__boundedBlockLength, NULL);
    add(features, LV2_BUF_SIZE__fixedBlockLength, NULL);
    add(features, LV2_BUF_SIZE__coarseBlockLength, NULL);
    if ((settings->block & (settings->block - 1)) == 0)
        add(features, LV2_BUF_SIZE__powerOf2BlockLength, NULL);
    add(features, LV2_STATE__loadDefaultState, NULL);
    add(features, LV2_STATE__threadSafeRestore, NULL);
    add(features, LV2_CORE__inPlaceBroken, NULL);
    add(features, LV2_CORE__hardRTCapable, NULL);
    if (settings->live)
        add(features, LV2_CORE__isLive, NULL);
}

void lv2_features_init(struct lv2_features *features, const struct plugin_settings *settings,
                       uint32_t sequence, struct lv2_worker *worker, struct lv2_logbook *log,
                       struct lv2_paths *paths)
{
    *features = (struct lv2_features){.block = (int32_t)settings->block,
                                      .sequence = (int32_t)sequence,
                                      .rate = (float)settings->rate};
    set_options(features);
    add(features, LV2_URID__map, lv2_urid_map());
    add(features, LV2_URID__unmap, lv2_urid_unmap());
    add(features, LV2_WORKER__schedule, lv2_worker_feature(worker));
    for (size_t i = 0; i < features->count; i++)
        features->state[i] = features->snapshot[i] = features->list[i];
    add(features, LV2_OPTIONS__options, features->options);
    add(features, LV2_LOG__log, lv2_logbook_feature(log));
    add(features, LV2_STATE__makePath, &paths->make);
    features->snapshot[3] = features->list[features->count - 1];
    add(features, LV2_STATE__mapPath, &paths->map);
    add(features, LV2_STATE__freePath, &paths->release);
    add_promises(features, settings);
}

static bool offers(const struct lv2_features *features, const char *uri)
{
    for (size_t i = 0; i < features->count; i++)
        if (strcmp(features->features[i].URI, uri) == 0)
            return true;
    return false;
}

enum status lv2_features_suffice(const struct lv2_features *features,
                                 const struct plugin_info *info)
{
    for (size_t i = 0; i < info->feature_count; i++)
        if (!offers(features, info->features[i]))
            return fail(STATUS_FAILED,
                        "cannot run %s: it requires the feature %s, which is not true with blocks "
                        "of %d frames in this use",
                        info->id, info->features[i], features->block);
    return STATUS_OK;
}
