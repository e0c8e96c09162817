/* The catalog tells which holder contains which plugins. It asks a child process
 * (plugin_scanner.h), one holder at a time, and remembers the answers (plugin_memory.h).
 *
 * If a holder crashes or hangs the child, halo names it, leaves it out and goes on after it with a
 * new child. If several plugins have the same id, the first in the search path counts. Threads:
 * one, which is also the scanner's. */
#ifndef HALO_PLUGIN_CATALOG_H
#define HALO_PLUGIN_CATALOG_H

#include "plugin/isolation/plugin_reads.h"
#include "plugin/plugin.h"
#include "plugin/scan/plugin_info_json.h"
#include "plugin/scan/plugin_memory.h"
#include "plugin/scan/plugin_scanner.h"

struct plugin_catalog {
    struct plugin_reads reads; /* files that an isolated plugin may read by itself */
    struct plugin_scanner scanner;
    struct plugin_memory memory;
    size_t count;
    struct plugin_holder {
        const struct plugin_kind *kind;
        char *path;
        struct plugin_contents contents; /* empty for kinds that have none */
        char *trouble;                   /* why the holder is left out; NULL: it is not */
        bool is_remembered;              /* `trouble` comes from an earlier run */
    } *holders;                          /* sorted by kind, then in the order of the search path */
    double next_show;
    bool is_whole; /* false: memory ran out, and holders are missing */
};

/* Find the holders of one kind, or of all (NULL), and their contents. `patience`: seconds to wait
 * for an answer; 0: the default. Shows progress on a terminal. Call plugin_catalog_close() also
 * after an error. Errors: Ctrl-C, no child process, memory. */
MUST_CHECK enum status plugin_catalog_open(struct plugin_catalog *catalog,
                                           const struct plugin_kind *kind, double patience);
void plugin_catalog_close(struct plugin_catalog *catalog);

/* The holders that kind->use() needs for one plugin, as a new array of texts: the bases, the
 * plugin's holder, and holders with presets for it. Empty for kinds without contents. Errors: no
 * holder has the plugin (names similar plugins and the holders left out); memory. */
MUST_CHECK enum status plugin_catalog_needed(const struct plugin_catalog *catalog,
                                             const struct plugin_kind *kind, const char *id,
                                             json_t **holders);

/* Print `answer`, a child's reason why it could not describe a plugin, and plugins with a similar
 * id or name that scans of the kind, or of all kinds (NULL), have found. Returns STATUS_FAILED. */
MUST_CHECK enum status plugin_catalog_fail(const struct plugin_catalog *catalog,
                                           const struct plugin_kind *kind, const char *id,
                                           const json_t *answer);

/* Call kind->use() and kind->describe in a child process. Errors: those of plugin_catalog_needed
 * and of describe; the child's death; a description with impossible numbers. */
MUST_CHECK enum status plugin_describe_isolated(const struct plugin_kind *kind, const char *id,
                                                struct plugin_info **info);

/* Scans all installed plugins in a child process (plugin_scanner.h). A plugin that crashes or hangs
 * is skipped. Results are remembered (plugin_memory.h), so a scan asks only changed holders. */

struct plugin_skip {
    const struct plugin_kind *kind;
    char *holder; /* name of the holder or plugin that was skipped */
    char *reason; /* "crashed (segmentation fault)" */
    bool is_remembered;
};

struct plugin_scan {
    size_t count;
    struct plugin_row *rows; /* sorted by kind, then by id */
    size_t skip_count;
    struct plugin_skip *skips;
};

/* Scan the plugins of one kind, or of all (NULL). `patience`: seconds for one plugin; 0: the
 * default. Shows progress on a terminal. Errors: Ctrl-C, no child process, memory. */
MUST_CHECK enum status plugin_scan_init(struct plugin_scan *scan, const struct plugin_kind *kind,
                                        double patience);
void plugin_scan_free(struct plugin_scan *scan);

#endif
