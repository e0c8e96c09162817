#include "plugin/plugin_isolated_instances.h"

#include "base/realtime.h"
#include "base/stop.h"
#include "plugin/plugin_child.h"
#include "plugin/plugin_state_copy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SPIN_NS = 50000, POLL_MS = 50 };

static const double ORDER_TIME = 3; /* multiple of the patience, for orders that may read files */
static const double LIVE_PATIENCE = 1; /* seconds, at most */
static const double LEAVE_TIME = 1;    /* seconds */

struct isolated_instances {
    struct plugin_instances instances;
    struct isolated_memory memory;
    struct plugin_child *child;
    struct plugin_sandbox_pass pass;
    struct plugin_reads reads; /* of the child */
    unsigned saves;
    double patience;       /* seconds, for a block */
    double order_patience; /* for other orders */
    uint32_t posted;       /* orders */
    bool given_up;         /* a signal came while an order was pending */
    bool has_begun;        /* live: there was a piece */
    bool has_last;         /* live: the last piece was posted */
    size_t kept_count;
    struct plugin_change *kept; /* live: of pieces that were not posted; one for each port */
    float *values;
    struct plugin_run *runs;
};

/* ---- orders: real-time ---- */

/* Only the last change of each port at each frame is posted. */
HALO_REALTIME static void add_change(const struct isolated_instances *isolated,
                                     struct isolated_piece *piece,
                                     const struct plugin_change *change)
{
    size_t count = piece->order->change_count;
    for (size_t i = count; i-- > 0 && piece->changes[i].frame == change->frame;)
        if (piece->changes[i].port == change->port) {
            piece->changes[i].value = change->value;
            return;
        }
    if (count == isolated->memory.change_room)
        return; /* only if they are not sorted */
    piece->changes[count] = *change;
    piece->order->change_count = count + 1;
}

HALO_REALTIME static void add_changes(const struct isolated_instances *isolated,
                                      struct isolated_piece *piece,
                                      const struct plugin_change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add_change(isolated, piece, &changes[i]);
}

/* Begin the next order, for the caller to fill in. */
HALO_REALTIME static struct isolated_piece begin(const struct isolated_instances *isolated,
                                                 enum isolated_what what)
{
    struct isolated_piece piece = isolated_memory_piece(&isolated->memory, isolated->posted);
    *piece.order = (struct isolated_order){.what = what};
    return piece;
}

HALO_REALTIME static void post(struct isolated_instances *isolated)
{
    isolated->posted++;
    futex_raise(&isolated->memory.head->posted);
}

bool isolated_wait(struct isolated_instances *isolated)
{
    struct futex *done = &isolated->memory.head->done;
    while (!futex_wait(done, isolated->posted, SPIN_NS, POLL_MS)) {
        if (plugin_child_end(isolated->child))
            return futex_reached(done, isolated->posted); /* it may have answered before */
        if (stop_requested()) {
            isolated->given_up = true;
            return false;
        }
    }
    return true;
}

/* ---- pieces: real-time when live ---- */

HALO_REALTIME static void output_silence(struct isolated_instances *isolated, float *const *out,
                                         size_t frames)
{
    isolated->instances.run_count = 1;
    isolated->runs[0] =
        (struct plugin_run){.frames = frames, .latency = isolated->instances.latency};
    for (size_t c = 0; c < isolated->memory.outputs; c++)
        memset(out[c], 0, frames * sizeof(float));
}

/* What the child says of its runs is made to add up to the piece. */
HALO_REALTIME static void take_runs(struct isolated_instances *isolated,
                                    const struct isolated_piece *piece, size_t frames)
{
    struct plugin_instances *instances = &isolated->instances;
    size_t count = piece->order->run_count, room = isolated->memory.run_room;
    instances->run_count = 0;
    for (size_t i = 0; i < count && i < room && frames > 0; i++) {
        struct plugin_run run = piece->runs[i];
        run.frames = run.frames < frames ? run.frames : frames;
        frames -= run.frames;
        instances->latency = run.latency;
        isolated->runs[instances->run_count++] = run;
    }
    if (frames > 0 && instances->run_count == 0)
        isolated->runs[instances->run_count++] = (struct plugin_run){.latency = instances->latency};
    if (frames > 0)
        isolated->runs[instances->run_count - 1].frames += frames;
}

HALO_REALTIME static void output(struct isolated_instances *isolated, uint32_t number,
                                 float *const *out, size_t frames)
{
    const struct isolated_piece piece = isolated_memory_piece(&isolated->memory, number);
    for (size_t c = 0; c < isolated->memory.outputs; c++)
        memcpy(out[c], piece.out + c * piece.stride, frames * sizeof(float));
    memcpy(isolated->values, piece.values, isolated->memory.ports * sizeof(float));
    take_runs(isolated, &piece, frames);
}

HALO_REALTIME static struct isolated_piece begin_piece(const struct isolated_instances *isolated,
                                                       const float *const *in, size_t frames)
{
    struct isolated_piece piece = begin(isolated, ISOLATED_PIECE);
    piece.order->frames = frames;
    piece.order->position = isolated->instances.position;
    for (size_t c = 0; c < isolated->memory.inputs; c++)
        memcpy(piece.in + c * piece.stride, in[c], frames * sizeof(float));
    return piece;
}

