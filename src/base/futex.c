#include "base/futex.h"

#include "base/monotonic.h"
#include "base/realtime.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert(sizeof(atomic_uint) == sizeof(uint32_t), "a futex is 32 bits wide");

static void wake_some(struct futex *count, int most)
{
    syscall(SYS_futex, &count->value, FUTEX_WAKE, most, NULL, NULL, 0);
}

void futex_wake(struct futex *count)
{
    wake_some(count, INT_MAX);
}

void futex_wake_one(struct futex *count)
{
    if (atomic_load(&count->sleepers) > 0)
        wake_some(count, 1);
}

/* A waiter counts itself before it reads the value. futex_raise reads the count after it has raised
 * the value. So at least one of them sees the other. */
HALO_REALTIME void futex_raise(struct futex *count)
{
    atomic_fetch_add(&count->value, 1);
    if (atomic_load(&count->sleepers) > 0)
        futex_wake(count);
}

HALO_REALTIME void futex_raise_for_one(struct futex *count)
{
    atomic_fetch_add(&count->value, 1);
    futex_wake_one(count);
}

HALO_REALTIME static bool is_reached(uint32_t now, uint32_t value)
{
    return now - value <= UINT32_MAX / 2;
}

HALO_REALTIME bool futex_reached(struct futex *count, uint32_t value)
{
    return is_reached(atomic_load(&count->value), value);
}

static void futex_sleep(struct futex *count, uint32_t now, int64_t until)
{
    const struct timespec end = monotonic_time(until);
    syscall(SYS_futex, &count->value, FUTEX_WAIT_BITSET, now, &end, NULL, FUTEX_BITSET_MATCH_ANY);
}

HALO_REALTIME bool futex_wait(struct futex *count, uint32_t value, int64_t spin, int64_t until)
{
    int64_t end = spin ? monotonic_ns() + spin : 0;
    if (end > until)
        end = until;
    while (!futex_reached(count, value) && spin && monotonic_ns() < end)
        sched_yield(); /* the thread that raises the number may need this processor */
    if (futex_reached(count, value))
        return true;
    atomic_fetch_add(&count->sleepers, 1);
    uint32_t now = atomic_load(&count->value);
    if (!is_reached(now, value))
        futex_sleep(count, now, until);
    atomic_fetch_sub(&count->sleepers, 1);
    return futex_reached(count, value);
}
