#include "base/poll_timer.h"

enum {
    EARLIER = 64, /* that part of a period a look comes earlier than the one before */
    AGAIN = 16,   /* that part of a period until the next look where one was in vain */
    GONE = 64,    /* periods without work, after which the other thread may have stopped */
};

struct poll_timer poll_timer_start(int64_t period, int64_t now)
{
    return (struct poll_timer){.period = period, .look = now, .found = now};
}

int64_t poll_timer_next(struct poll_timer *clock, bool found, int64_t now)
{
    int64_t period = clock->period;
    if (found) {
        clock->found = clock->look; /* not when it woke, or looks would come ever later */
        int64_t since = (now - clock->found) % period;
        return clock->look = now - since + period - period / EARLIER;
    }
    bool gone = now - clock->found > GONE * period; /* once a period, each time at another place */
    return clock->look = now + (gone ? period : 0) + period / AGAIN;
}
