#include "clap_host.h"

#include "allocations.h"
#include "command.h"
#include "suite.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { EVENTS_MOST = 256, QUEUE_MOST = 64, LOG_MOST = 16384 };

const bool effect_host_is_portable = false;
const char effect_host_entry[] = "clap_entry";

static const char *const symbols[] = {"enabled", "gain", "mix", "pre_delay", "trim", "processor"};
enum { PARAMS = sizeof symbols / sizeof *symbols };

union event {
    struct clap_event_header header;
    struct clap_event_param_value value;
};

struct effect_host {
    struct effect_host_request request;
    struct clap_host clap;
    const struct clap_plugin *plugin;
    size_t channels;
    union event events[EVENTS_MOST];
    size_t event_count;
    size_t allocations;
    int32_t status;
    char reported[4096];
    char error[4096];
    pthread_mutex_t lock; /* of all below */
    struct clap_host_calls calls;
    bool wants_callback;
    char queue[QUEUE_MOST][8192]; /* presets to load */
    size_t queued;
    char lines[LOG_MOST];
    char shown[LOG_MOST];
};

/* ---- which thread the plugin is called on ---- */

enum role { NOWHERE, MAIN_THREAD, AUDIO_THREAD };

static _Thread_local enum role role;

/* Calls of the plugin stand between these two. Returns the role to go back to. */
static enum role enter(enum role now)
{
    enum role before = role;
    role = now;
    return before;
}

/* Check's own assertions allocate, which would count as the plugin's where these are called. */
static void require(bool holds, const char *rule)
{
    if (!holds)
        ck_abort_msg("broken rule: %s", rule);
}

static struct effect_host *host_of(const struct clap_host *clap)
{
    return clap->host_data;
}

static void count(const struct clap_host *clap, size_t *calls)
{
    struct effect_host *host = host_of(clap);
    pthread_mutex_lock(&host->lock);
    ++*calls;
    pthread_mutex_unlock(&host->lock);
}

/* ---- what the host offers ---- */

static void request_restart(const struct clap_host *clap)
{
    (void)clap;
    ck_abort_msg("nothing in this plugin needs a restart");
}

static void request_process(const struct clap_host *clap)
{
    count(clap, &host_of(clap)->calls.process_requests);
}

static void request_callback(const struct clap_host *clap)
{
    count(clap, &host_of(clap)->calls.callbacks);
    struct effect_host *host = host_of(clap);
    pthread_mutex_lock(&host->lock);
    host->wants_callback = true;
    pthread_mutex_unlock(&host->lock);
}

static void log_line(const struct clap_host *clap, int32_t severity, const char *line)
{
    struct effect_host *host = host_of(clap);
    ck_assert_int_ge(severity, CLAP_LOG_DEBUG);
    ck_assert_int_le(severity, CLAP_LOG_ERROR);
    ck_assert_int_ne(role, AUDIO_THREAD); /* it may wait */
    pthread_mutex_lock(&host->lock);
    size_t used = strlen(host->lines);
    snprintf(host->lines + used, sizeof host->lines - used, "%s\n", line);
    pthread_mutex_unlock(&host->lock);
}

static void rescan(const struct clap_host *clap, uint32_t flags)
{
    ck_assert_int_eq(role, MAIN_THREAD);
    ck_assert_uint_eq(flags, CLAP_PARAM_RESCAN_VALUES);
    count(clap, &host_of(clap)->calls.rescans);
}

static void clear(const struct clap_host *clap, uint32_t param, uint32_t flags)
{
    (void)clap, (void)param, (void)flags;
    ck_abort_msg("no parameter of this plugin goes away");
}

static void request_flush(const struct clap_host *clap)
{
    (void)clap;
    ck_abort_msg("this plugin changes no parameter by itself");
}

static void mark_dirty(const struct clap_host *clap)
{
    ck_assert_int_eq(role, MAIN_THREAD);
    count(clap, &host_of(clap)->calls.dirty);
}

