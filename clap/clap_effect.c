#include "clap_effect.h"

#include "base/decimal.h"
#include "base/plain_locale.h"
#include "base/realtime.h"
#include "base/ring.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct clap_effect {
    struct clap_plugin plugin; /* plugin.plugin_data points to this struct */
    const struct effect_kind *kind;
    const struct clap_host *host;
    /* Extensions of the host; each may be NULL. */
    const struct clap_host_log *log;
    const struct clap_host_params *params;
    const struct clap_host_preset_load *preset_load;
    const struct clap_host_state *state;
    const struct clap_host_tail *tail;

    struct effect *effect;  /* made for `rate`; not NULL after init */
    uint32_t rate;          /* Hz */
    bool active;            /* used by the main thread */
    char cause[1024];       /* last error that was logged; used by the main thread */
    struct ring *work;      /* struct clap_effect_work items for the main thread */
    uint32_t tail_reported; /* tail that the host knows; used by the audio thread */
    _Atomic(double) values[EFFECT_CONTROLS]; /* values of the parameters */
};

struct clap_effect_work {
    size_t size;
    char bytes[EFFECT_WORK_MOST];
};

HALO_REALTIME static inline struct clap_effect *clap_effect_of(const struct clap_plugin *plugin)
{
    return plugin->plugin_data;
}

/* ---- parameters ---- */

/* Parameters are the effect's controls, by the same numbers. Hosts' bypass replaces "enabled". */

enum {
    SOUND = CLAP_PARAM_IS_AUTOMATABLE,
    SWITCH = CLAP_PARAM_IS_STEPPED | CLAP_PARAM_IS_ENUM,
};

static const struct clap_effect_param {
    const char *name;
    uint32_t flags;
    const char *unit;      /* begins with a blank */
    const char *labels[2]; /* a switch displays these for 0 and for 1 */
} params[EFFECT_CONTROLS] = {
    [EFFECT_ENABLED] = {"Bypass", SOUND | SWITCH | CLAP_PARAM_IS_BYPASS, "", {"Off", "On"}},
    [EFFECT_GAIN] = {"Gain", SOUND, " dB", {0}},
    [EFFECT_MIX] = {"Mix", SOUND, "", {0}},
    [EFFECT_PRE_DELAY] = {"Pre-delay", SOUND, " ms", {0}},
    /* A change of one of these two prepares the mask again. */
    [EFFECT_TRIM] = {"Trim", 0, " ms", {0}},
    [EFFECT_PROCESSOR] = {"Processor", SWITCH, "", {"Automatic", "GPU"}},
};

/* Name of a parameter in sessions. */
static const char *clap_effect_param_symbol(size_t param)
{
    return param == EFFECT_ENABLED ? "bypass" : effect_ranges[param].symbol;
}

static double clap_effect_param_initial(size_t param)
{
    double initial = (double)effect_ranges[param].initial;
    return param == EFFECT_ENABLED ? 1 - initial : initial;
}

HALO_REALTIME double clap_effect_param_clamped(size_t param, double value)
{
    double least = (double)effect_ranges[param].least, most = (double)effect_ranges[param].most;
    value = value < least ? least : value > most ? most : value;
    return params[param].labels[0] ? (double)(int)value : value;
}

/* Value for a control of the effect, from the parameter. */
HALO_REALTIME static float clap_effect_control(const struct clap_effect *clap,
                                               enum effect_control control)
{
    float value = (float)atomic_load_explicit(&clap->values[control], memory_order_relaxed);
    return control == EFFECT_ENABLED ? 1 - value : value;
}

/* Applies an event if it sets a parameter; ignores other events. */
HALO_REALTIME static void clap_effect_param_event(struct clap_effect *clap,
                                                  const struct clap_event_header *event)
{
    if (!event || event->space_id != CLAP_CORE_EVENT_SPACE_ID ||
        event->type != CLAP_EVENT_PARAM_VALUE ||
        event->size < sizeof(struct clap_event_param_value))
        return;
    const struct clap_event_param_value *change = (const struct clap_event_param_value *)event;
    if (change->param_id < EFFECT_CONTROLS && !isnan(change->value))
        atomic_store_explicit(&clap->values[change->param_id],
                              clap_effect_param_clamped(change->param_id, change->value),
                              memory_order_relaxed);
}

