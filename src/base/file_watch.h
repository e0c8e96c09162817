/* Reports when a file has changed on disk and is complete. It looks at the file's stat every 250
 * ms, which also works on network file systems and for files that are replaced.
 *
 * A file has changed if its inode, size, modification time or status change time differs from when
 * it was added or last reported. It is complete if two looks found the same state and no process on
 * this machine has it open for writing. It is also complete after two seconds without a change.
 * This is for files whose writers are not known (another user's file, some network file systems) or
 * that a writer keeps open. Symbolic links are followed. A file or folder that disappears is
 * reported with note() and watched until it returns. Threads: one at a time. No function waits.
 */
#ifndef HALO_FILE_WATCH_H
#define HALO_FILE_WATCH_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct file_watch;

/* Errors: memory. */
MUST_CHECK enum status file_watch_open(struct file_watch **watch);
void file_watch_close(struct file_watch *watch);

/* Watches the file at `path` under a number that the caller chooses, which need not be unique. The
 * file may be missing, but its folder must exist. Read the file after this call, so that no change
 * is missed. Errors: no such folder, permissions, memory. */
MUST_CHECK enum status file_watch_add(struct file_watch *watch, const char *path, size_t number);

/* The number of a file that has changed since it was last reported. False: there is none. Call it
 * several times a second, each time until it returns false. */
bool file_watch_next(struct file_watch *watch, size_t *number);

#endif
