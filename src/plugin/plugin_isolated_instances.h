/* Isolated plugin instances.
 *
 * A piece is posted and waited for. Where there is a deadline, the child may fall some pieces
 * behind and catch up while silence is played; further behind, pieces are skipped, but not their
 * changes of values.
 */
#ifndef HALO_PLUGIN_ISOLATED_INSTANCES_H
#define HALO_PLUGIN_ISOLATED_INSTANCES_H

#include "base/status.h"

struct isolated_instances; /* begins with its struct plugin_instances */

/* Wait until all orders are done, without a deadline. False: the child ended, or a signal came. */
bool isolated_wait(struct isolated_instances *isolated);

/* The internal command "plugin-instances": the child process. */
MUST_CHECK enum status plugin_instances_serve(int argc, char **argv);

#endif
