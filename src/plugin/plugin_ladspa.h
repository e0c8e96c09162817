/* LADSPA plugins: shared libraries in LADSPA_PATH, each with any number of labels. */
#ifndef HALO_PLUGIN_LADSPA_H
#define HALO_PLUGIN_LADSPA_H

#include "plugin/plugin.h"

extern const struct plugin_kind plugin_ladspa;

#endif
