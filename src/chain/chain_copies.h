/* A folder of copies beside a chain, CHAIN.files: complete or absent (atomic_folder.h).
 *
 * Names stay; of two that are alike the second is numbered; files of one content and ending may
 * share a copy. A note within says what the folder is, and only such a folder is ever replaced.
 * Threads: the control thread.
 */
#ifndef HALO_CHAIN_COPIES_H
#define HALO_CHAIN_COPIES_H

#include "base/atomic_folder.h"
#include "base/status.h"

struct chain_copies {
    struct atomic_folder folder;
    bool force;
    const char *base; /* the folder's name, in its path */
    size_t count;
    struct chain_copy {
        char *source; /* without links */
        char *name;   /* in the folder */
    } *files;
};

/* For a chain at `path`; nothing is made yet. Close it, also on failure. Errors: the folder exists
 * (without `force`) or holds other files. */
MUST_CHECK enum status chain_copies_open(struct chain_copies *copies, const char *path, bool force);
void chain_copies_close(struct chain_copies *copies); /* removes what was not kept */

/* The name of the copy of a file, `source` being without links; until the next call. With `shared`
 * it may be that of another file with this content. Errors: it cannot be read, the copy cannot be
 * written. */
MUST_CHECK enum status chain_copies_add(struct chain_copies *copies, const char *source,
                                        bool shared, const char **name);

/* Replace each link in a folder and below by a copy of its file. Errors: as above. */
MUST_CHECK enum status chain_copies_replace_links(const char *folder);

/* Put the folder in its place, or, with `force`, remove an old one if there are no copies; and take
 * that back. Errors: as of open. */
MUST_CHECK enum status chain_copies_keep(struct chain_copies *copies);
void chain_copies_undo(struct chain_copies *copies);

#endif
