/* A number that only grows, which threads of one or several processes can wait for.
 *
 * It wraps at 2^32. Wait only for values less than 2^31 away. Initially zero. Real-time: raising
 * does not block, and makes a system call only if a thread sleeps. Threads: any number of them may
 * raise it and wait.
 */
#ifndef HALO_FUTEX_H
#define HALO_FUTEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct futex {
    atomic_uint value;    /* the number */
    atomic_uint sleepers; /* number of threads that sleep */
};

/* Raises the number by one and wakes all sleeping threads. */
void futex_raise(struct futex *count);

/* Raises the number and wakes one thread, which wakes others by futex_wake_one if there is more to
 * do. Waking takes some microseconds for each thread. */
void futex_raise_for_one(struct futex *count);
void futex_wake_one(struct futex *count);

/* Whether the number has reached `value`. Real-time. */
bool futex_reached(struct futex *count, uint32_t value);

/* Waits until the number reaches `value`: spins for `spin` ns, then sleeps until monotonic_ns() is
 * `until` or a signal comes. False: not reached. Real-time, if the step can wait so long. */
bool futex_wait(struct futex *count, uint32_t value, int64_t spin, int64_t until);

/* Wakes the waiting threads without raising the number. */
void futex_wake(struct futex *count);

#endif
