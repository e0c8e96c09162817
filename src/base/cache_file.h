/* Files in the user's cache folder: $XDG_CACHE_HOME/halo, else ~/.cache/halo. */
#ifndef HALO_CACHE_FILE_H
#define HALO_CACHE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CACHE_FILE_PATH = 4096 };

/* The path of a file in that folder. NULL: the user has no such folder. */
const char *cache_file_path(char path[CACHE_FILE_PATH], const char *name);

/* Reads a whole file, without waiting. The caller frees the result; a 0 follows its *size bytes.
 * NULL: errno is set; the file is missing, too long, another user's or not regular. */
char *cache_file_read(const char *path, size_t most, size_t *size);

/* Writes a temporary file and renames it to `path`. Creates the folder and its parent. Fails if the
 * home folder is missing. False: errno is set, and nothing has changed. */
bool cache_file_write(const char *path, const char *text, size_t size);

/* FNV-1a of a text. `sum` is that of the text before it, or CACHE_FILE_SUM for the first text. Two
 * texts of the same length that differ in one byte have different sums. */
#define CACHE_FILE_SUM UINT64_C(0xcbf29ce484222325)
uint64_t cache_file_sum(uint64_t sum, const char *text, size_t size);

#endif