static void preset_error(const struct clap_host *clap, uint32_t kind, const char *location,
                         const char *key, int32_t error, const char *message)
{
    (void)kind, (void)location, (void)key, (void)error;
    ck_assert_int_eq(role, MAIN_THREAD);
    count(clap, &host_of(clap)->calls.preset_errors);
    snprintf(host_of(clap)->error, sizeof host_of(clap)->error, "%s", message);
}

static void preset_loaded(const struct clap_host *clap, uint32_t kind, const char *location,
                          const char *key)
{
    ck_assert_int_eq(role, MAIN_THREAD);
    ck_assert_uint_eq(kind, CLAP_PRESET_DISCOVERY_LOCATION_FILE);
    ck_assert_ptr_nonnull(location);
    ck_assert_ptr_null(key);
    count(clap, &host_of(clap)->calls.presets_loaded);
}

static void tail_changed(const struct clap_host *clap)
{
    require(role == AUDIO_THREAD, "the tail changes on the audio thread");
    count(clap, &host_of(clap)->calls.tails);
}

static const void *get_extension(const struct clap_host *clap, const char *id)
{
    static const struct clap_host_log log = {log_line};
    static const struct clap_host_params params = {rescan, clear, request_flush};
    static const struct clap_host_state state = {mark_dirty};
    static const struct clap_host_preset_load preset_load = {preset_error, preset_loaded};
    static const struct clap_host_tail tail = {tail_changed};
    const struct {
        const char *id;
        const void *extension;
    } offered[] = {{CLAP_EXT_LOG, &log},
                   {CLAP_EXT_PARAMS, &params},
                   {CLAP_EXT_STATE, &state},
                   {CLAP_EXT_PRESET_LOAD, &preset_load},
                   {CLAP_EXT_TAIL, &tail}};
    for (size_t i = 0; i < sizeof offered / sizeof *offered && !host_of(clap)->request.bare; i++)
        if (strcmp(offered[i].id, id) == 0)
            return offered[i].extension;
    return NULL;
}

/* ---- the plugin ---- */

const struct clap_plugin_entry *clap_host_entry(void)
{
    static const struct clap_plugin_entry *entry;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!entry) {
        void *module = dlopen(HALO_MODULE, RTLD_NOW | RTLD_LOCAL);
        ck_assert_msg(module != NULL, "%s", dlerror());
        entry = dlsym(module, effect_host_entry);
        ck_assert_ptr_nonnull(entry);
        ck_assert(entry->init(HALO_MODULE));
    }
    pthread_mutex_unlock(&lock);
    return entry;
}

const struct clap_plugin *clap_host_plugin(const struct effect_host *host)
{
    return host->plugin;
}

const void *clap_host_extension(const struct effect_host *host, const char *id)
{
    const void *extension = host->plugin->get_extension(host->plugin, id);
    ck_assert_msg(extension != NULL, "the plugin has no %s", id);
    return extension;
}

struct effect_host *effect_host_open_idle(const struct effect_host_request *request)
{
    const struct clap_plugin_factory *factory =
        clap_host_entry()->get_factory(CLAP_PLUGIN_FACTORY_ID);
    struct effect_host *host = calloc(1, sizeof *host);
    ck_assert_ptr_nonnull(host);
    host->request = *request;
    host->request.rate = request->rate == 0 ? 48000 : request->rate;
    host->channels = strcmp(request->name, "mono") == 0 ? 1 : 2;
    host->clap = (struct clap_host){
        .clap_version = CLAP_VERSION_INIT,
        .host_data = host,
        .name = "a test",
        .version = "1",
        .get_extension = get_extension,
        .request_restart = request_restart,
        .request_process = request_process,
        .request_callback = request_callback,
    };
    pthread_mutex_init(&host->lock, NULL);
    char id[64];
    snprintf(id, sizeof id, "halo.convolver.%s", request->name);
    enum role before = enter(MAIN_THREAD);
    host->plugin = factory->create_plugin(factory, &host->clap, id);
    ck_assert_ptr_nonnull(host->plugin);
    ck_assert_str_eq(host->plugin->desc->id, id);
    ck_assert(host->plugin->init(host->plugin));
    enter(before);
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
    enum role before = enter(MAIN_THREAD);
    ck_assert(host->plugin->activate(host->plugin, host->request.rate, 1, 1 << 20));
    enter(AUDIO_THREAD);
    ck_assert(host->plugin->start_processing(host->plugin));
    enter(before);
}

