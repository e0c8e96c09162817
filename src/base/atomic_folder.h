/* A folder that is complete or absent, also after a power cut: made under a hidden name, and
 * exchanged with an old one when all in it is on the disk. What killed processes left is removed by
 * whoever makes the next one (hidden_name.h). */
#ifndef HALO_ATOMIC_FOLDER_H
#define HALO_ATOMIC_FOLDER_H

#include "base/status.h"

struct atomic_folder {
    char *path;    /* of the final folder */
    char *hidden;  /* of the new one, and once that is kept of the old one; NULL: there is none */
    int held;      /* locks it */
    bool replaced; /* there was an old one */
    bool kept;
};

/* Nothing is made yet. Close it, also on failure. Errors: memory. */
MUST_CHECK enum status atomic_folder_open(struct atomic_folder *folder, const char *path);

/* Make the new one, to be filled by its hidden name. Without it, keep only removes an old one. */
MUST_CHECK enum status atomic_folder_make(struct atomic_folder *folder);

/* Put the new one, or none, in the place of an old one, until undone. Returns 0 or an errno; the
 * old one has then stayed. */
MUST_CHECK int atomic_folder_keep(struct atomic_folder *folder);
void atomic_folder_undo(struct atomic_folder *folder);

/* Remove the new one, or if it was kept the old one, and free. */
void atomic_folder_close(struct atomic_folder *folder);

#endif
