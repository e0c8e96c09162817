#include "base/monotonic.h"

int64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static struct timespec time_at(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

double monotonic_seconds(void)
{
    return 1e-9 * (double)monotonic_ns();
}

struct timespec monotonic_after(long milliseconds)
{
    return time_at(monotonic_ns() + 1000000 * (int64_t)milliseconds);
}

void monotonic_sleep_until(int64_t ns)
{
    struct timespec time = time_at(ns);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}