/* ---- the extension "params" ---- */

static uint32_t param_count(const struct clap_plugin *plugin)
{
    (void)plugin;
    return EFFECT_CONTROLS;
}

static bool param_info(const struct clap_plugin *plugin, uint32_t index,
                       struct clap_param_info *info)
{
    (void)plugin;
    if (index >= EFFECT_CONTROLS)
        return false;
    *info = (struct clap_param_info){
        .id = index,
        .flags = params[index].flags,
        .min_value = (double)effect_ranges[index].least,
        .max_value = (double)effect_ranges[index].most,
        .default_value = clap_effect_param_initial(index),
    };
    snprintf(info->name, sizeof info->name, "%s", params[index].name);
    return true;
}

static bool param_value(const struct clap_plugin *plugin, uint32_t id, double *value)
{
    if (id >= EFFECT_CONTROLS)
        return false;
    *value = atomic_load(&clap_effect_of(plugin)->values[id]);
    return true;
}

static bool value_to_text(const struct clap_plugin *plugin, uint32_t id, double value, char *text,
                          uint32_t size)
{
    (void)plugin;
    if (id >= EFFECT_CONTROLS || size == 0 || value != value)
        return false;
    const struct clap_effect_param *param = &params[id];
    struct plain_locale locale = plain_locale_begin();
    int length = param->labels[0] ? snprintf(text, size, "%s", param->labels[value >= 1])
                                  : snprintf(text, size, "%.6g%s", value, param->unit);
    plain_locale_end(locale);
    return length >= 0 && (uint32_t)length < size;
}

static bool parse_number(const struct clap_effect_param *param, const char *text, double *value)
{
    char *end;
    struct plain_locale locale = plain_locale_begin();
    bool is_number = decimal_read(text, &end, value);
    plain_locale_end(locale);
    end += strspn(end, " ");
    return is_number && (!*end || strcasecmp(end, param->unit + (*param->unit == ' ')) == 0);
}

static bool text_to_value(const struct clap_plugin *plugin, uint32_t id, const char *text,
                          double *value)
{
    (void)plugin;
    if (id >= EFFECT_CONTROLS)
        return false;
    for (size_t l = 0; l < 2 && params[id].labels[0]; l++)
        if (strcasecmp(text, params[id].labels[l]) == 0) {
            *value = (double)l;
            return true;
        }
    double number;
    if (!parse_number(&params[id], text + strspn(text, " "), &number))
        return false;
    *value = clap_effect_param_clamped(id, number);
    return true;
}

static void flush(const struct clap_plugin *plugin, const struct clap_input_events *in,
                  const struct clap_output_events *out)
{
    (void)out;
    uint32_t count = in ? in->size(in) : 0;
    for (uint32_t e = 0; e < count; e++)
        clap_effect_param_event(clap_effect_of(plugin), in->get(in, e));
}

static const struct clap_plugin_params clap_effect_params = {
    .count = param_count,
    .get_info = param_info,
    .get_value = param_value,
    .value_to_text = value_to_text,
    .text_to_value = text_to_value,
    .flush = flush,
};

/* ---- the state as text ---- */

#define HEADING "halo.clap 1\n"

size_t saved_state_print(const struct saved_state *state, char text[SAVED_STATE_MOST])
{
    struct plain_locale locale = plain_locale_begin();
    size_t size = (size_t)snprintf(text, SAVED_STATE_MOST, HEADING);
    for (size_t p = 0; p < EFFECT_CONTROLS; p++)
        size += (size_t)snprintf(text + size, SAVED_STATE_MOST - size, "%s %.17g\n",
                                 clap_effect_param_symbol(p), state->values[p]);
    if (*state->file)
        size += (size_t)snprintf(text + size, SAVED_STATE_MOST - size, "mask %zu\n%s",
                                 strlen(state->file), state->file);
    plain_locale_end(locale);
    return size;
}

static bool parse_param(struct saved_state *state, const char *name, double value)
{
    for (size_t p = 0; p < EFFECT_CONTROLS; p++)
        if (strcmp(clap_effect_param_symbol(p), name) == 0) {
            state->values[p] = value;
            return value == clap_effect_param_clamped(p, value);
        }
    return false;
}

