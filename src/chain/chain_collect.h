/* Copies the files that a chain names, and makes args of its stages that name the copies, so that
 * the chain can be moved to another folder or machine.
 *
 * It copies masks, the files that their configurations named when they were loaded (files_named.h),
 * and the files of plugins' parameters. It does not copy libraries of plugins, folders, and files
 * that a configuration within invert: or combine: names: a warning lists them.
 * Threads: the control thread. */
#ifndef HALO_CHAIN_COLLECT_H
#define HALO_CHAIN_COLLECT_H

#include "base/atomic_folder.h"
#include "base/status.h"
#include "chain/stages.h"

/* A folder of copies beside a chain, CHAIN.files: complete or absent (atomic_folder.h).
 *
 * Copies keep the names of their files. If two files have one name, the second gets a number. Files
 * with the same content and ending may share a copy. The folder has a note that says what it is;
 * halo only replaces a folder with that note.
 * Threads: the control thread. */

struct chain_copies {
    struct atomic_folder folder;
    bool force;
    const char *base; /* name of the folder, points into its path */
    size_t count;
    struct chain_copy {
        char *source; /* path of the file, without links */
        char *name;   /* name of the copy in the folder */
    } *files;
};

/* Prepare the copies for a chain at `path`; creates nothing yet. Call chain_copies_close() also
 * after an error. Errors: the folder exists (without `force`) or has other files. */
MUST_CHECK enum status chain_copies_open(struct chain_copies *copies, const char *path, bool force);
void chain_copies_close(struct chain_copies *copies); /* removes the folder unless it was kept */

/* Replace each link in a folder and below by a copy of its file. Errors: as above. */
MUST_CHECK enum status chain_copies_replace_links(const char *folder);

/* _keep gives the folder its name. If there are no copies, it only removes an old folder, with
 * `force`. _undo restores the state before. Errors: those of chain_copies_open(). */
MUST_CHECK enum status chain_copies_keep(struct chain_copies *copies);
void chain_copies_undo(struct chain_copies *copies);

/* All zero: empty. */
struct arg_list {
    size_t count;
    char **args;
};

/* Add a word, which the list then owns. A NULL word is the error that memory ran out. */
MUST_CHECK enum status arg_list_add(struct arg_list *list, char *word);
bool arg_list_has(const struct arg_list *list, const char *word);
void arg_list_free(struct arg_list *list);

/* Append the args of a loaded stage. Paths of files that are not copied are relative to `folder`,
 * the folder of the chain. Errors: a file cannot be read or copied, memory. */
MUST_CHECK enum status chain_collect_args(struct chain_copies *copies, const struct stage *stage,
                                          char *folder, struct arg_list *args);

#endif
