/* Signals that stop the program: a flag that long work checks between blocks.
 *
 * After stop_begin, SIGINT, SIGTERM and SIGHUP end the program with a line. This is for commands
 * that do not check the flag. After stop_watch, the first of these signals sets the flag. From then
 * on SIGALRM interrupts the main thread's waiting calls once a second. So a call that began just
 * after a check of the flag ends, too. A second signal removes the files registered with
 * stop_remove and ends the program at once.
 */
#ifndef HALO_STOP_H
#define HALO_STOP_H

#include <pthread.h>
#include <stdbool.h>

void stop_begin(void);
void stop_watch(void);      /* installs the handlers; a broken pipe becomes an error of write() */
bool stop_requested(void);  /* any thread; real-time */
int stop_code(void);        /* exit code that shells see: 128 and the signal's number */
void stop_is_the_end(void); /* a signal is the usual end of this command, not a failure */
bool stop_was_the_end(void);
void stop_raise_again(void); /* ends by the received signal, as shells expect; may return */

/* Signals interrupt the main thread only. After stop_requested, stop_interrupt also ends another
 * thread's wait (EINTR), by SIGALRM, if it called stop_allow_interrupt after stop_watch. Repeat it,
 * since the thread may be about to begin its next wait. */
void stop_allow_interrupt(void); /* for the calling thread */
void stop_interrupt(pthread_t thread);

/* stop_remove registers an incomplete file for removal, stop_leave unregisters it. The name is not
 * copied. Both calls take the same pointer. At most four files are registered; more are ignored. */
void stop_remove(const char *path);
void stop_leave(const char *path);

/* Sets a function that the second signal's handler calls. NULL: none. */
void stop_before_end(void (*tidy)(void));

#endif
