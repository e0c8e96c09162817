/* A number that only grows, which threads of one or of several processes wait for.
 *
 * It wraps at 2^32; the value waited for is less than half of that away. Initially zero. Real-time:
 * raising makes a system call only if somebody sleeps, and does not block. Threads: any number
 * raises it and waits.
 */
#ifndef HALO_FUTEX_H
#define HALO_FUTEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct futex {
    atomic_uint value;
    atomic_uint sleepers;
};

/* Raise it by one, and wake all that sleep. */
void futex_raise(struct futex *count);

/* The same, but wake one only, who wakes another by futex_wake_one if there is more to do than it
 * can do: waking takes some microseconds a thread. */
void futex_raise_for_one(struct futex *count);
void futex_wake_one(struct futex *count);

/* Real-time. */
bool futex_reached(struct futex *count, uint32_t value);

/* Wait until it is reached: spin for `spin` nanoseconds, then sleep; `until` monotonic_ns() at
 * most, or until a signal comes. False: not reached yet. Real-time, for as long as the step can
 * wait. */
bool futex_wait(struct futex *count, uint32_t value, int64_t spin, int64_t until);

/* Wake the waiters without raising. */
void futex_wake(struct futex *count);

#endif
