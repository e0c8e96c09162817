/* When a thread looks for work that comes once a period from a thread that must not wake it.
 *
 * Where work is there at the first look, the next one is a little earlier; where none is, it
 * looks again soon, and then knows when work comes. So looks keep falling in with the other
 * thread's beat, whatever either clock does, at little more than one a period
 * where that is known.
 * Plain arithmetic; times are a clock's nanoseconds. Threads: one. Real-time.
 */
#ifndef HALO_POLL_TIMER_H
#define HALO_POLL_TIMER_H

#include <stdbool.h>
#include <stdint.h>

struct poll_timer {
    int64_t period; /* ns */
    int64_t look;   /* when the look at hand was to be */
    int64_t found;  /* when the last one was that found work */
};

struct poll_timer poll_timer_start(int64_t period, int64_t now);

/* Call with what the look at hand came to, after the work that it found is done. Returns when
 * to look next. */
int64_t poll_timer_next(struct poll_timer *clock, bool found, int64_t now);

#endif
