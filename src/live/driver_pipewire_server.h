/* Whether a PipeWire server may run: its library takes milliseconds to find out, and memory whose
 * lack it does not survive.
 *
 * Threads: any.
 */
#ifndef HALO_DRIVER_PIPEWIRE_SERVER_H
#define HALO_DRIVER_PIPEWIRE_SERVER_H

#include <stdbool.h>

/* A socket is where programs look for it: named by PIPEWIRE_REMOTE, else pipewire-0, in
 * PIPEWIRE_RUNTIME_DIR, else XDG_RUNTIME_DIR, or in /run/pipewire. True, too, for other forms of
 * PIPEWIRE_REMOTE. Allocates nothing. */
bool pipewire_server_may_run(void);

#endif
