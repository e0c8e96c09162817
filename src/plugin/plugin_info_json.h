/* The description of a plugin as JSON: from the child process of a scan, and for programs. Keys are
 * the names in struct plugin_info; null is unknown or unbounded. */
#ifndef HALO_PLUGIN_INFO_JSON_H
#define HALO_PLUGIN_INFO_JSON_H

#include "plugin/plugin.h"

#include <jansson.h>

/* For json_dumpf: enough digits to read a float back exactly. */
#define PLUGIN_INFO_DIGITS JSON_REAL_PRECISION(9)

/* A new reference, or NULL: memory. */
json_t *plugin_info_object(const struct plugin_info *info);

/* The plugin of such an object. Errors: not such an object, memory. */
MUST_CHECK enum status plugin_info_of_object(const json_t *object, struct plugin_info **info);

#endif
