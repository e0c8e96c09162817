#include "past.h"

#include <string.h>

enum {
    CHANNELS_MOST = 2,
    SECONDS = 10, /* that it holds at least */
    CLOSE = 8,    /* blocks that are left to run */
};

enum status past_init(struct past *past, size_t channels, uint32_t rate)
{
    past->blocks = 1;
    while (past->blocks * PROCESSOR_BLOCK < (size_t)SECONDS * rate)
        past->blocks *= 2;
    return block_init(&past->frames, channels, past->blocks * PROCESSOR_BLOCK, "a plugin");
}

void past_free(struct past *past)
{
    block_free(&past->frames);
}

void past_reset(struct past *past)
{
    atomic_store(&past->silence, atomic_load(&past->end));
}

void past_write(struct past *past, const float *const *block)
{
    uint64_t end = atomic_load_explicit(&past->end, memory_order_relaxed);
    size_t at = (size_t)(end % past->blocks) * PROCESSOR_BLOCK;
    for (size_t c = 0; c < past->frames.channels; c++)
        memcpy(past->frames.data[c] + at, block[c], PROCESSOR_BLOCK * sizeof(float));
    atomic_store(&past->end, end + 1);
}

static void hear_next(const struct past *past, struct processor *processor)
{
    const float *block[CHANNELS_MOST];
    size_t at = (size_t)(processor->heard % past->blocks) * PROCESSOR_BLOCK;
    for (size_t c = 0; c < past->frames.channels; c++)
        block[c] = past->frames.data[c] + at;
    processor_hear(processor, block);
}

bool past_hear(const struct past *past, struct processor *processor, size_t most)
{
    uint64_t end = atomic_load(&past->end);
    for (size_t i = 0; i < most && processor->heard < end; i++)
        hear_next(past, processor);
    return processor->heard >= end;
}

/* Half of what it holds: while that is gone through, run overwrites the other half. */
void past_introduce(const struct past *past, struct processor *processor)
{
    uint64_t end = atomic_load(&past->end), silence = atomic_load(&past->silence);
    uint64_t reach = processor->taps / PROCESSOR_BLOCK + 2;
    if (reach > past->blocks / 2)
        reach = past->blocks / 2;
    processor->heard = end > reach ? end - reach : 0;
    if (processor->heard < silence)
        processor->heard = silence;
    while (processor->heard + CLOSE < end) {
        hear_next(past, processor);
        end = atomic_load(&past->end);
        if (end > processor->heard + past->blocks - CLOSE) { /* it is slower than the sound */
            processor_reset(processor);
            processor->heard = end;
        }
    }
}
