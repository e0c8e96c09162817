/* A number in shared memory that one process raises and another waits for.
 *
 * It goes round after 2^32: what is waited for is less than half of that away.
 * Threads: one raises it, one waits. Real-time: raising makes a system call, which does not wait,
 * only where somebody sleeps.
 */
#ifndef HALO_FUTEX_H
#define HALO_FUTEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct futex { /* zeroed at first */
    atomic_uint value;
    atomic_uint sleepers;
};

void futex_raise(struct futex *count);

/* Real-time. */
bool futex_reached(struct futex *count, uint32_t value);

/* Wait until it is reached: look for `spin` nanoseconds, then sleep for `sleep` milliseconds at
 * most, or until a signal comes. False: not reached yet. */
bool futex_wait(struct futex *count, uint32_t value, int64_t spin, long sleep);

/* Let go who waits, though nothing was reached. */
void futex_wake(struct futex *count);

#endif