/* Parses a line; after the line "mask", also the path. Returns the rest; NULL: damaged text. */
static char *parse_line(struct saved_state *state, char *line)
{
    char *end = strchr(line, '\n'), *blank = strchr(line, ' ');
    double value;
    if (!end || !blank || blank > end)
        return NULL;
    *end = *blank = '\0';
    if (!decimal_parse(blank + 1, &value))
        return NULL;
    if (strcmp(line, "mask") != 0)
        return parse_param(state, line, value) ? end + 1 : NULL;
    size_t length = strlen(end + 1);
    if (length == 0 || length >= sizeof state->file || (double)length != value)
        return NULL;
    memcpy(state->file, end + 1, length + 1);
    return end + 1 + length;
}

bool saved_state_parse(struct saved_state *state, char *text)
{
    *state = (struct saved_state){.file = ""};
    for (size_t p = 0; p < EFFECT_CONTROLS; p++)
        state->values[p] = clap_effect_param_initial(p);
    if (strncmp(text, HEADING, strlen(HEADING)) != 0)
        return false;
    struct plain_locale locale = plain_locale_begin();
    text += strlen(HEADING);
    while (text && *text)
        text = parse_line(state, text);
    plain_locale_end(locale);
    return text;
}

/* ---- functions for the effect ---- */

HALO_REALTIME static bool send_work(void *handle, const struct effect_work *work, size_t size)
{
    struct clap_effect *clap = handle;
    struct clap_effect_work item = {.size = size};
    memcpy(item.bytes, work, size);
    bool sent = ring_write(clap->work, &item, 1) == 1;
    clap->host->request_callback(clap->host);
    return sent;
}

static void on_main_thread(const struct clap_plugin *plugin)
{
    struct clap_effect *clap = clap_effect_of(plugin);
    struct clap_effect_work item;
    while (ring_read(clap->work, &item, 1) == 1)
        effect_work(clap->effect, item.bytes, item.size);
}

static void log_line(void *handle, bool is_error, const char *line)
{
    struct clap_effect *clap = handle;
    if (is_error)
        snprintf(clap->cause, sizeof clap->cause, "%s", line);
    if (clap->log)
        clap->log->log(clap->host, is_error ? CLAP_LOG_ERROR : CLAP_LOG_INFO, line);
}

/* Loads a mask, with the present parameters. Returns false if it fails; clap->cause says why. */
static bool clap_effect_load(struct clap_effect *clap, const char *file,
                             enum effect_loading loading)
{
    struct effect_mask mask = {.trim = clap_effect_control(clap, EFFECT_TRIM),
                               .gpu = clap_effect_control(clap, EFFECT_PROCESSOR) > 0.5f};
    size_t length = strlen(file);
    if (length >= sizeof mask.file) {
        log_line(clap, true, "the path of the mask is too long");
        return false;
    }
    memcpy(mask.file, file, length);
    bool loaded = effect_load(clap->effect, &mask, loading, !clap->active);
    if (clap->active)
        clap->host->request_process(clap->host); /* the host may have stopped processing */
    return loaded;
}

/* ---- the state in a session, on the main thread: saving ---- */

static bool write_all(const struct clap_ostream *stream, const char *text, size_t size)
{
    while (size > 0) {
        int64_t written = stream->write(stream, text, size);
        if (written <= 0 || (uint64_t)written > size)
            return false;
        text += written;
        size -= (size_t)written;
    }
    return true;
}

static bool save(const struct clap_plugin *plugin, const struct clap_ostream *stream)
{
    struct clap_effect *clap = clap_effect_of(plugin);
    struct saved_state state;
    char text[SAVED_STATE_MOST];
    float trim;
    effect_save(clap->effect, state.file, &trim);
    for (size_t p = 0; p < EFFECT_CONTROLS; p++)
        state.values[p] = atomic_load(&clap->values[p]);
    return write_all(stream, text, saved_state_print(&state, text));
}

/* ---- loading ---- */

/* Reads the whole stream as text. Returns false if it fails, is too long or contains a NUL. */
static bool read_all(const struct clap_istream *stream, char text[SAVED_STATE_MOST])
{
    size_t size = 0;
    int64_t count;
    while ((count = stream->read(stream, text + size, SAVED_STATE_MOST - 1 - size)) > 0) {
        if ((uint64_t)count > SAVED_STATE_MOST - 1 - size)
            return false;
        size += (size_t)count;
        if (size == SAVED_STATE_MOST - 1)
            return false;
    }
    text[size] = '\0';
    return count == 0 && strlen(text) == size;
}

