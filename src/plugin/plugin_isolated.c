#include "plugin/plugin_isolated.h"

#include "base/stop.h"
#include "plugin/plugin_isolated_args.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double ORDER_TIME = 3;    /* of orders that may read files, in patiences */
static const double LIVE_PATIENCE = 1; /* seconds, at most */
static const double LEAVE_TIME = 1;    /* seconds */

/* ---- orders other than sound ---- */

/* It ended, or a signal came: which, as a status that is told. */
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
    return fail(STATUS_FAILED, "%.*s", (int)strnlen(head->text, APART_TEXT), head->text);
}

static enum status do_order(struct isolated_instances *isolated, enum isolated_what what, const char *verb,
                            const char *args)
{
    if (isolated->instances.failure || isolated->given_up || !isolated_wait(isolated))
        return report_end(isolated, verb);
    plugin_child_doing(isolated->child, args, isolated->order_patience);
    isolated_begin(isolated, what);
    isolated_post(isolated);
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
    log_capture(none, sizeof none); /* what comes of it is in instances->failure */
    enum status status = do_order(isolated, APART_RESET, "reset", "while it was reset");
    (void)status;
    log_capture(before, before_size);
    isolated->has_begun = isolated->has_last = false;
    instances->late = 0;
}

static enum status save(struct plugin_instances *instances, const char *folder)
{
    struct isolated_instances *isolated = (struct isolated_instances *)instances;
    if (strlen(folder) >= sizeof isolated->memory.head->folder)
        return fail(STATUS_FAILED, "cannot save into %.64s...: the path is too long", folder);
    memcpy(isolated->memory.head->folder, folder, strlen(folder) + 1);
    return do_order(isolated, APART_SAVE, "save the state of", "while its state was saved");
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
        isolated_begin(isolated, APART_LEAVE);
        isolated_post(isolated);
    }
    plugin_child_stop(isolated->child, idle && !stop_requested() ? LEAVE_TIME : 0);
    isolated_memory_free(&isolated->memory);
    free(isolated->kept);
    free(isolated->values);
    free(isolated->latencies);
    free(isolated);
}

static const struct plugin_instances_kind kind_live = {
    .process = isolated_process_live,
    .reset = reset,
    .save = save,
    .close = close_instances,
};
static const struct plugin_instances_kind kind_file = {
    .process = isolated_process_file,
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
    enum status status = isolated_args_make(isolated->instances.info, settings, &child.arguments);
    if (status != STATUS_OK) {
        close(memory);
        return status;
    }
    return plugin_child_start(&child, isolated->order_patience, &isolated->child);
}

static enum status open_child(struct isolated_instances *isolated, const struct plugin_change *changes,
                              size_t count, const struct plugin_instances_settings *settings)
{
    int memory;
    enum status status = isolated_memory_create(&isolated->memory, &memory);
    if (status != STATUS_OK)
        return status;
    struct isolated_piece piece = isolated_begin(isolated, APART_OPEN);
    isolated_add_changes(isolated, &piece, changes, count);
    isolated_post(isolated);
    status = start_child(isolated, memory, settings);
    if (status == STATUS_OK)
        status = isolated_wait(isolated) ? report_answer(isolated) : report_end(isolated, "run");
    if (status == STATUS_OK)
        plugin_child_doing(isolated->child, NULL, isolated->patience);
    else
        isolated->given_up = true;
    return status;
}

/* What the child has set is known before there is sound. */
static void take_first_values(struct isolated_instances *isolated)
{
    const struct isolated_piece piece = isolated_memory_piece(&isolated->memory, 0);
    memcpy(isolated->values, piece.values, isolated->memory.ports * sizeof(float));
    isolated->instances.latency = piece.latencies[0];
    isolated->instances.values = isolated->values;
    isolated->instances.latencies = isolated->latencies;
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
                                       .inputs = plugin_instances_inputs(info),
                                       .outputs = plugin_instances_outputs(info),
                                       .block = settings->plugin.block,
                                       .delay = live ? settings->most : 0};
    isolated->patience = live ? fmin(settings->patience, LIVE_PATIENCE) : settings->patience;
    isolated->order_patience = ORDER_TIME * settings->patience;
    isolated_memory_plan(&isolated->memory, info, settings);
    isolated->kept = calloc(info->port_count + 1, sizeof *isolated->kept);
    isolated->values = calloc(info->port_count + 1, sizeof *isolated->values);
    isolated->latencies = calloc(isolated->memory.blocks, sizeof *isolated->latencies);
    enum status status = isolated->kept && isolated->values && isolated->latencies
                             ? open_child(isolated, changes, count, settings)
                             : fail_memory("a plugin");
    if (status != STATUS_OK) {
        close_instances(&isolated->instances);
        return status;
    }
    take_first_values(isolated);
    *instances = &isolated->instances;
    return STATUS_OK;
}
