/* What a LADSPA plugin says of a port, in halo's words.
 *
 * A symbol is the port's name in lower case, with "_" for whatever is no letter or digit, and
 * before a digit at its start. Brackets that hold a unit go: "Gain [dB]" is `gain`. So do all
 * others ("Delay (maximum)", "Wave (0 = sine, 1 = square)"), unless two ports would then have one
 * symbol. Where two have one all the same, the second gets "_2". So a symbol stays as long as the
 * names of the plugin's ports do.
 * A list of numbers in brackets gives the port points: "(0 = sine, 1 = square)".
 *
 * Sound in at a port whose name has "sidechain" is one.
 *
 * Source: ladspa.h 1.1 for hints and defaults; that "latency" or "_latency" tells frames is a
 * convention of its hosts.
 */
#ifndef HALO_PLUGIN_LADSPA_PORT_H
#define HALO_PLUGIN_LADSPA_PORT_H

#include "plugin/plugin.h"

#include <ladspa.h>

/* Fill the ports of an info, which are zeros so far, by the descriptor. Errors: memory. */
MUST_CHECK enum status plugin_ladspa_ports(const LADSPA_Descriptor *descriptor,
                                           struct plugin_info *info);

#endif