void effect_host_deactivate(struct effect_host *host)
{
    enum role before = enter(AUDIO_THREAD);
    host->plugin->stop_processing(host->plugin);
    enter(MAIN_THREAD);
    host->plugin->deactivate(host->plugin);
    enter(before);
}

void effect_host_close(struct effect_host *host)
{
    effect_host_deactivate(host);
    enum role before = enter(MAIN_THREAD);
    host->plugin->destroy(host->plugin);
    enter(before);
    pthread_mutex_destroy(&host->lock);
    free(host);
}

size_t effect_host_channels(const struct effect_host *host)
{
    return host->channels;
}

float effect_host_latency(const struct effect_host *host)
{
    const struct clap_plugin_latency *latency = clap_host_extension(host, CLAP_EXT_LATENCY);
    return (float)latency->get(host->plugin);
}

struct clap_host_calls clap_host_calls(const struct effect_host *host)
{
    return host->calls;
}

const char *clap_host_preset_error(const struct effect_host *host)
{
    return host->error;
}

int32_t clap_host_status(const struct effect_host *host)
{
    return host->status;
}

/* ---- events ---- */

uint32_t clap_host_param(const char *symbol)
{
    uint32_t param = 0;
    while (param < PARAMS && strcmp(symbols[param], symbol) != 0)
        param++;
    ck_assert_msg(param < PARAMS, "no parameter %s", symbol);
    return param;
}

void clap_host_push(struct effect_host *host, const struct clap_event_header *event)
{
    ck_assert_uint_lt(host->event_count, EVENTS_MOST);
    size_t size = event->size < sizeof *host->events ? event->size : sizeof *host->events;
    memcpy(&host->events[host->event_count++], event, size);
}

void clap_host_set_at(struct effect_host *host, uint32_t frame, uint32_t param, double value)
{
    const struct clap_event_param_value event = {
        .header = {.size = sizeof event, .time = frame, .type = CLAP_EVENT_PARAM_VALUE},
        .param_id = param,
        .note_id = -1,
        .port_index = -1,
        .channel = -1,
        .key = -1,
        .value = value,
    };
    clap_host_push(host, &event.header);
}

void effect_host_set(struct effect_host *host, const char *symbol, float value)
{
    uint32_t param = clap_host_param(symbol);
    clap_host_set_at(host, 0, param, param == 0 ? 1 - (double)value : (double)value);
}

static uint32_t events_size(const struct clap_input_events *list)
{
    return (uint32_t)((const struct effect_host *)list->ctx)->event_count;
}

static const struct clap_event_header *events_get(const struct clap_input_events *list,
                                                  uint32_t index)
{
    const struct effect_host *host = list->ctx;
    require(index < host->event_count, "there is an event of this index");
    return &host->events[index].header;
}

static bool push_no_event(const struct clap_output_events *list,
                          const struct clap_event_header *event)
{
    (void)list, (void)event;
    ck_abort_msg("this plugin has nothing to say");
    return false;
}

static const struct clap_output_events no_events = {NULL, push_no_event};

/* ---- masks and other work of the main thread ---- */

static void place(char *to, size_t size, const char *path)
{
    if (*path == '/' || !*path)
        snprintf(to, size, "%s", path);
    else
        snprintf(to, size, "%s/%s", command_folder(), path);
}

