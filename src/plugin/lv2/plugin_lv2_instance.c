#include "plugin/lv2/plugin_lv2.h"

#include "base/realtime.h"
#include "base/ring.h"

#include <dlfcn.h>
#include <errno.h>
#include <lv2/atom/atom.h>
#include <lv2/core/lv2.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the log: printed as notes, or kept while the plugin runs ---- */

enum { LINE_BYTES = 256, LINES_KEPT = 64 };

struct log_line {
    bool is_serious; /* the line is an error or a warning */
    char text[LINE_BYTES];
};

struct lv2_logbook {
    const char *name;
    LV2_Log_Log feature;
    LV2_URID error, warning;
    struct ring *lines;     /* ring of struct log_line; the thread that calls run() writes */
    struct log_line latest; /* last line kept, to drop repetitions */
    bool loads; /* state is being loaded: the first error goes to `trouble`, none is printed */
    char trouble[2 * LINE_BYTES];   /* first error while loading */
    char complaint[2 * LINE_BYTES]; /* first error in run() */
};

/* log of the plugin that this thread is running; NULL: none */
static _Thread_local const struct lv2_logbook *runs_with;

static void report(const struct lv2_logbook *book, const struct log_line *line)
{
    if (line->is_serious)
        plugin_output_warn(book->name, line->text);
    else
        note_detail("%s: %s", book->name, line->text);
}

/* Real-time. */
static void keep(struct lv2_logbook *book, const struct log_line *line, bool is_error)
{
    if (strcmp(line->text, book->latest.text) == 0)
        return;
    book->latest = *line;
    if (is_error && !*book->complaint)
        snprintf(book->complaint, sizeof book->complaint, "%s: %s", book->name, line->text);
    else
        ring_write(book->lines, line, 1);
}

/* Make a message one line: trim its end and join its lines. */
static void make_one_line(char *text)
{
    size_t length = strlen(text);
    while (length > 0 && strchr("\r\n ", text[length - 1]))
        text[--length] = '\0';
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ')
            text[i] = ' ';
}

__attribute__((format(printf, 3, 0))) static int log_list(LV2_Log_Handle handle, LV2_URID type,
                                                          const char *format, va_list arguments)
{
    struct lv2_logbook *book = handle;
    struct log_line line = {.is_serious = type == book->error || type == book->warning};
    int length = vsnprintf(line.text, sizeof line.text, format, arguments);
    make_one_line(line.text);
    if (!line.text[0])
        return length;
    if (book->loads && type == book->error) {
        if (!*book->trouble)
            snprintf(book->trouble, sizeof book->trouble, "%s: %s", book->name, line.text);
        return length;
    }
    if (runs_with == book)
        keep(book, &line, type == book->error);
    else
        report(book, &line);
    return length;
}

__attribute__((format(printf, 3, 4))) static int log_text(LV2_Log_Handle handle, LV2_URID type,
                                                          const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = log_list(handle, type, format, arguments);
    va_end(arguments);
    return length;
}

/* Print the lines that were kept. No thread may run the plugin meanwhile. */
static void lv2_logbook_report(struct lv2_logbook *book)
{
    struct log_line line;
    while (ring_read(book->lines, &line, 1) == 1)
        report(book, &line);
}

static void lv2_logbook_destroy(struct lv2_logbook *book)
{
    if (!book)
        return;
    if (book->lines)
        lv2_logbook_report(book);
    ring_destroy(book->lines);
    free(book);
}

static enum status lv2_logbook_create(const char *name, struct lv2_logbook **result)
{
    struct lv2_logbook *book = calloc(1, sizeof *book);
    if (!book)
        return fail_memory("a plugin");
    book->name = name;
    book->feature = (LV2_Log_Log){.handle = book, .printf = log_text, .vprintf = log_list};
    book->error = lv2_urid(LV2_LOG__Error);
    book->warning = lv2_urid(LV2_LOG__Warning);
    if (ring_create(sizeof(struct log_line), LINES_KEPT, "a plugin", &book->lines) != STATUS_OK) {
        lv2_logbook_destroy(book);
        return STATUS_FAILED;
    }
    *result = book;
    return STATUS_OK;
}

