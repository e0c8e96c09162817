/* A fixed crew of threads that share out the pieces of one job at a time.
 *
 * workers_run calls task(context, piece, worker) for every piece 0..pieces-1
 * and returns when all are done; `worker` is 0..workers_count-1, so that each
 * can own scratch memory. The caller works too. With one worker no thread is
 * made, no lock is taken, and the pieces run in order. When a signal has asked to
 * stop, pieces are left undone: whoever waits for a result looks at stop_requested.
 * NULL stands for the caller alone, which then completes all pieces.
 * Threads: one caller at a time.
 */
#ifndef HALO_WORKERS_H
#define HALO_WORKERS_H

#include "base/status.h"

struct workers;
typedef void workers_task(void *context, size_t piece, size_t worker);

/* Errors: memory or threads. `count` of 0 takes one worker a processor. */
MUST_CHECK enum status workers_create(size_t count, struct workers **workers);
void workers_destroy(struct workers *workers);

size_t workers_count(const struct workers *workers);
void workers_run(struct workers *workers, size_t pieces, workers_task *task, void *context);

#endif
