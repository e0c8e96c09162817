/* The args of a stage with copies in the place of the files that they name, so that a chain can be
 * moved to another folder or machine.
 *
 * Copied (chain_copies.h) are masks, what their configurations named when they were loaded
 * (files_named.h), and the files of plugins' parameters. What cannot be copied is named by a
 * warning and stays where it is: libraries of plugins, folders, and what a configuration within
 * invert: or combine: names.
 * Threads: the control thread.
 */
#ifndef HALO_CHAIN_COLLECT_H
#define HALO_CHAIN_COLLECT_H

#include "chain/chain_copies.h"
#include "chain/stages.h"

/* Of a loaded stage. Each arg, and the list, which ends with NULL or is NULL, is for free(), on
 * failure too. Paths of what stays are from `folder`, that of the chain. Errors: those of
 * chain_copies_add. */
MUST_CHECK enum status chain_collect_args(struct chain_copies *copies, const struct stage *stage,
                                          char *folder, char ***args);

#endif
