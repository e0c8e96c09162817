/* A clock that only goes forward. Threads: any. Real-time, but for the sleep. */
#ifndef HALO_MONOTONIC_H
#define HALO_MONOTONIC_H

#include <stdint.h>
#include <time.h>

int64_t monotonic_ns(void); /* CLOCK_MONOTONIC's */
double monotonic_seconds(void);

/* Sleep until monotonic_ns() is `ns`, or a signal comes. */
void monotonic_sleep_until(int64_t ns);

/* So many milliseconds from now, for waits that end by this clock. */
struct timespec monotonic_after(long milliseconds);

#endif
