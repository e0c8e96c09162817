#include "plugin/isolation/plugin_isolated.h"

#include "base/monotonic.h"
#include "base/realtime.h"
#include "base/text_stream.h"
#include "plugin/plugin_spec.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Indices in the arguments of main after "halo". */
enum {
    SANDBOX = 1,
    VERBOSITY,
    KIND,
    ID,
    RATE,
    BLOCK,
    LIVE,
    VARIED,
    SIDE_CHAIN,
    BPM,
    BAR,
    UNIT,
    INSTANCES,
    MOST,
    CHANGES,
    PRESET,
    STATE,
    HOLDERS,
    READS,
    FIRST,
    OF_SETTING = 3
};

static void put_text(FILE *stream, const char *text)
{
    fprintf(stream, "%s%s%c", text ? "=" : "-", text ? text : "", 0);
}

enum status isolated_args_make(const struct plugin_info *info,
                               const struct plugin_instances_settings *settings,
                               const char *sandbox, char ***result)
{
    const struct plugin_settings *plugin = &settings->plugin;
    size_t count =
        1 + FIRST + info->holder_count + plugin->read_count + OF_SETTING * plugin->setting_count;
    char **args = calloc(count + 1, sizeof *args), *text = NULL;
    size_t size;
    FILE *stream = args ? text_stream_open(&text, &size) : NULL;
    if (!stream)
        goto fail;
    fprintf(stream, "halo%cplugin-instances%c%s%c%d%c", 0, 0, sandbox, 0, (int)note_verbosity_now(),
            0);
    fprintf(stream, "%s%c%s%c%" PRIu32 "%c%zu%c%d%c%d%c%d%c", info->kind->name, 0, info->id, 0,
            plugin->rate, 0, plugin->block, 0, plugin->live, 0, plugin->varied, 0,
            plugin->has_side_chain, 0);
    fprintf(stream, "%.17g%c%u%c%u%c", plugin->tempo.bpm, 0, plugin->tempo.bar, 0,
            plugin->tempo.unit, 0);
    fprintf(stream, "%zu%c%zu%c%zu%c", settings->instances, 0, settings->most, 0, settings->changes,
            0);
    put_text(stream, plugin->preset);
    put_text(stream, plugin->state);
    fprintf(stream, "%zu%c%zu%c", info->holder_count, 0, plugin->read_count, 0);
    for (size_t i = 0; i < info->holder_count; i++)
        fprintf(stream, "%s%c", info->holders[i], 0);
    for (size_t i = 0; i < plugin->read_count; i++)
        fprintf(stream, "%s%c", plugin->reads[i], 0);
    for (size_t i = 0; i < plugin->setting_count; i++)
        fprintf(stream, "%s%c%s%c%" PRIu64 "%c", plugin->settings[i].uri, 0,
                plugin->settings[i].value, 0, plugin->settings[i].at, 0);
    if (text_stream_finish(stream) != 0)
        goto fail;
    for (size_t i = 0; i < count; i++, text += strlen(text) + 1)
        args[i] = text;
    *result = args;
    return STATUS_OK;
fail:
    free(text);
    free(args);
    return fail_memory("a plugin's process");
}

/* The texts of all arguments are one allocation, which begins at the first. */
void isolated_args_free(char **args)
{
    if (args)
        free(args[0]);
    free(args);
}

static size_t number(const char *arg)
{
    return (size_t)strtoull(arg, NULL, 10);
}

static const char *text_of(const char *arg)
{
    return *arg == '=' ? arg + 1 : NULL;
}

struct isolated_request {
    struct plugin_sandbox sandbox;
    enum verbosity verbosity;
    const struct plugin_kind *kind;
    const char *id;
    size_t holder_count;
    char **holders; /* holders that kind->use() needs; point into the arguments */
    struct plugin_instances_settings settings; /* the caller frees plugin.settings */
};

