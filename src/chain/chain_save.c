#include "chain/chain_save.h"

#include "base/atomic_file.h"
#include "base/atomic_folder.h"
#include "base/files_read.h"
#include "base/text_stream.h"
#include "chain/chain_copies.h"
#include "chain/chain_file.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct chain_save {
    struct atomic_file file;
    bool force;
    const char *path; /* the user's */
    struct atomic_folder states;
    struct chain_copies copies;
    bool collects; /* them */
};

/* Whether the folder holds only folders named by numbers, as halo makes them. */
static bool holds_states(const char *folder)
{
    DIR *listing = opendir(folder);
    bool only = listing != NULL;
    errno = 0;
    for (struct dirent *entry; only && (entry = readdir(listing));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            only = strspn(entry->d_name, "0123456789") == strlen(entry->d_name);
    only = only && errno == 0; /* the end, not an error */
    if (listing)
        closedir(listing);
    return only;
}

/* An existing folder of states may be replaced. */
static enum status check_place(const struct chain_save *save, bool needed)
{
    struct stat stats;
    if (lstat(save->states.path, &stats) != 0)
        return STATUS_OK;
    if (!save->force)
        return needed ? fail(CAUSE_EXISTS, "%s exists; --force replaces it", save->states.path)
                      : STATUS_OK;
    if (files_read_below(save->states.path))
        return fail(CAUSE_EXISTS, "cannot replace %s: %s", save->states.path, FILES_READ_ADVICE);
    if (S_ISDIR(stats.st_mode) && holds_states(save->states.path))
        return STATUS_OK;
    return fail(CAUSE_EXISTS, "cannot replace %s: it holds other files than states",
                save->states.path);
}

static enum status save_states(struct chain_save *save, const struct stage_list *list)
{
    char folder[PATH_MAX];
    for (size_t i = 0; i < list->count; i++) {
        const struct stage *stage = &list->stages[i];
        if (!stage_describe(stage).keeps_state)
            continue;
        if (!save->states.hidden)
            TRY(atomic_folder_make(&save->states));
        if ((size_t)snprintf(folder, sizeof folder, "%s/%zu", save->states.hidden, i + 1) >=
            sizeof folder)
            return fail(CAUSE_UNSUPPORTED, "cannot write %.40s...: its name is too long",
                        save->states.path);
        TRY(stage->ops->save(stage, folder));
    }
    return save->collects && save->states.hidden ? chain_copies_replace_links(save->states.hidden)
                                                 : STATUS_OK;
}

static enum status print_file(struct chain_save *save, const struct stage_list *list)
{
    FILE *stream = fdopen(save->file.fd, "w");
    enum status status = stream ? chain_file_print(list, save->path, save->states.hidden,
                                                   save->collects ? &save->copies : NULL, stream)
                                : STATUS_OK;
    int error = text_stream_finish(stream);
    if (!stream)
        close(save->file.fd);
    return status == STATUS_OK && error ? fail_errno(error, "cannot write %s", save->path) : status;
}

enum status chain_save_create(const char *path, bool force, bool collects,
                              const struct stage_list *list, struct chain_save **result)
{
    if (strcmp(path, "-") == 0)
        return fail(CAUSE_USAGE, "a chain is saved in a file, not on standard output");
    struct chain_save *save = calloc(1, sizeof *save);
    if (!save)
        return fail_memory("a chain");
    save->file.fd = save->file.held = save->states.held = save->copies.folder.held = -1;
    save->collects = collects;
    save->force = force;
    save->path = path;
    char states[PATH_MAX];
    bool any_state = false;
    for (size_t i = 0; i < list->count; i++)
        any_state |= stage_describe(&list->stages[i]).keeps_state;
    enum status status = STATUS_OK;
    if ((size_t)snprintf(states, sizeof states, "%s.state", path) >= sizeof states)
        status = fail(CAUSE_UNSUPPORTED, "cannot write %.40s...: its name is too long", path);
    if (status == STATUS_OK)
        status = atomic_folder_open(&save->states, states);
    if (status == STATUS_OK)
        status = check_place(save, any_state);
    if (status == STATUS_OK && collects)
        status = chain_copies_open(&save->copies, path, force);
    if (status == STATUS_OK)
        status = atomic_file_open(&save->file, path, force);
    if (status == STATUS_OK)
        status = save_states(save, list);
    if (status == STATUS_OK)
        status = print_file(save, list);
    if (status != STATUS_OK)
        goto fail;
    *result = save;
    return STATUS_OK;
fail:
    chain_save_destroy(save);
    return status;
}

static enum status keep_states(struct chain_save *save)
{
    TRY(check_place(save, save->states.hidden));
    int error = save->states.hidden || save->force ? atomic_folder_keep(&save->states) : 0;
    return error ? fail_errno(error, "cannot write %s", save->states.path) : STATUS_OK;
}

/* States and copies first, so that the chain never names those that are not there. */
enum status chain_save_keep(struct chain_save *save)
{
    enum status status = save->collects ? chain_copies_keep(&save->copies) : STATUS_OK;
    if (status == STATUS_OK)
        status = keep_states(save);
    if (status == STATUS_OK)
        status = atomic_file_keep(&save->file, save->path);
    if (save->file.temporary) { /* not even the name */
        atomic_folder_undo(&save->states);
        chain_copies_undo(&save->copies);
    }
    return status;
}

void chain_save_destroy(struct chain_save *save)
{
    if (!save)
        return;
    atomic_folder_close(&save->states);
    chain_copies_close(&save->copies);
    atomic_file_discard(&save->file);
    free(save);
}
