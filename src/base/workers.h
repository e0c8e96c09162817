/* A fixed pool of threads that share the pieces of one job at a time.
 *
 * workers_run calls task(context, piece, worker) for every piece 0..pieces-1 and returns when all
 * are done; `worker` is 0..workers_count-1, for scratch memory. The caller works too. With one
 * worker there are no threads and no locks, and the pieces run in order. After a signal to stop,
 * pieces are skipped: check stop_requested before using a result. NULL is the caller alone, which
 * completes all pieces. Threads: one caller at a time.
 */
#ifndef HALO_WORKERS_H
#define HALO_WORKERS_H

#include "base/status.h"

struct workers;
typedef void workers_task(void *context, size_t piece, size_t worker);

/* Errors: memory or threads. `count` 0: one worker per processor. */
MUST_CHECK enum status workers_create(size_t count, struct workers **workers);
void workers_destroy(struct workers *workers);

size_t workers_count(const struct workers *workers);
void workers_run(struct workers *workers, size_t pieces, workers_task *task, void *context);

#endif
