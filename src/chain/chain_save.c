#include "chain/chain_save.h"

#include "base/atomic_file.h"
#include "base/files_read.h"
#include "chain/chain_file.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct chain_save {
    struct atomic_file file;
    bool force;
    mode_t mask;               /* of permissions, the user's */
    const char *path;          /* the user's */
    char states[PATH_MAX];     /* FILE.state */
    char new_states[PATH_MAX]; /* hidden beside it; empty: there are none */
};

static int remove_one(const char *path, const struct stat *stats, int kind, struct FTW *where)
{
    (void)stats, (void)kind, (void)where;
    return remove(path);
}

static int remove_folder(const char *folder)
{
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Whether the folder holds only folders named by numbers, as halo makes them. */
static bool holds_states(const char *folder)
{
    DIR *listing = opendir(folder);
    bool only = listing != NULL;
    for (struct dirent *entry; only && (entry = readdir(listing));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            only = strspn(entry->d_name, "0123456789") == strlen(entry->d_name);
    if (listing)
        closedir(listing);
    return only;
}

/* An existing folder of states may be replaced. */
static enum status check_place(const struct chain_save *save, bool needed)
{
    struct stat stats;
    if (lstat(save->states, &stats) != 0)
        return STATUS_OK;
    if (!save->force)
        return needed ? fail(STATUS_FAILED, "%s exists; --force replaces it", save->states)
                      : STATUS_OK;
    if (files_read_below(save->states))
        return fail(STATUS_FAILED, "cannot replace %s: %s", save->states, FILES_READ_ADVICE);
    if (S_ISDIR(stats.st_mode) && holds_states(save->states))
        return STATUS_OK;
    return fail(STATUS_FAILED, "cannot replace %s: it holds other files than states", save->states);
}

static enum status make_hidden(struct chain_save *save)
{
    const char *slash = strrchr(save->states, '/'), *name = slash ? slash + 1 : save->states;
    char *hidden = save->new_states;
    int length = snprintf(hidden, sizeof save->new_states, "%.*s.%s.XXXXXX",
                          (int)(name - save->states), save->states, name);
    if ((size_t)length < sizeof save->new_states && mkdtemp(hidden) &&
        chmod(hidden, 0777 & ~save->mask) == 0)
        return STATUS_OK;
    *hidden = '\0';
    return fail(STATUS_FAILED, "cannot write %s: %s", save->states, strerror(errno));
}

static enum status save_states(struct chain_save *save, const struct stage_list *list)
{
    char folder[PATH_MAX + 24];
    for (size_t i = 0; i < list->count; i++) {
        const struct stage *stage = &list->stages[i];
        if (!stage_describe(stage).keeps_state)
            continue;
        if (!*save->new_states)
            TRY(make_hidden(save));
        snprintf(folder, sizeof folder, "%s/%zu", save->new_states, i + 1);
        TRY(stage->ops->save(stage, folder));
    }
    return STATUS_OK;
}

static enum status print_file(struct chain_save *save, const struct stage_list *list)
{
    FILE *stream = fdopen(save->file.fd, "w");
    enum status status =
        stream ? chain_file_print(list, save->path, stream) : fail_memory("a chain");
    if (stream ? fclose(stream) != 0 : close(save->file.fd) != 0)
        if (status == STATUS_OK)
            status = fail(STATUS_FAILED, "cannot write %s: %s", save->path, strerror(errno));
    return status;
}

enum status chain_save_create(const char *path, bool force, const struct stage_list *list,
                              struct chain_save **result)
{
    if (strcmp(path, "-") == 0)
        return fail(STATUS_USAGE, "a chain is saved in a file, not on standard output");
    struct chain_save *save = calloc(1, sizeof *save);
    if (!save)
        return fail_memory("a chain");
    save->force = force;
    save->path = path;
    save->mask = umask(0);
    umask(save->mask);
    size_t capacity = sizeof save->states - sizeof "..XXXXXX";
    bool any_state = false;
    for (size_t i = 0; i < list->count; i++)
        any_state |= stage_describe(&list->stages[i]).keeps_state;
    enum status status = STATUS_OK;
    if ((size_t)snprintf(save->states, sizeof save->states, "%s.state", path) >= capacity)
        status = fail(STATUS_FAILED, "cannot write %.40s...: its name is too long", path);
    if (status == STATUS_OK)
        status = check_place(save, any_state);
    if (status == STATUS_OK)
        status = atomic_file_open(&save->file, path, force);
    if (status == STATUS_OK)
        status = print_file(save, list);
    if (status == STATUS_OK)
        status = save_states(save, list);
    if (status != STATUS_OK)
        goto fail;
    *result = save;
    return STATUS_OK;
fail:
    chain_save_destroy(save);
    return status;
}

enum status chain_save_keep(struct chain_save *save)
{
    TRY(check_place(save, *save->new_states != '\0'));
    if (save->force && remove_folder(save->states) != 0 && errno != ENOENT)
        return fail(STATUS_FAILED, "cannot replace %s: %s", save->states, strerror(errno));
    if (*save->new_states && rename(save->new_states, save->states) != 0)
        return fail(STATUS_FAILED, "cannot write %s: %s", save->states, strerror(errno));
    *save->new_states = '\0';
    int error = atomic_file_keep(&save->file);
    return error ? fail(STATUS_FAILED, "cannot write %s: %s", save->path, strerror(error))
                 : STATUS_OK;
}

void chain_save_destroy(struct chain_save *save)
{
    if (!save)
        return;
    if (*save->new_states)
        (void)remove_folder(save->new_states);
    atomic_file_discard(&save->file);
    free(save);
}
