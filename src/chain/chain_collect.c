#include "chain/chain_collect.h"

#include "base/files_named.h"
#include "base/files_read.h"
#include "chain/stage_paths.h"
#include "import/mask_load.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Name of the note in each folder of copies. */
static const char note_name[] = "COLLECTED";
static const char note_text[] =
    "Copies of the files that the chain beside this folder names, made by halo --collect.\n"
    "halo replaces the whole folder when the chain is collected again with --force.\n";

enum { COPIES_MOST = 100000, COPY_BYTES = 1 << 16 };

/* ---- the folder ---- */

/* Whether the folder has the note, and only regular files. */
static bool holds_copies(const char *folder)
{
    DIR *listing = opendir(folder);
    bool only = listing != NULL, noted = false;
    errno = 0;
    for (struct dirent *entry; only && (entry = readdir(listing));) {
        struct stat about;
        noted |= strcmp(entry->d_name, note_name) == 0;
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            only = fstatat(dirfd(listing), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
                   S_ISREG(about.st_mode);
    }
    only = only && errno == 0; /* readdir() reached the end, without an error */
    if (listing)
        closedir(listing);
    return only && noted;
}

static enum status check_copies(const struct chain_copies *copies)
{
    const char *path = copies->folder.path;
    struct stat about;
    if (lstat(path, &about) != 0)
        return STATUS_OK;
    if (!copies->force)
        return fail(CAUSE_EXISTS, "%s exists; --force replaces it", path);
    if (files_read_below(path))
        return fail(CAUSE_EXISTS, "cannot replace %s: %s", path, FILES_READ_ADVICE);
    return S_ISDIR(about.st_mode) && holds_copies(path)
               ? STATUS_OK
               : fail(CAUSE_EXISTS, "cannot replace %s: it holds other files than copies", path);
}

enum status chain_copies_open(struct chain_copies *copies, const char *path, bool force)
{
    char folder[PATH_MAX];
    *copies = (struct chain_copies){.force = force, .folder.held = -1};
    if ((size_t)snprintf(folder, sizeof folder, "%s.files", path) >= sizeof folder)
        return fail(CAUSE_UNSUPPORTED, "cannot write %.40s...: its name is too long", path);
    if (strstr(path, MASK_FILE_GIVES))
        return fail(CAUSE_USAGE,
                    "cannot collect the files of a chain with '%s' in its name, such as %s",
                    MASK_FILE_GIVES, path);
    TRY(atomic_folder_open(&copies->folder, folder));
    const char *slash = strrchr(copies->folder.path, '/');
    copies->base = slash ? slash + 1 : copies->folder.path;
    return check_copies(copies);
}

enum status chain_copies_keep(struct chain_copies *copies)
{
    TRY(check_copies(copies));
    int error = copies->folder.hidden || copies->force ? atomic_folder_keep(&copies->folder) : 0;
    return error ? fail_errno(error, "cannot write %s", copies->folder.path) : STATUS_OK;
}

void chain_copies_undo(struct chain_copies *copies)
{
    atomic_folder_undo(&copies->folder);
}

void chain_copies_close(struct chain_copies *copies)
{
    for (size_t i = 0; i < copies->count; i++) {
        free(copies->files[i].source);
        free(copies->files[i].name);
    }
    free(copies->files);
    atomic_folder_close(&copies->folder);
}

/* ---- copies ---- */

static enum status copy_bytes(const char *source, FILE *from, const char *target)
{
    static char bytes[COPY_BYTES];
    FILE *to = fopen(target, "wbx");
    size_t size = 0;
    bool written = to != NULL;
    while (written && (size = fread(bytes, 1, sizeof bytes, from)) > 0)
        written = fwrite(bytes, 1, size, to) == size;
    int error = errno;
    if (to && fclose(to) != 0 && written) {
        error = errno;
        written = false;
    }
    if (ferror(from))
        return fail_errno(error, "cannot read %s", source);
    return written ? STATUS_OK : fail_errno(error, "cannot write the copy of %s", source);
}

static enum status copy_file(const char *source, const char *target)
{
    FILE *from;
    struct flaw flaw = files_read_open(source, &from);
    if (flaw.text)
        return fail(flaw.cause, "cannot copy %s: %s", source, flaw.text);
    enum status status = copy_bytes(source, from, target);
    fclose(from);
    return status;
}

static bool is_same_stream(FILE *one, FILE *other)
{
    int byte;
    do
        byte = getc(one);
    while (byte == getc(other) && byte != EOF);
    return byte == EOF && feof(one) && feof(other);
}

static enum status compare(const char *one, const char *other, bool *same)
{
    struct stat about, others;
    bool there = stat(one, &about) == 0 && stat(other, &others) == 0;
    *same = there && about.st_size == others.st_size;
    if (there && !*same)
        return STATUS_OK;
    FILE *first = there ? fopen(one, "rb") : NULL, *second = first ? fopen(other, "rb") : NULL;
    int error = errno;
    *same = second && is_same_stream(first, second);
    bool failed = !second || ferror(first) || ferror(second);
    if (second)
        fclose(second);
    if (first)
        fclose(first);
    return failed ? fail_errno(error, "cannot compare %s and %s", one, other) : STATUS_OK;
}

static const char *ending_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    return dot && dot > base ? dot : base + strlen(base);
}

