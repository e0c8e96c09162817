/* Ports of LADSPA plugins as struct plugin_port.
 *
 * A symbol is the name of the port in lower case, with "_" for everything but letters and digits,
 * and before a leading digit. Brackets that contain a unit are removed: "Gain [dB]" is `gain`. So
 * are all others ("Wave (0 = sine, 1 = square)"), unless two ports would then share a symbol. Where
 * two still do, the second gets "_2". So a symbol is stable as long as the names of the ports are.
 * A list of numbers in brackets gives points: "(0 = sine, 1 = square)". Audio inputs with
 * "sidechain" in their name are side chains.
 *
 * Source: ladspa.h 1.1 for hints and defaults; that "latency" or "_latency" reports frames is a
 * convention of hosts.
 */
#ifndef HALO_PLUGIN_LADSPA_PORT_H
#define HALO_PLUGIN_LADSPA_PORT_H

#include "plugin/plugin.h"

#include <ladspa.h>

/* Fill the ports of an info, which are zeros so far, by the descriptor. Errors: memory. */
MUST_CHECK enum status plugin_ladspa_ports(const LADSPA_Descriptor *descriptor,
                                           struct plugin_info *info);

#endif
