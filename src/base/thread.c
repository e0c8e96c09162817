#include "base/thread.h"

#include "base/realtime.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

int thread_start(pthread_t *thread, const char *name, enum thread_priority priority,
                 void *(*main)(void *argument), void *argument)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    pthread_attr_init(&attributes);
    if (priority == THREAD_ORDINARY) {
        pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
        pthread_attr_setschedpolicy(&attributes, SCHED_OTHER);
        pthread_attr_setschedparam(&attributes, &(struct sched_param){0});
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, &attributes, main, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (error)
        return error;
    (void)pthread_setname_np(*thread, name);
    if (priority == THREAD_BELOW_CALLER)
        realtime_lower(*thread);
    return 0;
}

/* The system has one error for two causes; this names both. */
const char *thread_error(int error)
{
    return error == EAGAIN ? "not enough memory for it, or too many run" : strerror(error);
}

void thread_condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &monotonic);
    pthread_condattr_destroy(&monotonic);
}
