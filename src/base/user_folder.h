/* Files in the user's folders of the XDG base directory specification. Threads: any. */
#ifndef HALO_USER_FOLDER_H
#define HALO_USER_FOLDER_H

#include "base/status.h"

#include <limits.h>

/* The path of `file`: below the folder of $XDG_CONFIG_HOME, else of ~/.config; the second function:
 * of $XDG_STATE_HOME, else of ~/.local/state. Errors: no home folder; a path that is too long. */
MUST_CHECK enum status user_folder_config(const char *file, char path[static PATH_MAX]);
MUST_CHECK enum status user_folder_state(const char *file, char path[static PATH_MAX]);

/* Creates all folders above a file, for this user alone. Errors: permissions. */
MUST_CHECK enum status user_folder_make(const char *path);

#endif
