/* A wait-free queue of fixed-size items from one thread to another.
 *
 * A write stores as many items as fit and returns their number. All that the writer did before a
 * write is visible to the reader after the read.
 * Threads: one writer and one reader; create and destroy while neither runs. Real-time: all calls
 * except create and destroy.
 */
#ifndef HALO_RING_H
#define HALO_RING_H

#include "base/status.h"

struct ring;

/* The capacity is `items` rounded up to a power of two. `what`: for the message. Errors: memory. */
MUST_CHECK enum status ring_create(size_t item_bytes, size_t items, const char *what,
                                   struct ring **ring);
void ring_destroy(struct ring *ring);

/* For the writer: writes up to `count` items. Returns the number written. */
size_t ring_write(struct ring *ring, const void *items, size_t count);
size_t ring_writable(struct ring *ring);

/* For the reader: reads up to `count` items. Returns the number read. */
size_t ring_read(struct ring *ring, void *items, size_t count);
size_t ring_readable(struct ring *ring);

#endif
