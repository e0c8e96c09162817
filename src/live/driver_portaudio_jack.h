/* Lets PortAudio survive the death of a JACK server, which it does not by itself.
 *
 * Its close then waits ten minutes for a block and asserts that JACK's calls succeed, which aborts
 * the program (pa_jack.c of 19.6 and later: RealStop, CleanUpStream, Terminate). This file defines
 * four of JACK's functions, which ELF resolves before the library's, and forwards the calls. For
 * PortAudio's client, failures to release things are hidden, and the wait is ended by calling
 * PortAudio's own shutdown callback. Other JACK clients of the process are not affected.
 * Private to driver_portaudio*.c. Threads: any.
 */
#ifndef HALO_DRIVER_PORTAUDIO_JACK_H
#define HALO_DRIVER_PORTAUDIO_JACK_H

#include <stdbool.h>

/* A client that this thread registers between (true) and (false) is PortAudio's. */
void portaudio_jack_adopt(bool begin);

/* Wake a PortAudio call that waits for a dead server. Repeat until that call returns. */
void portaudio_jack_wake(void);

#endif
