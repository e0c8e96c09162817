#include "plugin/plugin_catalog.h"

#include "base/json_text.h"
#include "base/library.h"
#include "base/monotonic.h"
#include "base/short_list.h"
#include "base/suggest.h"
#include "plugin/plugin_info_json.h"
#include "plugin/plugin_sandbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Seconds, on a terminal and elsewhere. */
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

static void add_holder(void *context, const char *path, const char *file)
{
    const struct listing *listing = context;
    struct plugin_catalog *catalog = listing->catalog;
    struct plugin_holder *more =
        realloc(catalog->holders, (catalog->count + 1) * sizeof *catalog->holders);
    struct plugin_holder holder = {.kind = listing->kind, .path = strdup(path)};
    (void)file;
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
            status = kind->list(add_holder, &listing);
        TRY(status);
    }
    return catalog->is_whole ? STATUS_OK : fail_memory("a list of plugins");
}

void plugin_catalog_show(struct plugin_catalog *catalog, const struct plugin_holder *holder)
{
    if (monotonic_seconds() < catalog->next_show)
        return;
    catalog->next_show = next_show();
    (isatty(STDERR_FILENO) ? note_transient : note)("scanning plugins: %zu of %zu (%.40s)",
                                                    (size_t)(holder - catalog->holders),
                                                    catalog->count, holder->path);
}

/* ---- their contents ---- */

/* One that crashes the child is tried again in a new one, since an earlier one may have corrupted
 * its memory. Without an answer the trouble is the holder's. */
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

/* What a manifest of text says, which is remembered. */
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

/* What a manifest computes depends on more than its files: it is asked for each time, unless that
 * takes too long. */
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

/* A link may lead anywhere, as one in a bundle from an archive: the sandbox does not follow it. */
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

/* ---- what a plugin needs ---- */

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

bool plugin_catalog_counts(const struct plugin_catalog *catalog, const struct plugin_holder *holder,
                           const char *id)
{
    return !holder->kind->contents || holder_of(catalog, holder->kind, id) == holder;
}

/* The bases and `holder`, and with an id those that serve it. */
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

json_t *plugin_catalog_around(const struct plugin_catalog *catalog,
                              const struct plugin_holder *holder)
{
    return holder->kind->contents ? gather(catalog, holder, NULL) : json_array();
}

/* What follows the last / # or :, a trailing one ignored. */
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

/* The plugins that scans of a kind, or of all (NULL), have found: by their ids and their names. */
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
        strstr(error, "; did you mean"); /* of that kind's libraries or labels alone */
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
