#include "plugin/lv2/plugin_lv2.h"

#include "base/realtime.h"

#include <errno.h>
#include <ftw.h>
#include <lv2/atom/atom.h>
#include <lv2/buf-size/buf-size.h>
#include <lv2/core/lv2.h>
#include <lv2/event/event.h>
#include <lv2/parameters/parameters.h>
#include <lv2/uri-map/uri-map.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- URIDs ---- */

static pthread_mutex_t urid_lock = PTHREAD_MUTEX_INITIALIZER;
static char **urids; /* URI number n is urids[n - 1] */
static LV2_URID urid_count;

LV2_URID lv2_urid(const char *uri)
{
    pthread_mutex_lock(&urid_lock);
    LV2_URID number = 1;
    while (number <= urid_count && strcmp(urids[number - 1], uri) != 0)
        number++;
    char *copy = number > urid_count ? strdup(uri) : NULL;
    char **larger = copy ? realloc(urids, number * sizeof *urids) : NULL;
    if (larger) {
        urids = larger;
        urids[urid_count++] = copy;
    } else {
        free(copy);
    }
    number = number <= urid_count ? number : 0;
    pthread_mutex_unlock(&urid_lock);
    return number;
}

static LV2_URID map(LV2_URID_Map_Handle handle, const char *uri)
{
    (void)handle;
    return uri ? lv2_urid(uri) : 0;
}

static const char *unmap(LV2_URID_Unmap_Handle handle, LV2_URID number)
{
    (void)handle;
    pthread_mutex_lock(&urid_lock);
    const char *uri = number >= 1 && number <= urid_count ? urids[number - 1] : NULL;
    pthread_mutex_unlock(&urid_lock);
    return uri;
}

LV2_URID_Map *lv2_urid_map(void)
{
    static LV2_URID_Map feature = {.map = map};
    return &feature;
}

LV2_URID_Unmap *lv2_urid_unmap(void)
{
    static LV2_URID_Unmap feature = {.unmap = unmap};
    return &feature;
}

/* ---- paths ---- */

static bool make_folder(struct lv2_paths *paths)
{
    const char *temporary = getenv("TMPDIR");
    if (paths->folder)
        return true;
    if (asprintf(&paths->folder, "%s/halo-plugin-XXXXXX",
                 temporary && *temporary ? temporary : "/tmp") < 0) {
        paths->folder = NULL;
        return false;
    }
    if (mkdtemp(paths->folder))
        return true;
    note("cannot create a folder for a plugin's files, %s: %s", paths->folder, strerror(errno));
    free(paths->folder);
    paths->folder = NULL;
    return false;
}

static char *make_path(LV2_State_Make_Path_Handle handle, const char *name)
{
    struct lv2_paths *paths = handle;
    char *path;
    if (!make_folder(paths) || asprintf(&path, "%s/%s", paths->folder, name) < 0)
        return NULL;
    for (char *at = path + strlen(paths->folder) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        mkdir(path, 0777); /* if mkdir fails, the plugin's fopen fails and reports it */
        *at = '/';
    }
    return path;
}

static char *same_path(LV2_State_Map_Path_Handle handle, const char *path)
{
    (void)handle;
    return strdup(path);
}

static void free_path(LV2_State_Free_Path_Handle handle, char *path)
{
    (void)handle;
    free(path);
}

void lv2_paths_init(struct lv2_paths *paths)
{
    *paths = (struct lv2_paths){
        .make = {.handle = paths, .path = make_path},
        .map = {.abstract_path = same_path, .absolute_path = same_path},
        .release = {.free_path = free_path},
    };
}

static int remove_one(const char *path, const struct stat *entry, int type, struct FTW *where)
{
    (void)entry, (void)type, (void)where;
    return remove(path);
}

void lv2_paths_free(struct lv2_paths *paths)
{
    enum { OPEN_MOST = 16 };
    if (paths->folder)
        nftw(paths->folder, remove_one, OPEN_MOST, FTW_DEPTH | FTW_PHYS);
    free(paths->folder);
    paths->folder = NULL;
}

/* ---- the features of an instance ---- */

/* The features of halo. Not instance-access and data-access, which are for user interfaces. */
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
    LV2_URI_MAP_URI,
    LV2_EVENT_URI,
    NULL,
};