static void process_file(struct plugin_instances *instances, const float *const *in,
                         float *const *out, size_t frames, const struct plugin_change *changes,
                         size_t count)
{
    struct isolated_instances *isolated = (struct isolated_instances *)instances;
    if (!instances->failure && !isolated->given_up) {
        struct isolated_piece piece = begin_piece(isolated, in, frames);
        add_changes(isolated, &piece, changes, count);
        post(isolated);
        if (isolated_wait(isolated)) {
            output(isolated, isolated->posted - 1, out, frames);
            return;
        }
        instances->failure = plugin_child_end(isolated->child);
    }
    output_silence(isolated, out, frames);
}

/* ---- live ---- */

HALO_REALTIME static void output_last(struct isolated_instances *isolated, float *const *out,
                                      size_t frames)
{
    if (isolated->has_last && futex_reached(&isolated->memory.head->done, isolated->posted)) {
        output(isolated, isolated->posted - 1, out, frames);
        return;
    }
    isolated->instances.late += isolated->has_begun;
    output_silence(isolated, out, frames);
}

HALO_REALTIME static void keep_changes(struct isolated_instances *isolated,
                                       const struct plugin_change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        while (at < isolated->kept_count && isolated->kept[at].port != changes[i].port)
            at++;
        isolated->kept[at] =
            (struct plugin_change){.port = changes[i].port, .value = changes[i].value};
        isolated->kept_count += at == isolated->kept_count;
    }
}

HALO_REALTIME static void process_live(struct plugin_instances *instances, const float *const *in,
                                       float *const *out, size_t frames,
                                       const struct plugin_change *changes, size_t count)
{
    struct isolated_instances *isolated = (struct isolated_instances *)instances;
    if (!instances->failure)
        instances->failure = plugin_child_end(isolated->child);
    if (instances->failure) {
        output_silence(isolated, out, frames);
        return;
    }
    output_last(isolated, out, frames);
    isolated->has_begun = true;
    uint32_t slots = (uint32_t)isolated->memory.slots;
    isolated->has_last = futex_reached(&isolated->memory.head->done, isolated->posted - slots + 1);
    if (!isolated->has_last) {
        keep_changes(isolated, changes, count);
        return;
    }
    struct isolated_piece piece = begin_piece(isolated, in, frames);
    add_changes(isolated, &piece, isolated->kept, isolated->kept_count);
    add_changes(isolated, &piece, changes, count);
    isolated->kept_count = 0;
    post(isolated);
}

/* ---- other orders ---- */

/* Report the end of the process, unless a signal came. */
static enum status report_end(struct isolated_instances *isolated, const char *verb)
{
    const char *end = plugin_child_end(isolated->child);
    isolated->instances.failure = end;
    return end ? fail(STATUS_FAILED, "cannot %s %s: it %s", verb, isolated->instances.info->id, end)
               : STATUS_INTERRUPTED;
}

static enum status report_answer(const struct isolated_instances *isolated)
{
    const struct isolated_head *head = isolated->memory.head;
    if (head->status == STATUS_OK)
        return STATUS_OK;
    return fail(STATUS_FAILED, "%.*s", (int)strnlen(head->text, ISOLATED_TEXT), head->text);
}

static enum status do_order(struct isolated_instances *isolated, enum isolated_what what,
                            const char *verb, const char *doing)
{
    if (isolated->instances.failure || isolated->given_up || !isolated_wait(isolated))
        return report_end(isolated, verb);
    plugin_child_doing(isolated->child, doing, isolated->order_patience);
    begin(isolated, what);
    post(isolated);
    if (!isolated_wait(isolated))
        return report_end(isolated, verb);
    plugin_child_doing(isolated->child, NULL, isolated->patience);
    return report_answer(isolated);
}

static void reset(struct plugin_instances *instances)
{
    struct isolated_instances *isolated = (struct isolated_instances *)instances;
    char none[1], *before;
    size_t before_size;
    log_captured(&before, &before_size);
    log_capture(none, sizeof none); /* instances->failure has the reason */
    enum status status = do_order(isolated, ISOLATED_RESET, "reset", "while it was reset");
    (void)status;
    log_capture(before, before_size);
    isolated->has_begun = isolated->has_last = false;
    instances->late = 0;
}

/* The child writes into its own folder only. */
static enum status save(struct plugin_instances *instances, const char *folder)
{
    struct isolated_instances *isolated = (struct isolated_instances *)instances;
    char *its = isolated->memory.head->folder, ours[sizeof isolated->memory.head->folder];
    if ((size_t)snprintf(ours, sizeof ours, "%s/saved-%u", isolated->pass.folder,
                         ++isolated->saves) >= sizeof ours)
        return fail(STATUS_FAILED, "cannot save into %.64s...: the path is too long", ours);
    memcpy(its, ours, sizeof ours);
    TRY(do_order(isolated, ISOLATED_SAVE, "save the state of", "while its state was saved"));
    if (access(ours, F_OK) != 0) /* it has nothing to save */
        return STATUS_OK;
    return plugin_state_copy(ours, folder, &isolated->reads, instances->info->id);
}

