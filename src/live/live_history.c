#include "live/live_history.h"

#include "base/realtime.h"

#include <string.h>

enum { RINGS_KEPT = 2 }; /* what a reader wants, times this: it may take as long to read it */

enum status live_history_init(struct live_history *history, size_t channels, size_t block,
                              size_t frames, uint64_t begin)
{
    history->block = block;
    history->begin = begin;
    atomic_store(&history->frames, begin);
    size_t length = RINGS_KEPT * ((frames + block - 1) / block + 1) * block;
    TRY(block_init(&history->ring, channels, length, "the recent input"));
    for (size_t c = 0; c < channels; c++) /* the step is to find its pages */
        memset(history->ring.data[c], 0, length * sizeof(float));
    return STATUS_OK;
}

void live_history_free(struct live_history *history)
{
    block_free(&history->ring);
}

HALO_REALTIME void live_history_write(struct live_history *history, const float *const *in)
{
    uint64_t frames = atomic_load_explicit(&history->frames, memory_order_relaxed);
    size_t at = (size_t)(frames % history->ring.frames);
    for (size_t c = 0; c < history->ring.channels; c++)
        memcpy(history->ring.data[c] + at, in[c], history->block * sizeof(float));
    atomic_store(&history->frames, frames + history->block);
}

HALO_REALTIME bool live_history_has(const struct live_history *history, uint64_t frame)
{
    uint64_t frames = atomic_load(&history->frames);
    return frame < frames && frames - frame <= history->ring.frames - history->block;
}

HALO_REALTIME void live_history_at(const struct live_history *history, uint64_t frame,
                                   const float **in)
{
    for (size_t c = 0; c < history->ring.channels; c++)
        in[c] = history->ring.data[c] + frame % history->ring.frames;
}

uint64_t live_history_since(const struct live_history *history, uint64_t frames)
{
    uint64_t now = atomic_load(&history->frames);
    uint64_t most = history->ring.frames / RINGS_KEPT;
    frames = (frames + history->block - 1) / history->block * history->block;
    frames = frames < most ? frames : most;
    return now - history->begin > frames ? now - frames : history->begin;
}
