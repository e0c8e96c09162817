/* Files in the user's cache folder: $XDG_CACHE_HOME/halo, else ~/.cache/halo. */
#ifndef HALO_CACHE_FILE_H
#define HALO_CACHE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CACHE_FILE_PATH = 4096 };

/* The path of a file; NULL if the user has no such folder. */
const char *cache_file_path(char path[CACHE_FILE_PATH], const char *name);

/* The whole file, for the caller to free, with a 0 behind its *size bytes. Never waits. NULL: errno
 * is set: the file is not there, longer than `most`, another user's or no regular file. */
char *cache_file_read(const char *path, size_t most, size_t *size);

/* Write a temporary file and rename it to `path`. Makes the folder and its parent, but no home.
 * False: errno is set, and nothing has changed. */
bool cache_file_write(const char *path, const char *text, size_t size);

/* FNV-1a of a text, continued from that of the text before it or from CACHE_FILE_SUM: two texts of
 * one length that differ in one byte never agree. */
#define CACHE_FILE_SUM UINT64_C(0xcbf29ce484222325)
uint64_t cache_file_sum(uint64_t sum, const char *text, size_t size);

#endif
