/* Starts threads with all signals blocked: signals interrupt the main thread. */
#ifndef HALO_THREAD_H
#define HALO_THREAD_H

#include "base/status.h"

#include <pthread.h>

enum thread_priority {
    THREAD_AS_CALLER,
    THREAD_BELOW_CALLER, /* by one, if the caller's is real-time */
    THREAD_ORDINARY,     /* no real-time priority */
};

/* `name` has at most 15 characters. Returns 0 or an errno, and prints nothing. The caller joins or
 * detaches the thread. */
MUST_CHECK int thread_start(pthread_t *thread, const char *name, enum thread_priority priority,
                            void *(*main)(void *argument), void *argument);

/* Why: what thread_start returned, in words. */
const char *thread_error(int error);

/* A condition with timed waits on the monotonic clock. */
void thread_condition_init(pthread_cond_t *condition);

#endif
