/* The description of a plugin as JSON, for answers of the scanner's child process and for programs.
 * Keys are the names in struct plugin_info; null means unknown or unbounded. JSON that halo reads
 * is untrusted: it comes from a process that runs plugins, or from a file. Counts, lengths and
 * numbers are checked. The JSON library has checked that texts are UTF-8 without zeros. */
#ifndef HALO_PLUGIN_INFO_JSON_H
#define HALO_PLUGIN_INFO_JSON_H

#include "plugin/plugin.h"

#include <jansson.h>

/* For json_dumpf: enough digits to read a float back exactly. */
#define PLUGIN_INFO_DIGITS JSON_REAL_PRECISION(9)

/* A new reference, or NULL: memory. */
json_t *plugin_info_object(const struct plugin_info *info);

/* The inverse of plugin_info_object(). Errors: not a description, with the reason; memory. */
MUST_CHECK enum status plugin_info_of_object(const json_t *object, struct plugin_info **info);

/* The fields of a plugin that a list of plugins shows. */
struct plugin_row {
    const struct plugin_kind *kind;
    char *id, *name, *maker, *category, *file, *refusal; /* as in struct plugin_info */
    size_t inputs, outputs;                              /* channels of one instance */
};

/* The row of a plugin. Its texts belong to the info. */
struct plugin_row plugin_row_of_info(const struct plugin_info *info);

/* A new reference, or NULL: memory. */
json_t *plugin_row_object(const struct plugin_row *row);

/* False: the object is no row, or no memory; the row is then empty. */
bool plugin_row_of_object(const json_t *object, struct plugin_row *row);
void plugin_row_free(struct plugin_row *row);

/* Contents as {"base", "changing", "plugins": [id], "serves": [id]}. Results as for rows above. */
json_t *plugin_contents_object(const struct plugin_contents *contents);
bool plugin_contents_of_object(const json_t *object, struct plugin_contents *contents);

/* The description of a plugin for users, as text or JSON. */

struct plugin_summary {
    const struct plugin_info *info;
    const json_t *latency; /* frames at 48 kHz; NULL: unknown */
    const char *failure;   /* why the latency could not be measured; NULL: it could, or was not */
};

/* Print on standard output. Ranges that depend on the rate are given for 48 kHz. */
void plugin_summary_print(const struct plugin_summary *summary);

/* A new reference, or NULL: memory. */
json_t *plugin_summary_object(const struct plugin_summary *summary);

#endif