/* Parse the arguments of main after "halo". Texts are not copied. */
static enum status isolated_args_read(int argc, char **argv, struct isolated_request *request)
{
    size_t left = argc >= FIRST ? (size_t)argc - FIRST : 0;
    size_t holders = argc >= FIRST ? number(argv[HOLDERS]) : 0;
    holders = holders < left ? holders : left;
    size_t reads = argc >= FIRST ? number(argv[READS]) : 0;
    reads = reads < left - holders ? reads : left - holders;
    char **first = argv + FIRST + holders + reads;
    size_t count = (left - holders - reads) / OF_SETTING;
    struct plugin_setting *settings = calloc(count + 1, sizeof *settings);
    if (!settings)
        return fail_memory("a plugin's process");
    for (size_t i = 0; i < count; i++) {
        char **arg = first + OF_SETTING * i;
        settings[i] = (struct plugin_setting){.uri = arg[0], .value = arg[1], .at = number(arg[2])};
    }
    *request = (struct isolated_request){.settings.plugin.settings = settings,
                                         .settings.plugin.setting_count = count,
                                         .settings.plugin.read_count = reads,
                                         .settings.plugin.reads = first - reads};
    if (argc < FIRST || !plugin_kind_named(argv[KIND]) ||
        !plugin_sandbox_read(argv[SANDBOX], &request->sandbox))
        return fail(CAUSE_USAGE, "this command is internal: halo runs it for isolated plugins");
    struct plugin_settings *plugin = &request->settings.plugin;
    request->verbosity = (enum verbosity)number(argv[VERBOSITY]);
    request->kind = plugin_kind_named(argv[KIND]);
    request->id = argv[ID];
    request->holder_count = holders;
    request->holders = argv + FIRST;
    plugin->rate = (uint32_t)number(argv[RATE]);
    plugin->block = number(argv[BLOCK]);
    plugin->live = number(argv[LIVE]) != 0;
    plugin->varied = number(argv[VARIED]) != 0;
    plugin->has_side_chain = number(argv[SIDE_CHAIN]) != 0;
    plugin->preset = text_of(argv[PRESET]);
    plugin->state = text_of(argv[STATE]);
    plugin->tempo = (struct plugin_tempo){.bpm = strtod(argv[BPM], NULL),
                                          .bar = (unsigned)number(argv[BAR]),
                                          .unit = (unsigned)number(argv[UNIT])};
    request->settings.instances = number(argv[INSTANCES]);
    request->settings.most = number(argv[MOST]);
    request->settings.changes = number(argv[CHANGES]);
    return STATUS_OK;
}

/* Whether a text is #N; see plugin_kind.adapts. */
static bool is_width(const char *text)
{
    return text[0] == '#' && text[1] && !text[1 + strspn(text + 1, "0123456789")];
}

/* The library's path in an id LIBRARY:LABEL, or LIBRARY: the text up to the first colon, or to #N
 * at the end, if that has a slash. A colon in the path is written "\\:". */
static char *library_of(const char *id)
{
    char *path = strdup(id);
    size_t length = 0;
    for (const char *at = id; path; at++) {
        if (*at == ':' || is_width(at) || !*at) {
            path[length] = '\0';
            if (strchr(path, '/') && access(path, F_OK) == 0)
                return path;
        }
        if (!*at)
            break;
        if (at[0] == '\\' && at[1] == ':')
            at++;
        path[length++] = *at;
    }
    if (path)
        path[0] = '\0';
    return path;
}

enum status isolated_named_make(const char *id, const struct plugin_settings *settings,
                                char ***result)
{
    const char *preset = settings->preset ? settings->preset : "";
    size_t start, length = plugin_spec_preset_path(preset, &start);
    size_t others = 3, count = others + settings->setting_count + settings->read_count;
    char **named = calloc(count + 1, sizeof *named);
    if (!named)
        return fail_memory("a plugin's process");
    named[0] = library_of(id);
    named[1] = strdup(settings->state ? settings->state : "");
    named[2] = strndup(preset + start, length);
    for (size_t i = 0; i < settings->setting_count; i++)
        named[others++] = strdup(settings->settings[i].value);
    for (size_t i = 0; i < settings->read_count; i++)
        named[others++] = strdup(settings->reads[i]);
    for (size_t i = 0; i < count; i++)
        if (!named[i]) {
            for (size_t rest = 0; rest < count; rest++)
                free(named[rest]);
            free(named);
            return fail_memory("a plugin's process");
        }
    *result = named;
    return STATUS_OK;
}

