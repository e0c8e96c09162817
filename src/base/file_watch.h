/* Says when a file has changed on disk and is complete: its stat is taken every 250 ms, so that
 * network file systems and whatever replaces a file are seen alike.
 *
 * A file has changed when its inode, size or time of writing is another than when it was added or
 * last reported. It is complete when it was the same in two looks and nobody on this machine has
 * it open for writing; where that is not known (another user's file, some network file systems),
 * or where a writer keeps it open, when it was the same for two seconds. Symbolic links are
 * followed. A file or folder that goes away is said with note() and watched until it is back.
 * Threads: one at a time. Nothing here waits.
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

/* Watch the file at `path` under a number of the caller's choice; the same number may be
 * given to several. The file need not be there yet, its folder must. Read the file after
 * this, and no change is missed.
 * Errors: no such folder, a path that cannot be looked at; memory. */
MUST_CHECK enum status file_watch_add(struct file_watch *watch, const char *path, size_t number);

/* The number of a file that has changed since it was last reported; false: none. Call until
 * none is left, several times a second: it looks when it is time to. */
bool file_watch_next(struct file_watch *watch, size_t *number);

#endif
