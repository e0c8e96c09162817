#include "plugin/plugin_scan.h"

#include "base/monotonic.h"
#include "plugin/plugin_info_json.h"
#include "plugin/plugin_memory.h"
#include "plugin/plugin_scanner.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct holder {
    const struct plugin_kind *kind;
    char *name;
    char *file; /* NULL: not known */
};

struct holders {
    const struct plugin_kind *kind; /* of those that are being listed */
    size_t count;
    struct holder *holders;
    bool is_whole; /* memory was enough */
};

struct scanning {
    struct plugin_scan *scan;
    struct plugin_scanner scanner;
    struct plugin_memory memory;
    double next; /* when to show how far it is */
};

static const double SHOW_EVERY = 0.2; /* seconds */

static void add_holder(void *context, const char *name, const char *file)
{
    struct holders *holders = context;
    struct holder *more = realloc(holders->holders, (holders->count + 1) * sizeof *more);
    if (more)
        holders->holders = more;
    struct holder holder = {holders->kind, strdup(name), file ? strdup(file) : NULL};
    if (!more || !holder.name || (file && !holder.file)) {
        free(holder.name);
        free(holder.file);
        holders->is_whole = false;
        return;
    }
    more[holders->count++] = holder;
}

static enum status list_holders(const struct plugin_kind *only, struct holders *holders)
{
    *holders = (struct holders){.is_whole = true};
    enum status status = STATUS_OK;
    const struct plugin_kind *kind;
    for (size_t i = 0; status == STATUS_OK && (kind = plugin_kind_at(i)) != NULL; i++) {
        holders->kind = kind;
        if (!only || only == kind)
            status = kind->list(add_holder, holders);
    }
    return status == STATUS_OK && !holders->is_whole ? fail_memory("a list of plugins") : status;
}

static void free_holders(struct holders *holders)
{
    for (size_t i = 0; i < holders->count; i++) {
        free(holders->holders[i].name);
        free(holders->holders[i].file);
    }
    free(holders->holders);
}

static enum status add_skip(struct plugin_scan *scan, const struct plugin_kind *kind,
                            const char *holder, const char *reason, bool is_remembered)
{
    struct plugin_skip *more = realloc(scan->skips, (scan->skip_count + 1) * sizeof *more);
    if (!more)
        return fail_memory("a list of plugins");
    scan->skips = more;
    struct plugin_skip skip = {kind, strdup(holder), strdup(reason), is_remembered};
    more[scan->skip_count++] = skip;
    return skip.holder && skip.reason ? STATUS_OK : fail_memory("a list of plugins");
}

static enum status add_info(struct plugin_scan *scan, const json_t *object)
{
    struct plugin_info **more = realloc(scan->infos, (scan->count + 1) * sizeof *more);
    if (!more)
        return fail_memory("a list of plugins");
    scan->infos = more;
    enum status status = plugin_info_of_object(object, &more[scan->count]);
    scan->count += status == STATUS_OK;
    return status;
}

static enum status add_answer(struct scanning *scanning, const struct holder *holder,
                              const json_t *answer)
{
    const char *error = json_string_value(json_object_get(answer, "error"));
    if (error)
        return add_skip(scanning->scan, holder->kind, holder->name, error, false);
    const json_t *plugins = json_object_get(answer, "plugins");
    const json_t *refused = json_object_get(answer, "refused");
    for (size_t i = 0; i < json_array_size(plugins); i++)
        TRY(add_info(scanning->scan, json_array_get(plugins, i)));
    for (size_t i = 0; i < json_array_size(refused); i++) {
        const json_t *one = json_array_get(refused, i);
        const char *id = json_string_value(json_object_get(one, "id"));
        const char *reason = json_string_value(json_object_get(one, "reason"));
        TRY(add_skip(scanning->scan, holder->kind, id ? id : holder->name, reason ? reason : "",
                     false));
    }
    return STATUS_OK;
}

/* A plugin that crashes the child is tried again in a new one, since an earlier plugin may have
 * corrupted its memory. */
static enum status ask(struct plugin_scanner *scanner, const struct holder *holder, json_t **answer)
{
    bool is_new = scanner->process == 0;
    TRY(plugin_scanner_look(scanner, holder->kind, holder->name, answer));
    if (!*answer && !is_new && !scanner->is_late)
        TRY(plugin_scanner_look(scanner, holder->kind, holder->name, answer));
    return STATUS_OK;
}

static enum status look(struct scanning *scanning, const struct holder *holder)
{
    const char *trouble =
        plugin_memory_trouble(&scanning->memory, holder->kind, holder->name, holder->file);
    if (trouble)
        return add_skip(scanning->scan, holder->kind, holder->name, trouble, true);
    json_t *answer;
    enum status status;
    TRY(ask(&scanning->scanner, holder, &answer));
    if (answer) {
        plugin_memory_remove(&scanning->memory, holder->kind, holder->name);
        status = add_answer(scanning, holder, answer);
    } else {
        trouble = scanning->scanner.trouble;
        plugin_memory_add(&scanning->memory, holder->kind, holder->name, holder->file, trouble);
        status = add_skip(scanning->scan, holder->kind, holder->name, trouble, false);
    }
    json_decref(answer);
    return status;
}

static void show(struct scanning *scanning, const struct holders *holders, size_t done)
{
    double now = monotonic_seconds();
    if (now < scanning->next || !isatty(STDERR_FILENO))
        return;
    scanning->next = now + SHOW_EVERY;
    note_transient("scanning plugins: %zu of %zu (%.40s)", done, holders->count,
                   holders->holders[done].name);
}

enum status plugin_scan_init(struct plugin_scan *scan, const struct plugin_kind *kind,
                             double patience)
{
    *scan = (struct plugin_scan){0};
    struct scanning scanning = {.scan = scan, .next = monotonic_seconds() + SHOW_EVERY};
    plugin_scanner_init(&scanning.scanner);
    if (patience > 0)
        scanning.scanner.patience = patience;
    plugin_memory_open(&scanning.memory);
    struct holders holders;
    enum status status = list_holders(kind, &holders);
    for (size_t i = 0; status == STATUS_OK && i < holders.count; i++) {
        show(&scanning, &holders, i);
        status = look(&scanning, &holders.holders[i]);
    }
    if (isatty(STDERR_FILENO))
        note_transient("%s", "");
    plugin_scanner_free(&scanning.scanner);
    plugin_memory_close(&scanning.memory);
    free_holders(&holders);
    return status;
}

void plugin_scan_free(struct plugin_scan *scan)
{
    for (size_t i = 0; i < scan->count; i++)
        plugin_info_destroy(scan->infos[i]);
    for (size_t i = 0; i < scan->skip_count; i++) {
        free(scan->skips[i].holder);
        free(scan->skips[i].reason);
    }
    free(scan->infos);
    free(scan->skips);
}
