#include "plugin/plugin_isolated_state.h"

#include "base/stop.h"
#include "plugin/plugin_state_copy.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SPIN_NS = 50000 };

static const double ORDER_TIME = 3; /* multiple of the patience, for orders that may read files */
static const double LIVE_PATIENCE = 1; /* seconds, at most */
static const double LEAVE_TIME = 1;    /* seconds */

/* ---- orders ---- */

/* Report the end of the process, unless a signal came. */
static enum status report_end(struct isolated_instances *isolated, const char *verb)
{
    const char *end = isolated_end(isolated);
    isolated->instances.failure = end;
    return end ? fail(CAUSE_OTHER, "cannot %s %s: it %s", verb, isolated->instances.info->id, end)
               : STATUS_INTERRUPTED;
}

/* The text may be the plugin's own, so it bears its name. */
static enum status report_answer(const struct isolated_instances *isolated)
{
    const struct isolated_head *head = isolated->memory.head;
    const char *id = isolated->instances.info->id;
    char text[FAILURE_BYTES];
    if (head->status == STATUS_OK)
        return STATUS_OK;
    memcpy(text, head->failure.message, sizeof text);
    text[sizeof text - 1] = '\0';
    bool is_named = strstr(text, id) != NULL;
    return fail(plugin_cause(head->failure.cause), "%s%s%s", is_named ? "" : id,
                is_named ? "" : ": ", text);
}

static enum status do_order(struct isolated_instances *isolated, enum isolated_what what,
                            const char *verb, const char *doing)
{
    if (isolated->instances.failure || isolated->given_up || !isolated_wait(isolated))
        return report_end(isolated, verb);
    plugin_child_doing(isolated->child, doing, isolated->order_patience);
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
    char none[1];
    const struct log_keeper before =
        log_keep_in(none, sizeof none); /* instances->failure says why */
    isolated->frames = 0;
    enum status status = do_order(isolated, ISOLATED_RESET, "reset", "while it was reset");
    (void)status;
    log_keep_again(&before);
    isolated->resting = isolated->rest = 0;
    instances->late = 0;
}

/* By an order that does nothing. */
static enum status confirm(struct plugin_instances *instances)
{
    return do_order((struct isolated_instances *)instances, ISOLATED_PIECE, "finish",
                    "at the end of the sound");
}

/* The child writes into its own folder only. */
static enum status save(struct plugin_instances *instances, const char *folder)
{
    struct isolated_instances *isolated = (struct isolated_instances *)instances;
    char *its = isolated->memory.head->folder, ours[sizeof isolated->memory.head->folder];
    if ((size_t)snprintf(ours, sizeof ours, "%s/saved-%u", isolated->pass.folder,
                         ++isolated->saves) >= sizeof ours)
        return fail(CAUSE_UNSUPPORTED, "cannot save into %.64s...: the path is too long", ours);
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
        isolated_begin(isolated, ISOLATED_LEAVE);
        isolated_post(isolated);
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

static const struct plugin_instances_kind isolated_kind = {
    .process = isolated_process,
    .reset = reset,
    .confirm = confirm,
    .save = save,
    .close = close_instances,
};

/* ---- opening ---- */

/* On a single one the child only runs while halo sleeps. */
static bool has_processors(void)
{
    cpu_set_t allowed;
    return sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 1;
}

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
    struct isolated_piece piece = isolated_begin(isolated, ISOLATED_OPEN);
    isolated_add_changes(isolated, &piece, changes, count);
    isolated_post(isolated);
    isolated->given_up = true; /* unless it opens */
    TRY(start_child(isolated, memory, settings));
    TRY(isolated_wait(isolated) ? report_answer(isolated) : report_end(isolated, "run"));
    isolated->given_up = false;
    isolated->takes_turns =
        settings->plugin.live && atomic_load(&isolated->memory.head->has_priority);
    isolated->spin = !isolated->takes_turns && has_processors() ? SPIN_NS : 0;
    plugin_child_doing(isolated->child, NULL, isolated->patience);
    memcpy(isolated->values, piece.values, isolated->memory.ports * sizeof(float));
    isolated->instances.latency = isolated_run(&piece, 0).latency;
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
    isolated->instances = (struct plugin_instances){.kind = &isolated_kind,
                                                    .info = info,
                                                    .instances = settings->instances,
                                                    .inputs = plugin_instances_inputs(info) +
                                                              plugin_instances_side_chains(info),
                                                    .outputs = plugin_instances_outputs(info),
                                                    .block = settings->plugin.block};
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
