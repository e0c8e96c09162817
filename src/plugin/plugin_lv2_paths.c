#include "plugin/plugin_lv2_paths.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool make_folder(struct lv2_paths *paths)
{
    const char *temporary = getenv("TMPDIR");
    if (paths->folder)
        return true;
    if (asprintf(&paths->folder, "%s/halo-plugin-XXXXXX",
                 temporary && *temporary ? temporary : "/tmp") < 0) {
        paths->folder = NULL;
        return false;
    }
    if (mkdtemp(paths->folder))
        return true;
    note("cannot make a folder for a plugin's files, %s: %s", paths->folder, strerror(errno));
    free(paths->folder);
    paths->folder = NULL;
    return false;
}

/* Each folder above the last part. */
static void make_leading(char *path, size_t from)
{
    for (char *at = path + from; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        mkdir(path, 0777); /* there already, or the plugin's fopen fails */
        *at = '/';
    }
}

static char *make_path(LV2_State_Make_Path_Handle handle, const char *name)
{
    struct lv2_paths *paths = handle;
    char *path;
    if (!make_folder(paths) || asprintf(&path, "%s/%s", paths->folder, name) < 0)
        return NULL;
    make_leading(path, strlen(paths->folder) + 1);
    return path;
}

static char *same_path(LV2_State_Map_Path_Handle handle, const char *path)
{
    (void)handle;
    return strdup(path);
}

static void free_path(LV2_State_Free_Path_Handle handle, char *path)
{
    (void)handle;
    free(path);
}

void lv2_paths_init(struct lv2_paths *paths)
{
    *paths = (struct lv2_paths){
        .make = {.handle = paths, .path = make_path},
        .map = {.abstract_path = same_path, .absolute_path = same_path},
        .release = {.free_path = free_path},
    };
}

static int remove_one(const char *path, const struct stat *entry, int type, struct FTW *where)
{
    (void)entry, (void)type, (void)where;
    return remove(path);
}

void lv2_paths_free(struct lv2_paths *paths)
{
    enum { OPEN_MOST = 16 };
    if (paths->folder)
        nftw(paths->folder, remove_one, OPEN_MOST, FTW_DEPTH | FTW_PHYS);
    free(paths->folder);
    paths->folder = NULL;
}
