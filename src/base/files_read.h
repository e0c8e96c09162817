/* The files that this command reads, so that it never replaces one of them, under whatever name.
 *
 * Files are remembered by name until the program ends; whether another one is among them is decided
 * by the device and inode that a name had when it was last added and still has, in a time that
 * hardly depends on how many there are, since many jobs ask. Only regular files count. Threads:
 * any, but no real-time step.
 */
#ifndef HALO_FILES_READ_H
#define HALO_FILES_READ_H

#include "base/status.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

#define FILES_READ_ADVICE "this command reads it; choose another name"

/* Remember a file before it is opened; "-" is standard input. False: no memory. */
bool files_read_add(const char *path);

/* The file was read to its end and may be replaced now. */
void files_read_forget(const char *path);

/* The same as files_read_add for all files of a folder and below, and those that links there lead
 * to, but not for the contents of folders that they lead to. */
bool files_read_add_below(const char *folder);

/* Remember and open a regular file without waiting. Returns why it failed: another kind of
 * file, permissions, memory, or no such file; valid until this thread's next call. */
struct flaw files_read_open(const char *path, FILE **stream);

/* Prints why not and fails where a path is a FIFO, a socket or a device, which may make its reader
 * wait. What is not there, or a folder, is for who opens it. */
MUST_CHECK enum status files_read_refuse_waits(const char *path);

/* The same as files_read_open of a file that is text if it can be (plain_text.h). */
struct flaw files_read_open_text(const char *path, FILE **stream);

/* Whether a file is among them. */
bool files_read_hold(const struct stat *about);

/* Call for each regular one, by its path, in the order of these. */
void files_read_each(void (*call)(void *context, const char *path), void *context);

/* Whether one of them lies in the folder or below. */
bool files_read_below(const char *folder);

/* As pread, whole unless the file ends before or reading fails. Any thread. */
ssize_t files_read_at(int fd, void *buffer, size_t size, off_t at);

#endif
