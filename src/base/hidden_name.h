/* Hidden names, .NAME.halo-PID-NUMBER, beside files and folders that are being written. They hold
 * the id of the process: whoever needs one in a folder first removes what killed processes left
 * there, unless it is locked (flock), since process ids are not those of other machines. */
#ifndef HALO_HIDDEN_NAME_H
#define HALO_HIDDEN_NAME_H

#include "base/status.h"

/* open() of the folder that `path` is in. */
MUST_CHECK int hidden_open_folder(const char *path, int flags);

/* Make a file or folder under a new hidden name beside `path`. make() returns what it made, or -1
 * and errno. Returns that; *name is the caller's to free, NULL after an error. */
MUST_CHECK int hidden_make(const char *path, int (*make)(const char *name, const void *context),
                           const void *context, char **name);

/* The same under .NAME.halo-MARK, whatever has that name already; nothing is swept. */
MUST_CHECK int hidden_make_marked(const char *path, const char *mark,
                                  int (*make)(const char *name, const void *context),
                                  const void *context, char **name);

/* Remove the files .NAME.halo-MARK of a folder whose mark is one: 32 hexadecimal digits, and for
 * which is_left() is true. Returns how many; 0 also where the folder cannot be read. */
size_t hidden_sweep_marked(const char *folder, bool (*is_left)(void *context, const char *mark),
                           void *context);

/* Remove a folder of ours with all that is in it, however deep, and whatever its permissions. 0, or
 * -1 and errno. */
int hidden_remove_folder(const char *folder);

#endif
