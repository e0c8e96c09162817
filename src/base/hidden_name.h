/* Hidden names, .NAME.halo-PID-NUMBER, beside files and folders that are being written. PID is the
 * id of the process. Before a process makes one in a folder, it removes those that killed processes
 * left there. Files that are locked (flock) are not removed, since their process may be on another
 * machine. */
#ifndef HALO_HIDDEN_NAME_H
#define HALO_HIDDEN_NAME_H

#include "base/status.h"

/* Opens the folder that has `path`, as open() does. */
MUST_CHECK int hidden_open_folder(const char *path, int flags);

/* Makes a file or folder under a new hidden name beside `path`. make() returns 0 or more, or -1 and
 * errno. hidden_make returns the same. The caller frees *name, which is NULL after an error. */
MUST_CHECK int hidden_make(const char *path, int (*make)(const char *name, const void *context),
                           const void *context, char **name);

/* hidden_make under the name .NAME.halo-MARK, even if it exists. Removes nothing of killed
 * processes. */
MUST_CHECK int hidden_make_marked(const char *path, const char *mark,
                                  int (*make)(const char *name, const void *context),
                                  const void *context, char **name);

/* Removes files .NAME.halo-MARK from a folder if MARK has 32 hexadecimal digits and is_left() is
 * true of it. Returns their number; 0 also if the folder cannot be read. */
size_t hidden_sweep_marked(const char *folder, bool (*is_left)(void *context, const char *mark),
                           void *context);

/* Removes one of halo's folders with all its content, at any depth and with any permissions.
 * Returns 0, or -1 and errno. */
int hidden_remove_folder(const char *folder);

#endif
