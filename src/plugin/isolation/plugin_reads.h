/* The files and folders that an isolated plugin may read: libraries, plugins, their presets, fonts,
 * files that describe the processor, and paths that the user named.
 *
 * A folder stands for everything below it. Targets of links in plugin folders are listed, too,
 * since the user installed these folders. Targets of links in other folders are not, since a
 * stranger may have made those folders. Threads: any, one at a time. */
#ifndef HALO_PLUGIN_READS_H
#define HALO_PLUGIN_READS_H

#include "base/status.h"

struct plugin_reads {
    size_t count;
    char **paths; /* the paths need not exist */
};

/* `named`: paths that the user named, and texts that are none; NULL last. Errors: memory. */
MUST_CHECK enum status plugin_reads_init(struct plugin_reads *reads, char *const *named);
void plugin_reads_free(struct plugin_reads *reads);

/* Whether a path, with links resolved, is one of `reads` or lies below one. */
bool plugin_reads_include(const struct plugin_reads *reads, const char *path);

/* Finds links that lead out of a folder of saved state. A stranger may have made the folder, so
 * halo reads targets of such links only if the user named them, by @reads=PATH or otherwise. */

/* Call `found` for each link whose target lies neither in the folder nor in `reads`, which holds
 * paths that exist. `link` is the link's path in the folder, `target` the resolved path of its
 * target. Links whose target does not exist are passed over. Errors: those of `found`; the folder
 * cannot be read or holds too much. */
MUST_CHECK enum status plugin_state_links(const char *folder, const struct plugin_reads *reads,
                                          enum status (*found)(void *context, const char *link,
                                                               const char *target),
                                          void *context);

/* Copies the saved state of a plugin out of the sandbox's folder. */

/* Copy everything in `from` into the folder `to`, which may exist: files, folders, and links to
 * paths that the plugin may read. Other links are errors, so that no later process can read more
 * through them. A plugin may change `from` meanwhile. `id` is the plugin, for messages. Errors:
 * other links, other kinds of files, too much, failed reads and writes. */
MUST_CHECK enum status plugin_state_copy(const char *from, const char *to,
                                         const struct plugin_reads *reads, const char *id);

#endif
