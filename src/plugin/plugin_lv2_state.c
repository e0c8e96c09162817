#include "plugin/plugin_lv2.h"

#include <errno.h>
#include <lv2/atom/atom.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char STATE_FILE[] = "state.ttl";

/* A number of any type that lilv reads from bundles; NaN: of another type. */
static float number_of(const void *value, uint32_t size, uint32_t type)
{
    union {
        float real;
        double precise;
        int32_t whole;
        int64_t large;
    } as;
    if (size > sizeof as)
        return NAN;
    memcpy(&as, value, size);
    if (type == lv2_urid(LV2_ATOM__Float))
        return as.real;
    if (type == lv2_urid(LV2_ATOM__Double))
        return (float)as.precise;
    if (type == lv2_urid(LV2_ATOM__Int) || type == lv2_urid(LV2_ATOM__Bool))
        return (float)as.whole;
    return type == lv2_urid(LV2_ATOM__Long) ? (float)as.large : NAN;
}

static size_t port_named(const struct plugin_info *info, const char *symbol)
{
    size_t i = 0;
    while (i < info->port_count && strcmp(info->ports[i].symbol, symbol) != 0)
        i++;
    return i;
}

static void set_port(const char *symbol, void *context, const void *value, uint32_t size,
                     uint32_t type)
{
    struct lv2_instance *instance = context;
    const struct plugin_info *info = instance->plugin.info;
    size_t port = port_named(info, symbol);
    float number = number_of(value, size, type);
    if (port < info->port_count && info->ports[port].type == PLUGIN_CONTROL &&
        info->ports[port].is_input && isfinite(number))
        instance->plugin.controls[port] = number;
}

static const void *get_port(const char *symbol, void *context, uint32_t *size, uint32_t *type)
{
    struct lv2_instance *instance = context;
    size_t port = port_named(instance->plugin.info, symbol);
    bool found = port < instance->plugin.info->port_count;
    *size = found ? sizeof(float) : 0;
    *type = found ? lv2_urid(LV2_ATOM__Float) : 0;
    return found ? &instance->plugin.controls[port] : NULL;
}

struct restoring {
    LilvInstance *instance;
    LV2_State_Status status;
};

static LV2_State_Status restore_and_note(LV2_Handle handle, LV2_State_Retrieve_Function retrieve,
                                         LV2_State_Handle state, uint32_t flags,
                                         const LV2_Feature *const *features)
{
    struct restoring *restoring = handle;
    const LV2_State_Interface *own =
        lilv_instance_get_extension_data(restoring->instance, LV2_STATE__interface);
    if (own && own->restore)
        restoring->status = own->restore(lilv_instance_get_handle(restoring->instance), retrieve,
                                         state, flags, features);
    return restoring->status;
}

static const void *restoring_extension(const char *uri)
{
    static const LV2_State_Interface interface = {.restore = restore_and_note};
    return strcmp(uri, LV2_STATE__interface) == 0 ? &interface : NULL;
}

/* Frees it. Lilv drops what the plugin's restore returns, so it is given another instance. */
static LV2_State_Status restore(struct lv2_instance *instance, LilvState *state, bool with_ports)
{
    static const LV2_Descriptor descriptor = {.extension_data = restoring_extension};
    struct restoring restoring = {.instance = instance->instance};
    LilvInstance stand_in = {.lv2_descriptor = &descriptor, .lv2_handle = &restoring};
    lilv_state_restore(state, &stand_in, with_ports ? set_port : NULL, instance, 0,
                       instance->features.state);
    lilv_state_free(state);
    return restoring.status;
}

/* What the user named is restored, or refused. A property that is missing keeps its default. */
static enum status restore_named(struct lv2_instance *instance, LilvState *state, const char *name)
{
    LV2_State_Status status = restore(instance, state, true);
    return status == LV2_STATE_SUCCESS || status == LV2_STATE_ERR_NO_PROPERTY
               ? STATUS_OK
               : fail(CAUSE_OTHER, "%s cannot restore %s", instance->plugin.info->id, name);
}

