/* All plugins of this machine, looked at in a child process (plugin_scanner.h).
 *
 * What crashes or hangs over it is skipped, and remembered (plugin_memory.h): the next scan skips
 * it without trying.
 */
#ifndef HALO_PLUGIN_SCAN_H
#define HALO_PLUGIN_SCAN_H

#include "plugin/plugin.h"

struct plugin_skip {
    const struct plugin_kind *kind;
    char *holder; /* library or plugin */
    char *reason; /* "crashed (segmentation fault)" */
    bool is_remembered;
};

struct plugin_scan {
    size_t count;
    struct plugin_info **infos; /* by kind, then as the kind lists them */
    size_t skip_count;
    struct plugin_skip *skips;
};

/* Of one kind, or of all (NULL). Takes `patience` seconds over one holder, or the scanner's own
 * (0). On a terminal it shows how far it is. Errors: Ctrl-C, no child can be made, memory. */
MUST_CHECK enum status plugin_scan_init(struct plugin_scan *scan, const struct plugin_kind *kind,
                                        double patience);
void plugin_scan_free(struct plugin_scan *scan);

#endif
