/* A monotonic clock. Threads: any. Real-time, except the sleep. */
#ifndef HALO_MONOTONIC_H
#define HALO_MONOTONIC_H

#include "base/realtime.h"
#include <stdint.h>
#include <time.h>

HALO_REALTIME static inline int64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

HALO_REALTIME static inline double monotonic_seconds(void)
{
    return 1e-9 * (double)monotonic_ns();
}

static inline struct timespec monotonic_time(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

/* The time after so many milliseconds, for timed waits on this clock. */
static inline struct timespec monotonic_after(long milliseconds)
{
    return monotonic_time(monotonic_ns() + 1000000 * (int64_t)milliseconds);
}

/* Sleeps until monotonic_ns() is `ns` or a signal arrives. */
static inline void monotonic_sleep_until(int64_t ns)
{
    struct timespec time = monotonic_time(ns);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

#endif
