/* A fixed pool of threads that share the pieces of one job at a time.
 *
 * workers_run calls task(context, piece, worker) for every piece 0..pieces-1 and returns when all
 * are done; `worker` is 0..workers_count-1, for scratch memory. The caller works too. With one
 * worker there are no threads and no locks, and the pieces run in order. After a signal to stop,
 * pieces are skipped: check stop_requested before using a result. NULL is the caller alone, which
 * completes all pieces. A job wakes no more threads than it has pieces for, and waits for none that
 * comes when all are taken. Threads: one caller at a time.
 */
#ifndef HALO_WORKERS_H
#define HALO_WORKERS_H

#include "base/status.h"

struct workers;
typedef void workers_task(void *context, size_t piece, size_t worker);

/* Errors: memory or threads. `count` 0: one worker per processor. */
MUST_CHECK enum status workers_create(size_t count, struct workers **workers);

/* The same, but each thread is started by the first job that has a piece for it. Where it cannot
 * be, which a note says once, the others do its work. Not for jobs of a real-time step. Errors:
 * memory. */
MUST_CHECK enum status workers_create_for_later(size_t count, struct workers **workers);

/* The workers for a job of so many nanoseconds on one thread: NULL where to wake others would take
 * as long as they save. */
struct workers *workers_worth(struct workers *workers, double nanoseconds);

void workers_destroy(struct workers *workers);

size_t workers_count(const struct workers *workers);
void workers_run(struct workers *workers, size_t pieces, workers_task *task, void *context);

#endif
