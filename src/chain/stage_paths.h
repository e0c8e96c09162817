/* Finds and replaces the paths in the words of a stage's spec. Threads: any. Not real-time. */
#ifndef HALO_STAGE_PATHS_H
#define HALO_STAGE_PATHS_H

#include "chain/stages.h"

#include <stdio.h>

/* For stage_file_ops.path_in: the word from `start` on is a path. False: nothing is there. */
bool stage_path_rest(struct stage_path *path, const char *word, size_t start,
                     enum stage_path_use use);

/* A word in which each path is replaced by the result of `replace`. The caller frees it. NULL:
 * `replace` returned NULL, or no memory. */
char *stage_paths_replace(const struct stage_ops *ops, char *const *spec, size_t word,
                          char *(*replace)(void *context, const char *path,
                                           const struct stage_path *about),
                          void *context);

/* The path of a file relative to a folder, or absolute if they share only the root. The caller
 * frees it. NULL: no memory, or file or folder is missing. */
char *stage_path_near(const char *folder, const char *path);

/* Functions for stage_paths_replace. `folder`, a char *, is the folder of a chain. _to_folder makes
 * paths relative to it, _whole makes them absolute, and _from_folder turns paths relative to
 * `folder` into paths from the working folder. Absolute paths stay. */
char *stage_path_to_folder(void *folder, const char *path, const struct stage_path *about);
char *stage_path_whole(void *unused, const char *path, const struct stage_path *about);
char *stage_path_from_folder(void *folder, const char *path, const struct stage_path *about);

/* Records the things that a stage's output depends on besides its input: the words of its spec, and
 * the present state of the files in them. A file's state is its device, inode number, length and
 * time of change. Files that these files name are not recorded. Threads: any. */

/* Print the record of a stage as text. Stages with equal texts are equal. */
void stage_files_print(const struct stage_ops *ops, char *const *spec, FILE *text);

/* Print a file's length and time of change, for a record that is valid on other machines, too. */
void stage_files_print_one(const char *path, FILE *text);

/* Print the record of all stages, valid on other machines, too: files are recorded by length and
 * time of change only. Errors: memory. */
MUST_CHECK enum status stage_files_print_all(const struct stage_list *list, FILE *text);

#endif