/* Find a copy of the file, or with `shared` of its content. NULL: there is none. Copies with
 * another ending are not shared, since the ending may tell the kind of file. */
static enum status known_copy(const struct chain_copies *copies, const char *source, bool shared,
                              const char **name)
{
    *name = NULL;
    for (size_t i = 0; i < copies->count && !*name; i++) {
        const struct chain_copy *copy = &copies->files[i];
        bool same = strcmp(copy->source, source) == 0;
        if (!same && shared && strcmp(ending_of(copy->source), ending_of(source)) == 0)
            TRY(compare(copy->source, source, &same));
        *name = same ? copy->name : NULL;
    }
    return STATUS_OK;
}

static bool is_taken(const struct chain_copies *copies, const char *name)
{
    bool taken = strcmp(name, note_name) == 0;
    for (size_t i = 0; i < copies->count && !taken; i++)
        taken = strcasecmp(copies->files[i].name, name) == 0; /* some file systems ignore case */
    return taken;
}

/* A free name for a copy: the file's, with a number if it is taken (hall-2.wav). NULL: memory. */
static char *free_name(const struct chain_copies *copies, const char *source)
{
    const char *base = strrchr(source, '/') + 1, *ending = ending_of(source);
    char *name = strdup(base);
    for (size_t number = 2; name && is_taken(copies, name); number++) {
        free(name);
        if (asprintf(&name, "%.*s-%zu%s", (int)(ending - base), base, number, ending) < 0)
            name = NULL;
    }
    for (char *at = name; at && (at = strstr(at, MASK_FILE_GIVES));)
        at[1] = '_';
    return name;
}

static enum status make_folder(struct chain_copies *copies)
{
    if (copies->folder.hidden)
        return STATUS_OK;
    TRY(atomic_folder_make(&copies->folder));
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", copies->folder.hidden, note_name);
    FILE *stream = fopen(path, "wx");
    bool written = stream && fputs(note_text, stream) >= 0;
    if (stream && fclose(stream) != 0)
        written = false;
    return written ? STATUS_OK : fail_errno(errno, "cannot write %s", path);
}

/* Copy a file, whose path `source` has no links. *name is valid until the next call. With `shared`
 * it may be the copy of another file with the same content. */
static enum status chain_copies_add(struct chain_copies *copies, const char *source, bool shared,
                                    const char **name)
{
    TRY(known_copy(copies, source, shared, name));
    if (*name)
        return STATUS_OK;
    if (copies->count == COPIES_MOST)
        return fail(CAUSE_UNSUPPORTED, "cannot collect more than %d files", COPIES_MOST);
    struct chain_copy *files = realloc(copies->files, (copies->count + 1) * sizeof *files);
    if (!files)
        return fail_memory("a chain");
    copies->files = files;
    struct chain_copy copy = {.source = strdup(source), .name = free_name(copies, source)};
    files[copies->count++] = copy;
    if (!copy.source || !copy.name)
        return fail_memory("a chain");
    char target[PATH_MAX];
    TRY(make_folder(copies));
    if ((size_t)snprintf(target, sizeof target, "%s/%s", copies->folder.hidden, copy.name) >=
        sizeof target)
        return fail(CAUSE_UNSUPPORTED, "cannot copy %s: its name is too long", source);
    *name = copy.name;
    return copy_file(source, target);
}

/* ---- links ---- */

static enum status links_status; /* nftw has no context */

