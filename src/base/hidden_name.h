/* Hidden names, .NAME.halo-PID-NUMBER, beside files and folders that are being written; PID is the
 * process's id. Making one first removes those of killed processes in the folder, but no locked
 * (flock) files, whose processes may be on another machine. */
#ifndef HALO_HIDDEN_NAME_H
#define HALO_HIDDEN_NAME_H

#include "base/status.h"

/* Opens the folder that has `path`, as open() does. */
MUST_CHECK int hidden_open_folder(const char *path, int flags);

/* Makes a file or folder under a new hidden name beside `path`. make() returns 0 or more, or -1 and
 * errno. hidden_make returns the same. The caller frees *name, which is NULL after an error. */
MUST_CHECK int hidden_make(const char *path, int (*make)(const char *name, const void *context),
                           const void *context, char **name);

/* hidden_make as .NAME.halo-MARK, even if that exists. Removes nothing of killed processes. */
MUST_CHECK int hidden_make_marked(const char *path, const char *mark,
                                  int (*make)(const char *name, const void *context),
                                  const void *context, char **name);

/* Removes files .NAME.halo-MARK, where MARK is 32 hexadecimal digits, if is_left(MARK). Returns
 * their number; 0 also if the folder cannot be read. */
size_t hidden_sweep_marked(const char *folder, bool (*is_left)(void *context, const char *mark),
                           void *context);

/* Removes one of halo's folders with all its content. Returns 0, or -1 and errno. */
int hidden_remove_folder(const char *folder);

#endif
