#include "sound/reblock.h"

#include "base/realtime.h"

#include <assert.h>
#include <string.h>

enum status reblock_init(struct reblock *reblock, size_t inputs, size_t outputs, size_t block)
{
    assert(inputs <= REBLOCK_CHANNELS_MOST && outputs <= REBLOCK_CHANNELS_MOST);
    *reblock = (struct reblock){.inputs = inputs, .outputs = outputs, .block = block};
    TRY(block_init(&reblock->waiting, inputs, block, "a stream"));
    return block_init(&reblock->ready, outputs, block, "a stream");
}

void reblock_free(struct reblock *reblock)
{
    block_free(&reblock->waiting);
    block_free(&reblock->ready);
}

HALO_REALTIME static void pass_blocks(const struct reblock *reblock, const float *const *in,
                                      float *const *out, size_t frames, reblock_block *process,
                                      void *context)
{
    const float *from[REBLOCK_CHANNELS_MOST];
    float *to[REBLOCK_CHANNELS_MOST];
    for (size_t at = 0; at < frames; at += reblock->block) {
        for (size_t c = 0; c < reblock->inputs; c++)
            from[c] = in[c] + at;
        for (size_t c = 0; c < reblock->outputs; c++)
            to[c] = out[c] + at;
        process(context, from, to);
    }
}

/* Store the input, and output the previous block, frame by frame. */
HALO_REALTIME static void exchange(struct reblock *reblock, const float *const *in,
                                   float *const *out, size_t at, size_t count)
{
    for (size_t c = 0; c < reblock->inputs; c++)
        memcpy(reblock->waiting.data[c] + reblock->held, in[c] + at, count * sizeof(float));
    for (size_t c = 0; c < reblock->outputs; c++)
        memcpy(out[c] + at, reblock->ready.data[c] + reblock->held, count * sizeof(float));
    reblock->held += count;
}

HALO_REALTIME void reblock_process(struct reblock *reblock, const float *const *in,
                                   float *const *out, size_t frames, reblock_block *process,
                                   void *context)
{
    if (!reblock->adapts && frames % reblock->block == 0) {
        pass_blocks(reblock, in, out, frames, process, context);
        return;
    }
    reblock->adapts = true;
    for (size_t at = 0, count; at < frames; at += count) {
        size_t capacity = reblock->block - reblock->held;
        count = frames - at < capacity ? frames - at : capacity;
        exchange(reblock, in, out, at, count);
        if (reblock->held < reblock->block)
            continue;
        process(context, (const float *const *)reblock->waiting.data, reblock->ready.data);
        reblock->held = 0;
    }
}
