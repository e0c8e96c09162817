#include "plugin/plugin_scan.h"

#include "base/json_text.h"
#include "plugin/plugin_catalog.h"

#include <stdlib.h>
#include <string.h>

/* Of one holder: crashes and hangs, after which its other plugins are left out, and answers. A hang
 * costs the patience; the other numbers are for libraries that lie about what they contain. */
enum { CRASHES_MOST = 1000, HANGS_MOST = 3, ANSWERS_MOST = 100000 };

/* Changes when a library is installed that a plugin may have lacked. */
static const char LINKER[] = "/etc/ld.so.cache";

/* A look at one holder. */
struct scanning {
    struct plugin_scan *scan;
    struct plugin_catalog *catalog;
    const struct plugin_holder *holder;
    json_t *entry;                    /* in the memory */
    json_t *plugins, *refused, *dead; /* found: rows, and {"id", "reason"} */
    json_t *done;                     /* ids that another look skips */
    char *at;                         /* the plugin that is being tried; NULL: none yet */
};

/* ---- what was found ---- */

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

static enum status add_row(const struct scanning *scanning, const json_t *object)
{
    struct plugin_scan *scan = scanning->scan;
    struct plugin_row row, *more = realloc(scan->rows, (scan->count + 1) * sizeof *more);
    if (!more)
        return fail_memory("a list of plugins");
    scan->rows = more;
    if (!plugin_row_of_object(object, &row) || row.kind != scanning->holder->kind) {
        plugin_row_free(&row);
        return add_skip(scan, scanning->holder->kind, scanning->holder->path,
                        "described a plugin by impossible texts or numbers", false);
    }
    if (plugin_catalog_counts(scanning->catalog, scanning->holder, row.id))
        more[scan->count++] = row;
    else
        plugin_row_free(&row);
    return STATUS_OK;
}

static enum status add_reasons(const struct scanning *scanning, const json_t *list,
                               bool is_remembered)
{
    const struct plugin_holder *holder = scanning->holder;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *id = json_string_value(json_object_get(json_array_get(list, i), "id"));
        const char *reason = json_string_value(json_object_get(json_array_get(list, i), "reason"));
        TRY(add_skip(scanning->scan, holder->kind, id ? id : holder->path, reason ? reason : "",
                     is_remembered));
    }
    return STATUS_OK;
}

static enum status add_all(const struct scanning *scanning, bool is_remembered)
{
    for (size_t i = 0; i < json_array_size(scanning->plugins); i++)
        TRY(add_row(scanning, json_array_get(scanning->plugins, i)));
    TRY(add_reasons(scanning, scanning->refused, false));
    return add_reasons(scanning, scanning->dead, is_remembered);
}

/* ---- a look, which continues in another child where one dies ---- */

static void add_reason(json_t *list, const char *id, const char *reason)
{
    json_array_append_new(
        list, json_pack("{s:o, s:o}", "id", json_text(id), "reason", json_text(reason)));
}

/* Of {"at"}. */
static enum status arrive(struct scanning *scanning, const json_t *answer)
{
    const char *file = json_string_value(json_object_get(answer, "file"));
    const char *id = json_string_value(json_object_get(answer, "at"));
    if (file)
        plugin_memory_depend(&scanning->catalog->memory, scanning->entry, file);
    free(scanning->at);
    scanning->at = id ? strdup(id) : NULL;
    return scanning->at ? STATUS_OK : fail_memory("a list of plugins");
}

/* Of any answer. `ended`: it is the last. */
static enum status take(struct scanning *scanning, const json_t *answer, bool *ended)
{
    const char *error = json_string_value(json_object_get(answer, "error"));
    *ended = error || json_is_true(json_object_get(answer, "end"));
    if (json_is_string(json_object_get(answer, "at")))
        return arrive(scanning, answer);
    if (error)
        add_reason(scanning->refused, scanning->holder->path, error);
    if (*ended)
        return STATUS_OK;
    if (scanning->at)
        json_array_append_new(scanning->done, json_text(scanning->at));
    json_t *row = json_object_get(answer, "plugin"), *refused = json_object_get(answer, "refused");
    if (row)
        json_array_append(scanning->plugins, row);
    else if (refused)
        json_array_append(scanning->refused, refused);
    return STATUS_OK;
}

/* One child, until it has said all or is gone (`ended` is false then). */
static enum status look_once(struct scanning *scanning, const json_t *holders, bool *ended)
{
    struct plugin_scanner *scanner = &scanning->catalog->scanner;
    const struct plugin_holder *holder = scanning->holder;
    json_t *answer;
    free(scanning->at);
    scanning->at = NULL;
    *ended = false;
    enum status status =
        plugin_scanner_look(scanner, holder->kind, holder->path, holders, scanning->done, &answer);
    for (size_t i = 0; status == STATUS_OK && answer && !*ended; i++) {
        status = take(scanning, answer, ended);
        json_decref(answer);
        answer = NULL;
        if (i == ANSWERS_MOST)
            plugin_scanner_drop(scanner, "gave no end of answers");
        else if (status == STATUS_OK && !*ended)
            status = plugin_scanner_next(scanner, &answer);
    }
    json_decref(answer);
    return status;
}

/* A plugin at which the child died is tried again if others were tried before it in the same child,
 * since they may have corrupted its memory. */
static void bury(struct scanning *scanning)
{
    const char *at = scanning->at ? scanning->at : scanning->holder->path;
    add_reason(scanning->dead, at, scanning->catalog->scanner.trouble);
    json_array_append_new(scanning->done, json_text(at));
}

