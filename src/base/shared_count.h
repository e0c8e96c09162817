/* A number in shared memory that one process raises and another waits for.
 *
 * It goes round after 2^32: what is waited for is less than half of that away.
 * Threads: one raises it, one waits. Real-time: raising makes a system call, which does not wait,
 * only where somebody sleeps.
 */
#ifndef HALO_SHARED_COUNT_H
#define HALO_SHARED_COUNT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct shared_count { /* zeroed at first */
    atomic_uint value;
    atomic_uint sleepers;
};

void shared_count_raise(struct shared_count *count);

/* Real-time. */
bool shared_count_reached(struct shared_count *count, uint32_t value);

/* Wait until it is reached: look for `spin` nanoseconds, then sleep for `sleep` milliseconds at
 * most, or until a signal comes. False: not reached yet. */
bool shared_count_wait(struct shared_count *count, uint32_t value, int64_t spin, long sleep);

/* Let go who waits, though nothing was reached. */
void shared_count_wake(struct shared_count *count);

#endif
