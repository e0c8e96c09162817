#include "plugin/scan/plugin_catalog.h"

#include "base/json_text.h"
#include "base/library.h"
#include "base/monotonic.h"
#include "base/short_list.h"
#include "base/suggest.h"
#include "plugin/isolation/plugin_sandbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Seconds between lines of progress, on a terminal (SHOW_EVERY) and elsewhere (REPORT_EVERY). */
static const double SHOW_EVERY = 0.2, REPORT_EVERY = 5;

static double next_show(void)
{
    return monotonic_seconds() + (isatty(STDERR_FILENO) ? SHOW_EVERY : REPORT_EVERY);
}

/* ---- the holders ---- */

struct listing {
    struct plugin_catalog *catalog;
    const struct plugin_kind *kind;
};

static void add_holder(void *context, const char *path)
{
    const struct listing *listing = context;
    struct plugin_catalog *catalog = listing->catalog;
    struct plugin_holder *more =
        realloc(catalog->holders, (catalog->count + 1) * sizeof *catalog->holders);
    struct plugin_holder holder = {.kind = listing->kind, .path = strdup(path)};
    if (more)
        catalog->holders = more;
    catalog->is_whole = catalog->is_whole && more && holder.path;
    if (catalog->is_whole)
        more[catalog->count++] = holder;
    else
        free(holder.path);
}

static enum status list_holders(struct plugin_catalog *catalog, const struct plugin_kind *only)
{
    const struct plugin_kind *kind;
    for (size_t i = 0; (kind = plugin_kind_at(i)) != NULL; i++) {
        struct listing listing = {catalog, kind};
        enum status status = STATUS_OK;
        if ((!only || only == kind) && library_of_choice(kind->library, only, &status))
            status = kind->list(&(struct plugin_found){add_holder, &listing});
        TRY(status);
    }
    return catalog->is_whole ? STATUS_OK : fail_memory("a list of plugins");
}

/* Show the progress of a scan, now and then. */
static void plugin_catalog_show(struct plugin_catalog *catalog, const struct plugin_holder *holder)
{
    if (monotonic_seconds() < catalog->next_show)
        return;
    catalog->next_show = next_show();
    (isatty(STDERR_FILENO) ? note_transient : note)("scanning plugins: %zu of %zu (%.40s)",
                                                    (size_t)(holder - catalog->holders),
                                                    catalog->count, holder->path);
}

/* ---- their contents ---- */

/* Ask for a holder's contents. If the holder crashes the child, a new child tries it again, since
 * an earlier holder may have corrupted the memory. Without an answer, holder->trouble says why. */
static enum status ask_contents(struct plugin_scanner *scanner, struct plugin_holder *holder,
                                bool computes, json_t **answer)
{
    bool is_new = scanner->process == 0;
    TRY(plugin_scanner_contents(scanner, holder->kind, holder->path, computes, answer));
    if (!*answer && !is_new && !scanner->is_late)
        TRY(plugin_scanner_contents(scanner, holder->kind, holder->path, computes, answer));
    plugin_contents_free(&holder->contents);
    if (plugin_contents_of_object(*answer, &holder->contents))
        return STATUS_OK;
    const char *error = json_string_value(json_object_get(*answer, "error"));
    holder->trouble = strdup(error     ? error
                             : *answer ? "answered nonsense about its plugins"
                                       : scanner->trouble);
    return holder->trouble ? STATUS_OK : fail_memory("a list of plugins");
}

/* Get the contents in a text manifest, from the memory or by a scan. */
static enum status find_contents(struct plugin_catalog *catalog, struct plugin_holder *holder,
                                 json_t *entry)
{
    json_t *answer = NULL;
    if (plugin_contents_of_object(json_object_get(entry, "contents"), &holder->contents))
        return STATUS_OK;
    plugin_catalog_show(catalog, holder);
    enum status status = ask_contents(&catalog->scanner, holder, false, &answer);
    if (holder->trouble)
        plugin_memory_set(&catalog->memory, entry, "trouble", json_text(holder->trouble));
    else if (status == STATUS_OK)
        plugin_memory_set(&catalog->memory, entry, "contents", json_incref(answer));
    json_decref(answer);
    return status;
}

/* Get the contents that a manifest computes. They depend on more than files, so this asks each
 * time, unless that took too long. */
static enum status compute_contents(struct plugin_catalog *catalog, struct plugin_holder *holder,
                                    json_t *entry)
{
    json_t *answer = NULL;
    plugin_catalog_show(catalog, holder);
    enum status status = ask_contents(&catalog->scanner, holder, true, &answer);
    if (holder->trouble && catalog->scanner.is_late)
        plugin_memory_set(&catalog->memory, entry, "trouble", json_text(holder->trouble));
    json_decref(answer);
    return status;
}