struct lv2_instance {
    struct plugin plugin; /* must be the first member */
    const LilvPlugin *bundle;
    LilvInstance *instance;
    bool is_active;  /* activated by the first reset */
    bool complained; /* the first error logged in run() was reported */
    uint32_t block;
    struct lv2_features features;
    struct lv2_paths paths;
    struct lv2_logbook *log;
    struct lv2_worker *worker;
    struct lv2_events *events;
    struct lv2_time_ports time_ports;
    /* silence or scratch for each audio and CV port; audio ports use it until the first block */
    float *buffers;
    float **connected; /* buffers by port that audio and CV ports are connected to */
};

/* ---- state ---- */

static const char STATE_FILE[] = "state.ttl";

/* A number of any type that lilv reads from bundles; NaN: the value has another type. */
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

/* Restore and free a state. lilv drops the plugin's status, so `restoring` keeps it. */
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

/* Restore a state that the user named. Errors: it cannot be restored completely. A property that
 * the state lacks keeps its default. */
static enum status restore_named(struct lv2_instance *instance, LilvState *state, const char *name)
{
    LV2_State_Status status = restore(instance, state, true);
    return status == LV2_STATE_SUCCESS || status == LV2_STATE_ERR_NO_PROPERTY
               ? STATUS_OK
               : fail(CAUSE_OTHER, "%s cannot restore %s", instance->plugin.info->id, name);
}

/* Restore the default state in the bundle, without values of ports. */
static void lv2_state_load_default(struct lv2_instance *instance)
{
    LilvWorld *world;
    if (!lilv_instance_get_extension_data(instance->instance, LV2_STATE__interface) ||
        lv2_world_get(&world) != STATUS_OK)
        return;
    LilvState *state =
        lilv_state_new_from_world(world, lv2_urid_map(), lilv_plugin_get_uri(instance->bundle));
    if (state && lilv_state_get_num_properties(state) > 0)
        (void)restore(instance, state, false); /* defaults of ports come from their ranges */
    else
        lilv_state_free(state);
}

static enum status lv2_state_load_preset(struct lv2_instance *instance, const char *uri)
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

static enum status lv2_state_load(struct lv2_instance *instance, const char *folder)
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

/* Check a saved state by reading it again, since lilv does not report failed writes. */
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

static enum status lv2_state_save(struct lv2_instance *instance, const char *folder)
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

/* ---- the instance ---- */

/* SETTLE: seconds of silence to run after the last work, since a plugin may fade in data that it
 * loaded. SETTLE_MOST: limit in seconds for a plugin that never stops working. */
static const double SETTLE = 0.1, SETTLE_MOST = 5;

/* Load the plugin's library for good: some plugins leave threads or handlers behind that need its
 * code. This also reports an error which lilv would print. */
static enum status load_library(const struct lv2_instance *instance)
{
    const struct plugin_info *info = instance->plugin.info;
    char *path = lilv_node_get_path(lilv_plugin_get_library_uri(instance->bundle), NULL);
    if (!path)
        return fail(CAUSE_DAMAGED, "cannot run %s: its bundle names no library", info->id);
    bool loaded = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) != NULL;
    lilv_free(path);
    return loaded ? STATUS_OK : fail(CAUSE_DAMAGED, "cannot run %s: %s", info->id, dlerror());
}

static enum status make_instance(const struct lv2_instance *instance, LilvInstance **made)
{
    const struct plugin_info *info = instance->plugin.info;
    double rate = (double)instance->features.rate;
    *made = lilv_plugin_instantiate(instance->bundle, rate, instance->features.list);
    if (!*made)
        return fail(CAUSE_OTHER, "cannot run %s: instantiation failed at %.0f Hz", info->id, rate);
    const LV2_Options_Interface *options =
        lilv_instance_get_extension_data(*made, LV2_OPTIONS__interface);
    if (options && options->set) /* the result only tells of unknown options */
        options->set(lilv_instance_get_handle(*made), instance->features.options);
    return STATUS_OK;
}

static bool has_samples(const struct plugin_port *port)
{
    return port->type == PLUGIN_AUDIO || port->type == PLUGIN_CV;
}

static enum status make_buffers(struct lv2_instance *instance, uint32_t rate)
{
    const struct plugin_info *info = instance->plugin.info;
    size_t count = 0;
    for (size_t i = 0; i < info->port_count; i++)
        count += has_samples(&info->ports[i]);
    TRY(plugin_ports_init(&instance->plugin, rate));
    instance->connected = calloc(info->port_count + 1, sizeof *instance->connected);
    instance->buffers = calloc(count + 1, instance->block * sizeof *instance->buffers);
    return instance->connected && instance->buffers ? STATUS_OK : fail_memory("a plugin's ports");
}