/* Each plugin at which a child dies is left out, and the next child goes on with the others. */
static enum status look_at_all(struct scanning *scanning, const json_t *holders)
{
    const struct plugin_scanner *scanner = &scanning->catalog->scanner;
    size_t hangs = 0;
    bool ended = false;
    while (!ended && hangs < HANGS_MOST && json_array_size(scanning->dead) < CRASHES_MOST) {
        bool is_new = scanner->process == 0;
        size_t done = json_array_size(scanning->done);
        TRY(look_once(scanning, holders, &ended));
        bool is_first = is_new && json_array_size(scanning->done) == done;
        if (!ended && (is_first || scanner->is_late))
            bury(scanning);
        hangs += !ended && scanner->is_late;
        if (!ended && !scanning->at && json_array_size(scanning->dead) > 0)
            return STATUS_OK; /* it dies before any plugin, or when it is closed */
    }
    if (!ended)
        add_reason(scanning->dead, scanning->holder->path,
                   hangs < HANGS_MOST ? "too many of its plugins crashed"
                                      : "three of its plugins did not answer: the others were not "
                                        "tried");
    return STATUS_OK;
}

/* With the contents, since those of a holder that computes them change without its files. */
static void keep(const struct scanning *scanning)
{
    struct plugin_memory *memory = &scanning->catalog->memory;
    if (json_array_size(scanning->refused) > 0)
        plugin_memory_depend(memory, scanning->entry, LINKER);
    plugin_memory_set(memory, scanning->entry, "looked",
                      plugin_contents_object(&scanning->holder->contents));
    plugin_memory_set(memory, scanning->entry, "plugins", json_incref(scanning->plugins));
    plugin_memory_set(memory, scanning->entry, "refused", json_incref(scanning->refused));
    plugin_memory_set(memory, scanning->entry, "dead", json_incref(scanning->dead));
}

static enum status look(struct scanning *scanning)
{
    json_t *holders = plugin_catalog_around(scanning->catalog, scanning->holder);
    scanning->plugins = json_array();
    scanning->refused = json_array();
    scanning->dead = json_array();
    scanning->done = json_array();
    plugin_catalog_show(scanning->catalog, scanning->holder);
    enum status status =
        holders && scanning->plugins && scanning->refused && scanning->dead && scanning->done
            ? look_at_all(scanning, holders)
            : fail_memory("a list of plugins");
    if (status == STATUS_OK)
        status = add_all(scanning, false);
    if (status == STATUS_OK)
        keep(scanning);
    json_decref(holders);
    json_decref(scanning->plugins);
    json_decref(scanning->refused);
    json_decref(scanning->dead);
    json_decref(scanning->done);
    free(scanning->at);
    return status;
}

/* ---- all holders ---- */

static bool is_known(const struct plugin_holder *holder, const json_t *entry)
{
    const json_t *rows = json_object_get(entry, "plugins");
    json_t *contents = plugin_contents_object(&holder->contents);
    bool are = json_is_array(rows) && json_equal(json_object_get(entry, "looked"), contents);
    json_decref(contents);
    for (size_t i = 0; are && i < json_array_size(rows); i++) {
        struct plugin_row row;
        are = plugin_row_of_object(json_array_get(rows, i), &row);
        plugin_row_free(&row);
    }
    return are;
}

static enum status scan_holder(struct plugin_scan *scan, struct plugin_catalog *catalog,
                               const struct plugin_holder *holder)
{
    if (holder->trouble)
        return add_skip(scan, holder->kind, holder->path, holder->trouble, holder->is_remembered);
    if (holder->kind->contents && holder->contents.count == 0)
        return STATUS_OK;
    json_t *entry = plugin_memory_entry(&catalog->memory, holder->kind, holder->path);
    if (!entry)
        return fail_memory("a list of plugins");
    struct scanning scanning = {.scan = scan,
                                .catalog = catalog,
                                .holder = holder,
                                .entry = entry,
                                .plugins = json_object_get(entry, "plugins"),
                                .refused = json_object_get(entry, "refused"),
                                .dead = json_object_get(entry, "dead")};
    return is_known(holder, entry) ? add_all(&scanning, true) : look(&scanning);
}

static size_t rank(const struct plugin_kind *kind)
{
    size_t i = 0;
    while (plugin_kind_at(i) != kind)
        i++;
    return i;
}

static int in_order(const void *a, const void *b)
{
    const struct plugin_row *left = a, *right = b;
    if (left->kind != right->kind)
        return rank(left->kind) < rank(right->kind) ? -1 : 1;
    return strcmp(left->id, right->id);
}

enum status plugin_scan_init(struct plugin_scan *scan, const struct plugin_kind *kind,
                             double patience)
{
    *scan = (struct plugin_scan){0};
    struct plugin_catalog catalog;
    enum status status = plugin_catalog_open(&catalog, kind, patience);
    for (size_t i = 0; status == STATUS_OK && i < catalog.count; i++)
        status = scan_holder(scan, &catalog, &catalog.holders[i]);
    plugin_catalog_close(&catalog);
    if (scan->count > 0)
        qsort(scan->rows, scan->count, sizeof *scan->rows, in_order);
    return status;
}

void plugin_scan_free(struct plugin_scan *scan)
{
    for (size_t i = 0; i < scan->count; i++)
        plugin_row_free(&scan->rows[i]);
    for (size_t i = 0; i < scan->skip_count; i++) {
        free(scan->skips[i].holder);
        free(scan->skips[i].reason);
    }
    free(scan->rows);
    free(scan->skips);
}
