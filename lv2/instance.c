/* The plugins, creation and end of an instance, its ports and run. */
#include "instance.h"

#include "base/realtime.h"

#include <lv2/atom/atom.h>
#include <lv2/patch/patch.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct effect_kind *kind_of(const LV2_Descriptor *descriptor);

/* ---- ports ---- */

static void connect_port(LV2_Handle handle, uint32_t port, void *data)
{
    struct instance *instance = handle;
    size_t channels = instance->kind->channels;
    if (port == PORT_CONTROL)
        instance->control = data;
    else if (port == PORT_NOTIFY)
        instance->notify = data;
    else if (port == PORT_LATENCY)
        instance->latency = data;
    else if (port < PORT_LATENCY)
        instance->values[port - PORT_VALUES] = data;
    else if (port < PORT_AUDIO + channels)
        instance->in[port - PORT_AUDIO] = data;
    else if (port < PORT_AUDIO + 2 * channels)
        instance->out[port - PORT_AUDIO - channels] = data;
}

HALO_REALTIME static bool is_connected(const struct instance *instance)
{
    for (size_t c = 0; c < instance->kind->channels; c++)
        if (!instance->in[c] || !instance->out[c])
            return false;
    return true;
}

HALO_REALTIME static void instance_run(LV2_Handle handle, uint32_t frames)
{
    struct instance *instance = handle;
    struct effect *effect = instance->effect;
    effect_begin(effect);
    messages_read(instance);
    for (enum effect_control c = 0; c < EFFECT_CONTROLS; c++)
        effect_set(effect, c, instance->values[c] ? *instance->values[c] : NAN);
    effect_run(effect, instance->in, instance->out, is_connected(instance) ? frames : 0);
    messages_write(instance);
    if (instance->latency)
        *instance->latency = 0;
}

static void activate(LV2_Handle handle)
{
    struct instance *instance = handle;
    effect_activate(instance->effect);
}

/* ---- what the effect asks of the host ---- */

HALO_REALTIME static bool schedule_work(void *handle, const struct effect_work *work, size_t size)
{
    const struct instance *instance = handle;
    return instance->schedule->schedule_work(instance->schedule->handle, (uint32_t)size, work) ==
           LV2_WORKER_SUCCESS;
}

static LV2_Worker_Status do_work(LV2_Handle handle, LV2_Worker_Respond_Function respond,
                                 LV2_Worker_Respond_Handle respond_handle, uint32_t size,
                                 const void *data)
{
    struct instance *instance = handle;
    (void)respond, (void)respond_handle;
    effect_work(instance->effect, data, size);
    return LV2_WORKER_SUCCESS;
}

/* Answers are in the effect and need no message. */
static LV2_Worker_Status work_response(LV2_Handle handle, uint32_t size, const void *data)
{
    (void)handle, (void)size, (void)data;
    return LV2_WORKER_SUCCESS;
}

static void log_line(void *handle, bool is_error, const char *line)
{
    const struct instance *instance = handle;
    LV2_URID type = is_error ? instance->urids.log_error : instance->urids.log_note;
    if (instance->log) /* in brackets: some C libraries have a macro of that name */
        (instance->log->printf)(instance->log->handle, type, "halo: %s\n", line);
}

/* ---- creation and end ---- */

static void cleanup(LV2_Handle handle)
{
    struct instance *instance = handle;
    effect_destroy(instance->effect);
    free(instance);
}

