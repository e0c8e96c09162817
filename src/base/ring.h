/* A queue of fixed-size items from one thread to one other, with no lock and no wait.
 *
 * What does not fit is not written, and the count returned says so: the writer decides what
 * that means. Items come out in the order and with the bytes that they went in with; all that
 * the writer did before a write is seen by the reader after the read.
 * Threads: one writer and one reader at a time. Create and destroy while neither is at it.
 * Real-time: all calls but create and destroy; each ends after a fixed number of steps.
 */
#ifndef HALO_RING_H
#define HALO_RING_H

#include "base/status.h"

struct ring;

/* For `items` items at least: the capacity is the next power of two.
 * Errors: memory, named by `what`. */
MUST_CHECK enum status ring_create(size_t item_bytes, size_t items, const char *what,
                                   struct ring **ring);
void ring_destroy(struct ring *ring);

/* The writer's: up to `count` items go in; returns how many did. */
size_t ring_write(struct ring *ring, const void *items, size_t count);
size_t ring_writable(struct ring *ring);

/* The reader's: up to `count` items come out; returns how many did. */
size_t ring_read(struct ring *ring, void *items, size_t count);
size_t ring_readable(struct ring *ring);

#endif
