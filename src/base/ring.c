#include "base/ring.h"

#include "base/realtime.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CACHE_LINE = 64 };

/* `written` and `read` count all items ever moved, and wrap with size_t. Their difference is the
 * content. Each side has a cache line with its own count and a copy of the other side's count,
 * which it reloads only when needed. */
struct ring {
    size_t item_bytes;
    size_t capacity; /* items; a power of two */
    unsigned char *items;
    _Alignas(CACHE_LINE) atomic_size_t written;
    size_t read_seen; /* the writer's copy of `read` */
    _Alignas(CACHE_LINE) atomic_size_t read;
    size_t written_seen; /* the reader's copy of `written` */
};

enum status ring_create(size_t item_bytes, size_t items, const char *what, struct ring **result)
{
    size_t capacity = 1;
    while (capacity < items && capacity <= SIZE_MAX / 4 / item_bytes)
        capacity *= 2;
    struct ring *ring = capacity < items ? NULL : aligned_alloc(CACHE_LINE, sizeof *ring);
    if (!ring)
        return fail_memory(what);
    *ring = (struct ring){.item_bytes = item_bytes, .capacity = capacity};
    ring->items = malloc(capacity * item_bytes);
    if (!ring->items) {
        ring_destroy(ring);
        return fail_memory(what);
    }
    memset(ring->items, 0, capacity * item_bytes); /* so that no page faults occur later */
    *result = ring;
    return STATUS_OK;
}

void ring_destroy(struct ring *ring)
{
    if (!ring)
        return;
    free(ring->items);
    free(ring);
}

HALO_REALTIME static size_t capacity(struct ring *ring, size_t written, size_t wanted)
{
    if (ring->capacity - (written - ring->read_seen) < wanted)
        ring->read_seen = atomic_load_explicit(&ring->read, memory_order_acquire);
    return ring->capacity - (written - ring->read_seen);
}

HALO_REALTIME static size_t stock(struct ring *ring, size_t read, size_t wanted)
{
    if (ring->written_seen - read < wanted)
        ring->written_seen = atomic_load_explicit(&ring->written, memory_order_acquire);
    return ring->written_seen - read;
}

/* The number of items before the ring wraps to its start. */
HALO_REALTIME static size_t first_piece(const struct ring *ring, size_t at, size_t count)
{
    size_t to_end = ring->capacity - at;
    return count < to_end ? count : to_end;
}

HALO_REALTIME size_t ring_write(struct ring *ring, const void *items, size_t count)
{
    size_t written = atomic_load_explicit(&ring->written, memory_order_relaxed);
    size_t free_items = capacity(ring, written, count);
    count = count < free_items ? count : free_items;
    size_t at = written & (ring->capacity - 1), bytes = ring->item_bytes;
    size_t first = first_piece(ring, at, count);
    memcpy(ring->items + at * bytes, items, first * bytes);
    memcpy(ring->items, (const unsigned char *)items + first * bytes, (count - first) * bytes);
    atomic_store_explicit(&ring->written, written + count, memory_order_release);
    return count;
}

HALO_REALTIME size_t ring_read(struct ring *ring, void *items, size_t count)
{
    size_t read = atomic_load_explicit(&ring->read, memory_order_relaxed);
    size_t there = stock(ring, read, count);
    count = count < there ? count : there;
    size_t at = read & (ring->capacity - 1), bytes = ring->item_bytes;
    size_t first = first_piece(ring, at, count);
    memcpy(items, ring->items + at * bytes, first * bytes);
    memcpy((unsigned char *)items + first * bytes, ring->items, (count - first) * bytes);
    atomic_store_explicit(&ring->read, read + count, memory_order_release);
    return count;
}

HALO_REALTIME size_t ring_writable(struct ring *ring)
{
    return capacity(ring, atomic_load_explicit(&ring->written, memory_order_relaxed),
                    ring->capacity);
}

HALO_REALTIME size_t ring_readable(struct ring *ring)
{
    return stock(ring, atomic_load_explicit(&ring->read, memory_order_relaxed), ring->capacity);
}
