#include "live/osc_local.h"

#include "base/short_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- the folder ---- */

/* Owned by this user, and nobody has the permissions `not_others`. */
static bool is_ours(int folder, mode_t not_others)
{
    struct stat about;
    return fstat(folder, &about) == 0 && about.st_uid == geteuid() &&
           (about.st_mode & not_others) == 0;
}

static const char no_folder[] = "the folder halo is not there";

/* -1, with the cause in *flaw. */
static int open_folder(bool makes, const char **flaw)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    int folder = -1;
    *flaw = "XDG_RUNTIME_DIR is not set";
    if (!runtime || runtime[0] != '/')
        return -1;
    int above = open(runtime, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (above >= 0 && !is_ours(above, S_IWGRP | S_IWOTH))
        *flaw = "other users can write in XDG_RUNTIME_DIR";
    else if (above < 0 || (makes && mkdirat(above, "halo", S_IRWXU) < 0 && errno != EEXIST))
        *flaw = strerror(errno);
    else if ((folder = openat(above, "halo", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
        *flaw = errno == ENOENT ? no_folder : strerror(errno);
    if (folder >= 0 && !is_ours(folder, S_IRWXG | S_IRWXO)) {
        *flaw = "other users can use the folder halo in XDG_RUNTIME_DIR";
        close(folder);
        folder = -1;
    }
    if (above >= 0)
        close(above);
    return folder;
}

/* By the folder's descriptor: its path may be longer than an address, and may change. */
static struct sockaddr_un address_in(int folder, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", folder, name);
    return address;
}

/* A socket that answers can be sent to the sender's own name, which the kernel makes up. -1: nobody
 * listens there; the socket is removed. */
static int connect_to(int folder, const char *name)
{
    const struct sockaddr_un to = address_in(folder, name), own = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&own, sizeof own.sun_family) == 0 &&
        connect(fd, (const struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    if (fd >= 0 && errno == ECONNREFUSED)
        (void)unlinkat(folder, name, 0);
    if (fd >= 0)
        close(fd);
    return -1;
}

static int is_socket(const struct dirent *entry)
{
    return entry->d_type == DT_SOCK;
}

/* ---- who listens ---- */

/* A name that another process uses is not taken from it. */
static bool bind_as(struct osc_local *local, const char *name)
{
    const struct sockaddr_un address = address_in(local->folder, name);
    int other = connect_to(local->folder, name);
    if (other >= 0)
        close(other);
    snprintf(local->name, sizeof local->name, "%s", name);
    return other < 0 && bind(local->fd, (const struct sockaddr *)&address, sizeof address) == 0;
}

void osc_local_listen(struct osc_local *local)
{
    char pid[24];
    const char *service = getenv("HALO_SERVICE"), *flaw;
    snprintf(pid, sizeof pid, "%ld", (long)getpid());
    bool is_named =
        service && *service && *service != '.' && !strchr(service, '/') && strlen(service) <= 64;
    local->fd = -1;
    local->folder = open_folder(true, &flaw);
    if (local->folder >= 0) {
        local->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (local->fd >= 0 && ((is_named && bind_as(local, service)) || bind_as(local, pid)))
            return;
        flaw = strerror(errno);
        *local->name = '\0';
        osc_local_close(local);
        local->fd = -1;
    }
    note_detail("halo live --send cannot reach this: %s", flaw);
}

void osc_local_close(struct osc_local *local)
{
    if (local->fd < 0)
        return;
    if (*local->name)
        (void)unlinkat(local->folder, local->name, 0);
    close(local->fd);
    close(local->folder);
}

/* ---- who sends ---- */

static enum status fail_none(void)
{
    return fail(CAUSE_MISSING, "no halo live answers: start one, or give its --osc PORT");
}

static enum status connect_to_only(int folder, char name[static OSC_LOCAL_NAME_MOST], int *fd)
{
    struct dirent **entries;
    struct short_list all = {0};
    int count = scandirat(folder, ".", &entries, is_socket, alphasort);
    *fd = -1;
    for (int i = 0; i < count; i++) {
        int found = connect_to(folder, entries[i]->d_name);
        if (found >= 0) {
            short_list_add(&all, entries[i]->d_name);
            snprintf(name, OSC_LOCAL_NAME_MOST, "%.*s", OSC_LOCAL_NAME_MOST - 1,
                     entries[i]->d_name);
            if (*fd >= 0)
                close(*fd);
            *fd = found;
        }
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    if (all.count == 1)
        return STATUS_OK;
    if (*fd < 0)
        return fail_none();
    close(*fd);
    return fail(CAUSE_USAGE, "several halo live run: %s; choose one with --to",
                short_list_text(&all, ""));
}

enum status osc_local_connect(char name[static OSC_LOCAL_NAME_MOST], int *fd)
{
    const char *flaw;
    int folder = open_folder(false, &flaw);
    enum status status = STATUS_OK;
    if (folder < 0)
        return flaw == no_folder ? fail_none()
                                 : fail(CAUSE_USAGE, "--send needs --osc PORT: %s", flaw);
    if (!*name)
        status = connect_to_only(folder, name, fd);
    else if (strchr(name, '/') || (*fd = connect_to(folder, name)) < 0)
        status = fail(CAUSE_MISSING, "no halo live runs as %s", name);
    close(folder);
    return status;
}
