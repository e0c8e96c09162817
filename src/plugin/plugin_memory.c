#include "plugin/plugin_memory.h"

#include "base/cache_file.h"
#include "base/json_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { VERSION = 1, SIZE_MOST = 1 << 24 };

const char *plugin_memory_place(void)
{
    static char place[CACHE_FILE_PATH];
    return cache_file_path(place, "plugins.json");
}

void plugin_memory_open(struct plugin_memory *memory)
{
    *memory = (struct plugin_memory){0};
    const char *place = plugin_memory_place();
    size_t size;
    char *text = place ? cache_file_read(place, SIZE_MOST, &size) : NULL;
    json_t *root = text ? json_loadb(text, size, 0, NULL) : NULL;
    free(text);
    json_t *troubles = json_object_get(root, "troubles");
    bool is_ours = json_integer_value(json_object_get(root, "version")) == VERSION;
    memory->troubles = is_ours && json_is_object(troubles) ? json_incref(troubles) : json_object();
    json_decref(root);
}

void plugin_memory_close(struct plugin_memory *memory)
{
    const char *place = memory->is_changed ? plugin_memory_place() : NULL;
    json_t *root =
        place ? json_pack("{s:i, s:O}", "version", VERSION, "troubles", memory->troubles) : NULL;
    char *text = json_line(root, JSON_INDENT(2));
    if (text && !cache_file_write(place, text, strlen(text)))
        note_detail("cannot write %s: %s", place, strerror(errno));
    free(text);
    json_decref(memory->troubles);
}

/* For the caller to free(), with an absolute path where the holder is a file; NULL: memory. */
static char *key_of(const struct plugin_kind *kind, const char *holder)
{
    char *key = NULL, *text = NULL, *path = realpath(holder, NULL);
    json_t *readable = json_text(path ? path : holder);
    if (readable && asprintf(&text, "%s %s", kind->name, json_string_value(readable)) >= 0)
        key = text;
    json_decref(readable);
    free(path);
    return key;
}

static json_int_t nanoseconds(const struct stat *entry)
{
    return (json_int_t)entry->st_mtim.tv_sec * 1000000000 + entry->st_mtim.tv_nsec;
}

const char *plugin_memory_trouble(const struct plugin_memory *memory,
                                  const struct plugin_kind *kind, const char *holder,
                                  const char *file)
{
    char *key = key_of(kind, holder);
    const json_t *known = key ? json_object_get(memory->troubles, key) : NULL;
    free(key);
    struct stat entry;
    if (!known || !file || stat(file, &entry) != 0)
        return NULL;
    bool is_same =
        json_integer_value(json_object_get(known, "size")) == (json_int_t)entry.st_size &&
        json_integer_value(json_object_get(known, "modified")) == nanoseconds(&entry);
    return is_same ? json_string_value(json_object_get(known, "trouble")) : NULL;
}

void plugin_memory_add(struct plugin_memory *memory, const struct plugin_kind *kind,
                       const char *holder, const char *file, const char *trouble)
{
    struct stat entry;
    char *key = file && stat(file, &entry) == 0 ? key_of(kind, holder) : NULL;
    if (!key)
        return;
    json_t *known = json_pack("{s:o, s:I, s:I, s:o}", "file", json_text(file), "size",
                              (json_int_t)entry.st_size, "modified", nanoseconds(&entry), "trouble",
                              json_text(trouble));
    memory->is_changed |= known && json_object_set_new(memory->troubles, key, known) == 0;
    free(key);
}

void plugin_memory_remove(struct plugin_memory *memory, const struct plugin_kind *kind,
                          const char *holder)
{
    char *key = key_of(kind, holder);
    memory->is_changed |= key && json_object_del(memory->troubles, key) == 0;
    free(key);
}
