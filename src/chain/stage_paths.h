/* The paths in the words of a stage's spec, and the same words with other paths.
 * Threads: any. Not real-time. */
#ifndef HALO_STAGE_PATHS_H
#define HALO_STAGE_PATHS_H

#include "chain/stages.h"

#include <stdio.h>

/* For stage_file_ops.path_in: the rest of a word is a path. False: it is empty. */
bool stage_path_rest(struct stage_path *path, const char *word, size_t start,
                     enum stage_path_use use);

/* A word with each path replaced by what `replace` returns, for free(); NULL: `replace` did, or
 * memory. */
char *stage_paths_replace(const struct stage_ops *ops, char *const *spec, size_t word,
                          char *(*replace)(void *context, const char *path,
                                           const struct stage_path *about),
                          void *context);

/* A file's path as it is seen from a folder: relative, unless they share the root alone. For
 * free(); NULL: memory, or one of them is not there. */
char *stage_path_near(const char *folder, const char *path);

/* For stage_paths_replace. `folder`, a char *, is that of a chain: paths as they are seen from
 * there, or absolute ones, or from the working folder if they are so. Absolute paths stay. */
char *stage_path_to_folder(void *folder, const char *path, const struct stage_path *about);
char *stage_path_whole(void *unused, const char *path, const struct stage_path *about);
char *stage_path_from_folder(void *folder, const char *path, const struct stage_path *about);

/* What a stage's sound depends on besides the sound: the words of its spec, and the files that
 * these name, as they are now: by device, number, length and time of change. Not what those files
 * name in turn. Threads: any. */

/* As text: equal texts, equal stages. */
void stage_files_print(const struct stage_ops *ops, char *const *spec, FILE *text);

/* A file by length and time of change, as in a record that outlives this machine. */
void stage_files_print_one(const char *path, FILE *text);

/* The same of all stages, for a record that outlives this machine: by length and time of change
 * alone. Errors: memory. */
MUST_CHECK enum status stage_files_print_all(const struct stage_list *list, FILE *text);

#endif