static bool refuse(struct clap_effect *clap, const char *cause)
{
    if (clap->log)
        clap->log->log(clap->host, CLAP_LOG_ERROR, cause);
    return false;
}

/* Restores a session. If a mask cannot be read now, it stays in the session. */
static bool load(const struct clap_plugin *plugin, const struct clap_istream *stream)
{
    struct clap_effect *clap = clap_effect_of(plugin);
    char text[SAVED_STATE_MOST];
    struct saved_state state;
    if (!read_all(stream, text) || !saved_state_parse(&state, text))
        return refuse(clap, "the state is damaged, or of a later version of halo.clap");
    for (size_t p = 0; p < EFFECT_CONTROLS; p++)
        atomic_store(&clap->values[p], state.values[p]);
    bool loaded = clap_effect_load(clap, state.file, EFFECT_RESTORE);
    if (clap->params)
        clap->params->rescan(clap->host, CLAP_PARAM_RESCAN_VALUES);
    return loaded;
}

static const struct clap_plugin_state clap_effect_state = {.save = save, .load = load};

/* ---- a mask as a preset ---- */

/* Loads the mask of a preset. Makes its path absolute, for sessions. `error`: an errno, or 0. */
static bool choose(struct clap_effect *clap, uint32_t kind, const char *location, int *error)
{
    if (kind != CLAP_PRESET_DISCOVERY_LOCATION_FILE || !location) {
        snprintf(clap->cause, sizeof clap->cause, "a preset of halo is the file of a mask");
        return false;
    }
    char *path = realpath(location, NULL);
    *error = path ? 0 : errno;
    bool loaded = clap_effect_load(clap, path ? path : location, EFFECT_CHOOSE);
    free(path);
    return loaded;
}

static bool from_location(const struct clap_plugin *plugin, uint32_t kind, const char *location,
                          const char *key)
{
    struct clap_effect *clap = clap_effect_of(plugin);
    const struct clap_host_preset_load *host = clap->preset_load;
    int error = 0;
    bool loaded = choose(clap, kind, location, &error);
    if (!loaded && host)
        host->on_error(clap->host, kind, location, key, error, clap->cause);
    if (!loaded)
        return false;
    if (clap->state)
        clap->state->mark_dirty(clap->host);
    if (host)
        host->loaded(clap->host, kind, location, key);
    return true;
}

static const struct clap_plugin_preset_load clap_effect_preset_load = {.from_location =
                                                                           from_location};

/* ---- sound and events: real-time ---- */

HALO_REALTIME static bool fits(const struct clap_effect *clap, const struct clap_process *process)
{
    size_t channels = clap->kind->channels;
    if (process->audio_inputs_count < 1 || process->audio_outputs_count < 1)
        return false;
    const struct clap_audio_buffer *in = process->audio_inputs, *out = process->audio_outputs;
    return in->data32 && out->data32 && in->channel_count == channels &&
           out->channel_count == channels;
}

HALO_REALTIME static void run_piece(struct clap_effect *clap, const struct clap_process *process,
                                    uint32_t at, uint32_t end)
{
    const float *in[EFFECT_CHANNELS_MOST];
    float *out[EFFECT_CHANNELS_MOST];
    for (size_t c = 0; c < clap->kind->channels; c++) {
        in[c] = process->audio_inputs->data32[c] + at;
        out[c] = process->audio_outputs->data32[c] + at;
    }
    effect_begin(clap->effect);
    for (enum effect_control c = 0; c < EFFECT_CONTROLS; c++)
        effect_set(clap->effect, c, clap_effect_control(clap, c));
    effect_run(clap->effect, in, out, end - at);
}

/* Applies events from `*next` on, up to frame `at`. Returns the next one's frame, or `most`. */
HALO_REALTIME static uint32_t take_events(struct clap_effect *clap,
                                          const struct clap_input_events *events, uint32_t *next,
                                          uint32_t at, uint32_t most)
{
    uint32_t count = events ? events->size(events) : 0;
    for (; *next < count; ++*next) {
        const struct clap_event_header *event = events->get(events, *next);
        if (event && event->time > at && event->time < most)
            return event->time;
        if (event && event->time > at)
            return most;
        clap_effect_param_event(clap, event);
    }
    return most;
}

