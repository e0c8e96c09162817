/* The clients of a JACK server as devices, and the names of their ports, CLIENT:PORT.
 *
 * Private to driver_jack*.c. Threads: the control thread.
 */
#ifndef HALO_DRIVER_JACK_DEVICES_H
#define HALO_DRIVER_JACK_DEVICES_H

#include "live/device_driver.h"

#include "live/jack_library.h"

/* The device that is no client. */
extern const char jack_devices_none[];

/* Append a host API, a device for each client with audio ports, and jack_devices_none, which is the
 * default where no hardware is. Errors: memory. */
MUST_CHECK enum status jack_devices_list(jack_client_t *client, struct device_list *list);

/* Names of all audio ports with these flags, NULL at the end; for jack_free. NULL: there are none.
 */
const char **jack_devices_ports(jack_client_t *client, unsigned long flags);

/* Whether the port is that client's; the length of the client's name in that of a port. */
bool jack_devices_owns(const char *port, const char *client);
size_t jack_devices_name_length(const char *port);

/* What a playback device plays, offered as an input by sound servers. */
bool jack_devices_is_monitor(const char *port);

#endif