/* Leave out a holder that is a link to a path outside of the folders that the sandbox allows. */
static enum status refuse_link(const struct plugin_catalog *catalog, struct plugin_holder *holder)
{
    struct stat about;
    if (lstat(holder->path, &about) != 0 || !S_ISLNK(about.st_mode) ||
        !(plugin_sandbox_parts() & SANDBOX_FILES) ||
        plugin_reads_include(&catalog->reads, holder->path))
        return STATUS_OK;
    holder->trouble =
        strdup("it is a link out of the folders of plugins, which isolated plugins do "
               "not follow; name the folder where it leads in the search path");
    return holder->trouble ? STATUS_OK : fail_memory("a list of plugins");
}

static enum status look_into(struct plugin_catalog *catalog, struct plugin_holder *holder)
{
    if (!holder->kind->contents)
        return STATUS_OK;
    TRY(refuse_link(catalog, holder));
    if (holder->trouble)
        return STATUS_OK;
    json_t *entry = plugin_memory_entry(&catalog->memory, holder->kind, holder->path);
    const char *trouble = json_string_value(json_object_get(entry, "trouble"));
    if (!entry)
        return fail_memory("a list of plugins");
    if (trouble) {
        holder->trouble = strdup(trouble);
        holder->is_remembered = true;
        return holder->trouble ? STATUS_OK : fail_memory("a list of plugins");
    }
    TRY(find_contents(catalog, holder, entry));
    return holder->contents.is_changing && !holder->trouble
               ? compute_contents(catalog, holder, entry)
               : STATUS_OK;
}

enum status plugin_catalog_open(struct plugin_catalog *catalog, const struct plugin_kind *kind,
                                double patience)
{
    *catalog = (struct plugin_catalog){.is_whole = true, .next_show = next_show()};
    plugin_scanner_init(&catalog->scanner);
    if (patience > 0)
        catalog->scanner.patience = patience;
    plugin_memory_open(&catalog->memory);
    TRY(list_holders(catalog, kind));
    TRY(plugin_reads_init(&catalog->reads, (char *const[]){NULL}));
    for (size_t i = 0; i < catalog->count; i++)
        TRY(look_into(catalog, &catalog->holders[i]));
    return STATUS_OK;
}

void plugin_catalog_close(struct plugin_catalog *catalog)
{
    if (isatty(STDERR_FILENO))
        note_transient("%s", "");
    plugin_scanner_free(&catalog->scanner);
    plugin_memory_close(&catalog->memory);
    for (size_t i = 0; i < catalog->count; i++) {
        struct plugin_holder *holder = &catalog->holders[i];
        plugin_contents_free(&holder->contents);
        free(holder->path);
        free(holder->trouble);
    }
    free(catalog->holders);
    plugin_reads_free(&catalog->reads);
}

/* ---- holders that a plugin needs ---- */

static bool contains(char *const *texts, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(texts[i], text) == 0)
            return true;
    return false;
}

static bool has(const struct plugin_holder *holder, const char *id)
{
    return contains(holder->contents.ids, holder->contents.count, id);
}

static const struct plugin_holder *holder_of(const struct plugin_catalog *catalog,
                                             const struct plugin_kind *kind, const char *id)
{
    for (size_t i = 0; i < catalog->count; i++)
        if (catalog->holders[i].kind == kind && has(&catalog->holders[i], id))
            return &catalog->holders[i];
    return NULL;
}

/* An array of the bases and `holder`, and if an id is given, the holders that serve the id. */
static json_t *gather(const struct plugin_catalog *catalog, const struct plugin_holder *holder,
                      const char *id)
{
    json_t *paths = json_array();
    for (size_t i = 0; i < catalog->count; i++) {
        const struct plugin_holder *other = &catalog->holders[i];
        if (other->kind == holder->kind && other->contents.is_base && other != holder)
            json_array_append_new(paths, json_text(other->path));
    }
    json_array_append_new(paths, json_text(holder->path));
    for (size_t i = 0; id && i < catalog->count; i++) {
        const struct plugin_holder *other = &catalog->holders[i];
        if (other->kind == holder->kind && !other->contents.is_base && other != holder &&
            contains(other->contents.served, other->contents.served_count, id))
            json_array_append_new(paths, json_text(other->path));
    }
    return paths;
}

/* The text after the last / # or :, except at the end. */
static const char *last_part(const char *id)
{
    const char *part = id;
    for (const char *at = id; *at; at++)
        if (strchr("/#:", *at) && at[1])
            part = at + 1;
    return part;
}

