/* Which holder contains which plugins, asked of a child process (plugin_scanner.h), bundle by
 * bundle, and remembered (plugin_memory.h).
 *
 * A holder that crashes or hangs the child is left out by name, and the next child goes on behind
 * it. Of plugins with the same id the first in the search path counts. Threads: one; it is the
 * scanner's.
 */
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
        char *trouble;                   /* why it is left out; NULL: it is not */
        bool is_remembered;              /* the trouble is that of an earlier run */
    } *holders;                          /* sorted by kind, then in the order of the search path */
    double next_show;
    bool is_whole; /* memory was enough */
};

/* The holders of one kind, or of all (NULL), and their contents. `patience`: seconds for an answer;
 * 0: the default. Shows progress on a terminal. plugin_catalog_close() is required in any case.
 * Errors: Ctrl-C, no child process, memory. */
MUST_CHECK enum status plugin_catalog_open(struct plugin_catalog *catalog,
                                           const struct plugin_kind *kind, double patience);
void plugin_catalog_close(struct plugin_catalog *catalog);

/* What kind->use() needs for one plugin, as a new array of texts: the bases, its holder, and those
 * with presets for it. Empty for kinds without contents. Errors: no holder has it, naming similar
 * ones and the holders that are left out; memory. */
MUST_CHECK enum status plugin_catalog_needed(const struct plugin_catalog *catalog,
                                             const struct plugin_kind *kind, const char *id,
                                             json_t **holders);

/* Print `answer`: what a child said of a plugin that it could not describe, with similar ones that
 * scans of the kind, or of all (NULL), have found, by id or name. Returns STATUS_FAILED. */
MUST_CHECK enum status plugin_catalog_fail(const struct plugin_catalog *catalog,
                                           const struct plugin_kind *kind, const char *id,
                                           const json_t *answer);

/* kind->describe in a child process, with what kind->use() needs. Errors: those of
 * plugin_catalog_needed and of describe; the child's death; a description with impossible
 * numbers. */
MUST_CHECK enum status plugin_describe_isolated(const struct plugin_kind *kind, const char *id,
                                                struct plugin_info **info);

/* All installed plugins, scanned in a child process (plugin_scanner.h). A plugin that crashes or
 * hangs is skipped. What a scan found is remembered (plugin_memory.h): the next scan asks only of
 * holders that have changed. */

struct plugin_skip {
    const struct plugin_kind *kind;
    char *holder; /* holder or plugin */
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