static void map_urids(const LV2_URID_Map *map, struct urids *urids)
{
    const struct {
        LV2_URID *urid;
        const char *uri;
    } wanted[] = {
        {&urids->atom_float, LV2_ATOM__Float}, {&urids->atom_object, LV2_ATOM__Object},
        {&urids->atom_path, LV2_ATOM__Path},   {&urids->atom_string, LV2_ATOM__String},
        {&urids->atom_urid, LV2_ATOM__URID},   {&urids->log_error, LV2_LOG__Error},
        {&urids->log_note, LV2_LOG__Note},     {&urids->mask, HALO_LV2_MASK},
        {&urids->patch_get, LV2_PATCH__Get},   {&urids->patch_property, LV2_PATCH__property},
        {&urids->patch_set, LV2_PATCH__Set},   {&urids->patch_value, LV2_PATCH__value},
        {&urids->trim, HALO_LV2_TRIM},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        *wanted[i].urid = map->map(map->handle, wanted[i].uri);
}

static void read_features(struct instance *instance, const LV2_Feature *const *features)
{
    for (; features && *features; features++) {
        const char *uri = (*features)->URI;
        if (strcmp(uri, LV2_URID__map) == 0)
            instance->map = (*features)->data;
        else if (strcmp(uri, LV2_WORKER__schedule) == 0)
            instance->schedule = (*features)->data;
        else if (strcmp(uri, LV2_LOG__log) == 0)
            instance->log = (*features)->data;
    }
    if (!instance->map) {
        instance->log = NULL; /* the types of log lines are URIDs */
        return;
    }
    map_urids(instance->map, &instance->urids);
    lv2_atom_forge_init(&instance->forge, (LV2_URID_Map *)instance->map);
}

/* A bundle may include a mask, for hosts without messages and state. */
static void load_bundle_mask(struct instance *instance, const char *bundle)
{
    struct effect_mask mask = {.trim = 0};
    int length = snprintf(mask.file, sizeof mask.file, "%s/" HALO_LV2_BUNDLE_MASK, bundle);
    if (length > 0 && (size_t)length < sizeof mask.file && access(mask.file, R_OK) == 0)
        (void)effect_load(instance->effect, &mask, EFFECT_RESTORE, true); /* or it is in the log */
}

static enum status create_effect(struct instance *instance, double rate)
{
    const struct effect_host host = {
        .handle = instance,
        .send = instance->schedule ? schedule_work : NULL,
        .log = log_line,
    };
    char cause[256] = "";
    const struct log_keeper before = log_keep_in(cause, sizeof cause);
    enum status status =
        effect_create(instance->kind, (uint32_t)lrint(rate), &host, &instance->effect);
    log_keep_again(&before);
    if (status != STATUS_OK)
        log_line(instance, true, cause);
    return status;
}

static LV2_Handle instantiate(const LV2_Descriptor *descriptor, double rate, const char *bundle,
                              const LV2_Feature *const *features)
{
    struct instance *instance = calloc(1, sizeof *instance);
    if (!instance || !(rate >= 1 && rate <= EFFECT_RATE_MOST)) {
        free(instance);
        return NULL;
    }
    note_verbosity(VERBOSITY_QUIET); /* the terminal belongs to the host */
    instance->kind = kind_of(descriptor);
    read_features(instance, features);
    if (create_effect(instance, rate) != STATUS_OK) {
        cleanup(instance);
        return NULL;
    }
    load_bundle_mask(instance, bundle);
    return instance;
}

static const LV2_Worker_Interface instance_worker = {do_work, work_response, NULL};

static const void *extension_data(const char *uri)
{
    if (strcmp(uri, LV2_WORKER__interface) == 0)
        return &instance_worker;
    if (strcmp(uri, LV2_STATE__interface) == 0)
        return &instance_state;
    return NULL;
}

#define DESCRIPTOR(name)                                                                           \
    {HALO_LV2_URI ":" name, instantiate, connect_port, activate,                                   \
     instance_run,          NULL,        cleanup,      extension_data}

static const LV2_Descriptor descriptors[EFFECT_VARIANTS] = {
    [EFFECT_MONO] = DESCRIPTOR("mono"),
    [EFFECT_STEREO] = DESCRIPTOR("stereo"),
    [EFFECT_TRUE_STEREO] = DESCRIPTOR("true-stereo"),
};

static const struct effect_kind *kind_of(const LV2_Descriptor *descriptor)
{
    return &effect_kinds[descriptor - descriptors];
}

LV2_SYMBOL_EXPORT const LV2_Descriptor *lv2_descriptor(uint32_t index)
{
    return index < EFFECT_VARIANTS ? &descriptors[index] : NULL;
}
