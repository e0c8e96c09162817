/* Starts threads in which all signals are blocked, so that signals interrupt the main thread. */
#ifndef HALO_THREAD_H
#define HALO_THREAD_H

#include "base/realtime.h"
#include "base/status.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/resource.h>
#include <time.h>

enum thread_priority {
    THREAD_AS_CALLER,
    THREAD_BELOW_CALLER, /* one below the caller's, if that is real-time */
    THREAD_ORDINARY,     /* no real-time priority */
};

/* Starts a thread. `name` has at most 15 characters. Returns 0 or an errno, and prints nothing. The
 * caller joins or detaches the thread. */
MUST_CHECK int thread_start(pthread_t *thread, const char *name, enum thread_priority priority,
                            void *(*main)(void *argument), void *argument);

/* The error that thread_start returned, in words. */
const char *thread_error(int error);

/* Initialises a condition for timed waits on the monotonic clock. */
void thread_condition_init(pthread_cond_t *condition);

/* The kernel's counts for the calling thread. Reading them takes two system calls that do not wait,
 * about a microsecond together. Threads: any. Real-time. */

struct thread_usage {
    int64_t cpu_ns; /* time on a processor */
    long faults;    /* pages mapped without reading */
    long major;     /* pages read from a disk */
    long preempted; /* how often the processor was taken from the thread */
    int processor;  /* number of the current processor; in a difference: whether it changed */
};

HALO_REALTIME static inline struct thread_usage thread_usage_now(void)
{
    struct rusage usage = {0};
    struct timespec cpu = {0};
    getrusage(RUSAGE_THREAD, &usage);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    return (struct thread_usage){.cpu_ns = (int64_t)cpu.tv_sec * 1000000000 + cpu.tv_nsec,
                                 .faults = usage.ru_minflt,
                                 .major = usage.ru_majflt,
                                 .preempted = usage.ru_nivcsw,
                                 .processor = sched_getcpu()};
}

HALO_REALTIME static inline struct thread_usage
thread_usage_between(const struct thread_usage *before, const struct thread_usage *now)
{
    return (struct thread_usage){.cpu_ns = now->cpu_ns - before->cpu_ns,
                                 .faults = now->faults - before->faults,
                                 .major = now->major - before->major,
                                 .preempted = now->preempted - before->preempted,
                                 .processor = now->processor != before->processor};
}

#endif
