#include "convolve/history.h"

#include "base/realtime.h"

#include <string.h>

enum status history_init(struct history *history, size_t inputs, size_t keep, size_t block)
{
    *history = (struct history){.keep = keep, .block = block, .end = keep + block};
    size_t capacity = keep + block;
    if (keep > block) {
        history->ring = (keep + 2 * block - 1) / block * block;
        history->end = history->ring + block;
        capacity = 2 * history->ring;
    }
    return block_init(&history->frames, inputs, capacity, "a convolver");
}

void history_free(struct history *history)
{
    block_free(&history->frames);
}

void history_reset(struct history *history)
{
    block_silence(&history->frames, 0, history->frames.frames);
}

HALO_REALTIME void history_advance(struct history *history, const real *const *in)
{
    size_t ring = history->ring, block = history->block;
    size_t at = ring ? history->end % ring : history->keep;
    for (size_t c = 0; c < history->frames.channels; c++) {
        real *data = history->frames.data[c];
        if (ring == 0)
            memmove(data, data + block, history->keep * sizeof *data);
        else
            memcpy(data + at + ring, in[c], block * sizeof *data);
        memcpy(data + at, in[c], block * sizeof *data);
    }
    if (ring)
        history->end = at + ring + block;
}
