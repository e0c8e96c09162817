/* What a CLAP plugin can call: the host and its extensions. */
#include "plugin/plugin_clap.h"

#include "base/build_info.h"
#include "base/realtime.h"
#include "plugin/plugin_output.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLAP_LINE = 256, CLAP_LINES = 64 };

struct clap_line {
    bool is_serious;
    char text[CLAP_LINE];
};

static _Thread_local enum clap_role role; /* of this thread, within a plugin */

HALO_REALTIME enum clap_role clap_enter(enum clap_role now)
{
    enum clap_role before = role;
    role = now;
    return before;
}

static struct clap_host_side *side_of(const struct clap_host *host)
{
    return host->host_data;
}

/* ---- words ---- */

HALO_REALTIME void clap_host_complain(struct clap_host_side *side, const char *what)
{
    if (atomic_exchange(&side->has_complained, true))
        return;
    snprintf(side->text, sizeof side->text, "%s: %s", side->name, what);
    atomic_store(&side->complaint, side->text);
}

static void print_line(const struct clap_host_side *side, const struct clap_line *line)
{
    if (line->is_serious)
        plugin_output_warn(side->name, line->text);
    else
        note_detail("%s: %s", side->name, line->text);
}

void clap_host_report(struct clap_host_side *side)
{
    struct clap_line line;
    while (side->lines && ring_read(side->lines, &line, 1) == 1)
        print_line(side, &line);
}

/* One line of it, as printable as it came. */
HALO_REALTIME static void copy_line(struct clap_line *line, const char *text)
{
    size_t length = strnlen(text, sizeof line->text - 1);
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == ' '))
        length--;
    memcpy(line->text, text, length);
    line->text[length] = '\0';
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)line->text[i] < ' ')
            line->text[i] = ' ';
}

/* On the audio thread errors become the complaint, and the rest is printed later. */
static void host_log(const struct clap_host *host, int32_t severity, const char *text)
{
    struct clap_host_side *side = side_of(host);
    bool is_error = severity >= CLAP_LOG_ERROR;
    struct clap_line line = {.is_serious = severity >= CLAP_LOG_WARNING};
    copy_line(&line, text ? text : "");
    if (!line.text[0])
        return;
    if (side->loads && is_error && role == CLAP_MAIN_THREAD) {
        if (!side->trouble[0])
            snprintf(side->trouble, sizeof side->trouble, "%s: %s", side->name, line.text);
    } else if (role == CLAP_AUDIO_THREAD && is_error) {
        clap_host_complain(side, line.text);
    } else if (role == CLAP_AUDIO_THREAD) {
        ring_write(side->lines, &line, 1);
    } else {
        print_line(side, &line);
    }
}

/* ---- threads ---- */

static bool is_main_thread(const struct clap_host *host)
{
    (void)host;
    return role == CLAP_MAIN_THREAD;
}

static bool is_audio_thread(const struct clap_host *host)
{
    (void)host;
    return role == CLAP_AUDIO_THREAD;
}

/* A call on a thread where it is forbidden is reported once and has no effect. */
static bool is_allowed(const struct clap_host *host, enum clap_role needed, const char *call)
{
    char text[CLAP_LINE];
    if (role == needed)
        return true;
    snprintf(text, sizeof text, "it calls %s outside the %s thread", call,
             needed == CLAP_MAIN_THREAD ? "main" : "audio");
    clap_host_complain(side_of(host), text);
    return false;
}

/* ---- requests ---- */

static void request_callback(const struct clap_host *host)
{
    atomic_fetch_or(&side_of(host)->asked, CLAP_ASKED_CALLBACK);
}

/* A plugin that is not active takes its changes with the next activation. */
static void request_restart(const struct clap_host *host)
{
    if (atomic_load(&side_of(host)->is_active))
        atomic_fetch_or(&side_of(host)->asked, CLAP_ASKED_RESTART);
}

/* Processed without a pause, so that it needs no request. */
static void request_process(const struct clap_host *host)
{
    (void)host;
}

/* The latency is read after activate(), the only place where it may change. */
static void latency_changed(const struct clap_host *host)
{
    if (is_allowed(host, CLAP_MAIN_THREAD, "latency.changed()"))
        request_restart(host);
}

static void tail_changed(const struct clap_host *host)
{
    is_allowed(host, CLAP_AUDIO_THREAD, "tail.changed()");
}

static void params_rescan(const struct clap_host *host, uint32_t flags)
{
    struct clap_host_side *side = side_of(host);
    if (!is_allowed(host, CLAP_MAIN_THREAD, "params.rescan()"))
        return;
    if ((flags & CLAP_PARAM_RESCAN_ALL) && !side->loads)
        clap_host_complain(side, "it changes its list of parameters: the first one is kept");
    if (flags & (CLAP_PARAM_RESCAN_VALUES | CLAP_PARAM_RESCAN_ALL))
        atomic_fetch_or(&side->asked, CLAP_ASKED_VALUES);
}

static void params_clear(const struct clap_host *host, uint32_t id, uint32_t flags)
{
    (void)id, (void)flags;
    is_allowed(host, CLAP_MAIN_THREAD, "params.clear()");
}

/* Every block takes its values, and so does each reset. */
static void params_request_flush(const struct clap_host *host)
{
    (void)host;
}

/* Saved where the user asks for it. */
static void state_mark_dirty(const struct clap_host *host)
{
    is_allowed(host, CLAP_MAIN_THREAD, "state.mark_dirty()");
}

static bool ports_rescan_supported(const struct clap_host *host, uint32_t flag)
{
    (void)host;
    return flag == CLAP_AUDIO_PORTS_RESCAN_NAMES;
}