HALO_REALTIME static void report_tail(struct clap_effect *clap)
{
    uint32_t tail = effect_tail(clap->effect);
    if (tail == clap->tail_reported)
        return;
    clap->tail_reported = tail;
    if (clap->tail)
        clap->tail->changed(clap->host);
}

/* Processes a block in pieces from event to event. Events beyond the block's end are an error of
 * the host. They are applied late rather than dropped. */
HALO_REALTIME static int32_t clap_effect_process(const struct clap_plugin *plugin,
                                                 const struct clap_process *process)
{
    struct clap_effect *clap = clap_effect_of(plugin);
    uint32_t frames = process->frames_count, next = 0, at = 0;
    if (!fits(clap, process))
        return CLAP_PROCESS_ERROR;
    do {
        uint32_t end = take_events(clap, process->in_events, &next, at, frames);
        run_piece(clap, process, at, end);
        at = end;
    } while (at < frames);
    (void)take_events(clap, process->in_events, &next, UINT32_MAX, UINT32_MAX);
    process->audio_outputs->constant_mask = 0;
    report_tail(clap);
    return effect_is_busy(clap->effect) ? CLAP_PROCESS_CONTINUE : CLAP_PROCESS_TAIL;
}

/* ---- the plugin: on the main thread, unless marked ---- */

enum {
    FIRST_RATE = 48000, /* Hz, until the host says which */
    WORK_QUEUED = 8,    /* works that can be queued */
};

/* ---- creation, activation and end ---- */

static bool create_effect(struct clap_effect *clap, uint32_t rate)
{
    const struct effect_host host = {.handle = clap, .send = send_work, .log = log_line};
    char cause[256] = "";
    const struct log_keeper before = log_keep_in(cause, sizeof cause);
    enum status status = effect_create(clap->kind, rate, &host, &clap->effect);
    log_keep_again(&before);
    if (status != STATUS_OK)
        log_line(clap, true, cause);
    else
        clap->rate = rate;
    return status == STATUS_OK;
}

static bool init(const struct clap_plugin *plugin)
{
    struct clap_effect *clap = clap_effect_of(plugin);
    const struct clap_host *host = clap->host;
    clap->log = host->get_extension(host, CLAP_EXT_LOG);
    clap->params = host->get_extension(host, CLAP_EXT_PARAMS);
    clap->preset_load = host->get_extension(host, CLAP_EXT_PRESET_LOAD);
    if (!clap->preset_load)
        clap->preset_load = host->get_extension(host, CLAP_EXT_PRESET_LOAD_COMPAT);
    clap->state = host->get_extension(host, CLAP_EXT_STATE);
    clap->tail = host->get_extension(host, CLAP_EXT_TAIL);
    return create_effect(clap, FIRST_RATE);
}

static void destroy(const struct clap_plugin *plugin)
{
    struct clap_effect *clap = clap_effect_of(plugin);
    effect_destroy(clap->effect);
    ring_destroy(clap->work);
    free(clap);
}

/* Makes a new effect for another rate, since masks and buffers depend on it. */
static bool change_rate(struct clap_effect *clap, uint32_t rate)
{
    struct effect *before = clap->effect;
    if (!create_effect(clap, rate))
        return false;
    char file[EFFECT_FILE_MOST];
    float trim;
    effect_save(before, file, &trim);
    effect_destroy(before);
    if (*file)
        (void)clap_effect_load(clap, file, EFFECT_RESTORE); /* a failure is in the log */
    return true;
}

/* Activates. The first frame has the present parameters and the mask that was requested last. */
static bool activate(const struct clap_plugin *plugin, double rate, uint32_t least, uint32_t most)
{
    struct clap_effect *clap = clap_effect_of(plugin);
    (void)least, (void)most;
    if (!(rate >= 1 && rate <= EFFECT_RATE_MOST))
        return false;
    on_main_thread(plugin);
    if ((uint32_t)lrint(rate) != clap->rate && !change_rate(clap, (uint32_t)lrint(rate)))
        return false;
    char file[EFFECT_FILE_MOST];
    float trim;
    effect_save(clap->effect, file, &trim);
    if (*file && trim != clap_effect_control(clap, EFFECT_TRIM))
        (void)clap_effect_load(clap, file, EFFECT_RESTORE);
    for (enum effect_control c = 0; c < EFFECT_CONTROLS; c++)
        effect_set(clap->effect, c, clap_effect_control(clap, c));
    effect_activate(clap->effect);
    clap->tail_reported = effect_tail(clap->effect);
    clap->active = true;
    return true;
}

