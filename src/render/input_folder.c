#include "render/input_folder.h"

#include "base/plural.h"
#include "sound/sound_format.h"

#include <errno.h>
#include <fts.h>
#include <string.h>
#include <sys/stat.h>

bool input_folder_is(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static int compare(const FTSENT **one, const FTSENT **other)
{
    return strcmp((*one)->fts_name, (*other)->fts_name);
}

static bool is_left_out(const FTSENT *entry, const struct stat *without)
{
    bool is_output = entry->fts_info == FTS_D && entry->fts_statp->st_ino == without->st_ino &&
                     entry->fts_statp->st_dev == without->st_dev;
    return entry->fts_level > 0 && (entry->fts_name[0] == '.' || is_output);
}

enum status input_folder_read(const char *folder, const char *without,
                              enum status (*found)(void *context, const char *path,
                                                   const char *within),
                              void *context)
{
    struct stat outputs = {0};
    char *roots[] = {(char *)folder, NULL};
    size_t files = 0, start = strlen(folder);
    (void)stat(without, &outputs);
    FTS *tree = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, compare);
    enum status status = tree ? STATUS_OK : fail_memory("names");
    for (FTSENT *entry; status == STATUS_OK && (entry = fts_read(tree));) {
        const char *within = entry->fts_path + start + strspn(entry->fts_path + start, "/");
        if (is_left_out(entry, &outputs))
            fts_set(tree, entry, FTS_SKIP);
        else if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR)
            status = fail_errno(entry->fts_errno, "cannot read the folder %s", entry->fts_path);
        else if (entry->fts_info == FTS_F && sound_format_is_of_name(entry->fts_path)) {
            status = found(context, entry->fts_path, within);
            files++;
        }
    }
    if (tree)
        fts_close(tree);
    TRY(status);
    if (files == 0)
        return fail(CAUSE_MISSING, "%s has no sound files", folder);
    note("%s: %zu sound file%s", folder, files, plural_s(files));
    return STATUS_OK;
}
