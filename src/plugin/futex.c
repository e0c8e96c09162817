#include "plugin/futex.h"

#include "base/monotonic.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert(sizeof(atomic_uint) == sizeof(uint32_t), "a futex is 32 bits wide");

void futex_wake(struct futex *count)
{
    syscall(SYS_futex, &count->value, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* The waiter counts itself before it reads the value, and this reads the count after raising it: so
 * one of the two sees the other. */
void futex_raise(struct futex *count)
{
    atomic_fetch_add(&count->value, 1);
    if (atomic_load(&count->sleepers) > 0)
        futex_wake(count);
}

static bool is_reached(uint32_t now, uint32_t value)
{
    return now - value <= UINT32_MAX / 2;
}

bool futex_reached(struct futex *count, uint32_t value)
{
    return is_reached(atomic_load(&count->value), value);
}

bool futex_wait(struct futex *count, uint32_t value, int64_t spin, long sleep)
{
    const struct timespec most = {.tv_sec = sleep / 1000, .tv_nsec = sleep % 1000 * 1000000L};
    int64_t end = spin ? monotonic_ns() + spin : 0;
    while (!futex_reached(count, value) && spin && monotonic_ns() < end)
        sched_yield(); /* the other process may need this CPU */
    if (futex_reached(count, value))
        return true;
    atomic_fetch_add(&count->sleepers, 1);
    uint32_t now = atomic_load(&count->value);
    if (!is_reached(now, value))
        syscall(SYS_futex, &count->value, FUTEX_WAIT, now, &most, NULL, 0);
    atomic_fetch_sub(&count->sleepers, 1);
    return futex_reached(count, value);
}
