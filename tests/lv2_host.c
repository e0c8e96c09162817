#include "effect_host.h"

#include "allocations.h"
#include "command.h"
#include "suite.h"

#include <dlfcn.h>
#include <lv2/atom/forge.h>
#include <lv2/atom/util.h>
#include <lv2/core/lv2.h>
#include <lv2/log/log.h>
#include <lv2/patch/patch.h>
#include <lv2/state/state.h>
#include <lv2/urid/urid.h>
#include <lv2/worker/worker.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    VALUES = 9, /* control ports before the audio ports */
    EVENTS = 16384,
    QUEUE_MOST = 64,
    MESSAGE_MOST = 8192,
    URIDS_MOST = 256,
    LOG_MOST = 16384,
};

static const char *const symbols[VALUES] = {"control",   "notify", "enabled",   "gain",   "mix",
                                            "pre_delay", "trim",   "processor", "latency"};

const bool effect_host_is_portable = true;
const char effect_host_entry[] = "lv2_descriptor";

struct message {
    uint32_t size;
    char data[MESSAGE_MOST];
};

struct effect_host {
    struct effect_host_request request;
    const LV2_Descriptor *descriptor;
    LV2_Handle handle;
    size_t channels;
    float values[VALUES];
    _Alignas(8) uint8_t control[EVENTS];
    _Alignas(8) uint8_t notify[EVENTS];
    LV2_Atom_Forge forge;
    char reported[4096];
    size_t allocations;
    LV2_URID_Map map;
    LV2_Worker_Schedule schedule;
    LV2_Log_Log log;
    pthread_mutex_t lock; /* of the queue and of the log */
    struct message queue[QUEUE_MOST];
    size_t queued;
    char lines[LOG_MOST];
    char shown[LOG_MOST];
};

/* ---- features ---- */

/* One map for all instances, as in real hosts. */
static LV2_URID map_uri(LV2_URID_Map_Handle handle, const char *uri)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char *uris[URIDS_MOST];
    static LV2_URID count;
    (void)handle;
    pthread_mutex_lock(&lock);
    LV2_URID at = 0;
    while (at < count && strcmp(uris[at], uri) != 0)
        at++;
    ck_assert_uint_lt(at, URIDS_MOST);
    if (at == count)
        uris[count++] = strdup(uri);
    pthread_mutex_unlock(&lock);
    return at + 1;
}

static int log_arguments(LV2_Log_Handle handle, LV2_URID type, const char *format, va_list list)
{
    struct effect_host *host = handle;
    (void)type;
    pthread_mutex_lock(&host->lock);
    size_t used = strlen(host->lines);
    int size = vsnprintf(host->lines + used, sizeof host->lines - used, format, list);
    pthread_mutex_unlock(&host->lock);
    return size;
}

static int log_line(LV2_Log_Handle handle, LV2_URID type, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int size = log_arguments(handle, type, format, list);
    va_end(list);
    return size;
}

static const LV2_Worker_Interface *worker_of(const struct effect_host *host)
{
    return host->descriptor->extension_data(LV2_WORKER__interface);
}

static LV2_Worker_Status respond(LV2_Worker_Respond_Handle handle, uint32_t size, const void *data)
{
    struct effect_host *host = handle;
    return worker_of(host)->work_response(host->handle, size, data);
}

static LV2_Worker_Status schedule(LV2_Worker_Schedule_Handle handle, uint32_t size,
                                  const void *data)
{
    struct effect_host *host = handle;
    if (host->request.worker == EFFECT_HOST_WORKS_AT_ONCE)
        return worker_of(host)->work(host->handle, respond, host, size, data);
    pthread_mutex_lock(&host->lock);
    bool fits = host->queued < QUEUE_MOST && size <= MESSAGE_MOST;
    if (fits) {
        host->queue[host->queued].size = size;
        memcpy(host->queue[host->queued++].data, data, size);
    }
    pthread_mutex_unlock(&host->lock);
    return fits ? LV2_WORKER_SUCCESS : LV2_WORKER_ERR_NO_SPACE;
}

