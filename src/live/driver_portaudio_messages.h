/* What ALSA would print to standard error while a stream runs, across a screen: notes. PortAudio's
 * own lines ("Expression ... failed") are hushed around the calls of driver_portaudio.c; what its
 * threads print passes. Private to driver_portaudio*.c. Threads: the control thread.
 */
#ifndef HALO_DRIVER_PORTAUDIO_MESSAGES_H
#define HALO_DRIVER_PORTAUDIO_MESSAGES_H

/* From here on ALSA prints nothing. It may write from any thread. */
void portaudio_messages_catch(void);

/* Note what was written since the last call: each message once in a stream, a few at most. */
void portaudio_messages_report(void);

/* Forget what was written: devices were looked for, or a new stream begins. */
void portaudio_messages_forget(void);

#endif
