/* Numbers for URIs, the same for all LV2 plugins of the process. Never given back.
 * Threads: any, under a lock; plugins that honour hardRTCapable do not ask in run(). */
#ifndef HALO_PLUGIN_LV2_URID_H
#define HALO_PLUGIN_LV2_URID_H

#include <lv2/urid/urid.h>

/* For lilv and for the plugins' features. */
LV2_URID_Map *lv2_urid_map(void);
LV2_URID_Unmap *lv2_urid_unmap(void);

/* From 1 on; 0 where there is no memory. */
LV2_URID lv2_urid(const char *uri);

#endif