static void deactivate(const struct clap_plugin *plugin)
{
    clap_effect_of(plugin)->active = false;
}

/* The next three functions run on the audio thread. */
static bool start_processing(const struct clap_plugin *plugin)
{
    (void)plugin;
    return true;
}

static void stop_processing(const struct clap_plugin *plugin)
{
    (void)plugin;
}

static void reset(const struct clap_plugin *plugin)
{
    effect_reset(clap_effect_of(plugin)->effect);
}

/* ---- ports, latency and tail ---- */

static uint32_t port_count(const struct clap_plugin *plugin, bool is_input)
{
    (void)plugin, (void)is_input;
    return 1;
}

static bool port_info(const struct clap_plugin *plugin, uint32_t index, bool is_input,
                      struct clap_audio_port_info *info)
{
    if (index > 0)
        return false;
    size_t channels = clap_effect_of(plugin)->kind->channels;
    *info = (struct clap_audio_port_info){
        .flags = CLAP_AUDIO_PORT_IS_MAIN,
        .channel_count = (uint32_t)channels,
        .port_type = channels == 1 ? CLAP_PORT_MONO : CLAP_PORT_STEREO,
        .in_place_pair = 0,
    };
    snprintf(info->name, sizeof info->name, "%s", is_input ? "In" : "Out");
    return true;
}

static uint32_t latency_frames(const struct clap_plugin *plugin)
{
    (void)plugin;
    return 0;
}

static uint32_t tail_frames(const struct clap_plugin *plugin)
{
    return effect_tail(clap_effect_of(plugin)->effect);
}

static const struct clap_plugin_audio_ports ports = {port_count, port_info};
static const struct clap_plugin_latency latency = {latency_frames};
static const struct clap_plugin_tail tail = {tail_frames};

/* Any thread. */
static const void *get_extension(const struct clap_plugin *plugin, const char *id)
{
    static const struct {
        const char *id;
        const void *extension;
    } extensions[] = {
        {CLAP_EXT_AUDIO_PORTS, &ports},
        {CLAP_EXT_LATENCY, &latency},
        {CLAP_EXT_TAIL, &tail},
        {CLAP_EXT_PARAMS, &clap_effect_params},
        {CLAP_EXT_STATE, &clap_effect_state},
        {CLAP_EXT_PRESET_LOAD, &clap_effect_preset_load},
        {CLAP_EXT_PRESET_LOAD_COMPAT, &clap_effect_preset_load},
    };
    (void)plugin;
    for (size_t e = 0; e < sizeof extensions / sizeof *extensions; e++)
        if (strcmp(extensions[e].id, id) == 0)
            return extensions[e].extension;
    return NULL;
}

const struct clap_plugin *clap_effect_create(enum effect_variant variant,
                                             const struct clap_host *host)
{
    struct clap_effect *clap = calloc(1, sizeof *clap);
    if (!clap)
        return NULL;
    char cause[256];
    const struct log_keeper before =
        log_keep_in(cause, sizeof cause); /* the host must not be called before init */
    enum status status =
        ring_create(sizeof(struct clap_effect_work), WORK_QUEUED, "a plugin", &clap->work);
    log_keep_again(&before);
    if (status != STATUS_OK) {
        free(clap);
        return NULL;
    }
    clap->kind = &effect_kinds[variant];
    clap->host = host;
    for (size_t c = 0; c < EFFECT_CONTROLS; c++)
        atomic_init(&clap->values[c], clap_effect_param_initial(c));
    clap->plugin = (struct clap_plugin){
        .desc = &clap_effect_descriptors[variant],
        .plugin_data = clap,
        .init = init,
        .destroy = destroy,
        .activate = activate,
        .deactivate = deactivate,
        .start_processing = start_processing,
        .stop_processing = stop_processing,
        .reset = reset,
        .process = clap_effect_process,
        .get_extension = get_extension,
        .on_main_thread = on_main_thread,
    };
    return &clap->plugin;
}
