/* Threads that take part in a real-time step. The step's work is divided into pieces, which the
 * threads claim one by one.
 *
 * The threads sleep between steps. They spin for a while after a part of a step, since another part
 * may follow, and around the time at which the next step is expected. Waking a thread takes the
 * caller about 10 us and the thread 50 us or more. A thread that wakes others must first wake
 * itself. The step wakes sleeping threads and begins. It never waits for a thread that has not
 * come, only for those that are working. Threads: one step at a time.
 */
#ifndef HALO_STEP_CREW_H
#define HALO_STEP_CREW_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

struct step_crew;

/* Starts threads at the caller's priority. Errors: memory, threads. Control thread. */
MUST_CHECK enum status step_crew_create(size_t threads, struct step_crew **crew);
void step_crew_destroy(struct step_crew *crew); /* NULL is allowed */

/* Says when the next step will probably begin, in monotonic_ns(). If it begins at another time, the
 * threads are asleep and take longer to come. `crew` may be NULL. Real-time. */
void step_crew_expect(struct step_crew *crew, int64_t at);

/* Between begin and end, each thread that is awake in time calls `task`. `task` returns when no
 * piece is left. step_crew_end waits until all calls have returned. If `crew` is NULL, both
 * functions do nothing. Real-time. */
void step_crew_begin(struct step_crew *crew, void (*task)(void *context), void *context);
void step_crew_end(struct step_crew *crew);

#endif
