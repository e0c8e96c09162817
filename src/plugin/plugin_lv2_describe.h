/* What an LV2 plugin's bundle says of it, as a struct plugin_info. None of its code runs.
 * Threads: the control thread alone. */
#ifndef HALO_PLUGIN_LV2_DESCRIBE_H
#define HALO_PLUGIN_LV2_DESCRIBE_H

#include "plugin/plugin.h"

#include <lilv/lilv.h>

/* struct plugin_kind's describe. */
MUST_CHECK enum status lv2_describe(const char *uri, struct plugin_info **info);

/* One port, all fields. Errors: memory. */
MUST_CHECK enum status lv2_describe_port(const LilvPlugin *plugin, const LilvPort *port,
                                         struct plugin_port *result);

/* What its ranges say. After lv2_describe_port of all. Errors: memory. */
MUST_CHECK enum status lv2_describe_ranges(const LilvPlugin *plugin, struct plugin_info *info);

/* Is the port of a type that struct plugin_port has, or does the plugin do without it? */
bool lv2_describe_knows(const LilvPlugin *plugin, const LilvPort *port);

#endif
