#include "plugin/plugin_places.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEPTH_MOST = 8 };

char *plugin_places_next(const char **list)
{
    while (**list == ':')
        ++*list;
    size_t length = strcspn(*list, ":");
    const char *from = *list, *home = getenv("HOME");
    bool is_home = home && from[0] == '~' && (length == 1 || from[1] == '/');
    char *place = NULL;
    *list += length;
    if (length > 0 && asprintf(&place, "%s%.*s", is_home ? home : "", (int)(length - is_home),
                               from + is_home) < 0)
        return NULL;
    return place;
}

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

/* Links are followed: what they lead to is what is loaded. */
static uint64_t add_path(uint64_t hash, const char *path, unsigned depth)
{
    struct stat entry;
    if (stat(path, &entry) != 0)
        return add_bytes(hash, "none", sizeof "none");
    hash = add_entry(hash, &entry);
    return S_ISDIR(entry.st_mode) ? add_folder(hash, path, depth) : hash;
}

void plugin_places_stamp(const char *path, const char *surroundings, char stamp[PLUGIN_STAMP])
{
    uint64_t hash = add_bytes(UINT64_C(0xcbf29ce484222325), surroundings, strlen(surroundings));
    snprintf(stamp, PLUGIN_STAMP, "%016" PRIx64, add_path(hash, path, 0));
}
