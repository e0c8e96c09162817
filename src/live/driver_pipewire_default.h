/* The sink that halo plays to where none is named: the default one, which is halo's own at times.
 *
 * Threads: any, with the loop's lock held.
 */
#ifndef HALO_DRIVER_PIPEWIRE_DEFAULT_H
#define HALO_DRIVER_PIPEWIRE_DEFAULT_H

#include "live/driver_pipewire_registry.h"

/* What the session manager would choose if `own` (a node's name; empty: none) were not there: the
 * default, the one that the user configured before, or by priority. NULL: none. Call it at each
 * change of the graph. */
const struct pipewire_registry_node *pipewire_default_sink(struct pipewire_registry *graph,
                                                           const char *own);

/* Forget what the user configured, which outlives a connection with the server. */
void pipewire_default_forget(void);

#endif
