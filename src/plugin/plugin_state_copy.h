/* Takes the state of a plugin out of the folder that its sandbox may write. */
#ifndef HALO_PLUGIN_STATE_COPY_H
#define HALO_PLUGIN_STATE_COPY_H

#include "plugin/plugin_reads.h"

/* Copy `from` with all below it into the folder `to`, which may exist: files, folders, and links to
 * what the plugin may read, so that no later process gets to read more through them. A plugin may
 * change `from` meanwhile. `id` is the plugin, for messages.
 * Errors: other links, other kinds of files, too much, failed reads and writes. */
MUST_CHECK enum status plugin_state_copy(const char *from, const char *to,
                                         const struct plugin_reads *reads, const char *id);

#endif
