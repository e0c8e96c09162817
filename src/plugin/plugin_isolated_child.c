/* The child process of isolated instances: opens local instances and executes orders. */
#include "base/monotonic.h"
#include "base/realtime.h"
#include "plugin/plugin_isolated.h"
#include "plugin/plugin_isolated_instances.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SPIN_NS = 50000 };

static const int64_t SLEEP_NS = 10000000000;

struct server {
    struct isolated_memory memory;
    struct plugin_info *info;
    struct plugin_instances *instances;
    int64_t spin;  /* ns, before it sleeps */
    int processor; /* that it stays on; negative: any */
    int priority;  /* that halo gave the process; 0: none is real-time */
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

/* Threads that the plugin starts from now on stay there, too; those from its opening are free. */
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

/* Block by block, so that halo sees the progress and where it ended. */
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

/* Below halo's thread that watches this process. */
static void begin_realtime(struct server *server)
{
    struct realtime_before before;
    realtime_lock_memory(); /* if permitted */
    bool is_raised = server->priority > 1 && realtime_raise(server->priority - 1, &before);
    atomic_store(&server->memory.head->has_priority, is_raised);
}

static enum status answer_opening(struct server *server, const struct isolated_request *request)
{
    struct isolated_head *head = server->memory.head;
    const struct log_keeper before = log_keep_failure(&head->failure);
    (void)before; /* until the process ends */
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

/* Before anything of a plugin is read. */
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

/* Threads that the plugin starts while it is opened, or only measured, are ordinary ones. */
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
