/* Threads that take part in a real-time step, where its work is in pieces that whoever is there
 * claims one by one.
 *
 * They sleep between steps, and spin for a while after a part of one, since another may follow, and
 * around the time for which the next step is expected: waking a thread takes its caller some 10 us
 * and the thread 50 or more, and one that wakes others in turn does so after that. The step wakes
 * those that sleep, and begins; it never waits for one that has not come, only for those that are
 * at work. Threads: one step at a time.
 */
#ifndef HALO_STEP_CREW_H
#define HALO_STEP_CREW_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

struct step_crew;

/* At the caller's priority. Errors: memory, threads. Control thread. */
MUST_CHECK enum status step_crew_create(size_t threads, struct step_crew **crew);
void step_crew_destroy(struct step_crew *crew); /* NULL: nothing */

/* Real-time: when the next step begins, monotonic_ns(), as far as is known. One that begins at
 * another time finds threads asleep, and nothing worse. `crew` may be NULL. */
void step_crew_expect(struct step_crew *crew, int64_t at);

/* Real-time, unless `crew` is NULL. Between the two, each thread that is awake in time calls
 * `task`, which returns when no piece is left; `end` waits until all of them have returned. */
void step_crew_begin(struct step_crew *crew, void (*task)(void *context), void *context);
void step_crew_end(struct step_crew *crew);

#endif
