/* Ctrl-C and its kin: a flag that long work looks at between blocks.
 *
 * The first SIGINT, SIGTERM or SIGHUP sets the flag. A second one ends the program
 * at once, whatever it is waiting for; the files registered with stop_remove go.
 */
#ifndef HALO_STOP_H
#define HALO_STOP_H

#include <stdbool.h>

void stop_watch(void);       /* install the handlers; SIGPIPE, SIGXFSZ become errors of write() */
bool stop_requested(void);   /* any thread */
void stop_raise_again(void); /* end by the signal that came, as a shell expects; may return */

/* A half-written file that must not be left behind; and one that is done or gone by now. The name
 * is kept, not copied, and is the same in both. Four files at a time; more are let be. */
void stop_remove(const char *path);
void stop_leave(const char *path);

/* Called before a second signal ends the program, in its handler; NULL: nothing is. */
void stop_before_end(void (*tidy)(void));

#endif
