#include "base/user_folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A file's path: in the folder of an XDG variable, else in the folder `home` of the home folder. */
static enum status path_below(const char *variable, const char *home, const char *file,
                              char path[static PATH_MAX])
{
    const char *folder = getenv(variable), *own = getenv("HOME");
    int length = -1;
    if (folder && folder[0] == '/')
        length = snprintf(path, PATH_MAX, "%s/%s", folder, file);
    else if (own && own[0] == '/')
        length = snprintf(path, PATH_MAX, "%s/%s/%s", own, home, file);
    if (length < 0)
        return fail(CAUSE_MISSING, "there is no home folder: set HOME or %s", variable);
    return length < PATH_MAX
               ? STATUS_OK
               : fail(CAUSE_UNSUPPORTED, "the path of %s is too long: see %s", file, variable);
}

enum status user_folder_config(const char *file, char path[static PATH_MAX])
{
    return path_below("XDG_CONFIG_HOME", ".config", file, path);
}

enum status user_folder_state(const char *file, char path[static PATH_MAX])
{
    return path_below("XDG_STATE_HOME", ".local/state", file, path);
}

enum status user_folder_make(const char *path)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(folder, 0700) != 0 && errno != EEXIST)
            return fail_errno(errno, "cannot make the folder %s", folder);
        *slash = '/';
    }
    return STATUS_OK;
}
