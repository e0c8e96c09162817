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
    char **paths; /* which need not exist */
};

/* `named`: what the user named, NULL at the end; texts that are no paths do no harm. Errors:
 * memory.
 */
MUST_CHECK enum status plugin_reads_init(struct plugin_reads *reads, char *const *named);
void plugin_reads_free(struct plugin_reads *reads);

/* Whether a file, its links resolved, is among them or below. */
bool plugin_reads_include(const struct plugin_reads *reads, const char *path);

#endif
