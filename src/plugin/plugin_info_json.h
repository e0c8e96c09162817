/* The description of a plugin as JSON: from the child process of a scan, and for programs. Names
 * are those of struct plugin_info; what is unknown or unbounded is null. */
#ifndef HALO_PLUGIN_INFO_JSON_H
#define HALO_PLUGIN_INFO_JSON_H

#include "plugin/plugin.h"

#include <jansson.h>

/* Digits that bring a float back as it was: for json_dumpf. */
#define PLUGIN_INFO_DIGITS JSON_REAL_PRECISION(9)

/* A new reference, or NULL: memory. */
json_t *plugin_info_object(const struct plugin_info *info);

/* The plugin that such an object is of. Errors: it is of none, memory. */
MUST_CHECK enum status plugin_info_of_object(const json_t *object, struct plugin_info **info);

#endif