/* Connect audio and CV ports to silence and scratch buffers. */
static void connect_samples(struct lv2_instance *instance)
{
    const struct plugin_info *info = instance->plugin.info;
    float *buffer = instance->buffers;
    for (uint32_t i = 0; i < info->port_count; i++) {
        if (!has_samples(&info->ports[i]))
            continue;
        memset(buffer, 0, instance->block * sizeof *buffer);
        instance->connected[i] = buffer;
        lilv_instance_connect_port(instance->instance, i, buffer);
        buffer += instance->block;
    }
}

static void use_instance(struct lv2_instance *instance, LilvInstance *made)
{
    const struct plugin_info *info = instance->plugin.info;
    instance->instance = made;
    lv2_worker_serve(instance->worker, made);
    for (uint32_t i = 0; i < info->port_count; i++)
        if (info->ports[i].type == PLUGIN_CONTROL)
            lilv_instance_connect_port(made, i, &instance->plugin.controls[i]);
    connect_samples(instance);
    lv2_events_connect(instance->events, made);
}

static void set_designated(struct lv2_instance *instance, const char *designation, float value)
{
    const LilvPort *port = lilv_plugin_get_port_by_designation(
        instance->bundle, lv2_world_node(LV2_CORE__InputPort), lv2_world_node(designation));
    if (port)
        instance->plugin.controls[lilv_port_get_index(instance->bundle, port)] = value;
}

static enum status load_values(struct lv2_instance *instance,
                               const struct plugin_settings *settings)
{
    float free_wheeling = settings->live ? 0.0F : 1.0F;
    set_designated(instance, LV2_CORE__freeWheeling, free_wheeling);
    lv2_state_load_default(instance);
    if (settings->preset)
        TRY(lv2_state_load_preset(instance, settings->preset));
    if (settings->state)
        TRY(lv2_state_load(instance, settings->state));
    set_designated(instance, LV2_CORE__freeWheeling, free_wheeling);
    lv2_time_ports_find(&instance->time_ports, instance->bundle, instance->plugin.info, settings,
                        instance->plugin.controls);
    return STATUS_OK;
}

/* ---- a block: real-time, after the first reset ---- */

HALO_REALTIME static void connect(struct lv2_instance *instance, uint32_t port, float *samples)
{
    if (instance->connected[port] == samples)
        return;
    instance->connected[port] = samples;
    lilv_instance_connect_port(instance->instance, port, samples);
}

/* Run a block with the ports as connected. Returns whether work was done. */
HALO_REALTIME static bool run(struct lv2_instance *instance, size_t frames)
{
    lv2_events_prepare(instance->events, instance->plugin.position, frames);
    lv2_time_ports_set(&instance->time_ports, instance->plugin.controls, instance->plugin.position);
    runs_with = instance->log; /* lines that this thread logs are kept from now on */
    lilv_instance_run(instance->instance, (uint32_t)frames);
    bool worked = lv2_worker_respond(instance->worker);
    runs_with = NULL;
    return worked;
}

HALO_REALTIME void lv2_instance_process(struct plugin *plugin, const float *const *in,
                                        float *const *out, size_t frames)
{
    struct lv2_instance *instance = (struct lv2_instance *)plugin;
    if (!instance->is_active)
        lv2_instance_reset(plugin);
    for (size_t i = 0; i < plugin->inputs; i++)
        connect(instance, plugin->in_ports[i], (float *)in[i]); /* LV2 has no const ports */
    for (size_t i = 0; i < plugin->outputs; i++)
        connect(instance, plugin->out_ports[i], out[i]);
    run(instance, frames);
    if (!instance->complained) {
        plugin->complaint = *instance->log->complaint ? instance->log->complaint : NULL;
        instance->complained = plugin->complaint != NULL;
    }
}

/* ---- reset ---- */

/* Run on silence until a plugin that postpones loading has loaded its data. */
static void settle(struct lv2_instance *instance)
{
    if (!lv2_worker_serves(instance->worker))
        return;
    double rate = (double)instance->features.rate;
    size_t quiet = 0, blocks = (size_t)(SETTLE * rate / instance->block) + 1;
    size_t most = (size_t)(SETTLE_MOST * rate / instance->block) + 1;
    instance->plugin.position = -(int64_t)instance->block; /* a block before the sound */
    for (size_t i = 0; i < most && quiet < blocks; i++)
        quiet = run(instance, instance->block) ? 0 : quiet + 1;
}

