#include "base/realtime.h"
#include "effect/effect.h"

#include <lv2/atom/atom.h>
#include <lv2/atom/forge.h>
#include <lv2/atom/util.h>
#include <lv2/core/lv2.h>
#include <lv2/log/log.h>
#include <lv2/patch/patch.h>
#include <lv2/state/state.h>
#include <lv2/urid/urid.h>
#include <lv2/worker/worker.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- names and indices, as in plugin.ttl.in ---- */

#define HALO_LV2_URI "urn:halo:convolver"

/* The parameter for the mask, and the keys of the state. */
#define HALO_LV2_MASK HALO_LV2_URI "#mask" /* atom:Path */
#define HALO_LV2_TRIM HALO_LV2_URI "#trim" /* atom:Float, ms */

/* Name of a mask that a bundle may include. */
#define HALO_LV2_BUNDLE_MASK "mask.wav"

enum port {
    PORT_CONTROL,
    PORT_NOTIFY,
    PORT_VALUES, /* controls of the effect, in its order */
    PORT_LATENCY = PORT_VALUES + EFFECT_CONTROLS,
    PORT_AUDIO, /* inputs, then outputs */
};

struct urids {
    LV2_URID atom_float, atom_object, atom_path, atom_string, atom_urid;
    LV2_URID log_error, log_note;
    LV2_URID patch_get, patch_property, patch_set, patch_value;
    LV2_URID mask, trim;
};

struct instance {
    const struct effect_kind *kind;
    struct effect *effect;
    const LV2_URID_Map *map;             /* NULL: no messages and no state */
    const LV2_Worker_Schedule *schedule; /* NULL: masks come from the state only */
    const LV2_Log_Log *log;              /* NULL: failures are not reported */
    struct urids urids;
    LV2_Atom_Forge forge;

    /* Ports; any may be NULL. */
    const LV2_Atom_Sequence *control;
    LV2_Atom_Sequence *notify;
    const float *values[EFFECT_CONTROLS];
    float *latency;
    const float *in[EFFECT_CHANNELS_MOST];
    float *out[EFFECT_CHANNELS_MOST];
};

/* ---- the path of the mask by patch:Set and patch:Get: real-time ---- */

enum { ENVELOPE = 160 }; /* most bytes of a message without its path */

HALO_REALTIME static bool is_text(const struct instance *instance, const LV2_Atom *atom)
{
    return atom &&
           (atom->type == instance->urids.atom_path || atom->type == instance->urids.atom_string);
}

/* Requests a mask by path. A path that is too long is ignored; the host gets the present path. */
HALO_REALTIME static void set_path(struct instance *instance, const LV2_Atom *value)
{
    const char *path = LV2_ATOM_BODY_CONST(value);
    effect_request(instance->effect, path, strnlen(path, value->size));
}

HALO_REALTIME static bool is_about_mask(const struct instance *instance, const LV2_Atom *property)
{
    return property && property->type == instance->urids.atom_urid &&
           ((const LV2_Atom_URID *)property)->body == instance->urids.mask;
}

HALO_REALTIME static void read_object(struct instance *instance, const LV2_Atom_Object *object)
{
    const struct urids *urids = &instance->urids;
    const LV2_Atom *property = NULL, *value = NULL;
    lv2_atom_object_get(object, urids->patch_property, &property, urids->patch_value, &value, 0);
    if (object->body.otype == urids->patch_set && is_about_mask(instance, property) &&
        is_text(instance, value))
        set_path(instance, value);
    if (object->body.otype == urids->patch_get && (!property || is_about_mask(instance, property)))
        effect_report(instance->effect);
}

/* Reads the messages of the host. Real-time. */
HALO_REALTIME static void messages_read(struct instance *instance)
{
    if (!instance->map || !instance->control ||
        instance->control->atom.size < sizeof(LV2_Atom_Sequence_Body))
        return;
    LV2_ATOM_SEQUENCE_FOREACH(instance->control, event)
    if (event->body.type == instance->urids.atom_object)
        read_object(instance, (const LV2_Atom_Object *)&event->body);
}

HALO_REALTIME static void forge_path(struct instance *instance, const char *file)
{
    LV2_Atom_Forge *forge = &instance->forge;
    LV2_Atom_Forge_Frame object;
    lv2_atom_forge_frame_time(forge, 0);
    lv2_atom_forge_object(forge, &object, 0, instance->urids.patch_set);
    lv2_atom_forge_key(forge, instance->urids.patch_property);
    lv2_atom_forge_urid(forge, instance->urids.mask);
    lv2_atom_forge_key(forge, instance->urids.patch_value);
    lv2_atom_forge_path(forge, file, (uint32_t)strlen(file) + 1);
    lv2_atom_forge_pop(forge, &object);
}

HALO_REALTIME static void messages_write(struct instance *instance)
{
    if (!instance->map || !instance->notify)
        return;
    LV2_Atom_Forge_Frame sequence;
    size_t capacity = instance->notify->atom.size;
    lv2_atom_forge_set_buffer(&instance->forge, (uint8_t *)instance->notify, capacity);
    if (!lv2_atom_forge_sequence_head(&instance->forge, &sequence, 0))
        return;
    const char *file =
        capacity >= ENVELOPE ? effect_reported(instance->effect, capacity - ENVELOPE) : NULL;
    if (file)
        forge_path(instance, file);
    lv2_atom_forge_pop(&instance->forge, &sequence);
}

/* ---- the mask in a session: not real-time, and not while run runs ---- */

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

/* Loads a mask for the CPU. If the control asks for a GPU, run will request it. */
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

static const LV2_State_Interface instance_state = {save, restore};

/* ---- the instance ---- */

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

/* ---- functions for the effect ---- */

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

/* Does nothing: answers of the worker are passed on within the effect. */
static LV2_Worker_Status work_response(LV2_Handle handle, uint32_t size, const void *data)
{
    (void)handle, (void)size, (void)data;
    return LV2_WORKER_SUCCESS;
}

static void log_line(void *handle, bool is_error, const char *line)
{
    const struct instance *instance = handle;
    LV2_URID type = is_error ? instance->urids.log_error : instance->urids.log_note;
    if (instance->log) /* in brackets, since some C libraries have a macro printf */
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
        instance->log = NULL; /* without URIDs there are no types of log lines */
        return;
    }
    map_urids(instance->map, &instance->urids);
    lv2_atom_forge_init(&instance->forge, (LV2_URID_Map *)instance->map);
}

/* Loads the mask that a bundle includes, for hosts without messages and state. */
static void load_bundle_mask(struct instance *instance, const char *bundle)
{
    struct effect_mask mask = {.trim = 0};
    int length = snprintf(mask.file, sizeof mask.file, "%s/" HALO_LV2_BUNDLE_MASK, bundle);
    if (length > 0 && (size_t)length < sizeof mask.file && access(mask.file, R_OK) == 0)
        (void)effect_load(instance->effect, &mask, EFFECT_RESTORE, true); /* logs failures */
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
