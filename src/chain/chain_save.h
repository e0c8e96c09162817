/* Saves a chain in a file, the states of its plugins in a folder beside it, FILE.state, and if it
 * is collected the files that it names in another, FILE.files (chain_collect.h).
 *
 * All are written under hidden names and renamed by chain_save_keep: a failed render leaves no
 * chain, and a failed save leaves the old one.
 * Threads: the control thread.
 */
#ifndef HALO_CHAIN_SAVE_H
#define HALO_CHAIN_SAVE_H

#include "chain/stages.h"

#include <stdio.h>

struct chain_live;
struct chain_save;

/* The filters exist and the step does not run. Errors: the file or a folder exists (without
 * `force`), the folder holds other files, permissions. */
MUST_CHECK enum status chain_save_create(const char *path, bool force, bool collects,
                                         const struct stage_list *list, struct chain_save **save);

/* Rename it into place. Errors: as above. */
MUST_CHECK enum status chain_save_keep(struct chain_save *save);

/* Print loaded stages and what a live stream does with them (chain_file.h). All paths are absolute,
 * and states are those that the stages name. Errors: memory; the caller checks the stream. */
MUST_CHECK enum status chain_file_print_live(const struct stage_list *list,
                                             const struct chain_live *live, FILE *stream);

/* Removes what was not kept. */
void chain_save_destroy(struct chain_save *save);

#endif
