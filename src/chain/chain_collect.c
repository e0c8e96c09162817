#include "chain/chain_collect.h"

#include "base/files_named.h"
#include "chain/chain_copies.h"
#include "chain/stage_paths.h"
#include "mask/mask_load.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct collecting {
    struct chain_copies *copies;
    const struct stage *stage;
    char *chain_folder;
    enum status status; /* of what stage_paths_replace has called */
};

/* From the folder of the chain. What a file names depends on its folder, so such a one has a copy
 * of its own. NULL: collect->status, or memory. */
static char *path_of_copy(struct collecting *collect, const char *source)
{
    const char *name, *path_named;
    char *path;
    bool names = files_named_at(source, 0, &name, &path_named);
    collect->status = chain_copies_add(collect->copies, source, !names, &name);
    if (collect->status != STATUS_OK)
        return NULL;
    return asprintf(&path, "%s/%s", collect->copies->base, name) < 0 ? NULL : path;
}

static char *stays(struct collecting *collect, const char *path, const struct stage_path *about,
                   const char *why)
{
    warning("--%s %s: %s is not collected: %s", collect->stage->ops->option, collect->stage->text,
            path, why);
    return stage_path_to_folder(collect->chain_folder, path, about);
}

static char *replace_file(struct collecting *collect, const char *path,
                          const struct stage_path *about)
{
    char real[PATH_MAX];
    struct stat file;
    bool there = realpath(path, real) && stat(real, &file) == 0;
    if (about->perhaps && !there)
        return strdup(path);
    if (there && !S_ISREG(file.st_mode))
        return stays(collect, path, about, "it is no regular file");
    const char *name, *named;
    if (there && about->use == STAGE_PATH_FILE && files_named_at(real, 0, &name, &named))
        return stays(collect, path, about, "it names other files; use it as a stage of its own");
    if (there)
        return path_of_copy(collect, real);
    collect->status = fail_errno(errno, "cannot collect %s", path);
    return NULL;
}

static char *replace_path(void *context, const char *path, const struct stage_path *about)
{
    struct collecting *collect = context;
    switch (about->use) {
    case STAGE_PATH_FILE:
    case STAGE_PATH_MASK:
    case STAGE_PATH_NAMED:
        return replace_file(collect, path, about);
    case STAGE_PATH_FOLDER:
        return strdup(collect->copies->base);
    case STAGE_PATH_STATE:
        return stage_path_to_folder(collect->chain_folder, path, about); /* saved anew */
    case STAGE_PATH_LIBRARY:
        return stays(collect, path, about, "install the library there");
    }
    return strdup(path);
}

struct arg_list {
    size_t count;
    char **args; /* NULL-terminated */
};

/* Takes the word; NULL: memory. */
static enum status add_arg(struct arg_list *list, char *word)
{
    char **larger = word ? realloc(list->args, (list->count + 2) * sizeof *list->args) : NULL;
    if (!larger) {
        free(word);
        return fail_memory("a chain");
    }
    list->args = larger;
    list->args[list->count++] = word;
    list->args[list->count] = NULL;
    return STATUS_OK;
}

static bool has_arg(const struct arg_list *list, const char *word)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->args[i], word) == 0)
            return true;
    return false;
}

/* file=NAME=>PATH, or for a name that another file uses for something else file=FILE:NAME=>PATH,
 * `owner` being the path of FILE's copy; NULL: memory. */
static char *file_arg(const struct arg_list *list, const char *owner, const char *name,
                      const char *copy)
{
    char *word, *start;
    if (asprintf(&word, "file=%s" MASK_FILE_GIVES "%s", name, copy) < 0)
        return NULL;
    if (has_arg(list, word) || asprintf(&start, "file=%s" MASK_FILE_GIVES, name) < 0)
        return word;
    bool taken = false;
    for (size_t i = 0; i < list->count && !taken; i++)
        taken = strncmp(list->args[i], start, strlen(start)) == 0;
    free(start);
    if (!taken)
        return word;
    free(word);
    return asprintf(&word, "file=%s:%s" MASK_FILE_GIVES "%s", strrchr(owner, '/') + 1, name, copy) <
                   0
               ? NULL
               : word;
}

/* Stages with one configuration may find its files in different folders (folder=); all have one
 * copy of it, and so the same files. */
static enum status refuse_two(const char *by, size_t index)
{
    const char *name, *path, *other, *others;
    bool found = files_named_at(by, index, &name, &path);
    for (size_t i = 0; found && i < index && files_named_at(by, i, &other, &others); i++)
        if (strcmp(name, other) == 0 && strcmp(path, others) != 0)
            return fail(CAUSE_UNSUPPORTED, "cannot collect %s: it names both %s and %s by %s", by,
                        others, path, name);
    return STATUS_OK;
}

/* What a configuration names, and what these name; `owner` is the path of its copy. */
static enum status add_named(struct collecting *collect, const char *by, const char *owner,
                             struct arg_list *list)
{
    const char *name, *path;
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && files_named_at(by, i, &name, &path); i++) {
        TRY(refuse_two(by, i));
        char *copy = path_of_copy(collect, path);
        char *word = copy ? file_arg(list, owner, name, copy) : NULL;
        if (collect->status != STATUS_OK)
            status = collect->status;
        else if (word && has_arg(list, word))
            free(word);
        else if ((status = add_arg(list, word)) == STATUS_OK)
            status = add_named(collect, path, copy, list);
        free(copy);
    }
    return status;
}

/* The words that path_in finds, but for file=, of which there are new ones. */
static enum status make_args(struct collecting *collect, char *const *spec, struct arg_list *list)
{
    const struct stage_ops *ops = collect->stage->ops;
    struct stage_path about = {0};
    for (size_t w = 0; spec[w]; w++) {
        if (ops->path_in && ops->path_in(spec, w, 0, &about) && about.use == STAGE_PATH_NAMED)
            continue;
        char *word = stage_paths_replace(ops, spec, w, replace_path, collect);
        if (!word && collect->status != STATUS_OK)
            return collect->status;
        TRY(add_arg(list, word));
    }
    if (!ops->path_in || !ops->path_in(spec, 0, 0, &about) || about.use != STAGE_PATH_MASK)
        return STATUS_OK;
    char real[PATH_MAX];
    if (!realpath(spec[0], real))
        return fail_errno(errno, "cannot collect %s", spec[0]);
    return add_named(collect, real, list->args[0], list);
}

enum status chain_collect_args(struct chain_copies *copies, const struct stage *stage, char *folder,
                               char ***result)
{
    struct collecting collect = {.copies = copies, .stage = stage, .chain_folder = folder};
    struct arg_list list = {0};
    char **spec = spec_split(stage->text);
    enum status status = spec ? make_args(&collect, spec, &list) : fail_memory("a chain");
    free(spec);
    *result = list.args;
    return status;
}
