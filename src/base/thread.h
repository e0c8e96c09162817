/* Starts threads, all signals blocked: those are the main thread's, whose reads and writes must
 * return when one comes. */
#ifndef HALO_THREAD_H
#define HALO_THREAD_H

#include "base/status.h"

#include <pthread.h>

enum thread_priority {
    THREAD_AS_CALLER,
    THREAD_BELOW_CALLER, /* by one, where the caller's is a real-time priority */
    THREAD_ORDINARY,     /* no real-time priority, whatever the caller's is */
};

/* `name` is for debuggers and top, 15 characters at most. Returns 0, or what errno would be:
 * nothing is printed. Whoever starts a thread joins or detaches it. */
MUST_CHECK int thread_start(pthread_t *thread, const char *name, enum thread_priority priority,
                            void *(*main)(void *argument), void *argument);

/* A condition whose timed waits end by monotonic_after(). */
void thread_condition_init(pthread_cond_t *condition);

#endif
