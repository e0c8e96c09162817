/* The files that this command reads, so that it never replaces one of them, under whatever name.
 *
 * Files are remembered by name until the program ends; whether another one is among them is decided
 * by device and inode, when asked. Only regular files count. Threads: any, but no real-time step.
 */
#ifndef HALO_FILES_READ_H
#define HALO_FILES_READ_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

#define FILES_READ_ADVICE "this command reads it; choose another name"

/* Remember a file before it is opened; "-" is standard input. False: no memory. */
bool files_read_add(const char *path);

/* The same for all files of a folder and below. */
bool files_read_add_below(const char *folder);

/* Remember and open a regular file without waiting. Returns NULL or why it failed: another kind of
 * file, permissions, memory. */
const char *files_read_open(const char *path, FILE **stream);

/* The same of a file that is text if it can be (plain_text.h). */
const char *files_read_open_text(const char *path, FILE **stream);

/* Whether a file is among them. */
bool files_read_hold(const struct stat *about);

/* Whether one of them lies in the folder or below. */
bool files_read_below(const char *folder);

#endif
