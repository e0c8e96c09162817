/* The input history of a convolver.
 *
 * The frames of each input are contiguous. history_now() points to the current block, which follows
 * `keep` earlier frames (silence at first). Threads: one, except for history_write. Real-time,
 * except for init, free and reset.
 */
#ifndef HALO_HISTORY_H
#define HALO_HISTORY_H

#include "base/realtime.h"
#include "base/status.h"
#include "signal/real.h"

/* Names of their own for each precision. */
#define history_init REAL(history_init)
#define history_init_with REAL(history_init_with)
#define history_free REAL(history_free)
#define history_reset REAL(history_reset)
#define history_advance REAL(history_advance)
#define history_turn REAL(history_turn)
#define history_write REAL(history_write)

/* A history no longer than a block is moved at each step. A longer one is a ring stored twice, so
 * that it is always contiguous somewhere and each step copies the same amount. */
struct history {
    struct real_block frames;
    size_t keep;
    size_t block;
    size_t ring; /* frames, a multiple of the block; 0: no ring */
    size_t end;  /* frame in `frames` at which the newest block ends */
};

MUST_CHECK enum status history_init(struct history *history, size_t inputs, size_t keep,
                                    size_t block);
/* As history_init, but many threads clear the memory. */
MUST_CHECK enum status history_init_with(struct history *history, size_t inputs, size_t keep,
                                         size_t block, struct workers *workers);
void history_free(struct history *history);
void history_reset(struct history *history);

void history_advance(struct history *history, const real *const *in);

/* history_advance in parts: first history_turn, then history_write for each input, on any threads.
 * No input is read before it is written. */
void history_turn(struct history *history);
void history_write(struct history *history, size_t input, const real *in);

HALO_REALTIME static inline const real *history_now(const struct history *history, size_t input)
{
    return history->frames.data[input] + history->end - history->block;
}

#endif
