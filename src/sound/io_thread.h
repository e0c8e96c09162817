/* A thread that processes numbered slots in turn, so that files are read and written in parallel
 * with filtering.
 *
 * The owner takes the next slot, uses or fills it, and gives it to the thread, which calls
 * work(context, slot). The owner defines what a slot is; only one side uses it at a time.
 * Threads: one owner. The thread blocks all signals.
 */
#ifndef HALO_IO_THREAD_H
#define HALO_IO_THREAD_H

#include "base/status.h"

struct io_thread;

/* Which side has all slots initially. */
enum io_thread_begin { IO_THREAD_WITH_OWNER, IO_THREAD_WITH_THREAD };

/* Errors: memory or threads. */
MUST_CHECK enum status io_thread_create(size_t slots, enum io_thread_begin begin,
                                        void (*work)(void *context, size_t slot), void *context,
                                        struct io_thread **io_thread);

/* Stop the thread after the current slot and wait for it; other slots are dropped. */
void io_thread_destroy(struct io_thread *io_thread);

/* Wait for the next slot. STATUS_INTERRUPTED: a signal asked to stop. */
MUST_CHECK enum status io_thread_take(struct io_thread *io_thread, size_t *slot);
void io_thread_give(struct io_thread *io_thread); /* the oldest slot that was taken */

/* Wait until all given slots are processed. */
void io_thread_finish(struct io_thread *io_thread);

#endif
