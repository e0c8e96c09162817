/* The description of a plugin as JSON: from the child process of a scan, and for programs. Keys are
 * the names in struct plugin_info; null is unknown or unbounded.
 *
 * What is read was written by a process that runs plugins, or lay in a file: counts, lengths and
 * numbers are checked, and the JSON library has checked that texts are UTF-8 without zeros. */
#ifndef HALO_PLUGIN_INFO_JSON_H
#define HALO_PLUGIN_INFO_JSON_H

#include "plugin/plugin.h"

#include <jansson.h>

/* For json_dumpf: enough digits to read a float back exactly. */
#define PLUGIN_INFO_DIGITS JSON_REAL_PRECISION(9)

/* A new reference, or NULL: memory. */
json_t *plugin_info_object(const struct plugin_info *info);

/* The plugin of such an object. Errors: not such an object, with the reason; memory. */
MUST_CHECK enum status plugin_info_of_object(const json_t *object, struct plugin_info **info);

/* What a list shows of a plugin. */
struct plugin_row {
    const struct plugin_kind *kind;
    char *id, *name, *maker, *category, *file, *refusal; /* as in struct plugin_info */
    size_t inputs, outputs;                              /* channels of one instance */
};

/* The texts are those of the info. */
struct plugin_row plugin_row_of_info(const struct plugin_info *info);

/* A new reference, or NULL: memory. */
json_t *plugin_row_object(const struct plugin_row *row);

/* False: not such an object, or no memory; the row is empty then. */
bool plugin_row_of_object(const json_t *object, struct plugin_row *row);
void plugin_row_free(struct plugin_row *row);

/* {"base", "changing", "plugins": [id], "serves": [id]}; as above. */
json_t *plugin_contents_object(const struct plugin_contents *contents);
bool plugin_contents_of_object(const json_t *object, struct plugin_contents *contents);

/* The description of a plugin for users, as text or JSON. */

struct plugin_summary {
    const struct plugin_info *info;
    const json_t *latency; /* frames at 48 kHz; NULL: unknown */
    const char *failure;   /* why it is unknown; NULL */
};

/* On standard output. Ranges that depend on the rate are those at 48 kHz. */
void plugin_summary_print(const struct plugin_summary *summary);

/* A new reference, or NULL: memory. */
json_t *plugin_summary_object(const struct plugin_summary *summary);

#endif
