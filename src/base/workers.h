/* A fixed pool of threads that share the pieces of one job at a time.
 *
 * workers_run calls task(context, piece, worker) for each piece 0..pieces-1, and returns when all
 * are done. `worker` is 0..workers_count-1, for scratch memory. The caller works, too. With one
 * worker there are no threads and no locks, and the pieces run in order. After a signal to stop,
 * pieces are skipped, so check stop_requested before using a result. NULL workers: the caller works
 * alone and completes all pieces. A job wakes no more threads than it has pieces for. It does not
 * wait for a thread that comes when all pieces are taken. Threads: one caller at a time.
 */
#ifndef HALO_WORKERS_H
#define HALO_WORKERS_H

#include "base/status.h"

struct workers;
typedef void workers_task(void *context, size_t piece, size_t worker);

/* `count` 0: one worker per processor. Errors: memory, threads. */
MUST_CHECK enum status workers_create(size_t count, struct workers **workers);

/* Like workers_create, but each thread is started by the first job that has a piece for it. If a
 * thread cannot be started, a note says so once, and the others do its work. Not for jobs of a
 * real-time step. Errors: memory. */
MUST_CHECK enum status workers_create_for_later(size_t count, struct workers **workers);

/* The workers for a job that takes so many nanoseconds on one thread. NULL: waking others would
 * take as long as they save. */
struct workers *workers_worth(struct workers *workers, double nanoseconds);

void workers_destroy(struct workers *workers);

size_t workers_count(const struct workers *workers);
void workers_run(struct workers *workers, size_t pieces, workers_task *task, void *context);

#endif
