/* Isolated plugin instances.
 *
 * In files a piece is posted and waited for. Live, the step posts a piece and outputs the previous
 * one if it is done: all pieces have `most` frames, which is the delay. The child may fall some
 * pieces behind and catch up while silence is played; further behind, pieces are skipped.
 */
#ifndef HALO_PLUGIN_ISOLATED_INSTANCES_H
#define HALO_PLUGIN_ISOLATED_INSTANCES_H

#include "base/status.h"

struct isolated_instances; /* begins with its struct plugin_instances */

/* Wait until all orders are done. False: the child ended, or a signal came. */
bool isolated_wait(struct isolated_instances *isolated);

/* The internal command "plugin-instances": the child process. */
MUST_CHECK enum status plugin_instances_serve(int argc, char **argv);

#endif
