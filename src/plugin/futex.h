/* A counter in shared memory that one process raises and another waits for.
 *
 * It wraps at 2^32; the value waited for is less than half of that away. Threads: one raises, one
 * waits. Real-time: raising makes a system call only if the other sleeps, and does not block.
 */
#ifndef HALO_FUTEX_H
#define HALO_FUTEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct futex { /* initially zero */
    atomic_uint value;
    atomic_uint sleepers;
};

void futex_raise(struct futex *count);

/* Real-time. */
bool futex_reached(struct futex *count, uint32_t value);

/* Wait until it is reached: spin for `spin` nanoseconds, then sleep for `sleep` milliseconds at
 * most, or until a signal comes. False: not reached yet. */
bool futex_wait(struct futex *count, uint32_t value, int64_t spin, long sleep);

/* Wake the waiter without raising. */
void futex_wake(struct futex *count);

#endif
