#include "plugin/clap/plugin_clap.h"

#include "base/build_info.h"
#include "base/realtime.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- libraries ---- */

enum { WHY = 512 };

static const struct plugin_search search = {"CLAP_PATH", HALO_CLAP_PLACES, ".clap", false};

enum status clap_libraries(const struct plugin_found *found)
{
    return plugin_search_list(&search, found);
}

/* ---- opening ---- */

/* Load a library and get its entry. Returns why it cannot be used, or NULL. */
static const char *load_entry(const char *path, const struct clap_plugin_entry **entry)
{
    /* A name without a slash would be searched in the system's library folders. The library stays
     * loaded: some plugins leave threads or handlers behind that need its code. */
    char *place = realpath(path, NULL);
    void *handle = dlopen(place ? place : path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    free(place);
    if (!handle) {
        const char *reason = dlerror();
        return reason ? reason : "it cannot be loaded";
    }
    *entry = dlsym(handle, "clap_entry");
    dlclose(handle);
    if (!*entry)
        return "it is not a CLAP library: it has no clap_entry";
    if ((*entry)->clap_version.major < 1)
        return "it was made for a CLAP before 1.0";
    if (!(*entry)->init || !(*entry)->deinit || !(*entry)->get_factory)
        return "its clap_entry lacks a function";
    return NULL;
}

static const char *try_open(const char *path, struct clap_library *library)
{
    const struct clap_plugin_entry *entry;
    *library = (struct clap_library){.path = strdup(path)};
    const char *why = library->path ? load_entry(path, &entry) : "out of memory";
    if (why)
        return why;
    if (!entry->init(path))
        return "its init() failed";
    library->entry = entry;
    library->factory = entry->get_factory(CLAP_PLUGIN_FACTORY_ID);
    if (!library->factory)
        return "it has no plugin factory";
    if (!library->factory->get_plugin_count || !library->factory->get_plugin_descriptor ||
        !library->factory->create_plugin)
        return "its plugin factory lacks a function";
    return NULL;
}

enum status clap_library_open(const char *path, struct clap_library *library)
{
    const char *why = try_open(path, library);
    return why ? fail(CAUSE_DAMAGED, "cannot load the CLAP library %s: %s", path, why) : STATUS_OK;
}

void clap_library_close(struct clap_library *library)
{
    if (library->entry)
        library->entry->deinit();
    free(library->path);
    *library = (struct clap_library){0};
}

uint32_t clap_library_count(const struct clap_library *library)
{
    uint32_t count = library->factory->get_plugin_count(library->factory);
    return count < CLAP_PLUGINS_MOST ? count : CLAP_PLUGINS_MOST;
}

const struct clap_plugin_descriptor *clap_library_at(const struct clap_library *library,
                                                     uint32_t index)
{
    const struct clap_plugin_descriptor *descriptor =
        library->factory->get_plugin_descriptor(library->factory, index);
    bool is_named = descriptor && descriptor->id && *descriptor->id &&
                    strnlen(descriptor->id, PLUGIN_TEXT_MOST) < PLUGIN_TEXT_MOST;
    return is_named ? descriptor : NULL;
}

static const struct clap_plugin_descriptor *descriptor_of(const struct clap_library *library,
                                                          const char *id)
{
    uint32_t count = clap_library_count(library);
    for (uint32_t i = 0; i < count; i++) {
        const struct clap_plugin_descriptor *descriptor = clap_library_at(library, i);
        if (descriptor && strcmp(descriptor->id, id) == 0)
            return descriptor;
    }
    return NULL;
}

/* Whether the bytes of the text are in the file. */
static bool contains(const char *path, const char *text)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat about;
    void *bytes = MAP_FAILED;
    if (file >= 0 && fstat(file, &about) == 0 && about.st_size > 0)
        bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (file >= 0)
        close(file);
    if (bytes == MAP_FAILED)
        return false;
    bool found = memmem(bytes, (size_t)about.st_size, text, strlen(text)) != NULL;
    munmap(bytes, (size_t)about.st_size);
    return found;
}

struct clap_search {
    const char *id;
    struct clap_library *opened;
    const struct clap_plugin_descriptor *descriptor;
    char why[WHY]; /* why the last library that contains the id cannot be used */
};

static bool search_one(void *context, const char *path)
{
    struct clap_search *sought = context;
    if (!contains(path, sought->id))
        return false;
    const char *why = try_open(path, sought->opened);
    if (why)
        snprintf(sought->why, sizeof sought->why, "%s: %s", path, why);
    else
        sought->descriptor = descriptor_of(sought->opened, sought->id);
    if (!sought->descriptor)
        clap_library_close(sought->opened);
    return sought->descriptor != NULL;
}

static enum status find_in_path(const char *id, struct clap_library *library,
                                const struct clap_plugin_descriptor **descriptor)
{
    struct clap_search sought = {.id = id, .opened = library};
    bool found = false;
    if (*id)
        TRY(plugin_search_each(&search, search_one, &sought, &found));
    if (!found)
        return sought.why[0]
                   ? fail(CAUSE_OTHER, "cannot load the CLAP plugin %s from %s", id, sought.why)
                   : fail(CAUSE_MISSING,
                          "cannot find the CLAP plugin %s (halo plugins list --kind clap lists "
                          "them all)",
                          id);
    *descriptor = sought.descriptor;
    return STATUS_OK;
}

