/* The mask in a session: not real-time, and not while run runs. */
#include "instance.h"

#include <stdlib.h>
#include <string.h>

static const void *feature(const LV2_Feature *const *features, const char *uri)
{
    for (; features && *features; features++)
        if (strcmp((*features)->URI, uri) == 0)
            return (*features)->data;
    return NULL;
}

static void free_path(const LV2_Feature *const *features, char *path)
{
    const LV2_State_Free_Path *freeing = feature(features, LV2_STATE__freePath);
    if (freeing && path)
        freeing->free_path(freeing->handle, path);
    else
        free(path);
}

static LV2_State_Status store_path(const struct instance *instance, const char *file,
                                   LV2_State_Store_Function store, LV2_State_Handle handle,
                                   const LV2_Feature *const *features)
{
    const struct urids *urids = &instance->urids;
    const LV2_State_Map_Path *map = feature(features, LV2_STATE__mapPath);
    char *abstract = map ? map->abstract_path(map->handle, file) : NULL;
    uint32_t flags = LV2_STATE_IS_POD | (abstract ? LV2_STATE_IS_PORTABLE : 0);
    const char *path = abstract ? abstract : file;
    LV2_State_Status status =
        store(handle, urids->mask, path, strlen(path) + 1, urids->atom_path, flags);
    free_path(features, abstract);
    return status;
}

static LV2_State_Status save(LV2_Handle handle, LV2_State_Store_Function store,
                             LV2_State_Handle state, uint32_t flags,
                             const LV2_Feature *const *features)
{
    (void)flags;
    struct instance *instance = handle;
    char file[EFFECT_FILE_MOST];
    float trim;
    if (!instance->map)
        return LV2_STATE_ERR_NO_FEATURE;
    effect_save(instance->effect, file, &trim);
    if (!*file)
        return LV2_STATE_SUCCESS;
    LV2_State_Status status = store_path(instance, file, store, state, features);
    if (status == LV2_STATE_SUCCESS)
        status = store(state, instance->urids.trim, &trim, sizeof trim, instance->urids.atom_float,
                       LV2_STATE_IS_POD | LV2_STATE_IS_PORTABLE);
    return status;
}

/* On the CPU: run reads the control. */
static bool load(struct instance *instance, const char *file, float trim)
{
    struct effect_mask mask = {.trim = trim};
    size_t length = strlen(file);
    if (length >= sizeof mask.file)
        return false;
    memcpy(mask.file, file, length);
    return effect_load(instance->effect, &mask, EFFECT_RESTORE, true);
}

static float retrieve_trim(const struct instance *instance, LV2_State_Retrieve_Function retrieve,
                           LV2_State_Handle state)
{
    float trim = 0;
    size_t size = 0;
    uint32_t type = 0, flags = 0;
    const void *value = retrieve(state, instance->urids.trim, &size, &type, &flags);
    if (value && type == instance->urids.atom_float && size == sizeof trim)
        memcpy(&trim, value, sizeof trim);
    return trim >= 0 ? trim : 0;
}

static LV2_State_Status restore_path(struct instance *instance, const char *path, float trim,
                                     const LV2_Feature *const *features)
{
    const LV2_State_Map_Path *map = feature(features, LV2_STATE__mapPath);
    char *absolute = map ? map->absolute_path(map->handle, path) : NULL;
    const char *file = absolute ? absolute : path;
    bool loaded = load(instance, file, trim);
    free_path(features, absolute);
    return loaded ? LV2_STATE_SUCCESS : LV2_STATE_ERR_UNKNOWN;
}

static LV2_State_Status restore(LV2_Handle handle, LV2_State_Retrieve_Function retrieve,
                                LV2_State_Handle state, uint32_t flags,
                                const LV2_Feature *const *features)
{
    struct instance *instance = handle;
    size_t size = 0;
    uint32_t type = 0, value_flags = 0;
    (void)flags;
    if (!instance->map)
        return LV2_STATE_ERR_NO_FEATURE;
    const char *path = retrieve(state, instance->urids.mask, &size, &type, &value_flags);
    if (!path) {
        (void)load(instance, "", 0);
        return LV2_STATE_SUCCESS;
    }
    if ((type != instance->urids.atom_path && type != instance->urids.atom_string) || size == 0 ||
        path[size - 1])
        return LV2_STATE_ERR_BAD_TYPE;
    return restore_path(instance, path, retrieve_trim(instance, retrieve, state), features);
}

const LV2_State_Interface instance_state = {save, restore};
