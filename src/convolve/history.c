#include "convolve/history.h"

#include "base/realtime.h"

#include <string.h>

enum status history_init(struct history *history, size_t inputs, size_t keep, size_t block)
{
    return history_init_with(history, inputs, keep, block, NULL);
}

enum status history_init_with(struct history *history, size_t inputs, size_t keep, size_t block,
                              struct workers *workers)
{
    *history = (struct history){.keep = keep, .block = block, .end = keep + block};
    size_t capacity = keep + block;
    if (keep > block) {
        history->ring = (keep + 2 * block - 1) / block * block;
        history->end = history->ring + block;
        capacity = 2 * history->ring;
    }
    TRY(block_init_unset(&history->frames, inputs, capacity, "a convolver"));
    audio_clear_rows(history->frames.data, inputs, capacity, workers);
    return STATUS_OK;
}

void history_free(struct history *history)
{
    block_free(&history->frames);
}

void history_reset(struct history *history)
{
    block_silence(&history->frames, 0, history->frames.frames);
}

HALO_REALTIME void history_turn(struct history *history)
{
    if (history->ring)
        history->end = history->end % history->ring + history->ring + history->block;
}

HALO_REALTIME void history_write(struct history *history, size_t input, const real *in)
{
    size_t ring = history->ring, block = history->block;
    real *data = history->frames.data[input], *to = data + history->end - block;
    if (ring)
        memcpy(to - ring, in, block * sizeof *data);
    else
        memmove(data, data + block, history->keep * sizeof *data);
    memcpy(to, in, block * sizeof *data);
}

HALO_REALTIME void history_advance(struct history *history, const real *const *in)
{
    history_turn(history);
    for (size_t c = 0; c < history->frames.channels; c++)
        history_write(history, c, in[c]);
}
