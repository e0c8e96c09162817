/* How PipeWire calls the channels of a node, and what halo takes them for.
 *
 * Halo takes a device's channels in the order of its layouts, whatever that of the device, and its
 * ports are linked by name (driver_pipewire_links.h); unless a map chooses among them, when each is
 * called as the device's.
 * Threads: any, with the loop's lock held.
 */
#ifndef HALO_DRIVER_PIPEWIRE_CHANNELS_H
#define HALO_DRIVER_PIPEWIRE_CHANNELS_H

#include "live/device_driver.h"
#include "live/driver_pipewire_links.h"

/* Those of one direction. */
struct pipewire_channels {
    const struct pipewire_registry *graph;
    const struct pipewire_end *end; /* the device */
    const struct device_channels *channels;
    struct channel_layout asked; /* by --layout, or what the chain makes; unknown: nothing */
    bool is_input;
    bool is_sink; /* a sink of halo's own, not a device */
};

/* What is asked for, if it is of that many channels; else unknown. */
struct channel_layout pipewire_stated_layout(const struct pipewire_channels *channels);

/* What the device says, or the sink has; of one channel among several nothing. */
struct channel_layout pipewire_device_layout(const struct pipewire_channels *channels);

/* The name of halo's port: FL, RL, AUX2. Valid until the graph changes. */
const char *pipewire_port_name(const struct pipewire_channels *channels, size_t port);

/* SPA_AUDIO_CHANNEL_FL and so on of a name; of another one that of AUX and `channel`. */
uint32_t pipewire_channel_number(const char *name, size_t channel);

#endif
