/* A thread of its own that works on numbered slots in turn, so that reading and writing
 * files goes on beside the filtering.
 *
 * Slots go round: the owner takes the next one, looks at it or fills it, and gives it to
 * the thread, which calls work(context, slot) and is done with it. Whatever a slot is lies
 * with the owner of the I/O thread; it is touched by one side at a time.
 * Threads: one owner. Signals are the owner's: the thread never sees one.
 */
#ifndef HALO_IO_THREAD_H
#define HALO_IO_THREAD_H

#include "base/status.h"

struct io_thread;

/* Whose all slots are at first. */
enum io_thread_begin { IO_THREAD_WITH_OWNER, IO_THREAD_WITH_THREAD };

/* Errors: memory or threads. */
MUST_CHECK enum status io_thread_create(size_t slots, enum io_thread_begin begin,
                                        void (*work)(void *context, size_t slot), void *context,
                                        struct io_thread **io_thread);

/* Ends the thread after the slot it is at, and waits for that; what was given and not begun stays
 * undone. */
void io_thread_destroy(struct io_thread *io_thread);

/* Wait for the next slot to be the owner's. STATUS_INTERRUPTED where a signal asked to stop. */
MUST_CHECK enum status io_thread_take(struct io_thread *io_thread, size_t *slot);
void io_thread_give(struct io_thread *io_thread); /* the slot that was taken least recently */

/* Wait until the thread has done all that it was given. */
void io_thread_finish(struct io_thread *io_thread);

#endif
