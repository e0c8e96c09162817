/* Loads an LV2 plugin's library to see whether that can be done: what crashes or hangs over it
 * is found out in a scan's child process and not in a chain. */
#ifndef HALO_PLUGIN_LV2_LIBRARY_H
#define HALO_PLUGIN_LV2_LIBRARY_H

#include "base/status.h"

#include <lilv/lilv.h>

/* Runs code of the library. Errors: it cannot be loaded, or has no plugin of that URI. */
MUST_CHECK enum status lv2_library_try(const LilvPlugin *plugin);

#endif