static void close_instances(struct plugin_instances *instances)
{
    struct isolated_instances *isolated = (struct isolated_instances *)instances;
    if (instances->late)
        note_detail("%s was late %llu times in %lu blocks", instances->info->id,
                    (unsigned long long)instances->late, (unsigned long)isolated->posted - 1);
    bool idle = isolated->child && !instances->failure && !isolated->given_up &&
                futex_reached(&isolated->memory.head->done, isolated->posted);
    if (idle) {
        plugin_child_doing(isolated->child, "while it was closed", isolated->patience);
        begin(isolated, ISOLATED_LEAVE);
        post(isolated);
    }
    plugin_child_stop(isolated->child, idle && !stop_requested() ? LEAVE_TIME : 0);
    plugin_sandbox_release(&isolated->pass);
    plugin_reads_free(&isolated->reads);
    isolated_memory_free(&isolated->memory);
    free(isolated->kept);
    free(isolated->values);
    free(isolated->runs);
    free(isolated);
}

static const struct plugin_instances_kind kind_live = {
    .process = process_live,
    .reset = reset,
    .save = save,
    .close = close_instances,
};
static const struct plugin_instances_kind kind_file = {
    .process = process_file,
    .reset = reset,
    .save = save,
    .close = close_instances,
};

/* ---- opening ---- */

static enum status start_child(struct isolated_instances *isolated, int memory,
                               const struct plugin_instances_settings *settings)
{
    struct plugin_child_settings child = {.name = isolated->instances.info->id,
                                          .memory = memory,
                                          .head = isolated->memory.head,
                                          .rate = settings->plugin.rate,
                                          .block = isolated->instances.block};
    enum status status = isolated_args_make(isolated->instances.info, settings, isolated->pass.word,
                                            &child.arguments);
    if (status == STATUS_OK)
        return plugin_child_start(&child, isolated->order_patience, &isolated->child);
    close(memory);
    return status;
}

static enum status make_pass(struct isolated_instances *isolated,
                             const struct plugin_settings *settings)
{
    char **named;
    TRY(isolated_named_make(isolated->instances.info->id, settings, &named));
    enum status status = plugin_reads_init(&isolated->reads, named);
    isolated_named_free(named);
    return status == STATUS_OK ? plugin_sandbox_admit(&isolated->pass) : status;
}

static enum status open_child(struct isolated_instances *isolated,
                              const struct plugin_change *changes, size_t count,
                              const struct plugin_instances_settings *settings)
{
    int memory;
    TRY(make_pass(isolated, &settings->plugin));
    TRY(isolated_memory_create(&isolated->memory, &memory));
    struct isolated_piece piece = begin(isolated, ISOLATED_OPEN);
    add_changes(isolated, &piece, changes, count);
    post(isolated);
    isolated->given_up = true; /* unless it opens */
    TRY(start_child(isolated, memory, settings));
    TRY(isolated_wait(isolated) ? report_answer(isolated) : report_end(isolated, "run"));
    isolated->given_up = false;
    plugin_child_doing(isolated->child, NULL, isolated->patience);
    memcpy(isolated->values, piece.values, isolated->memory.ports * sizeof(float));
    isolated->instances.latency = piece.runs[0].latency;
    isolated->instances.tail = atomic_load(&isolated->memory.head->tail);
    return STATUS_OK;
}

enum status plugin_instances_open_isolated(const struct plugin_info *info,
                                           const struct plugin_change *changes, size_t count,
                                           const struct plugin_instances_settings *settings,
                                           struct plugin_instances **instances)
{
    struct isolated_instances *isolated = calloc(1, sizeof *isolated);
    if (!isolated)
        return fail_memory("a plugin");
    bool live = settings->plugin.live;
    isolated->instances = (struct plugin_instances){.kind = live ? &kind_live : &kind_file,
                                                    .info = info,
                                                    .instances = settings->instances,
                                                    .inputs = plugin_instances_inputs(info) +
                                                              plugin_instances_side_chains(info),
                                                    .outputs = plugin_instances_outputs(info),
                                                    .block = settings->plugin.block,
                                                    .delay = live ? settings->most : 0};
    isolated->patience = live ? fmin(settings->patience, LIVE_PATIENCE) : settings->patience;
    isolated->order_patience = ORDER_TIME * settings->patience;
    isolated_memory_plan(&isolated->memory, info, settings);
    isolated->kept = calloc(info->port_count + 1, sizeof *isolated->kept);
    isolated->values = calloc(info->port_count + 1, sizeof *isolated->values);
    isolated->runs = calloc(isolated->memory.run_room, sizeof *isolated->runs);
    isolated->instances.values = isolated->values;
    isolated->instances.runs = isolated->runs;
    enum status status = isolated->kept && isolated->values && isolated->runs
                             ? open_child(isolated, changes, count, settings)
                             : fail_memory("a plugin");
    if (status == STATUS_OK)
        *instances = &isolated->instances;
    else
        close_instances(&isolated->instances);
    return status;
}
