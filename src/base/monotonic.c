#include "base/monotonic.h"

int64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

double monotonic_seconds(void)
{
    return 1e-9 * (double)monotonic_ns();
}

struct timespec monotonic_after(long milliseconds)
{
    int64_t at = monotonic_ns() + 1000000 * (int64_t)milliseconds;
    return (struct timespec){.tv_sec = at / 1000000000, .tv_nsec = at % 1000000000};
}