void effect_host_set_mask(struct effect_host *host, const char *path)
{
    pthread_mutex_lock(&host->lock);
    ck_assert_uint_lt(host->queued, QUEUE_MOST);
    place(host->queue[host->queued++], sizeof *host->queue, path);
    pthread_mutex_unlock(&host->lock);
}

void effect_host_get_mask(struct effect_host *host)
{
    (void)host;
}

bool clap_host_preset(struct effect_host *host, uint32_t kind, const char *location)
{
    const struct clap_plugin_preset_load *presets = clap_host_extension(host, CLAP_EXT_PRESET_LOAD);
    enum role before = enter(MAIN_THREAD);
    bool loaded = presets->from_location(host->plugin, kind, location, NULL);
    enter(before);
    return loaded;
}

static bool take_preset(struct effect_host *host, char path[8192])
{
    pthread_mutex_lock(&host->lock);
    bool found = host->queued > 0;
    if (found) {
        memcpy(path, host->queue[0], sizeof *host->queue);
        memmove(host->queue, host->queue + 1, --host->queued * sizeof *host->queue);
    }
    pthread_mutex_unlock(&host->lock);
    return found;
}

static bool take_callback(struct effect_host *host)
{
    pthread_mutex_lock(&host->lock);
    bool wanted = host->wants_callback;
    host->wants_callback = false;
    pthread_mutex_unlock(&host->lock);
    return wanted;
}

size_t effect_host_work(struct effect_host *host)
{
    char path[8192];
    size_t done = 0;
    for (; take_preset(host, path); done++)
        (void)clap_host_preset(host, CLAP_PRESET_DISCOVERY_LOCATION_FILE, path);
    for (; take_callback(host); done++) {
        enum role before = enter(MAIN_THREAD);
        host->plugin->on_main_thread(host->plugin);
        enter(before);
    }
    return done;
}

const char *effect_host_log(struct effect_host *host)
{
    pthread_mutex_lock(&host->lock);
    strcpy(host->shown, host->lines);
    *host->lines = '\0';
    pthread_mutex_unlock(&host->lock);
    return host->shown;
}

/* ---- sound ---- */

int32_t clap_host_process(struct effect_host *host, const struct clap_process *process)
{
    enum role before = enter(AUDIO_THREAD);
    size_t allocated = allocations_of_thread();
    host->status = host->plugin->process(host->plugin, process);
    host->allocations += allocations_of_thread() - allocated;
    enter(before);
    host->event_count = 0;
    return host->status;
}

void clap_host_flush(struct effect_host *host)
{
    const struct clap_input_events events = {host, events_size, events_get};
    const struct clap_plugin_params *params = clap_host_extension(host, CLAP_EXT_PARAMS);
    enum role before = enter(AUDIO_THREAD);
    params->flush(host->plugin, &events, &no_events);
    enter(before);
    host->event_count = 0;
}

void effect_host_run(struct effect_host *host, const float *const *in, float *const *out,
                     size_t frames)
{
    const struct clap_audio_buffer from = {.data32 = (float **)in,
                                           .channel_count = (uint32_t)host->channels};
    struct clap_audio_buffer to = {.data32 = (float **)out,
                                   .channel_count = (uint32_t)host->channels,
                                   .constant_mask = UINT64_MAX};
    const struct clap_input_events events = {host, events_size, events_get};
    const struct clap_process process = {
        .steady_time = -1,
        .frames_count = (uint32_t)frames,
        .audio_inputs = &from,
        .audio_outputs = &to,
        .audio_inputs_count = 1,
        .audio_outputs_count = 1,
        .in_events = &events,
        .out_events = &no_events,
    };
    bool at_once = host->request.worker == EFFECT_HOST_WORKS_AT_ONCE;
    if (at_once && host->queued) /* a preset is loaded with the parameters */
        clap_host_flush(host);
    if (at_once)
        effect_host_work(host);
    ck_assert_int_ne(clap_host_process(host, &process), CLAP_PROCESS_ERROR);
    ck_assert(to.constant_mask == 0);
    if (at_once)
        effect_host_work(host);
}

