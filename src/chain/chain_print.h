/* A chain of stages as the text of its file (chain_file.h). */
#ifndef HALO_CHAIN_PRINT_H
#define HALO_CHAIN_PRINT_H

#include "chain/specs.h"

#include <stdio.h>

/* The stages are loaded; `path` is where the text will be. The state of stage i, from 1, is taken
 * to be in `path`.state/i. Errors: memory; those of writing are the stream's. */
MUST_CHECK enum status chain_print(const struct stage_list *list, const char *path, FILE *stream);

/* Whether a stage has a state beside its words. */
bool chain_keeps_state(const struct stage *stage);

#endif
