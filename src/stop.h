/* Ctrl-C and its kin: a flag that long work looks at between blocks.
 *
 * The first SIGINT, SIGTERM or SIGHUP sets the flag and restores the default
 * action, so that a second one ends the program whatever it is waiting for.
 */
#ifndef HALO_STOP_H
#define HALO_STOP_H

#include <stdbool.h>

void stop_watch(void);       /* install the handlers; SIGPIPE, SIGXFSZ become errors of write() */
bool stop_requested(void);   /* any thread */
void stop_raise_again(void); /* end by the signal that came, as a shell expects; may return */

#endif
