/* Copies of the files that a chain names, and the args of its stages with these in their place, so
 * that the chain can be moved to another folder or machine.
 *
 * Copied are masks, what their configurations named when they were loaded
 * (files_named.h), and the files of plugins' parameters. What cannot be copied is named by a
 * warning and stays where it is: libraries of plugins, folders, and what a configuration within
 * invert: or combine: names.
 * Threads: the control thread.
 */
#ifndef HALO_CHAIN_COLLECT_H
#define HALO_CHAIN_COLLECT_H

#include "base/atomic_folder.h"
#include "base/status.h"
#include "chain/stages.h"

/* A folder of copies beside a chain, CHAIN.files: complete or absent (atomic_folder.h).
 *
 * Names stay; of two that are alike the second is numbered; files of one content and ending may
 * share a copy. A note within says what the folder is, and only such a folder is ever replaced.
 * Threads: the control thread.
 */

struct chain_copies {
    struct atomic_folder folder;
    bool force;
    const char *base; /* the folder's name, in its path */
    size_t count;
    struct chain_copy {
        char *source; /* without links */
        char *name;   /* name in the folder */
    } *files;
};

/* For a chain at `path`; nothing is made yet. Close it, also on failure. Errors: the folder exists
 * (without `force`) or holds other files. */
MUST_CHECK enum status chain_copies_open(struct chain_copies *copies, const char *path, bool force);
void chain_copies_close(struct chain_copies *copies); /* removes what was not kept */

/* Replace each link in a folder and below by a copy of its file. Errors: as above. */
MUST_CHECK enum status chain_copies_replace_links(const char *folder);

/* Put the folder in its place, or, with `force`, remove an old one if there are no copies; and take
 * that back. Errors: as of open. */
MUST_CHECK enum status chain_copies_keep(struct chain_copies *copies);
void chain_copies_undo(struct chain_copies *copies);

/* All zero: empty. */
struct arg_list {
    size_t count;
    char **args;
};

/* Takes the word; NULL: memory. */
MUST_CHECK enum status arg_list_add(struct arg_list *list, char *word);
bool arg_list_has(const struct arg_list *list, const char *word);
void arg_list_free(struct arg_list *list);

/* Append those of a loaded stage. Paths of what stays are from `folder`, that of the chain. Errors:
 * a file cannot be read or copied, memory. */
MUST_CHECK enum status chain_collect_args(struct chain_copies *copies, const struct stage *stage,
                                          char *folder, struct arg_list *args);

#endif
