#include "plugin/plugin_rack_apart.h"

#include "base/stop.h"
#include "plugin/plugin_apart_args.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double ORDER_TIME = 3;    /* of orders that may read files, in patiences */
static const double LIVE_PATIENCE = 1; /* seconds, at most */
static const double LEAVE_TIME = 1;    /* seconds */

/* ---- orders other than sound ---- */

/* It ended, or a signal came: which, as a status that is told. */
static enum status report_end(struct rack_apart *apart, const char *verb)
{
    const char *end = plugin_child_end(apart->child);
    apart->rack.failure = end;
    return end ? fail(STATUS_FAILED, "cannot %s %s: it %s", verb, apart->rack.info->id, end)
               : STATUS_INTERRUPTED;
}

static enum status report_answer(const struct rack_apart *apart)
{
    const struct apart_head *head = apart->memory.head;
    if (head->status == STATUS_OK)
        return STATUS_OK;
    return fail(STATUS_FAILED, "%.*s", (int)strnlen(head->text, APART_TEXT), head->text);
}

static enum status do_order(struct rack_apart *apart, enum apart_what what, const char *verb,
                            const char *args)
{
    if (apart->rack.failure || apart->given_up || !rack_apart_wait(apart))
        return report_end(apart, verb);
    plugin_child_doing(apart->child, args, apart->order_patience);
    rack_apart_begin(apart, what);
    rack_apart_post(apart);
    if (!rack_apart_wait(apart))
        return report_end(apart, verb);
    plugin_child_doing(apart->child, NULL, apart->patience);
    return report_answer(apart);
}

static void reset(struct plugin_rack *rack)
{
    struct rack_apart *apart = (struct rack_apart *)rack;
    char none[1], *before;
    size_t before_size;
    failures_kept(&before, &before_size);
    failures_keep(none, sizeof none); /* what comes of it is in rack->failure */
    enum status status = do_order(apart, APART_RESET, "reset", "while it was reset");
    (void)status;
    failures_keep(before, before_size);
    apart->has_begun = apart->has_last = false;
    rack->late = 0;
}

static enum status save(struct plugin_rack *rack, const char *folder)
{
    struct rack_apart *apart = (struct rack_apart *)rack;
    if (strlen(folder) >= sizeof apart->memory.head->folder)
        return fail(STATUS_FAILED, "cannot save into %.64s...: the path is too long", folder);
    memcpy(apart->memory.head->folder, folder, strlen(folder) + 1);
    return do_order(apart, APART_SAVE, "save the state of", "while its state was saved");
}

static void close_rack(struct plugin_rack *rack)
{
    struct rack_apart *apart = (struct rack_apart *)rack;
    if (rack->late)
        note_detail("%s was late %llu times in %lu blocks", rack->info->id,
                    (unsigned long long)rack->late, (unsigned long)apart->posted - 1);
    bool idle = apart->child && !rack->failure && !apart->given_up &&
                shared_count_reached(&apart->memory.head->done, apart->posted);
    if (idle) {
        plugin_child_doing(apart->child, "while it was closed", apart->patience);
        rack_apart_begin(apart, APART_LEAVE);
        rack_apart_post(apart);
    }
    plugin_child_stop(apart->child, idle && !stop_requested() ? LEAVE_TIME : 0);
    apart_memory_free(&apart->memory);
    free(apart->kept);
    free(apart->values);
    free(apart->latencies);
    free(apart);
}

static const struct plugin_rack_kind kind_live = {
    .process = rack_apart_process_live,
    .reset = reset,
    .save = save,
    .close = close_rack,
};
static const struct plugin_rack_kind kind_file = {
    .process = rack_apart_process_file,
    .reset = reset,
    .save = save,
    .close = close_rack,
};

/* ---- opening ---- */

static enum status start_child(struct rack_apart *apart, int memory,
                               const struct plugin_rack_settings *settings)
{
    struct plugin_child_settings child = {.name = apart->rack.info->id,
                                          .memory = memory,
                                          .head = apart->memory.head,
                                          .rate = settings->plugin.rate,
                                          .block = apart->rack.block};
    enum status status = apart_args_make(apart->rack.info, settings, &child.arguments);
    if (status != STATUS_OK) {
        close(memory);
        return status;
    }
    return plugin_child_start(&child, apart->order_patience, &apart->child);
}

static enum status open_child(struct rack_apart *apart, const struct plugin_change *changes,
                              size_t count, const struct plugin_rack_settings *settings)
{
    int memory;
    enum status status = apart_memory_create(&apart->memory, &memory);
    if (status != STATUS_OK)
        return status;
    struct apart_piece piece = rack_apart_begin(apart, APART_OPEN);
    rack_apart_add_changes(apart, &piece, changes, count);
    rack_apart_post(apart);
    status = start_child(apart, memory, settings);
    if (status == STATUS_OK)
        status = rack_apart_wait(apart) ? report_answer(apart) : report_end(apart, "run");
    if (status == STATUS_OK)
        plugin_child_doing(apart->child, NULL, apart->patience);
    else
        apart->given_up = true;
    return status;
}

/* What the child has set is known before there is sound. */
static void take_first_values(struct rack_apart *apart)
{
    const struct apart_piece piece = apart_memory_piece(&apart->memory, 0);
    memcpy(apart->values, piece.values, apart->memory.ports * sizeof(float));
    apart->rack.latency = piece.latencies[0];
    apart->rack.values = apart->values;
    apart->rack.latencies = apart->latencies;
}

enum status plugin_rack_open_apart(const struct plugin_info *info,
                                   const struct plugin_change *changes, size_t count,
                                   const struct plugin_rack_settings *settings,
                                   struct plugin_rack **rack)
{
    struct rack_apart *apart = calloc(1, sizeof *apart);
    if (!apart)
        return fail_memory("a plugin");
    bool live = settings->plugin.live;
    apart->rack = (struct plugin_rack){.kind = live ? &kind_live : &kind_file,
                                       .info = info,
                                       .instances = settings->instances,
                                       .inputs = plugin_rack_inputs(info),
                                       .outputs = plugin_rack_outputs(info),
                                       .block = settings->plugin.block,
                                       .delay = live ? settings->most : 0};
    apart->patience = live ? fmin(settings->patience, LIVE_PATIENCE) : settings->patience;
    apart->order_patience = ORDER_TIME * settings->patience;
    apart_memory_plan(&apart->memory, info, settings);
    apart->kept = calloc(info->port_count + 1, sizeof *apart->kept);
    apart->values = calloc(info->port_count + 1, sizeof *apart->values);
    apart->latencies = calloc(apart->memory.blocks, sizeof *apart->latencies);
    enum status status = apart->kept && apart->values && apart->latencies
                             ? open_child(apart, changes, count, settings)
                             : fail_memory("a plugin");
    if (status != STATUS_OK) {
        close_rack(&apart->rack);
        return status;
    }
    take_first_values(apart);
    *rack = &apart->rack;
    return STATUS_OK;
}
