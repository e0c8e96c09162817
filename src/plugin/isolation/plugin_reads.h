/* The files and folders that an isolated plugin may read: libraries, plugins, their presets, fonts,
 * what describes the processor, and what the user named.
 *
 * A folder stands for all below it. What the folders of plugins link to is listed, too: the user
 * installed them. What other folders link to is not, since they may be a stranger's.
 * Threads: any, one at a time.
 */
#ifndef HALO_PLUGIN_READS_H
#define HALO_PLUGIN_READS_H

#include "base/status.h"

struct plugin_reads {
    size_t count;
    char **paths; /* paths, which need not exist */
};

/* `named`: what the user named, NULL at the end; texts that are no paths do no harm. Errors:
 * memory.
 */
MUST_CHECK enum status plugin_reads_init(struct plugin_reads *reads, char *const *named);
void plugin_reads_free(struct plugin_reads *reads);

/* Whether a file, its links resolved, is among them or below. */
bool plugin_reads_include(const struct plugin_reads *reads, const char *path);

/* The links in a folder of saved state that lead out of it. The folder may be a stranger's: what
 * its links lead to is read only where the user named it, by @reads=PATH or otherwise. */

/* Calls `found` for each link to what lies neither in the folder nor in `reads`, which holds paths
 * that exist: `link` is its path in the folder, `target` that of what it leads to, without links.
 * What does not exist is passed over. Errors: what `found` returns; the folder cannot be read,
 * holds too much. */
MUST_CHECK enum status plugin_state_links(const char *folder, const struct plugin_reads *reads,
                                          enum status (*found)(void *context, const char *link,
                                                               const char *target),
                                          void *context);

/* Takes the state of a plugin out of the folder that its sandbox may write. */

/* Copy `from` with all below it into the folder `to`, which may exist: files, folders, and links to
 * what the plugin may read, so that no later process gets to read more through them. A plugin may
 * change `from` meanwhile. `id` is the plugin, for messages.
 * Errors: other links, other kinds of files, too much, failed reads and writes. */
MUST_CHECK enum status plugin_state_copy(const char *from, const char *to,
                                         const struct plugin_reads *reads, const char *id);

#endif
