/* The files that this command reads. It must not replace them, even under another name.
 *
 * Files are remembered by name until the program ends. A file is one of them if it has the device
 * and inode that a name had when it was last added and still has. The time to find out hardly
 * depends on the number of files, since many jobs ask. Only regular files count. Threads: any,
 * except in a real-time step.
 */
#ifndef HALO_FILES_READ_H
#define HALO_FILES_READ_H

#include "base/status.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

#define FILES_READ_ADVICE "this command reads it; choose another name"

/* Remembers a file. Call it before the file is opened. "-" is standard input. False: no memory. */
bool files_read_add(const char *path);

/* Forgets a file that was read to its end. It may be replaced now. */
void files_read_forget(const char *path);

/* files_read_add for all files in a folder and below, and for files that links there lead to.
 * Folders that links lead to are not searched. */
bool files_read_add_below(const char *folder);

/* Remembers and opens a regular file without waiting. Returns why it failed: another kind of file,
 * permissions, memory, no such file. The text is valid until this thread's next call. */
struct flaw files_read_open(const char *path, FILE **stream);

/* Fails with a message if a path is a FIFO, a socket or a device, which may make its reader wait.
 * Missing files and folders are no errors here. */
MUST_CHECK enum status files_read_refuse_waits(const char *path);

/* files_read_open for a file that may be text, which is converted (plain_text.h). */
struct flaw files_read_open_text(const char *path, FILE **stream);

/* Whether a file is one of the remembered files. */
bool files_read_hold(const struct stat *about);

/* Calls `call` with the path of each remembered regular file, in the order of the paths. */
void files_read_each(void (*call)(void *context, const char *path), void *context);

/* Whether a remembered file is in the folder or below. */
bool files_read_below(const char *folder);

/* Like pread, but reads all `size` bytes unless the file ends or an error occurs. Any thread. */
ssize_t files_read_at(int fd, void *buffer, size_t size, off_t at);

#endif