static const char *const known_options[] = {
    LV2_PARAMETERS__sampleRate,       LV2_BUF_SIZE__minBlockLength, LV2_BUF_SIZE__maxBlockLength,
    LV2_BUF_SIZE__nominalBlockLength, LV2_BUF_SIZE__sequenceSize,   NULL,
};

static bool is_among(const char *const *names, const char *uri)
{
    while (*names && strcmp(*names, uri) != 0)
        names++;
    return *names;
}

bool lv2_features_know(const char *uri)
{
    return is_among(known_features, uri);
}

bool lv2_features_know_option(const char *uri)
{
    return is_among(known_options, uri);
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
                                .size = sizeof(int32_t), /* a float has the same size */
                                .type = lv2_urid(type),
                                .value = value};
}

static void set_options(struct lv2_features *features)
{
    const LV2_Options_Option options[LV2_OPTIONS_MOST] = {
        option(LV2_PARAMETERS__sampleRate, LV2_ATOM__Float, &features->rate),
        option(LV2_BUF_SIZE__minBlockLength, LV2_ATOM__Int, &features->least),
        option(LV2_BUF_SIZE__maxBlockLength, LV2_ATOM__Int, &features->block),
        option(LV2_BUF_SIZE__nominalBlockLength, LV2_ATOM__Int, &features->block),
        option(LV2_BUF_SIZE__sequenceSize, LV2_ATOM__Int, &features->sequence),
    };
    memcpy(features->options, options, sizeof options);
}

static bool is_required(const struct plugin_info *info, const char *uri)
{
    size_t i = 0;
    while (i < info->feature_count && strcmp(info->features[i], uri) != 0)
        i++;
    return i < info->feature_count;
}

/* Features without data: properties of halo. isLive is offered live, and in files only if the
 * plugin requires it: in files blocks also run once and in order, so the plugin sees no difference
 * but the clock. If isLive is optional, the plugin gets it only live. */
static void add_properties(struct lv2_features *features, const struct plugin_info *info,
                           const struct plugin_settings *settings)
{
    add(features, LV2_BUF_SIZE__boundedBlockLength, NULL);
    if (!settings->varied) {
        add(features, LV2_BUF_SIZE__fixedBlockLength, NULL);
        add(features, LV2_BUF_SIZE__coarseBlockLength, NULL);
    }
    if (!settings->varied && (settings->block & (settings->block - 1)) == 0)
        add(features, LV2_BUF_SIZE__powerOf2BlockLength, NULL);
    add(features, LV2_STATE__loadDefaultState, NULL);
    add(features, LV2_STATE__threadSafeRestore, NULL);
    add(features, LV2_CORE__inPlaceBroken, NULL);
    add(features, LV2_CORE__hardRTCapable, NULL);
    if (settings->live || is_required(info, LV2_CORE__isLive))
        add(features, LV2_CORE__isLive, NULL);
}

void lv2_features_init(struct lv2_features *features, const struct plugin_info *info,
                       const struct plugin_settings *settings, uint32_t sequence,
                       struct lv2_worker *worker, LV2_Log_Log *log, struct lv2_paths *paths)
{
    *features = (struct lv2_features){.block = (int32_t)settings->block,
                                      .least = settings->varied ? 1 : (int32_t)settings->block,
                                      .sequence = (int32_t)sequence,
                                      .rate = (float)settings->rate};
    set_options(features);
    add(features, LV2_URID__map, lv2_urid_map());
    add(features, LV2_URID__unmap, lv2_urid_unmap());
    add(features, LV2_WORKER__schedule, lv2_worker_feature(worker));
    for (size_t i = 0; i < features->count; i++)
        features->state[i] = features->snapshot[i] = features->list[i];
    add(features, LV2_OPTIONS__options, features->options);
    add(features, LV2_LOG__log, log);
    add(features, LV2_STATE__makePath, &paths->make);
    features->snapshot[3] = features->list[features->count - 1];
    add(features, LV2_STATE__mapPath, &paths->map);
    add(features, LV2_STATE__freePath, &paths->release);
    add(features, LV2_URI_MAP_URI, lv2_old_map());
    add(features, LV2_EVENT_URI, lv2_old_events());
    add_properties(features, info, settings);
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
            return fail(CAUSE_UNSUPPORTED,
                        "cannot run %s: it requires the feature %s, which does not hold for blocks "
                        "of %d frames here",
                        info->id, info->features[i], features->block);
    return STATUS_OK;
}
