/* A folder that is complete or absent, even after a power cut. It is created under a hidden name.
 * When all its content is on the disk, it is exchanged with the old folder. Remains of killed
 * processes are removed when the next folder is created (hidden_name.h). */
#ifndef HALO_ATOMIC_FOLDER_H
#define HALO_ATOMIC_FOLDER_H

#include "base/status.h"

struct atomic_folder {
    char *path;    /* path of the final folder */
    char *hidden;  /* path of the new folder; after keep, of the old one; NULL: there is none */
    int held;      /* descriptor that locks the hidden folder */
    bool replaced; /* an old folder was replaced */
    bool kept;
};

/* Initialises `folder` and creates nothing. Close it, even after a failure. Errors: memory. */
MUST_CHECK enum status atomic_folder_open(struct atomic_folder *folder, const char *path);

/* Creates the new folder. The caller fills it under its hidden name. If it was not created, keep
 * only removes the old folder. */
MUST_CHECK enum status atomic_folder_make(struct atomic_folder *folder);

/* Puts the new folder, or none, in the place of the old one; undo takes that back. Returns 0 or an
 * errno; after an error the old folder is unchanged. */
MUST_CHECK int atomic_folder_keep(struct atomic_folder *folder);
void atomic_folder_undo(struct atomic_folder *folder);

/* Removes the new folder or, if that was kept, the old one. Frees `folder`. */
void atomic_folder_close(struct atomic_folder *folder);

#endif
