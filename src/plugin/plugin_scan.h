/* All installed plugins, scanned in a child process (plugin_scanner.h). A plugin that crashes or
 * hangs is skipped. What a scan found is remembered (plugin_memory.h): the next scan asks only of
 * holders that have changed. */
#ifndef HALO_PLUGIN_SCAN_H
#define HALO_PLUGIN_SCAN_H

#include "plugin/plugin_info_json.h"

struct plugin_skip {
    const struct plugin_kind *kind;
    char *holder; /* holder or plugin */
    char *reason; /* "crashed (segmentation fault)" */
    bool is_remembered;
};

struct plugin_scan {
    size_t count;
    struct plugin_row *rows; /* by kind, then by id */
    size_t skip_count;
    struct plugin_skip *skips;
};

/* Scan the plugins of one kind, or of all (NULL). `patience`: seconds for one plugin; 0: the
 * default. Shows progress on a terminal. Errors: Ctrl-C, no child process, memory. */
MUST_CHECK enum status plugin_scan_init(struct plugin_scan *scan, const struct plugin_kind *kind,
                                        double patience);
void plugin_scan_free(struct plugin_scan *scan);

#endif
