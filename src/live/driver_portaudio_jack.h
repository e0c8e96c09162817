/* Stands between PortAudio and JACK's library, so that a JACK server can die.
 *
 * When the server goes, PortAudio's close waits ten minutes for a block that never comes,
 * and then asserts that JACK's calls succeed, which they cannot any more; the assertion
 * ends the program (pa_jack.c of 19.6 and later: RealStop, CleanUpStream, Terminate). The
 * program therefore defines four of JACK's functions itself (ELF lets the program's own
 * definition go first) and hands each call on to the library. For PortAudio's client,
 * failures to give things back are kept from PortAudio, which could do nothing about them,
 * and its wait can be ended with what it left for that purpose: its own shutdown callback.
 * Other clients of the process see JACK as it is.
 * Private to driver_portaudio*.c. Threads: any.
 */
#ifndef HALO_DRIVER_PORTAUDIO_JACK_H
#define HALO_DRIVER_PORTAUDIO_JACK_H

#include <stdbool.h>

/* The JACK client that this thread registers between the two calls is PortAudio's. */
void portaudio_jack_adopt(bool begin);

/* Wake a PortAudio call that waits for a dead server; nothing where there is none. To be
 * called again until the call that waits has returned. */
void portaudio_jack_wake(void);

#endif
