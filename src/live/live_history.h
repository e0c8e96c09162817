/* The recent input of a live stream: from it a chain that comes later learns what it would have
 * heard, so that it is exact from its first frame (live_change.h).
 *
 * Threads: the step writes, real-time; one other thread reads. A reader that is a ring's length
 * late would read what is being written: it asks live_history_has before and after.
 */
#ifndef HALO_LIVE_HISTORY_H
#define HALO_LIVE_HISTORY_H

#include "base/status.h"
#include "signal/audio.h"

#include <stdatomic.h>
#include <stdint.h>

struct live_history {
    struct block ring; /* frame f of the stream is at f modulo its length, a multiple of `block` */
    size_t block;
    uint64_t begin;          /* the first frame; before it is silence */
    _Atomic uint64_t frames; /* of the stream, written so far: whole blocks */
};

/* Of up to `frames` frames; the stream's first is `begin`, a multiple of the block. Errors: memory.
 */
MUST_CHECK enum status live_history_init(struct live_history *history, size_t channels,
                                         size_t block, size_t frames, uint64_t begin);
void live_history_free(struct live_history *history);

void live_history_write(struct live_history *history, const float *const *in); /* one block */

/* Whether the block that begins at `frame`, a multiple of the block, is there, and stays there for
 * a while. */
bool live_history_has(const struct live_history *history, uint64_t frame);

/* Point in[c] to that block. */
void live_history_at(const struct live_history *history, uint64_t frame, const float **in);

/* The earliest frame that may be read, no earlier than `frames` before the present. */
uint64_t live_history_since(const struct live_history *history, uint64_t frames);

#endif
