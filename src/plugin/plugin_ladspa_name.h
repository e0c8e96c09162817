/* What the names of LADSPA ports hold: units, points, and symbols to make (plugin_ladspa_port.h has
 * the rule). */
#ifndef HALO_PLUGIN_LADSPA_NAME_H
#define HALO_PLUGIN_LADSPA_NAME_H

#include "plugin/plugin.h"

/* "dB" of "Gain [dB]"; NULL: none that is known. Errors: memory. */
MUST_CHECK enum status plugin_ladspa_name_unit(const char *name, char **unit);

/* Those of "Wave (0 = sine, 1 = square)" that lie in the port's range. Errors: memory. */
MUST_CHECK enum status plugin_ladspa_name_points(struct plugin_port *port);

/* A symbol for every port, by their names. Errors: memory. */
MUST_CHECK enum status plugin_ladspa_name_symbols(struct plugin_info *info);

#endif