/* Replace the instance by a new one with the same values and state. deactivate() and activate()
 * should discard all sound, but after them 156 of 436 plugins sounded different from new ones, and
 * some leak buffers. So halo activates no instance twice. False: instantiation failed. */
static bool renew(struct lv2_instance *instance)
{
    LilvInstance *made, *old = instance->instance;
    if (make_instance(instance, &made) != STATUS_OK)
        return false;
    bool has_state = lilv_instance_get_extension_data(old, LV2_STATE__interface);
    LilvState *state =
        has_state
            ? lilv_state_new_from_instance(instance->bundle, old, lv2_urid_map(),
                                           instance->paths.folder, NULL, NULL, NULL, NULL, NULL,
                                           LV2_STATE_IS_POD, instance->features.snapshot)
            : NULL;
    lilv_instance_deactivate(old);
    instance->is_active = false;
    lv2_worker_forget(instance->worker);
    use_instance(instance, made);
    lv2_events_repeat(instance->events, state != NULL);
    if (state)
        (void)restore(instance, state, false);
    lilv_instance_free(old);
    return true;
}

void lv2_instance_reset(struct plugin *plugin)
{
    struct lv2_instance *instance = (struct lv2_instance *)plugin;
    lv2_worker_pause(instance->worker);
    if (instance->is_active && !renew(instance))
        lilv_instance_deactivate(instance->instance);
    connect_samples(instance);
    lilv_instance_activate(instance->instance);
    instance->is_active = true;
    settle(instance);
    lv2_worker_resume(instance->worker);
    instance->log->loads = false;
    plugin->trouble = *instance->log->trouble ? instance->log->trouble : NULL;
    lv2_logbook_report(instance->log);
}

/* ---- making one ---- */

static enum status make_services(struct lv2_instance *instance,
                                 const struct plugin_settings *settings)
{
    const struct plugin_info *info = instance->plugin.info;
    lv2_paths_init(&instance->paths);
    TRY(lv2_logbook_create(info->name, &instance->log));
    TRY(lv2_worker_create(&instance->worker));
    TRY(lv2_events_create(instance->bundle, info, settings, &instance->events));
    lv2_features_init(&instance->features, info, settings, lv2_events_most(instance->events),
                      instance->worker, &instance->log->feature, &instance->paths);
    return lv2_features_suffice(&instance->features, info);
}

static enum status build(struct lv2_instance *instance, const struct plugin_settings *settings)
{
    LilvInstance *made;
    TRY(lv2_world_find(instance->plugin.info->id, &instance->bundle));
    TRY(make_services(instance, settings));
    TRY(make_buffers(instance, settings->rate));
    TRY(load_library(instance));
    TRY(make_instance(instance, &made));
    use_instance(instance, made);
    instance->log->loads = settings->setting_count > 0 || settings->state;
    TRY(load_values(instance, settings));
    return settings->live ? lv2_worker_start(instance->worker) : STATUS_OK;
}

enum status lv2_instance_create(const struct plugin_info *info,
                                const struct plugin_settings *settings, struct plugin **plugin)
{
    struct lv2_instance *instance = calloc(1, sizeof *instance);
    if (!instance)
        return fail_memory("a plugin");
    instance->plugin = (struct plugin){.kind = &plugin_lv2, .info = info};
    instance->block = (uint32_t)settings->block;
    if (build(instance, settings) != STATUS_OK) {
        lv2_instance_destroy(&instance->plugin);
        return STATUS_FAILED;
    }
    *plugin = &instance->plugin;
    return STATUS_OK;
}

enum status lv2_instance_save(struct plugin *plugin, const char *folder)
{
    struct lv2_instance *instance = (struct lv2_instance *)plugin;
    lv2_worker_pause(instance->worker);
    enum status status = lv2_state_save(instance, folder);
    lv2_worker_resume(instance->worker);
    return status;
}

void lv2_instance_destroy(struct plugin *plugin)
{
    struct lv2_instance *instance = (struct lv2_instance *)plugin;
    lv2_worker_stop(instance->worker);
    if (instance->is_active)
        lilv_instance_deactivate(instance->instance);
    if (instance->instance)
        lilv_instance_free(instance->instance);
    lv2_worker_destroy(instance->worker);
    lv2_logbook_destroy(instance->log);
    lv2_events_destroy(instance->events);
    lv2_paths_free(&instance->paths);
    free(instance->connected);
    free(instance->buffers);
    plugin_ports_free(plugin);
    free(instance);
}
