/* LV2 plugins, through lilv. */
#ifndef HALO_PLUGIN_LV2_H
#define HALO_PLUGIN_LV2_H

#include "plugin/plugin.h"

extern const struct plugin_kind plugin_lv2;

#endif