void isolated_named_free(char **named)
{
    for (char **name = named; name && *name; name++)
        free(*name);
    free(named);
}

enum { ALIGNMENT = 64, LIVE_SLOTS = 8 /* most pieces that a live child may be behind */ };

/* Reserve bytes after `*end`; returns their offset. */
static size_t reserve(size_t *end, size_t bytes)
{
    size_t at = *end;
    *end = (at + bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return at;
}

void isolated_memory_plan(struct isolated_memory *memory, const struct plugin_info *info,
                          const struct plugin_instances_settings *settings)
{
    memory->slots = settings->plugin.live ? LIVE_SLOTS : 1;
    memory->change_room = plugin_instances_changes(info, settings);
    memory->run_room = plugin_instances_runs(info, settings);
    memory->ports = info->port_count;
    memory->inputs =
        settings->instances * (plugin_instances_inputs(info) + plugin_instances_side_chains(info));
    memory->outputs = settings->instances * plugin_instances_outputs(info);
    memory->channel = 0;
    size_t head = 0, slot = 0;
    reserve(&head, sizeof(struct isolated_head));
    reserve(&slot, sizeof(struct isolated_order));
    memory->changes = reserve(&slot, memory->change_room * sizeof(struct plugin_change));
    memory->runs = reserve(&slot, memory->run_room * sizeof(struct plugin_run));
    memory->values = reserve(&slot, memory->ports * sizeof(float));
    reserve(&memory->channel, settings->most * sizeof(float));
    memory->in = reserve(&slot, memory->inputs * memory->channel);
    memory->out = reserve(&slot, memory->outputs * memory->channel);
    memory->slot = slot;
    memory->size = head + memory->slots * slot;
}

static enum status map(struct isolated_memory *memory, int descriptor, size_t size)
{
    /* Live: populate the memory at once, so that no step waits for a page. */
    int populate = memory->slots > 1 ? MAP_POPULATE : 0;
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | populate, descriptor, 0);
    if (at == MAP_FAILED)
        return fail_errno(errno, "cannot share memory with a plugin's process");
    memory->head = at;
    memory->size = size;
    return STATUS_OK;
}

enum status isolated_memory_create(struct isolated_memory *memory, int *descriptor)
{
    enum status status = STATUS_FAILED;
    *descriptor = memfd_create("halo plugin", MFD_CLOEXEC);
    if (*descriptor >= 0 && ftruncate(*descriptor, (off_t)memory->size) == 0)
        status = map(memory, *descriptor, memory->size);
    else
        status = fail_errno(errno, "cannot share memory with a plugin's process");
    if (status != STATUS_OK && *descriptor >= 0)
        close(*descriptor);
    return status;
}

/* In the child: map the memory, then check its layout. */
static enum status isolated_memory_find(struct isolated_memory *memory)
{
    struct stat about;
    if (fstat(ISOLATED_DESCRIPTOR, &about) != 0 || !S_ISREG(about.st_mode) ||
        about.st_size < (off_t)sizeof(struct isolated_head))
        return fail(CAUSE_USAGE, "this command is internal: halo runs it for isolated plugins");
    enum status status = map(memory, ISOLATED_DESCRIPTOR, (size_t)about.st_size);
    close(ISOLATED_DESCRIPTOR);
    return status;
}

static enum status isolated_memory_join(struct isolated_memory *memory,
                                        const struct plugin_info *info,
                                        const struct plugin_instances_settings *settings)
{
    size_t size = memory->size;
    isolated_memory_plan(memory, info, settings);
    bool fits = memory->size == size;
    memory->size = size;
    return fits ? STATUS_OK : fail(CAUSE_OTHER, "%s has changed since it was scanned", info->id);
}

