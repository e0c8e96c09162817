#include "history.h"

#include <string.h>

enum status history_init(struct history *history, size_t inputs, size_t keep, size_t block)
{
    /* Twice what must be kept, so that the past moves back only now and then. */
    size_t blocks = (keep + block - 1) / block;
    size_t room = keep + block * (blocks ? blocks : 1);
    *history = (struct history){.keep = keep, .block = block, .end = keep};
    return block_init(&history->frames, inputs, room, "a convolver");
}

void history_free(struct history *history)
{
    block_free(&history->frames);
}

void history_reset(struct history *history)
{
    block_silence(&history->frames, 0, history->frames.frames);
    history->end = history->keep;
}

void history_advance(struct history *history, const float *const *in)
{
    bool full = history->end + history->block > history->frames.frames;
    for (size_t c = 0; c < history->frames.channels; c++) {
        float *data = history->frames.data[c];
        if (full)
            memmove(data, data + history->end - history->keep, history->keep * sizeof(float));
        size_t at = full ? history->keep : history->end;
        memcpy(data + at, in[c], history->block * sizeof(float));
    }
    history->end = (full ? history->keep : history->end) + history->block;
}
