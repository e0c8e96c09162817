#include "live/driver_pipewire_server.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static const char *text_of(const char *variable, const char *otherwise)
{
    const char *text = getenv(variable);
    return text && *text ? text : otherwise;
}

static bool has_socket(const char *folder, const char *name)
{
    char path[PATH_MAX];
    struct stat file;
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    return length < (int)sizeof path && stat(path, &file) == 0 && S_ISSOCK(file.st_mode);
}

bool pipewire_server_may_run(void)
{
    const char *name = text_of("PIPEWIRE_REMOTE", "pipewire-0");
    const char *user = text_of("PIPEWIRE_RUNTIME_DIR", text_of("XDG_RUNTIME_DIR", NULL));
    bool is_plain = name[0] != '/' && name[0] != '[' && name[0] != '{' && name[0] != '@';
    return !is_plain || (user && has_socket(user, name)) || has_socket("/run/pipewire", name);
}