void isolated_memory_free(struct isolated_memory *memory)
{
    if (memory->head)
        munmap(memory->head, memory->size);
    memory->head = NULL;
}

HALO_REALTIME struct isolated_piece isolated_memory_piece(const struct isolated_memory *memory,
                                                          uint32_t number)
{
    char *head = (char *)memory->head;
    char *at = head + (memory->size - memory->slots * memory->slot) +
               number % memory->slots * memory->slot;
    return (struct isolated_piece){.order = (struct isolated_order *)at,
                                   .changes = (struct plugin_change *)(at + memory->changes),
                                   .runs = (struct plugin_run *)(at + memory->runs),
                                   .values = (float *)(at + memory->values),
                                   .in = (float *)(at + memory->in),
                                   .out = (float *)(at + memory->out),
                                   .stride = memory->channel / sizeof(float)};
}

/* ---- the child process: opens local instances and executes orders ---- */

enum { SPIN_NS = 50000 };

static const int64_t SLEEP_NS = 10000000000;

struct server {
    struct isolated_memory memory;
    struct plugin_info *info;
    struct plugin_instances *instances;
    int64_t spin;  /* ns to spin before the thread sleeps */
    int processor; /* CPU that the thread is bound to; negative: any */
    int priority;  /* real-time priority of the process; 0: none */
    const float **in;
    float **out;
};

static void run_block(struct server *server, const struct isolated_piece *piece, size_t at,
                      struct plugin_change *changes, size_t count)
{
    struct plugin_instances *instances = server->instances;
    for (size_t i = 0; i < count; i++)
        changes[i].frame -= at;
    for (size_t c = 0; c < server->memory.inputs; c++)
        server->in[c] = piece->in + c * piece->stride + at;
    for (size_t c = 0; c < server->memory.outputs; c++)
        server->out[c] = piece->out + c * piece->stride + at;
    instances->position = piece->order->position + (int64_t)at;
    instances->kind->process(instances, server->in, server->out, instances->block, changes, count);
    for (size_t i = 0; i < instances->run_count; i++)
        piece->runs[piece->order->run_count++] = instances->runs[i];
    atomic_fetch_add(&server->memory.head->frames, instances->block);
}

/* Bind the thread to a CPU, with all threads that the plugin starts later (not at its opening). */
static void move_to(struct server *server, int processor)
{
    cpu_set_t one;
    if (processor < 0 || processor >= CPU_SETSIZE || processor == server->processor)
        return;
    CPU_ZERO(&one);
    CPU_SET((size_t)processor, &one);
    if (sched_setaffinity(0, sizeof one, &one) == 0)
        server->processor = processor;
}

/* Process a piece block by block: halo then sees the progress, and after a crash how far it got. */
static void run_piece(struct server *server, const struct isolated_piece *piece)
{
    size_t block = server->instances->block, next = 0, first = 0;
    move_to(server, piece->order->processor);
    for (size_t at = 0; at < piece->order->frames; at += block, first = next) {
        while (next < piece->order->change_count && piece->changes[next].frame < at + block)
            next++;
        run_block(server, piece, at, piece->changes + first, next - first);
    }
}

static void report_values(const struct server *server, const struct isolated_piece *piece)
{
    memcpy(piece->values, server->instances->values, server->memory.ports * sizeof(float));
    if (server->instances->notice)
        warning("%s", server->instances->notice);
    server->instances->notice = NULL;
}

static enum status do_order(struct server *server, const struct isolated_piece *piece)
{
    struct isolated_head *head = server->memory.head;
    if (piece->order->what == ISOLATED_SAVE)
        return server->instances->kind->save(server->instances, head->folder);
    if (piece->order->what == ISOLATED_RESET) {
        server->instances->kind->reset(server->instances);
        atomic_store(&head->frames, 0);
    } else
        run_piece(server, piece);
    return STATUS_OK;
}