static void offer_ids(const struct plugin_catalog *catalog, struct suggest *near)
{
    for (size_t i = 0; i < catalog->count; i++)
        for (size_t j = 0; j < catalog->holders[i].contents.count; j++)
            suggest_offer(near, catalog->holders[i].contents.ids[j]);
}

/* Offer ids and names of plugins that scans of a kind, or of all kinds (NULL), have found. */
static void offer_remembered(const struct plugin_catalog *catalog, const struct plugin_kind *kind,
                             struct suggest *near)
{
    const char *key;
    json_t *entry, *row;
    size_t i;
    json_object_foreach(catalog->memory.holders, key, entry)
        json_array_foreach(json_object_get(entry, "plugins"), i, row)
    {
        const char *of = json_string_value(json_object_get(row, "kind"));
        const char *id = json_string_value(json_object_get(row, "id"));
        const char *name = json_string_value(json_object_get(row, "name"));
        if (!of || !id || (kind && strcmp(kind->name, of) != 0))
            continue;
        suggest_offer(near, id);
        if (name)
            suggest_offer_as(near, name, id);
    }
}

/* `hint` becomes "; did you mean ...?", or "". */
static void suggest_plugins(const struct plugin_catalog *catalog, const struct plugin_kind *kind,
                            const char *id, char hint[SUGGEST_TEXT])
{
    const char *const tries[] = {id, last_part(id)};
    hint[0] = '\0';
    for (size_t i = 0; i < sizeof tries / sizeof *tries && !hint[0]; i++) {
        struct suggest near;
        suggest_init(&near, tries[i]);
        offer_ids(catalog, &near);
        offer_remembered(catalog, kind, &near);
        snprintf(hint, SUGGEST_TEXT, "%s", suggest_text(&near));
        suggest_free(&near);
    }
}

static bool remembers(const struct plugin_catalog *catalog, const char *id)
{
    const char *key;
    json_t *entry, *row;
    size_t i;
    json_object_foreach(catalog->memory.holders, key, entry)
        json_array_foreach(json_object_get(entry, "plugins"), i, row)
    {
        const char *one = json_string_value(json_object_get(row, "id"));
        if (one && strcmp(one, id) == 0)
            return true;
    }
    return false;
}

enum status plugin_catalog_fail(const struct plugin_catalog *catalog,
                                const struct plugin_kind *kind, const char *id,
                                const json_t *answer)
{
    const char *error = json_string_value(json_object_get(answer, "error"));
    char hint[SUGGEST_TEXT] = "";
    const char *own =
        strstr(error, "; did you mean"); /* suggests only libraries or labels of that kind */
    if (!remembers(catalog, id))
        suggest_plugins(catalog, kind, id, hint);
    int length = (int)(own && hint[0] ? (size_t)(own - error) : strlen(error));
    return fail(plugin_cause(json_integer_value(json_object_get(answer, "cause"))), "%.*s%s",
                length, error, hint);
}

static enum status refuse(const struct plugin_catalog *catalog, const struct plugin_kind *kind,
                          const char *id)
{
    char hint[SUGGEST_TEXT];
    struct short_list left_out = {0};
    suggest_plugins(catalog, kind, id, hint);
    for (size_t i = 0; i < catalog->count; i++)
        if (catalog->holders[i].kind == kind && catalog->holders[i].trouble)
            short_list_add(&left_out, catalog->holders[i].path);
    return fail(CAUSE_MISSING,
                "cannot find the %s plugin %s%s (halo plugins list lists them all%s%s)", kind->name,
                id, hint, left_out.count ? " but those of " : "",
                left_out.count ? short_list_text(&left_out, "") : "");
}

enum status plugin_catalog_needed(const struct plugin_catalog *catalog,
                                  const struct plugin_kind *kind, const char *id, json_t **holders)
{
    const struct plugin_holder *holder = holder_of(catalog, kind, id);
    if (kind->contents && !holder)
        return refuse(catalog, kind, id);
    *holders = kind->contents ? gather(catalog, holder, id) : json_array();
    return *holders ? STATUS_OK : fail_memory("a list of plugins");
}

/* ---- describing ---- */

static enum status keep_holders(const json_t *holders, struct plugin_info *info)
{
    info->holders = calloc(json_array_size(holders) + 1, sizeof *info->holders);
    if (!info->holders)
        return fail_memory("a plugin");
    for (size_t i = 0; i < json_array_size(holders); i++) {
        char *path = strdup(json_string_value(json_array_get(holders, i)));
        if (!path)
            return fail_memory("a plugin");
        info->holders[info->holder_count++] = path;
    }
    return STATUS_OK;
}

