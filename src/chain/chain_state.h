/* The words that name a stage's saved state in a chain: @state=FOLDER, and @reads=FILE for each
 * file that the state links to and that the stage's own words do not name. */
#ifndef HALO_CHAIN_STATE_H
#define HALO_CHAIN_STATE_H

#include "chain/stages.h"

/* Of stage `number`, from 1, in a chain at `path`, whose states were saved in the folder `states`
 * and will be in `path`.state. NULL-terminated, for chain_state_free(), on failure too. Errors:
 * memory, those of reading the state. */
MUST_CHECK enum status chain_state_args(const struct stage *stage, size_t number, const char *path,
                                        const char *states, char ***args);
void chain_state_free(char **args); /* NULL is allowed */

#endif
