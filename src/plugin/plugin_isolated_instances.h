/* A instances of plugins in a child process: what its set-up and its step share, and the child.
 *
 * In files a piece is posted and waited for. Live, the step posts a piece and hands out the one
 * before, if that is done: pieces are all of `most` frames, which is the delay. The child may be
 * some behind and catch up, while there is silence; where it is too far behind, a piece does not
 * reach it.
 */
#ifndef HALO_PLUGIN_ISOLATED_INSTANCES_H
#define HALO_PLUGIN_ISOLATED_INSTANCES_H

#include "plugin/plugin_child.h"
#include "plugin/plugin_isolated.h"

struct isolated_instances; /* begins with its struct plugin_rack */

/* Wait until all orders are done. False: the child ended, or a signal came. */
bool isolated_wait(struct isolated_instances *isolated);

/* The command "plugin-instances", which halo starts itself: the child. */
MUST_CHECK enum status plugin_instances_serve(int argc, char **argv);

#endif
