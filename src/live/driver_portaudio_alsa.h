/* What PortAudio hides of ALSA: which of its devices lead to a sound server, and that server's
 * rate.
 *
 * ALSA is the copy that PortAudio loaded; where that has none, nothing here does anything.
 * Private to driver_portaudio*.c. Threads: the control thread.
 */
#ifndef HALO_DRIVER_PORTAUDIO_ALSA_H
#define HALO_DRIVER_PORTAUDIO_ALSA_H

#include <stdbool.h>
#include <stdint.h>

/* Without a device called default an assertion of PortAudio aborts the program. */
bool portaudio_alsa_has_default(void);

/* The sound server that an ALSA device leads to by a plugin of alsa-lib, directly or as the slave
 * of other plugins: "PulseAudio", "PipeWire"; NULL: none. */
const char *portaudio_alsa_server(const char *device);

/* Hz of the server's default sink, or of its default source; 48000 if it does not say. Waits for
 * half a second at most. */
uint32_t portaudio_alsa_server_rate(bool of_sink);

#endif
