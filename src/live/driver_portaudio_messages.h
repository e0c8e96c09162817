/* What ALSA and PortAudio would print to standard error while a stream runs, across a screen.
 *
 * ALSA's messages become notes. Those of PortAudio ("Expression ... failed in 'src/...'") come
 * where a call fails, which halo reports in its own words, so that they are for --verbose. Private
 * to driver_portaudio*.c. Threads: the control thread.
 */
#ifndef HALO_DRIVER_PORTAUDIO_MESSAGES_H
#define HALO_DRIVER_PORTAUDIO_MESSAGES_H

/* From here on neither prints anything. They may write from any thread. */
void portaudio_messages_catch(void);

/* Note what was written since the last call: each message once in a stream, a few at most. */
void portaudio_messages_report(void);

/* Forget what was written: devices were looked for, or a new stream begins. */
void portaudio_messages_forget(void);

#endif