static enum status parse_description(const struct plugin_catalog *catalog,
                                     const struct plugin_kind *kind, const char *id,
                                     const json_t *answer, struct plugin_info **info)
{
    if (!answer)
        return fail(CAUSE_OTHER, "cannot load %s: it %s", id, catalog->scanner.trouble);
    if (json_object_get(answer, "error"))
        return plugin_catalog_fail(catalog, kind, id, answer);
    TRY(plugin_info_of_object(json_object_get(answer, "plugin"), info));
    if ((*info)->kind == kind && (!kind->contents || strcmp((*info)->id, id) == 0))
        return STATUS_OK;
    plugin_info_destroy(*info);
    *info = NULL;
    return fail(CAUSE_OTHER, "cannot load %s: it described another plugin", id);
}

static enum status describe_needing(struct plugin_catalog *catalog, const struct plugin_kind *kind,
                                    const char *id, const json_t *holders,
                                    struct plugin_info **info)
{
    json_t *answer;
    struct plugin_info *made = NULL;
    TRY(plugin_scanner_describe(&catalog->scanner, kind, id, holders, false, &answer));
    enum status status = parse_description(catalog, kind, id, answer, &made);
    if (status == STATUS_OK)
        status = keep_holders(holders, made);
    json_decref(answer);
    if (status == STATUS_OK)
        *info = made;
    else
        plugin_info_destroy(made);
    return status;
}

enum status plugin_describe_isolated(const struct plugin_kind *kind, const char *id,
                                     struct plugin_info **info)
{
    struct plugin_catalog catalog;
    json_t *holders = NULL;
    enum status status = plugin_catalog_open(&catalog, kind, 0);
    if (status == STATUS_OK)
        status = plugin_catalog_needed(&catalog, kind, id, &holders);
    if (status == STATUS_OK)
        status = describe_needing(&catalog, kind, id, holders, info);
    json_decref(holders);
    plugin_catalog_close(&catalog);
    return status;
}

/* ---- all plugins ---- */

/* Most crashes, hangs and answers of one holder; after that its other plugins are left out.
 * HANGS_MOST is small, as each hang takes the whole patience. The others are for libraries that
 * give false lists of plugins. */
enum { CRASHES_MOST = 1000, HANGS_MOST = 3, ANSWERS_MOST = 100000 };

/* A file that changes when a library is installed, which a plugin may have lacked. */
static const char LINKER[] = "/etc/ld.so.cache";

/* The scan of one holder. */
struct scanning {
    struct plugin_scan *scan;
    struct plugin_catalog *catalog;
    const struct plugin_holder *holder;
    json_t *entry; /* entry of the holder in plugin_memory */
    /* results: rows of plugins; {"id", "reason"} of refused and of dead plugins */
    json_t *plugins, *refused, *dead;
    json_t *done; /* ids that the next child skips */
    char *at;     /* id of the plugin that is being tried; NULL: none yet */
};

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
    if (!row.kind->contents || holder_of(scanning->catalog, row.kind, row.id) == scanning->holder)
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

/* ---- a scan, which continues in a new child if one dies ---- */

static void add_reason(json_t *list, const char *id, const char *reason)
{
    json_array_append_new(
        list, json_pack("{s:o, s:o}", "id", json_text(id), "reason", json_text(reason)));
}

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

/* Take an answer, which may be invalid. *ended: it was the last. */
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

/* Scan with one child until it has answered everything, or has died (*ended is then false). */
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

/* Note the plugin at which the child died as dead, so that the next child skips it. */
static void bury(struct scanning *scanning)
{
    const char *at = scanning->at ? scanning->at : scanning->holder->path;
    add_reason(scanning->dead, at, scanning->catalog->scanner.trouble);
    json_array_append_new(scanning->done, json_text(at));
}

/* Scan a holder. A plugin at which a child dies is left out; the next child scans the others. */
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
        /* A child that tried others before may have corrupted its memory. So a new child tries
         * the plugin again, unless it did not answer in time. */
        if (!ended && (is_first || scanner->is_late))
            bury(scanning);
        hangs += !ended && scanner->is_late;
        if (!ended && !scanning->at && json_array_size(scanning->dead) > 0)
            /* the child dies before it tries a plugin, or when the library is closed */
            return STATUS_OK;
    }
    if (!ended)
        add_reason(scanning->dead, scanning->holder->path,
                   hangs < HANGS_MOST ? "too many of its plugins crashed"
                                      : "three of its plugins did not answer: the others were not "
                                        "tried");
    return STATUS_OK;
}

/* Remember results with the contents: computed contents may change although no file does. */
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
    json_t *holders = scanning->holder->kind->contents
                          ? gather(scanning->catalog, scanning->holder, NULL)
                          : json_array();
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
