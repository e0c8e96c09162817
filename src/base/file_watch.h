/* Says when a file has changed on disk and is complete, through inotify.
 *
 * The folders of the watched files are looked at, not the files, since editors replace a
 * file by another of its name. A file has changed when one of that name was closed after
 * writing, moved or linked there, and nothing more happened to it for a tenth of a second
 * (or for one second things went on happening, but no writer has it half-written). Symbolic
 * links are followed: a change of the link, of any link it leads to, or of the file in the
 * end is a change. A folder that goes away is said with note() and watched again when it is
 * back.
 * Not seen: writes through mmap, changes another machine makes on a network share, and the
 * renaming of a folder above the file's own.
 * Threads: one at a time. Nothing here waits.
 */
#ifndef HALO_FILE_WATCH_H
#define HALO_FILE_WATCH_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct file_watch;

/* Errors: the system allows no more watches; memory. */
MUST_CHECK enum status file_watch_open(struct file_watch **watch);
void file_watch_close(struct file_watch *watch);

/* Watch the file at `path` under a number of the caller's choice; the same number may be
 * given to several. The file need not be there yet, its folder must. Read the file after
 * this, and no change is missed.
 * Errors: no such folder; the system allows no more watches; memory. */
MUST_CHECK enum status file_watch_add(struct file_watch *watch, const char *path, size_t number);

/* For poll(): readable when file_watch_next has something to do. */
int file_watch_fd(const struct file_watch *watch);

/* The number of a file that has changed since it was last reported; false: none. Call until
 * none is left. */
bool file_watch_next(struct file_watch *watch, size_t *number);

#endif