static bool handle_message(struct effect_host *host, struct message *message)
{
    pthread_mutex_lock(&host->lock);
    bool found = host->queued > 0;
    if (found) {
        *message = host->queue[0];
        memmove(host->queue, host->queue + 1, --host->queued * sizeof *message);
    }
    pthread_mutex_unlock(&host->lock);
    return found;
}

size_t effect_host_work(struct effect_host *host)
{
    struct message message;
    size_t count = 0;
    for (; handle_message(host, &message); count++)
        worker_of(host)->work(host->handle, respond, host, message.size, message.data);
    return count;
}

const char *effect_host_log(struct effect_host *host)
{
    pthread_mutex_lock(&host->lock);
    strcpy(host->shown, host->lines);
    *host->lines = '\0';
    pthread_mutex_unlock(&host->lock);
    return host->shown;
}

/* ---- the plugin ---- */

static const LV2_Descriptor *find(const char *name)
{
    char uri[64];
    snprintf(uri, sizeof uri, "urn:halo:convolver:%s", name);
    void *module = dlopen(HALO_MODULE, RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(module != NULL, "%s", dlerror());
    LV2_Descriptor_Function function;
    *(void **)&function = dlsym(module, "lv2_descriptor");
    ck_assert(function != NULL);
    const LV2_Descriptor *descriptor;
    for (uint32_t i = 0; (descriptor = function(i)); i++)
        if (strcmp(descriptor->URI, uri) == 0)
            return descriptor;
    ck_abort_msg("there is no %s", uri);
    return NULL;
}

static void instantiate(struct effect_host *host)
{
    const LV2_Feature map = {LV2_URID__map, &host->map},
                      work = {LV2_WORKER__schedule, &host->schedule},
                      log = {LV2_LOG__log, &host->log};
    const LV2_Feature *features[4] = {0};
    size_t count = 0;
    if (!host->request.bare) {
        features[count++] = &map;
        features[count++] = &log;
        if (host->request.worker != EFFECT_HOST_WORKS_NEVER)
            features[count++] = &work;
    }
    host->handle = host->descriptor->instantiate(host->descriptor, host->request.rate,
                                                 HALO_LV2_BUNDLE, features);
    ck_assert_ptr_nonnull(host->handle);
}

static void connect_values(struct effect_host *host)
{
    static const float initial[VALUES] = {[2] = 1, [4] = 1, [8] = -1};
    memcpy(host->values, initial, sizeof initial);
    for (uint32_t port = 2; port < VALUES; port++)
        host->descriptor->connect_port(host->handle, port, &host->values[port]);
    if (host->request.bare)
        return;
    host->descriptor->connect_port(host->handle, 0, host->control);
    host->descriptor->connect_port(host->handle, 1, host->notify);
}

static void begin_events(struct effect_host *host)
{
    LV2_Atom_Sequence *sequence = (LV2_Atom_Sequence *)host->control;
    *sequence = (LV2_Atom_Sequence){
        .atom = {sizeof(LV2_Atom_Sequence_Body), map_uri(NULL, LV2_ATOM__Sequence)}};
}

struct effect_host *effect_host_open_idle(const struct effect_host_request *request)
{
    struct effect_host *host = aligned_alloc(64, (sizeof *host + 63) / 64 * 64);
    ck_assert_ptr_nonnull(host);
    memset(host, 0, sizeof *host);
    host->request = *request;
    if (host->request.rate == 0)
        host->request.rate = 48000;
    host->channels = strcmp(request->name, "mono") == 0 ? 1 : 2;
    host->map = (LV2_URID_Map){NULL, map_uri};
    host->schedule = (LV2_Worker_Schedule){host, schedule};
    host->log = (LV2_Log_Log){host, log_line, log_arguments};
    pthread_mutex_init(&host->lock, NULL);
    lv2_atom_forge_init(&host->forge, &host->map);
    host->descriptor = find(request->name);
    begin_events(host);
    instantiate(host);
    connect_values(host);
    return host;
}

struct effect_host *effect_host_open(const struct effect_host_request *request)
{
    struct effect_host *host = effect_host_open_idle(request);
    effect_host_activate(host);
    return host;
}

void effect_host_activate(struct effect_host *host)
{
    host->descriptor->activate(host->handle);
}

void effect_host_deactivate(struct effect_host *host)
{
    if (host->descriptor->deactivate)
        host->descriptor->deactivate(host->handle);
}

void effect_host_close(struct effect_host *host)
{
    effect_host_deactivate(host);
    host->descriptor->cleanup(host->handle);
    pthread_mutex_destroy(&host->lock);
    free(host);
}

size_t effect_host_channels(const struct effect_host *host)
{
    return host->channels;
}

void effect_host_set(struct effect_host *host, const char *symbol, float value)
{
    size_t port = 0;
    while (port < VALUES && strcmp(symbols[port], symbol) != 0)
        port++;
    ck_assert_msg(port < VALUES, "no port %s", symbol);
    host->values[port] = value;
}

float effect_host_latency(const struct effect_host *host)
{
    return host->values[8];
}

/* ---- messages ---- */

static void place(char *to, size_t size, const char *path)
{
    if (*path == '/' || !*path)
        snprintf(to, size, "%s", path);
    else
        snprintf(to, size, "%s/%s", command_folder(), path);
}

static void begin_message(struct effect_host *host, LV2_Atom_Forge_Frame *object, const char *type)
{
    LV2_Atom_Sequence *sequence = (LV2_Atom_Sequence *)host->control;
    uint32_t used = lv2_atom_total_size(&sequence->atom);
    lv2_atom_forge_set_buffer(&host->forge, host->control + used, EVENTS - used);
    lv2_atom_forge_frame_time(&host->forge, 0);
    lv2_atom_forge_object(&host->forge, object, 0, map_uri(NULL, type));
    lv2_atom_forge_key(&host->forge, map_uri(NULL, LV2_PATCH__property));
    lv2_atom_forge_urid(&host->forge, map_uri(NULL, "urn:halo:convolver#mask"));
}

static void end_message(struct effect_host *host, LV2_Atom_Forge_Frame *object)
{
    lv2_atom_forge_pop(&host->forge, object);
    ((LV2_Atom_Sequence *)host->control)->atom.size += host->forge.offset;
}

void effect_host_set_mask(struct effect_host *host, const char *path)
{
    char file[8192];
    LV2_Atom_Forge_Frame object;
    place(file, sizeof file, path);
    begin_message(host, &object, LV2_PATCH__Set);
    lv2_atom_forge_key(&host->forge, map_uri(NULL, LV2_PATCH__value));
    lv2_atom_forge_path(&host->forge, file, (uint32_t)strlen(file) + 1);
    end_message(host, &object);
}

void effect_host_get_mask(struct effect_host *host)
{
    LV2_Atom_Forge_Frame object;
    begin_message(host, &object, LV2_PATCH__Get);
    end_message(host, &object);
}

static void receive(struct effect_host *host)
{
    const LV2_Atom_Sequence *sequence = (const LV2_Atom_Sequence *)host->notify;
    LV2_ATOM_SEQUENCE_FOREACH(sequence, event)
    {
        const LV2_Atom_Object *object = (const LV2_Atom_Object *)&event->body;
        const LV2_Atom *value = NULL;
        ck_assert_uint_eq(object->body.otype, map_uri(NULL, LV2_PATCH__Set));
        lv2_atom_object_get(object, map_uri(NULL, LV2_PATCH__value), &value, 0);
        ck_assert_ptr_nonnull(value);
        ck_assert_uint_eq(value->type, map_uri(NULL, LV2_ATOM__Path));
        snprintf(host->reported, sizeof host->reported, "%s",
                 (const char *)LV2_ATOM_BODY_CONST(value));
    }
}

const char *effect_host_reported(const struct effect_host *host)
{
    return host->reported;
}

void effect_host_run(struct effect_host *host, const float *const *in, float *const *out,
                     size_t frames)
{
    for (size_t c = 0; c < host->channels; c++) {
        host->descriptor->connect_port(host->handle, (uint32_t)(VALUES + c), (void *)in[c]);
        host->descriptor->connect_port(host->handle, (uint32_t)(VALUES + host->channels + c),
                                       out[c]);
    }
    *(LV2_Atom *)host->notify = (LV2_Atom){.size = EVENTS - sizeof(LV2_Atom)};
    size_t before = allocations_of_thread();
    host->descriptor->run(host->handle, (uint32_t)frames);
    host->allocations += allocations_of_thread() - before;
    begin_events(host);
    if (!host->request.bare)
        receive(host);
}

size_t effect_host_allocations(const struct effect_host *host)
{
    return host->allocations;
}

/* ---- state ---- */

static const LV2_State_Interface *state_of(const struct effect_host *host)
{
    return host->descriptor->extension_data(LV2_STATE__interface);
}

static char *abstract_path(LV2_State_Map_Path_Handle handle, const char *path)
{
    (void)handle;
    size_t folder = strlen(command_folder());
    return strdup(strncmp(path, command_folder(), folder) == 0 ? path + folder + 1 : path);
}

static char *absolute_path(LV2_State_Map_Path_Handle handle, const char *path)
{
    char file[8192];
    (void)handle;
    place(file, sizeof file, path);
    return strdup(file);
}

static void free_path(LV2_State_Free_Path_Handle handle, char *path)
{
    (void)handle;
    free(path);
}

static const LV2_State_Map_Path path_map = {NULL, abstract_path, absolute_path};
static const LV2_State_Free_Path path_free = {NULL, free_path};
static const LV2_Feature path_map_feature = {LV2_STATE__mapPath, (void *)&path_map},
                         path_free_feature = {LV2_STATE__freePath, (void *)&path_free};
static const LV2_Feature *const state_features[] = {&path_map_feature, &path_free_feature, NULL};

static LV2_State_Status store(LV2_State_Handle handle, uint32_t key, const void *value, size_t size,
                              uint32_t type, uint32_t flags)
{
    struct effect_host_state *state = handle;
    if (key == map_uri(NULL, "urn:halo:convolver#mask")) {
        ck_assert_uint_eq(type, map_uri(NULL, LV2_ATOM__Path));
        ck_assert_uint_le(size, sizeof state->mask);
        memcpy(state->mask, value, size);
        state->portable = flags & LV2_STATE_IS_PORTABLE;
    } else {
        ck_assert_uint_eq(key, map_uri(NULL, "urn:halo:convolver#trim"));
        ck_assert_uint_eq(type, map_uri(NULL, LV2_ATOM__Float));
        memcpy(&state->trim, value, sizeof state->trim);
    }
    return LV2_STATE_SUCCESS;
}

static const void *retrieve(LV2_State_Handle handle, uint32_t key, size_t *size, uint32_t *type,
                            uint32_t *flags)
{
    const struct effect_host_state *state = handle;
    *flags = LV2_STATE_IS_POD;
    if (!*state->mask)
        return NULL;
    if (key == map_uri(NULL, "urn:halo:convolver#mask")) {
        *type = map_uri(NULL, LV2_ATOM__Path);
        *size = strlen(state->mask) + 1;
        return state->mask;
    }
    *type = map_uri(NULL, LV2_ATOM__Float);
    *size = sizeof state->trim;
    return &state->trim;
}

void effect_host_save(struct effect_host *host, struct effect_host_state *state)
{
    *state = (struct effect_host_state){0};
    ck_assert_int_eq(state_of(host)->save(host->handle, store, state,
                                          LV2_STATE_IS_POD | LV2_STATE_IS_PORTABLE, state_features),
                     LV2_STATE_SUCCESS);
}

bool effect_host_restore(struct effect_host *host, const struct effect_host_state *state)
{
    return state_of(host)->restore(host->handle, retrieve, (void *)state, 0, state_features) ==
           LV2_STATE_SUCCESS;
}
