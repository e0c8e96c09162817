/* LADSPA libraries and their ports. Search path: LADSPA_PATH, else /usr/local/lib/ladspa,
 * /usr/lib/ladspa and the library folders of the system. A library hides libraries of the same name
 * in later folders. */
#ifndef HALO_PLUGIN_LADSPA_H
#define HALO_PLUGIN_LADSPA_H

#include "plugin/plugin.h"

#include <ladspa.h>

/* Fill the zeroed ports of an info from the descriptor. Symbols are made of the names
 * (plugin_port_symbols). A list of numbers in brackets gives points: "(0 = sine, 1 = square)".
 * Audio inputs with "sidechain" in their name are side chains. Source: ladspa.h 1.1 for hints and
 * defaults; "latency" and "_latency" are a convention of hosts. Errors: memory. */
MUST_CHECK enum status plugin_ladspa_ports(const LADSPA_Descriptor *descriptor,
                                           struct plugin_info *info);

#endif