static enum status fail_id(const struct clap_library *library, const char *id)
{
    const struct clap_plugin_descriptor *first = NULL;
    uint32_t count = clap_library_count(library);
    for (uint32_t i = 0; i < count && !first; i++)
        first = clap_library_at(library, i);
    return fail(CAUSE_MISSING, "there is no plugin '%s' in %s; its first is %s", id, library->path,
                first ? first->id : "none");
}

/* The id after "PATH.clap:" in a text, or NULL. */
static const char *id_behind_path(const char *text)
{
    const char *at = strstr(text, ".clap:");
    return at && strchr(text, '/') ? at + sizeof ".clap:" - 1 : NULL;
}

enum status clap_library_find(const char *text, struct clap_library *library,
                              const struct clap_plugin_descriptor **descriptor)
{
    const char *id = id_behind_path(text);
    *library = (struct clap_library){0};
    if (!id)
        return find_in_path(text, library, descriptor);
    char *path = strndup(text, (size_t)(id - 1 - text));
    if (!path)
        return fail_memory("a plugin");
    enum status status = clap_library_open(path, library);
    free(path);
    TRY(status);
    *descriptor = descriptor_of(library, id);
    return *descriptor ? STATUS_OK : fail_id(library, id);
}

static bool is_path(void *path, const char *other)
{
    return strcmp(path, other) == 0;
}

enum status clap_library_id(const char *path, const char *plugin, char **id)
{
    bool found = false;
    if (contains(path, plugin))
        TRY(plugin_search_each(&search, is_path, (char *)path, &found));
    if (found)
        *id = strdup(plugin);
    else if (asprintf(id, "%s:%s", path, plugin) < 0)
        *id = NULL;
    return *id ? STATUS_OK : fail_memory("a plugin");
}

/* ---- the side of the host that a plugin calls ---- */

enum { CLAP_LINE = 256, CLAP_LINES = 64 };

struct clap_line {
    bool is_serious;
    char text[CLAP_LINE];
};

static _Thread_local enum clap_role role; /* role of this thread while it calls a plugin */

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

/* ---- complaints and the log ---- */

static void print_line(const struct clap_host_side *side, const struct clap_line *line)
{
    if (line->is_serious)
        plugin_output_warn(side->common.name, line->text);
    else
        note_detail("%s: %s", side->common.name, line->text);
}

void clap_host_report(struct clap_host_side *side)
{
    struct clap_line line;
    while (side->lines && ring_read(side->lines, &line, 1) == 1)
        print_line(side, &line);
}

/* Copy the text as one line: without its end, and with spaces for control characters. */
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
    if (side->common.loads && is_error && role == CLAP_MAIN_THREAD) {
        if (!side->common.trouble[0])
            snprintf(side->common.trouble, sizeof side->common.trouble, "%s: %s", side->common.name,
                     line.text);
    } else if (role == CLAP_AUDIO_THREAD && is_error) {
        plugin_side_complain(&side->common, line.text);
    } else if (role == CLAP_AUDIO_THREAD) {
        ring_write(side->lines, &line, 1);
    } else {
        print_line(side, &line);
    }
}

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
    plugin_side_complain(&side_of(host)->common, text);
    return false;
}

/* ---- requests ---- */

static void request_callback(const struct clap_host *host)
{
    atomic_fetch_or(&side_of(host)->common.asked, CLAP_ASKED_CALLBACK);
}

/* A plugin that is not active takes its changes with the next activation. */
static void request_restart(const struct clap_host *host)
{
    if (atomic_load(&side_of(host)->common.is_active))
        atomic_fetch_or(&side_of(host)->common.asked, PLUGIN_ASKED_RESTART);
}

/* Does nothing, since halo processes without pauses. */
static void request_process(const struct clap_host *host)
{
    (void)host;
}

/* Does nothing: the latency may only change in activate(), and halo reads it after that. */
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
    if ((flags & CLAP_PARAM_RESCAN_ALL) && !side->common.loads)
        plugin_side_complain(&side->common,
                             "it changes its list of parameters: the first one is kept");
    if (flags & (CLAP_PARAM_RESCAN_VALUES | CLAP_PARAM_RESCAN_ALL))
        atomic_fetch_or(&side->common.asked, CLAP_ASKED_VALUES);
}

static void params_clear(const struct clap_host *host, uint32_t id, uint32_t flags)
{
    (void)id, (void)flags;
    is_allowed(host, CLAP_MAIN_THREAD, "params.clear()");
}

/* Does nothing: each block and each reset exchanges values. */
static void params_request_flush(const struct clap_host *host)
{
    (void)host;
}

/* Does nothing: halo saves the state only if the user asks for it. */
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
        flags & ~(uint32_t)CLAP_AUDIO_PORTS_RESCAN_NAMES && !side_of(host)->common.loads)
        plugin_side_complain(&side_of(host)->common,
                             "it changes its audio ports: the first ones are kept");
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
    *side = (struct clap_host_side){.common = {.name = name, .loads = true}};
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
        why = side->common.trouble[0] ? side->common.trouble : "its init() failed";
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
    if (atomic_exchange(&side->common.is_active, false))
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
