#include "chain/chain_paths.h"

#include "mask/design.h"
#include "mask/mask2d.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- which part of a word is a path ---- */

static bool begins(const char *word, const char *with)
{
    return strncmp(word, with, strlen(with)) == 0;
}

/* Where the path begins; NULL: there is none. */
static const char *mask_path(const char *word, size_t index)
{
    if (index > 0)
        return begins(word, "folder=") ? strchr(word, '=') + 1 : NULL;
    if (begins(word, "invert:"))
        return strchr(word, ':') + 1;
    return design_is_spec(word) ? NULL : word;
}

static const char *spectral_path(const char *word, size_t index)
{
    bool is_file = index == 0 && !begins(word, "preset=") && !mask2d_design_is_spec(word);
    return is_file ? word : NULL;
}

/* `at` is set for a value that may be a path: where there is such a file. */
static const char *plugin_path(const char *word, size_t index, bool *perhaps)
{
    if (index == 0)
        return strchr(word, ':') && !strstr(word, "://") && strchr(word, '/') ? word : NULL;
    if (begins(word, "@state="))
        return strchr(word, '=') + 1;
    *perhaps = true;
    const char *value = begins(word, "param:") ? strchr(word, '=') : NULL;
    return value ? value + 1 : NULL;
}

static const char *path_in(const struct stage_kind *kind, const char *word, size_t index,
                           bool *perhaps)
{
    *perhaps = false;
    if (strcmp(kind->option, "mask") == 0)
        return mask_path(word, index);
    if (strcmp(kind->option, "spectral") == 0)
        return spectral_path(word, index);
    if (strcmp(kind->option, "lv2") == 0 || strcmp(kind->option, "ladspa") == 0)
        return plugin_path(word, index, perhaps);
    return NULL;
}

/* ---- from here to there ---- */

static char *joined(const char *begin, size_t length, const char *folder, const char *path)
{
    size_t size = length + strlen(folder) + strlen(path) + 2;
    char *text = malloc(size);
    if (!text)
        return NULL;
    memcpy(text, begin, length);
    text[length] = '\0';
    if (*folder) {
        strcat(text, folder);
        if (folder[strlen(folder) - 1] != '/')
            strcat(text, "/");
    }
    return strcat(text, path);
}

/* The way from one absolute folder to another path, `../` for each folder left. */
static void relative(const char *from, const char *to, char way[static PATH_MAX])
{
    size_t common = 0, at = 0;
    for (; from[at] && from[at] == to[at]; at++)
        if (from[at] == '/')
            common = at + 1;
    if (!from[at] && to[at] == '/') /* `to` lies below */
        common = at + 1;
    size_t used = 0;
    for (const char *left = from + (common > strlen(from) ? strlen(from) : common); *left;) {
        used += (size_t)snprintf(way + used, PATH_MAX - used, "../");
        left = strchr(left, '/');
        if (!left || used + 4 > PATH_MAX)
            break;
        left++;
    }
    snprintf(way + used, PATH_MAX - used, "%s", to + common);
}

char *chain_paths_for_folder(const struct stage_kind *kind, const char *word, size_t index,
                             const char *folder)
{
    bool perhaps;
    const char *path = path_in(kind, word, index, &perhaps);
    char there[PATH_MAX], base[PATH_MAX], way[PATH_MAX];
    if (!path || *path == '/' || (perhaps && access(path, F_OK) != 0) || !realpath(path, there) ||
        !realpath(folder, base))
        return strdup(word);
    relative(base, there, way);
    return joined(word, (size_t)(path - word), "", way);
}

char *chain_paths_from_folder(const struct stage_kind *kind, const char *word, size_t index,
                              const char *folder)
{
    bool perhaps;
    const char *path = path_in(kind, word, index, &perhaps);
    if (!path || *path == '/' || strcmp(folder, ".") == 0)
        return strdup(word);
    char *moved = joined(word, (size_t)(path - word), folder, path);
    if (moved && perhaps && access(moved + (path - word), F_OK) != 0) {
        free(moved);
        return strdup(word);
    }
    return moved;
}

enum status chain_folder_of(const char *path, char folder[static PATH_MAX])
{
    if (strlen(path) >= PATH_MAX)
        return fail(STATUS_FAILED, "cannot open chain %.40s...: its name is too long", path);
    char copy[PATH_MAX];
    strcpy(copy, path);
    strcpy(folder, dirname(copy));
    return STATUS_OK;
}
