/* What the names of ports say: brackets, units, and symbols made of the names where a plugin has
 * none (LADSPA, CLAP).
 *
 * A symbol is the name of the port in lower case, with "_" for everything but letters and digits,
 * and before a leading digit. Brackets that contain a unit are removed: "Gain [dB]" is `gain`. So
 * are all others ("Wave (0 = sine, 1 = square)"), unless two ports would then share a symbol. If
 * two still do, the second gets "_2". So a symbol is as stable as the names of the ports.
 */
#ifndef HALO_PLUGIN_PORT_NAMES_H
#define HALO_PLUGIN_PORT_NAMES_H

#include "plugin/plugin.h"

struct name_span {
    const char *text;
    size_t length;
};

/* The text within the next pair of brackets from *at on; *at moves behind the pair. */
bool name_next_brackets(const char **at, struct name_span *inner);

/* Without blanks at both ends. */
struct name_span name_trimmed(struct name_span span);

/* "dB" for "db", "Hz" for "hz" and so on; NULL: no known unit. */
const char *name_unit_in(struct name_span span);

/* Give each port of the info a symbol made of its name. Errors: memory. */
MUST_CHECK enum status plugin_port_symbols(struct plugin_info *info);

#endif
