/* A chain on its way into a file, and its plugins' states into a folder beside it, FILE.state.
 *
 * It is written when the stages are made, under hidden names, and there once it is kept: a sound
 * that fails leaves no chain, and a chain that fails leaves the old one.
 * Threads: the control thread.
 */
#ifndef HALO_CHAIN_SAVE_H
#define HALO_CHAIN_SAVE_H

#include "chain/stages.h"

struct chain_save;

/* The stages' filters are made, and the step does not run. Errors: a file or a folder of states
 * stands there (without `force`), a folder that holds anything else, permissions. */
MUST_CHECK enum status chain_save_create(const char *path, bool force,
                                         const struct stage_list *list, struct chain_save **save);

/* Put it in its place. Errors: as before. */
MUST_CHECK enum status chain_save_keep(struct chain_save *save);

/* What was not kept goes. */
void chain_save_destroy(struct chain_save *save);

#endif
