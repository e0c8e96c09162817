#include "plugin/plugin_ladspa_library.h"

#include "base/short_list.h"
#include "base/suggest.h"
#include "base/text_stream.h"
#include "plugin/plugin_places.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LABELS_MOST = 10000 };

static const char suffix[] = ".so";

static const char *places(void)
{
    const char *own = getenv("LADSPA_PATH");
    return own && own[0] ? own : HALO_LADSPA_PLACES;
}

static bool is_file(const char *path)
{
    struct stat entry;
    return stat(path, &entry) == 0 && S_ISREG(entry.st_mode);
}

static bool ends_in_suffix(const char *name)
{
    size_t length = strlen(name);
    return length >= sizeof suffix && strcmp(name + length + 1 - sizeof suffix, suffix) == 0;
}

static int is_library(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && ends_in_suffix(entry->d_name);
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* The path of the first library of this name, for the caller to free(); NULL: none. */
static char *look_for(const char *name)
{
    char *path = NULL;
    const char *list = places();
    for (char *place; !path && (place = plugin_places_next(&list)) != NULL; free(place)) {
        if (asprintf(&path, "%s/%s%s", place, name, ends_in_suffix(name) ? "" : suffix) < 0)
            path = NULL;
        if (path && !is_file(path)) {
            free(path);
            path = NULL;
        }
    }
    return path;
}

static enum status report_place(const char *place,
                                void (*found)(void *context, const char *holder, const char *file),
                                void *context)
{
    struct dirent **entries;
    int count = scandir(place, &entries, is_library, by_bytes);
    enum status status = STATUS_OK;
    for (int i = 0; i < count; i++) {
        char *path = NULL, *first = look_for(entries[i]->d_name);
        if (asprintf(&path, "%s/%s", place, entries[i]->d_name) < 0) {
            path = NULL;
            status = fail_memory("a list of plugins");
        } else if (first && strcmp(first, path) == 0) {
            found(context, path, path);
        }
        free(first);
        free(path);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return status;
}

enum status plugin_ladspa_libraries(void (*found)(void *context, const char *holder,
                                                  const char *file),
                                    void *context)
{
    enum status status = STATUS_OK;
    const char *list = places();
    for (char *place; status == STATUS_OK && (place = plugin_places_next(&list)) != NULL;
         free(place))
        status = report_place(place, found, context);
    return status;
}

/* Without folder and suffix; NULL: memory. */
static char *bare_name(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    return strndup(base, strlen(base) - (ends_in_suffix(base) ? sizeof suffix - 1 : 0));
}

static void offer(void *context, const char *path, const char *file)
{
    (void)file;
    char *name = bare_name(path);
    if (name)
        suggest_offer(context, name);
    free(name);
}

static enum status refuse(const char *name)
{
    struct suggest near;
    suggest_init(&near, name);
    enum status status = plugin_ladspa_libraries(offer, &near);
    if (status == STATUS_OK)
        status = fail(CAUSE_MISSING, "there is no LADSPA library %s in %s%s", name, places(),
                      suggest_text(&near));
    suggest_free(&near);
    return status;
}

/* Where the library of this name or path is, for the caller to free(); NULL: nowhere. */
static char *path_of(const char *name)
{
    char *path;
    if (!strchr(name, '/'))
        return look_for(name);
    if (is_file(name) || ends_in_suffix(name))
        path = strdup(name);
    else if (asprintf(&path, "%s%s", name, suffix) < 0)
        path = NULL;
    if (path && is_file(path))
        return path;
    free(path);
    return NULL;
}

enum status plugin_ladspa_library_find(const char *name, char **path)
{
    *path = path_of(name);
    if (*path)
        return STATUS_OK;
    return strchr(name, '/') ? fail(CAUSE_MISSING, "there is no LADSPA library %s", name)
                             : refuse(name);
}

enum status plugin_ladspa_library_name(const char *path, char **name)
{
    *name = bare_name(path);
    char *found = *name ? look_for(*name) : NULL;
    struct stat here, there;
    bool is_same = found && stat(path, &here) == 0 && stat(found, &there) == 0 &&
                   here.st_dev == there.st_dev && here.st_ino == there.st_ino;
    free(found);
    if (is_same)
        return STATUS_OK;
    free(*name);
    *name = strdup(path);
    return *name ? STATUS_OK : fail_memory("a plugin");
}

/* ---- ids ---- */

/* The first colon from `at` on that has no backslash before it, or the end. */
static const char *colon_in(const char *at)
{
    while (*at && *at != ':')
        at += at[0] == '\\' && at[1] == ':' ? 2 : 1;
    return at;
}

/* `length` characters of an id without their backslashes; NULL: memory. */
static char *plain_name(const char *id, size_t length)
{
    char *name = malloc(length + 1), *to = name;
    for (size_t i = 0; name && i < length; i++)
        if (id[i] != '\\' || i + 1 == length || id[i + 1] != ':')
            *to++ = id[i];
    if (name)
        *to = '\0';
    return name;
}

static bool is_there(const char *name)
{
    char *path = path_of(name);
    free(path);
    return path != NULL;
}

static enum status cut(const char *id, const char *end, char **library, const char **label)
{
    free(*library);
    *library = plain_name(id, (size_t)(end - id));
    *label = *end ? end + 1 : end;
    return *library ? STATUS_OK : fail_memory("a plugin");
}

enum status plugin_ladspa_id_split(const char *id, char **library, const char **label)
{
    const char *first = colon_in(id), *end = first;
    *library = NULL;
    TRY(cut(id, end, library, label));
    while (*end && !is_there(*library)) {
        end = colon_in(end + 1);
        TRY(cut(id, end, library, label));
    }
    return is_there(*library) ? STATUS_OK : cut(id, first, library, label);
}

enum status plugin_ladspa_id_make(const char *path, const char *label, char **id)
{
    char *name, *text = NULL;
    size_t size = 0;
    TRY(plugin_ladspa_library_name(path, &name));
    FILE *stream = text_stream_open(&text, &size);
    for (const char *at = name; stream && *at; at++)
        fprintf(stream, "%s%c", *at == ':' ? "\\" : "", *at);
    if (stream)
        fprintf(stream, ":%s", label);
    bool written = text_stream_finish(stream) == 0;
    free(name);
    if (!written)
        free(text);
    *id = written ? text : NULL;
    return written ? STATUS_OK : fail_memory("a plugin");
}

const char *plugin_ladspa_id_label(const char *id)
{
    const char *end = colon_in(id);
    return *end ? end + 1 : end;
}

enum status plugin_ladspa_library_open(const char *path, struct plugin_ladspa_library *library)
{
    *library = (struct plugin_ladspa_library){.path = strdup(path)};
    if (!library->path)
        return fail_memory("a plugin");
    /* A name without a slash would be searched in the system's library folders. */
    char *place = realpath(path, NULL);
    library->handle = dlopen(place ? place : path, RTLD_NOW | RTLD_LOCAL);
    free(place);
    if (!library->handle) {
        const char *reason = dlerror();
        return fail(CAUSE_DAMAGED, "cannot load a LADSPA library: %s", reason ? reason : path);
    }
    void *symbol = dlsym(library->handle, "ladspa_descriptor");
    if (!symbol)
        return fail(CAUSE_DAMAGED, "%s is not a LADSPA library: it has no ladspa_descriptor", path);
    memcpy(&library->descriptor, &symbol, sizeof symbol);
    return STATUS_OK;
}

void plugin_ladspa_library_close(struct plugin_ladspa_library *library)
{
    if (library->handle)
        dlclose(library->handle);
    free(library->path);
}

const LADSPA_Descriptor *plugin_ladspa_library_at(const struct plugin_ladspa_library *library,
                                                  unsigned long index)
{
    return index < LABELS_MOST ? library->descriptor(index) : NULL;
}

static enum status refuse_label(const struct plugin_ladspa_library *library, const char *label)
{
    struct suggest near;
    suggest_init(&near, label);
    struct short_list all = {0};
    const LADSPA_Descriptor *descriptor;
    for (unsigned long i = 0; (descriptor = plugin_ladspa_library_at(library, i)) != NULL; i++)
        if (descriptor->Label) {
            suggest_offer(&near, descriptor->Label);
            short_list_add(&all, descriptor->Label);
        }
    const char *why = suggest_text(&near);
    enum status status;
    if (!label[0])
        status = fail(CAUSE_OTHER, "choose a plugin of %s as LIBRARY:LABEL; it has %s",
                      library->path, short_list_text(&all, ""));
    else if (why[0])
        status = fail(CAUSE_MISSING, "there is no plugin '%s' in %s%s", label, library->path, why);
    else
        status = fail(CAUSE_MISSING, "there is no plugin '%s' in %s; it has %s", label,
                      library->path, short_list_text(&all, ""));
    suggest_free(&near);
    return status;
}

enum status plugin_ladspa_library_label(const struct plugin_ladspa_library *library,
                                        const char *label, const LADSPA_Descriptor **descriptor)
{
    for (unsigned long i = 0; (*descriptor = plugin_ladspa_library_at(library, i)) != NULL; i++)
        if ((*descriptor)->Label && strcmp((*descriptor)->Label, label) == 0)
            return STATUS_OK;
    return refuse_label(library, label);
}