void lv2_state_load_default(struct lv2_instance *instance)
{
    LilvWorld *world;
    if (!lilv_instance_get_extension_data(instance->instance, LV2_STATE__interface) ||
        lv2_world_get(&world) != STATUS_OK)
        return;
    LilvState *state =
        lilv_state_new_from_world(world, lv2_urid_map(), lilv_plugin_get_uri(instance->bundle));
    if (state && lilv_state_get_num_properties(state) > 0)
        (void)restore(instance, state, false); /* port ranges have the defaults of ports */
    else
        lilv_state_free(state);
}

enum status lv2_state_load_preset(struct lv2_instance *instance, const char *uri)
{
    LilvWorld *world;
    TRY(lv2_world_get(&world));
    const LilvNode *node = lv2_world_node(uri);
    lilv_world_load_resource(world, node);
    LilvState *state = lilv_state_new_from_world(world, lv2_urid_map(), node);
    if (!state)
        return fail(CAUSE_DAMAGED, "cannot load the preset %s of %s: its file does not describe it",
                    uri, instance->plugin.info->id);
    return restore_named(instance, state, uri);
}

enum status lv2_state_load(struct lv2_instance *instance, const char *folder)
{
    LilvWorld *world;
    char *path;
    TRY(lv2_world_get(&world));
    if (asprintf(&path, "%s/%s", folder, STATE_FILE) < 0)
        return fail_memory("a plugin's state");
    enum status status = STATUS_OK;
    LilvState *state = NULL;
    if (access(path, R_OK) != 0)
        status = fail_errno(errno, "cannot read %s", path);
    else if (!(state = lilv_state_new_from_file(world, lv2_urid_map(), NULL, path)))
        status = fail(CAUSE_DAMAGED, "cannot load %s: it is not the state of a plugin", path);
    else if (!lilv_node_equals(lilv_state_get_plugin_uri(state),
                               lilv_plugin_get_uri(instance->bundle)))
        status =
            fail(CAUSE_UNSUPPORTED, "cannot load %s: it is the state of another plugin than %s",
                 path, instance->plugin.info->id);
    if (status == STATUS_OK)
        status = restore_named(instance, state, path);
    else
        lilv_state_free(state);
    free(path);
    return status;
}

LilvState *lv2_state_snapshot(struct lv2_instance *instance)
{
    return lilv_state_new_from_instance(instance->bundle, instance->instance, lv2_urid_map(),
                                        instance->paths.folder, NULL, NULL, NULL, NULL, NULL,
                                        LV2_STATE_IS_POD, instance->features.snapshot);
}

void lv2_state_give(struct lv2_instance *instance, LilvState *state)
{
    restore(instance, state, false);
}

static void count_value(const char *symbol, void *count, const void *value, uint32_t size,
                        uint32_t type)
{
    (void)symbol, (void)value, (void)size, (void)type;
    ++*(size_t *)count;
}

static size_t count_values(const LilvState *state)
{
    size_t count = lilv_state_get_num_properties(state);
    lilv_state_emit_port_values(state, count_value, &count);
    return count;
}

/* lilv does not tell of failed writes, so what it saved is read again. */
static bool is_saved(LilvWorld *world, const LilvState *state, const char *folder)
{
    char *path;
    if (asprintf(&path, "%s/%s", folder, STATE_FILE) < 0)
        return false;
    LilvState *saved = lilv_state_new_from_file(world, lv2_urid_map(), NULL, path);
    bool complete = saved && count_values(saved) == count_values(state);
    lilv_state_free(saved);
    free(path);
    errno = complete ? 0 : EIO;
    return complete;
}

enum status lv2_state_save(struct lv2_instance *instance, const char *folder)
{
    LilvWorld *world;
    TRY(lv2_world_get(&world));
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return fail_errno(errno, "cannot create the folder %s", folder);
    LilvState *state = lilv_state_new_from_instance(
        instance->bundle, instance->instance, lv2_urid_map(), instance->paths.folder, folder,
        folder, folder, get_port, instance, LV2_STATE_IS_POD | LV2_STATE_IS_PORTABLE,
        instance->features.state);
    bool saved = state &&
                 lilv_state_save(world, lv2_urid_map(), lv2_urid_unmap(), state, NULL, folder,
                                 STATE_FILE) == 0 &&
                 is_saved(world, state, folder);
    lilv_state_free(state);
    return saved ? STATUS_OK
                 : fail_errno(errno, "cannot save the state of %s in %s", instance->plugin.info->id,
                              folder);
}
