/* What a stage's sound depends on besides the sound: the words of its spec, and the files that
 * these name, as they are now: by device, number, length and time of change. Not what those files
 * name in turn. Threads: any. */
#ifndef HALO_STAGE_FILES_H
#define HALO_STAGE_FILES_H

#include "chain/stages.h"

#include <stdio.h>

/* As text: equal texts, equal stages. */
void stage_files_print(const struct stage_ops *ops, char *const *spec, FILE *text);

/* A file by length and time of change, as in a record that outlives this machine. */
void stage_files_print_one(const char *path, FILE *text);

/* The same of all stages, for a record that outlives this machine: by length and time of change
 * alone. Errors: memory. */
MUST_CHECK enum status stage_files_print_all(const struct stage_list *list, FILE *text);

#endif
