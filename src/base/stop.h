/* Signals that stop the program: a flag that long work checks between blocks.
 *
 * After stop_begin SIGINT, SIGTERM and SIGHUP end the program with a line; this is for commands
 * that do not check the flag. After stop_watch the first SIGINT, SIGTERM or SIGHUP sets the flag.
 * From then on SIGALRM interrupts the main thread's calls that wait, once a second, so that one
 * that began just after the flag was checked ends, too. A second one removes the files registered
 * with stop_remove and ends the program at once.
 */
#ifndef HALO_STOP_H
#define HALO_STOP_H

#include <pthread.h>
#include <stdbool.h>

void stop_begin(void);
void stop_watch(void);      /* install the handlers; SIGPIPE becomes an error of write() */
bool stop_requested(void);  /* any thread; real-time */
int stop_code(void);        /* 128 and the signal's number: the exit code that shells see */
void stop_is_the_end(void); /* a signal is the usual end of this command, and no failure */
bool stop_was_the_end(void);
void stop_raise_again(void); /* end by the received signal, as shells expect; may return */

/* Signals interrupt the main thread alone. Where stop_requested, this ends a wait of another thread
 * as well (EINTR), by SIGALRM, if that has allowed it after stop_watch: call it again and again,
 * since the next wait may be about to begin. */
void stop_allow_interrupt(void); /* of the calling thread */
void stop_interrupt(pthread_t thread);

/* Register an incomplete file for removal, and unregister it. The name is not copied, and is the
 * same pointer in both calls. At most four files; more are ignored. */
void stop_remove(const char *path);
void stop_leave(const char *path);

/* Called in the handler of the second signal; NULL: nothing. */
void stop_before_end(void (*tidy)(void));

#endif
