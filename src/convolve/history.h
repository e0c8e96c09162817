/* The last inputs of a convolver: the halo that is carried between blocks.
 *
 * Every input's frames lie contiguous: from history_now() the block at hand
 * goes forward, and `keep` frames of the past go backward (silence at first).
 * Threads: one. history_advance and history_now are real-time.
 */
#ifndef HALO_HISTORY_H
#define HALO_HISTORY_H

#include "base/status.h"
#include "signal/audio.h"

/* A past no longer than a block is moved back at each step. A longer one lies in a ring,
 * everything twice, a ring's length apart: so some stretch always holds it whole, and no
 * step has more to copy than another. */
struct history {
    struct block frames;
    size_t keep;
    size_t block;
    size_t ring; /* frames, a multiple of the block; 0: there is none */
    size_t end;  /* of the newest block */
};

MUST_CHECK enum status history_init(struct history *history, size_t inputs, size_t keep,
                                    size_t block);
void history_free(struct history *history);
void history_reset(struct history *history);

void history_advance(struct history *history, const float *const *in);

static inline const float *history_now(const struct history *history, size_t input)
{
    return history->frames.data[input] + history->end - history->block;
}

#endif
