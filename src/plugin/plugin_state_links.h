/* The links in a folder of saved state that lead out of it. The folder may be a stranger's: what
 * its links lead to is read only where the user named it, by @reads=PATH or otherwise. */
#ifndef HALO_PLUGIN_STATE_LINKS_H
#define HALO_PLUGIN_STATE_LINKS_H

#include "plugin/plugin_reads.h"

/* Calls `found` for each link to what lies neither in the folder nor in `reads`, which holds paths
 * that exist: `link` is its path in the folder, `target` that of what it leads to, without links.
 * What does not exist is passed over. Errors: what `found` returns; the folder cannot be read,
 * holds too much. */
MUST_CHECK enum status plugin_state_links(const char *folder, const struct plugin_reads *reads,
                                          enum status (*found)(void *context, const char *link,
                                                               const char *target),
                                          void *context);

#endif
