/* What a PipeWire server's metadata say: the default devices, which the session manager keeps, and
 * the rates of the clock.
 *
 * A default can be named before its node or its ports are there, or after; before halo has bound
 * the metadata, or after; and while another program reads them for the first time. Of the last the
 * server (metadata.c of its module, to 1.4 at least) tells that program alone. So they are read
 * again some time after programs came or went. The session manager may end and begin again: its
 * metadata are others then, and what the old ones said holds until they say something.
 *
 * Threads: any, with the loop's lock held; it is the loop's own that changes values.
 */
#ifndef HALO_DRIVER_PIPEWIRE_METADATA_H
#define HALO_DRIVER_PIPEWIRE_METADATA_H

#include "live/driver_pipewire_registry.h"

/* The registry announces an object of that kind, or that the object `id`, of any kind, is gone. */
void pipewire_metadata_add(struct pipewire_registry *graph, uint32_t id,
                           const struct spa_dict *properties);
void pipewire_metadata_removed(struct pipewire_registry *graph, uint32_t id);

/* A program came or went. */
void pipewire_metadata_doubt(struct pipewire_registry *graph);

/* Read the defaults again where that is due; call it several times a second. */
void pipewire_metadata_check(struct pipewire_registry *graph);

void pipewire_metadata_close(struct pipewire_registry *graph);

#endif
