/* Saves a chain in a file, and the states of its plugins in a folder beside it, FILE.state. If the
 * chain is collected, copies of its files are in another folder, FILE.files (chain_collect.h).
 *
 * All are written under hidden names, and chain_save_keep renames them. So a failed render leaves
 * no chain, and a failed save keeps the old chain.
 * Threads: the control thread. */
#ifndef HALO_CHAIN_SAVE_H
#define HALO_CHAIN_SAVE_H

#include "chain/stages.h"

#include <stdio.h>

struct chain_live;
struct chain_save;

/* Write the chain under hidden names, while the stages' filters exist and no step runs. Errors: the
 * file or a folder exists (without `force`), the folder has other files, permissions. */
MUST_CHECK enum status chain_save_create(const char *path, bool force, bool collects,
                                         const struct stage_list *list, struct chain_save **save);

/* Rename the file and folders to their names. Errors: those of chain_save_create(). */
MUST_CHECK enum status chain_save_keep(struct chain_save *save);

/* Print loaded stages and settings for a live stream as a chain file (chain_file.h), with absolute
 * paths. States of plugins are folders that the stages name. Errors: memory. Check the stream. */
MUST_CHECK enum status chain_file_print_live(const struct stage_list *list,
                                             const struct chain_live *live, FILE *stream);

/* Remove hidden files and folders that chain_save_keep() did not rename. */
void chain_save_destroy(struct chain_save *save);

#endif