size_t effect_host_allocations(const struct effect_host *host)
{
    return host->allocations;
}

/* ---- state ---- */

struct cursor {
    struct clap_host_bytes *bytes;
    size_t at;
};

static int64_t write_piece(const struct clap_ostream *stream, const void *data, uint64_t size)
{
    struct clap_host_bytes *bytes = stream->ctx;
    if (bytes->piece && size > bytes->piece)
        size = bytes->piece;
    if (size > sizeof bytes->data - bytes->size)
        return -1;
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
    return (int64_t)size;
}

static int64_t read_piece(const struct clap_istream *stream, void *data, uint64_t size)
{
    struct cursor *cursor = stream->ctx;
    const struct clap_host_bytes *bytes = cursor->bytes;
    if (bytes->piece && size > bytes->piece)
        size = bytes->piece;
    if (size > bytes->size - cursor->at)
        size = bytes->size - cursor->at;
    memcpy(data, bytes->data + cursor->at, size);
    cursor->at += size;
    return (int64_t)size;
}

bool clap_host_save(struct effect_host *host, struct clap_host_bytes *bytes)
{
    const struct clap_plugin_state *state = clap_host_extension(host, CLAP_EXT_STATE);
    const struct clap_ostream stream = {bytes, write_piece};
    enum role before = enter(MAIN_THREAD);
    bool saved = state->save(host->plugin, &stream);
    enter(before);
    return saved;
}

bool clap_host_load(struct effect_host *host, const struct clap_host_bytes *bytes)
{
    const struct clap_plugin_state *state = clap_host_extension(host, CLAP_EXT_STATE);
    struct cursor cursor = {(struct clap_host_bytes *)bytes, 0};
    const struct clap_istream stream = {&cursor, read_piece};
    enum role before = enter(MAIN_THREAD);
    bool loaded = state->load(host->plugin, &stream);
    enter(before);
    return loaded;
}

static const char *saved_path(const struct clap_host_bytes *bytes)
{
    const char *line = strstr(bytes->data, "\nmask ");
    return line ? strchr(line + 1, '\n') + 1 : "";
}

const char *effect_host_reported(const struct effect_host *host)
{
    struct clap_host_bytes bytes = {.size = 0};
    ck_assert(clap_host_save((struct effect_host *)host, &bytes));
    snprintf((char *)host->reported, sizeof host->reported, "%s", saved_path(&bytes));
    return host->reported;
}

void effect_host_save(struct effect_host *host, struct effect_host_state *state)
{
    struct clap_host_bytes bytes = {.size = 0};
    ck_assert(clap_host_save(host, &bytes));
    const char *path = saved_path(&bytes), *trim = strstr(bytes.data, "\ntrim ");
    size_t folder = strlen(command_folder());
    bool inside = strncmp(path, command_folder(), folder) == 0;
    *state = (struct effect_host_state){.trim = strtof(trim + 6, NULL)};
    snprintf(state->mask, sizeof state->mask, "%s", inside ? path + folder + 1 : path);
}

bool effect_host_restore(struct effect_host *host, const struct effect_host_state *state)
{
    char path[8192];
    struct clap_host_bytes bytes;
    place(path, sizeof path, state->mask);
    bytes.piece = 7;
    bytes.size = (size_t)snprintf(bytes.data, sizeof bytes.data, "halo.clap 1\ntrim %g\n",
                                  (double)state->trim);
    if (*state->mask)
        bytes.size += (size_t)snprintf(bytes.data + bytes.size, sizeof bytes.data - bytes.size,
                                       "mask %zu\n%s", strlen(path), path);
    return clap_host_load(host, &bytes);
}