static void serve(struct server *server)
{
    struct isolated_head *head = server->memory.head;
    for (uint32_t number = 1;; number++) {
        while (!futex_wait(&head->posted, number + 1, server->spin, monotonic_ns() + SLEEP_NS))
            continue;
        const struct isolated_piece piece = isolated_memory_piece(&server->memory, number);
        if (piece.order->what == ISOLATED_LEAVE)
            return;
        head->status = (int)do_order(server, &piece);
        report_values(server, &piece);
        futex_raise(&head->done);
    }
}

static enum status open_instances(struct server *server, const struct isolated_request *request)
{
    const struct plugin_instances_settings *settings = &request->settings;
    if (request->holder_count > 0)
        TRY(request->kind->use(request->holders, request->holder_count));
    TRY(request->kind->describe(request->id, &server->info));
    TRY(isolated_memory_join(&server->memory, server->info, settings));
    server->in = calloc(server->memory.inputs + 1, sizeof *server->in);
    server->out = calloc(server->memory.outputs + 1, sizeof *server->out);
    if (!server->in || !server->out)
        return fail_memory("a plugin");
    const struct isolated_piece piece = isolated_memory_piece(&server->memory, 0);
    return plugin_instances_open(server->info, piece.changes, piece.order->change_count, settings,
                                 &server->instances);
}

/* Get a real-time priority, below the thread of halo that watches this process. */
static void begin_realtime(struct server *server)
{
    struct realtime_before before;
    realtime_lock_memory(); /* fails without permission */
    bool is_raised = server->priority > 1 && realtime_raise(server->priority - 1, &before);
    atomic_store(&server->memory.head->has_priority, is_raised);
}

static enum status answer_opening(struct server *server, const struct isolated_request *request)
{
    struct isolated_head *head = server->memory.head;
    const struct log_keeper before = log_keep_failure(&head->failure);
    (void)before; /* stays set until the process ends */
    enum status status = open_instances(server, request);
    head->status = (int)status;
    if (status == STATUS_OK) {
        if (request->settings.plugin.live)
            begin_realtime(server);
        const struct isolated_piece piece = isolated_memory_piece(&server->memory, 0);
        piece.runs[0].latency = server->instances->latency;
        atomic_store(&head->tail, server->instances->tail);
        report_values(server, &piece);
    }
    futex_raise(&head->done);
    return status;
}

static void send_message(void *context, const char *line)
{
    (void)context;
    if (dprintf(ISOLATED_MESSAGES, "%s\n", line) < 0)
        _exit(STATUS_FAILED); /* halo has ended */
}

/* Called before anything of a plugin is read. */
static enum status enter_sandbox(const struct isolated_request *request)
{
    char **named;
    note_verbosity(request->verbosity);
    messages_to(send_message, NULL);
    TRY(isolated_named_make(request->id, &request->settings.plugin, &named));
    enum status status = plugin_sandbox_enter(&request->sandbox, named);
    isolated_named_free(named);
    return status;
}

/* Drop the real-time priority, which threads started by opening or measuring would inherit. */
static void prepare(struct server *server, const struct isolated_request *request)
{
    server->priority = realtime_drop();
    if (request->settings.plugin.live)
        realtime_flush_denormals();
    else
        server->spin = SPIN_NS;
}

enum status plugin_instances_serve(int argc, char **argv)
{
    struct server server = {.processor = -1};
    struct isolated_request request = {0};
    enum status status;
    if (!(status = isolated_args_read(argc, argv, &request)) &&
        !(status = isolated_memory_find(&server.memory)) && !(status = enter_sandbox(&request))) {
        prepare(&server, &request);
        if (!(status = answer_opening(&server, &request)))
            serve(&server);
    }
    plugin_instances_close(server.instances);
    plugin_info_destroy(server.info);
    isolated_memory_free(&server.memory);
    free(server.in);
    free(server.out);
    free((void *)request.settings.plugin.settings);
    return status;
}