static void ports_rescan(const struct clap_host *host, uint32_t flags)
{
    if (is_allowed(host, CLAP_MAIN_THREAD, "audio_ports.rescan()") &&
        flags & ~(uint32_t)CLAP_AUDIO_PORTS_RESCAN_NAMES && !side_of(host)->loads)
        clap_host_complain(side_of(host), "it changes its audio ports: the first ones are kept");
}

static uint32_t note_dialects(const struct clap_host *host)
{
    (void)host;
    return CLAP_NOTE_DIALECT_CLAP | CLAP_NOTE_DIALECT_MIDI;
}

static void notes_rescan(const struct clap_host *host, uint32_t flags)
{
    (void)flags;
    is_allowed(host, CLAP_MAIN_THREAD, "note_ports.rescan()");
}

static void preset_failed(const struct clap_host *host, uint32_t kind, const char *location,
                          const char *key, int32_t error, const char *text)
{
    (void)kind, (void)location, (void)key, (void)error;
    struct clap_line line;
    copy_line(&line, text ? text : "");
    if (is_allowed(host, CLAP_MAIN_THREAD, "preset_load.on_error()"))
        memcpy(side_of(host)->preset_error, line.text, sizeof line.text);
}

static void preset_loaded(const struct clap_host *host, uint32_t kind, const char *location,
                          const char *key)
{
    (void)kind, (void)location, (void)key;
    is_allowed(host, CLAP_MAIN_THREAD, "preset_load.loaded()");
}

static const struct clap_host_log log_side = {host_log};
static const struct clap_host_thread_check thread_side = {is_main_thread, is_audio_thread};
static const struct clap_host_latency latency_side = {latency_changed};
static const struct clap_host_tail tail_side = {tail_changed};
static const struct clap_host_params params_side = {params_rescan, params_clear,
                                                    params_request_flush};
static const struct clap_host_state state_side = {state_mark_dirty};
static const struct clap_host_audio_ports ports_side = {ports_rescan_supported, ports_rescan};
static const struct clap_host_note_ports notes_side = {note_dialects, notes_rescan};
static const struct clap_host_preset_load preset_side = {preset_failed, preset_loaded};

static const struct {
    const char *id;
    const void *side;
} sides[] = {
    {CLAP_EXT_LOG, &log_side},
    {CLAP_EXT_THREAD_CHECK, &thread_side},
    {CLAP_EXT_LATENCY, &latency_side},
    {CLAP_EXT_TAIL, &tail_side},
    {CLAP_EXT_PARAMS, &params_side},
    {CLAP_EXT_STATE, &state_side},
    {CLAP_EXT_AUDIO_PORTS, &ports_side},
    {CLAP_EXT_NOTE_PORTS, &notes_side},
    {CLAP_EXT_PRESET_LOAD, &preset_side},
    {CLAP_EXT_PRESET_LOAD_COMPAT, &preset_side},
};

static const void *get_extension(const struct clap_host *host, const char *id)
{
    (void)host;
    for (size_t i = 0; id && i < sizeof sides / sizeof *sides; i++)
        if (strcmp(id, sides[i].id) == 0)
            return sides[i].side;
    return NULL;
}

enum status clap_host_init(struct clap_host_side *side, const char *name)
{
    *side = (struct clap_host_side){.name = name, .loads = true};
    side->host = (struct clap_host){
        .clap_version = CLAP_VERSION_INIT,
        .host_data = side,
        .name = "halo",
        .vendor = "the halo authors",
        .url = "",
        .version = HALO_VERSION,
        .get_extension = get_extension,
        .request_restart = request_restart,
        .request_process = request_process,
        .request_callback = request_callback,
    };
    return ring_create(sizeof(struct clap_line), CLAP_LINES, "a plugin", &side->lines);
}

void clap_host_free(struct clap_host_side *side)
{
    clap_host_report(side);
    ring_destroy(side->lines);
    side->lines = NULL;
}

/* ---- plugins ---- */

static bool is_whole(const struct clap_plugin *plugin)
{
    return plugin->init && plugin->destroy && plugin->activate && plugin->deactivate &&
           plugin->start_processing && plugin->stop_processing && plugin->reset &&
           plugin->process && plugin->get_extension && plugin->on_main_thread;
}

enum status clap_plugin_make(const struct clap_library *library, struct clap_host_side *side,
                             const char *id, const struct clap_plugin **result)
{
    enum clap_role before = clap_enter(CLAP_MAIN_THREAD);
    const char *why = NULL;
    const struct clap_plugin *plugin =
        library->factory->create_plugin(library->factory, &side->host, id);
    if (!plugin)
        why = "its library does not create it";
    else if (!is_whole(plugin))
        why = "it lacks a function that CLAP demands";
    else if (!plugin->init(plugin))
        why = side->trouble[0] ? side->trouble : "its init() failed";
    if (why && plugin && plugin->destroy)
        plugin->destroy(plugin);
    clap_enter(before);
    if (why)
        return fail(CAUSE_OTHER, "cannot run %s: %s", id, why);
    *result = plugin;
    return STATUS_OK;
}

void clap_plugin_end(struct clap_host_side *side, const struct clap_plugin *plugin)
{
    if (!plugin)
        return;
    enum clap_role before = clap_enter(CLAP_MAIN_THREAD);
    if (atomic_exchange(&side->is_active, false))
        plugin->deactivate(plugin);
    plugin->destroy(plugin);
    clap_enter(before);
}

const void *clap_extension(const struct clap_plugin *plugin, const char *id, size_t functions)
{
    void (*const *table)(void) = plugin->get_extension(plugin, id);
    for (size_t i = 0; table && i < functions; i++)
        if (!table[i])
            return NULL;
    return (const void *)table;
}
