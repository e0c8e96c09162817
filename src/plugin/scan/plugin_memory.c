#include "plugin/scan/plugin_memory.h"

#include "base/cache_file.h"
#include "base/json_text.h"
#include "plugin/isolation/plugin_supervisor.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VERSION = 2, SIZE_MOST = 1 << 26, SURROUNDINGS = 8192, DEPTH_MOST = 8 };

/* ---- stamps ---- */

/* FNV-1a, 64 bits. Source: Fowler, Noll and Vo, the reference constants. */
static uint64_t add_bytes(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t add_entry(uint64_t hash, const struct stat *entry)
{
    const int64_t facts[] = {entry->st_mode,        entry->st_size,         (int64_t)entry->st_ino,
                             entry->st_mtim.tv_sec, entry->st_mtim.tv_nsec, entry->st_ctim.tv_sec,
                             entry->st_ctim.tv_nsec};
    return add_bytes(hash, facts, sizeof facts);
}

static uint64_t add_path(uint64_t hash, const char *path, unsigned depth);

static int no_dots(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static uint64_t add_folder(uint64_t hash, const char *path, unsigned depth)
{
    struct dirent **entries;
    int count = depth < DEPTH_MOST ? scandir(path, &entries, no_dots, by_name) : -1;
    for (int i = 0; i < count; i++) {
        char *inner;
        hash = add_bytes(hash, entries[i]->d_name, strlen(entries[i]->d_name) + 1);
        if (asprintf(&inner, "%s/%s", path, entries[i]->d_name) >= 0) {
            hash = add_path(hash, inner, depth + 1);
            free(inner);
        }
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return hash;
}

/* Add a file or folder to a sum. Follows links, since their targets are loaded. */
static uint64_t add_path(uint64_t hash, const char *path, unsigned depth)
{
    struct stat entry;
    if (stat(path, &entry) != 0)
        return add_bytes(hash, "none", sizeof "none");
    hash = add_entry(hash, &entry);
    return S_ISDIR(entry.st_mode) ? add_folder(hash, path, depth) : hash;
}

/* A sum of the names, sizes and times of a file, or of all files below a folder. Each installation,
 * upgrade and removal changes the sum. Reads no file. */
static void stamp_path(const char *path, const char *surroundings, char stamp[PLUGIN_STAMP])
{
    uint64_t hash = add_bytes(UINT64_C(0xcbf29ce484222325), surroundings, strlen(surroundings));
    snprintf(stamp, PLUGIN_STAMP, "%016" PRIx64, add_path(hash, path, 0));
}

/* ---- the file ---- */

const char *plugin_memory_place(void)
{
    static char place[CACHE_FILE_PATH];
    return cache_file_path(place, "plugins.json");
}

void plugin_memory_open(struct plugin_memory *memory)
{
    *memory = (struct plugin_memory){0};
    stamp_path(own_program(), "", memory->program);
    const char *place = plugin_memory_place();
    size_t size;
    char *text = place ? cache_file_read(place, SIZE_MOST, &size) : NULL;
    json_t *root = text ? json_loadb(text, size, 0, NULL) : NULL;
    free(text);
    json_t *holders = json_object_get(root, "holders");
    bool is_ours = json_integer_value(json_object_get(root, "version")) == VERSION;
    memory->holders = is_ours && json_is_object(holders) ? json_incref(holders) : json_object();
    json_decref(root);
}

static void drop_what_is_gone(json_t *holders)
{
    const char *key;
    json_t *entry;
    void *next;
    json_object_foreach_safe(holders, next, key, entry)
    {
        const char *path = strchr(key, ' ');
        if (!path || access(path + 1, F_OK) != 0)
            json_object_del(holders, key);
    }
}

void plugin_memory_close(struct plugin_memory *memory)
{
    const char *place = memory->is_changed ? plugin_memory_place() : NULL;
    if (place)
        drop_what_is_gone(memory->holders);
    json_t *root =
        place ? json_pack("{s:i, s:O}", "version", VERSION, "holders", memory->holders) : NULL;
    char *text = json_line(root, JSON_INDENT(1));
    if (text && !cache_file_write(place, text, strlen(text)))
        note_detail("cannot write %s: %s", place, strerror(errno));
    free(text);
    json_decref(memory->holders);
}

/* The key of a holder, with its absolute path. The caller frees it. NULL: memory. */
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

static void stamp_of(const struct plugin_memory *memory, const struct plugin_kind *kind,
                     const char *holder, char stamp[PLUGIN_STAMP])
{
    const char *search = kind->path_variable ? getenv(kind->path_variable) : NULL;
    const char *libraries = getenv("LD_LIBRARY_PATH");
    char surroundings[SURROUNDINGS];
    snprintf(surroundings, sizeof surroundings, "%s\n%s\n%s\n%s", memory->program, holder,
             search ? search : "", libraries ? libraries : "");
    stamp_path(holder, surroundings, stamp);
}

static bool is_same(const json_t *stamp, const char *now)
{
    return json_is_string(stamp) && strcmp(json_string_value(stamp), now) == 0;
}

static bool is_fresh(const json_t *entry, const char *stamp)
{
    if (!is_same(json_object_get(entry, "stamp"), stamp))
        return false;
    const char *path;
    json_t *before;
    json_object_foreach(json_object_get(entry, "files"), path, before)
    {
        char now[PLUGIN_STAMP];
        stamp_path(path, "", now);
        if (!is_same(before, now))
            return false;
    }
    return true;
}

json_t *plugin_memory_entry(struct plugin_memory *memory, const struct plugin_kind *kind,
                            const char *holder)
{
    char stamp[PLUGIN_STAMP], *key = key_of(kind, holder);
    if (!key)
        return NULL;
    stamp_of(memory, kind, holder, stamp);
    json_t *entry = json_object_get(memory->holders, key);
    if (!is_fresh(entry, stamp)) {
        entry = json_pack("{s:s, s:{}}", "stamp", stamp, "files");
        if (!entry || json_object_set_new(memory->holders, key, entry) != 0)
            entry = NULL;
    }
    free(key);
    return entry;
}

void plugin_memory_set(struct plugin_memory *memory, json_t *entry, const char *key, json_t *value)
{
    memory->is_changed = true;
    if (!value || json_object_set_new(entry, key, value) != 0)
        json_object_del(entry, key);
}

void plugin_memory_depend(struct plugin_memory *memory, json_t *entry, const char *path)
{
    char stamp[PLUGIN_STAMP];
    stamp_path(path, "", stamp);
    json_object_set_new(json_object_get(entry, "files"), path, json_string(stamp));
    memory->is_changed = true;
}
