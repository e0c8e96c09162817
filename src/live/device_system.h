/* PortAudio itself: started, stopped, and its messages kept off the terminal.
 *
 * Private to device*.c. While these calls run, the process's standard error leads nowhere:
 * ALSA, JACK and PortAudio write there whatever they try, and have no other way.
 * Threads: the control thread.
 */
#ifndef HALO_DEVICE_SYSTEM_H
#define HALO_DEVICE_SYSTEM_H

#include "base/status.h"

#include <portaudio.h>

/* Looks for devices afresh. Errors: PortAudio's, or an earlier stop that still hangs. */
MUST_CHECK enum status device_system_start(void);

/* Closes `stream` where there is one and lets go of all devices; then release(context), if
 * there is one, frees what the stream used, on a thread of its own. Takes 2 s at most: what
 * hangs longer is left behind and goes on by itself. */
void device_system_stop(PaStream *stream, void (*release)(void *context), void *context);

/* Between the two, standard error leads nowhere. Not nested. */
void device_system_hush(void);
void device_system_unhush(void);

#endif