static int replace_link(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about, (void)where;
    char real[PATH_MAX];
    struct stat file;
    if (kind != FTW_SL && kind != FTW_SLN)
        return 0;
    if (!realpath(path, real) || stat(real, &file) != 0 || !S_ISREG(file.st_mode)) {
        warning("%s is not collected: it links to no regular file", path);
        return 0;
    }
    links_status =
        unlink(path) == 0 ? copy_file(real, path) : fail_errno(errno, "cannot replace %s", path);
    return links_status != STATUS_OK;
}

enum status chain_copies_replace_links(const char *folder)
{
    enum { FOLDERS_OPEN = 8 };
    links_status = STATUS_OK;
    if (nftw(folder, replace_link, FOLDERS_OPEN, FTW_PHYS) == 0 || links_status != STATUS_OK)
        return links_status;
    return fail_errno(errno, "cannot read %s", folder);
}

/* ---- the args of a stage ---- */

struct collecting {
    struct chain_copies *copies;
    const struct stage *stage;
    char *chain_folder;
    enum status status; /* error of path_of_copy() and others that stage_paths_replace calls */
};

/* The path of a file's copy, from the folder of the chain. A file that names others is not shared,
 * since those depend on its folder. NULL: collect->status, or memory. */
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
        /* the state is saved anew */
        return stage_path_to_folder(collect->chain_folder, path, about);
    case STAGE_PATH_LIBRARY:
        return stays(collect, path, about, "install the library there");
    }
    return strdup(path);
}

enum status arg_list_add(struct arg_list *list, char *word)
{
    char **larger = word ? realloc(list->args, (list->count + 1) * sizeof *list->args) : NULL;
    if (!larger) {
        free(word);
        return fail_memory("a chain");
    }
    list->args = larger;
    list->args[list->count++] = word;
    return STATUS_OK;
}

void arg_list_free(struct arg_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->args[i]);
    free(list->args);
}

bool arg_list_has(const struct arg_list *list, const char *word)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->args[i], word) == 0)
            return true;
    return false;
}

/* The word file=NAME=>PATH. If another file uses NAME for a different file, file=FILE:NAME=>PATH,
 * where `owner` is the path of FILE's copy. NULL: memory. */
static char *file_arg(const struct arg_list *list, const char *owner, const char *name,
                      const char *copy)
{
    char *word, *start;
    if (asprintf(&word, "file=%s" MASK_FILE_GIVES "%s", name, copy) < 0)
        return NULL;
    if (arg_list_has(list, word) || asprintf(&start, "file=%s" MASK_FILE_GIVES, name) < 0)
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

/* Refuse stages that find the files of one configuration in different folders (folder=): they share
 * its copy, and so would share its files. */
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

/* Add the files named by a configuration, and by these. `owner`: the configuration's copy. */
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
        else if (word && arg_list_has(list, word))
            free(word);
        else if ((status = arg_list_add(list, word)) == STATUS_OK)
            status = add_named(collect, path, copy, list);
        free(copy);
    }
    return status;
}

/* Make the args with paths of copies. Words with file= are left out, as new ones are made. */
static enum status make_args(struct collecting *collect, char *const *spec, struct arg_list *list)
{
    const struct stage_ops *ops = collect->stage->ops;
    struct stage_path about = {0};
    for (size_t w = 0; spec[w]; w++) {
        if (stage_path_in(ops, spec, w, 0, &about) && about.use == STAGE_PATH_NAMED)
            continue;
        char *word = stage_paths_replace(ops, spec, w, replace_path, collect);
        if (!word && collect->status != STATUS_OK)
            return collect->status;
        TRY(arg_list_add(list, word));
    }
    if (!stage_path_in(ops, spec, 0, 0, &about) || about.use != STAGE_PATH_MASK)
        return STATUS_OK;
    char real[PATH_MAX];
    if (!realpath(spec[0], real))
        return fail_errno(errno, "cannot collect %s", spec[0]);
    return add_named(collect, real, list->args[0], list);
}

enum status chain_collect_args(struct chain_copies *copies, const struct stage *stage, char *folder,
                               struct arg_list *args)
{
    struct collecting collect = {.copies = copies, .stage = stage, .chain_folder = folder};
    char **spec = spec_split(stage->text);
    enum status status = spec ? make_args(&collect, spec, args) : fail_memory("a chain");
    free(spec);
    return status;
}
