#include "effect/effect_state.h"

#include "base/realtime.h"

#include <string.h>

enum {
    SECONDS = 10, /* minimum capacity */
    CLOSE = 8,    /* blocks that are left to run */
};

enum status input_history_init(struct input_history *history, size_t channels, uint32_t rate)
{
    history->blocks = 1;
    while (history->blocks * PROCESSOR_BLOCK < (size_t)SECONDS * rate)
        history->blocks *= 2;
    return block_init(&history->frames, channels, history->blocks * PROCESSOR_BLOCK, "a plugin");
}

void input_history_reset(struct input_history *history)
{
    atomic_store(&history->silence, atomic_load(&history->end));
}

HALO_REALTIME void input_history_write(struct input_history *history, const float *const *block)
{
    uint64_t end = atomic_load_explicit(&history->end, memory_order_relaxed);
    size_t at = (size_t)(end % history->blocks) * PROCESSOR_BLOCK;
    for (size_t c = 0; c < history->frames.channels; c++)
        memcpy(history->frames.data[c] + at, block[c], PROCESSOR_BLOCK * sizeof(float));
    atomic_store(&history->end, end + 1);
}

HALO_REALTIME static void feed_next(const struct input_history *history,
                                    struct processor *processor)
{
    const float *block[EFFECT_CHANNELS_MOST];
    size_t at = (size_t)(processor->fed % history->blocks) * PROCESSOR_BLOCK;
    for (size_t c = 0; c < history->frames.channels; c++)
        block[c] = history->frames.data[c] + at;
    processor_feed(processor, block);
}

HALO_REALTIME bool input_history_feed(const struct input_history *history,
                                      struct processor *processor, size_t most)
{
    uint64_t end = atomic_load(&history->end);
    for (size_t i = 0; i < most && processor->fed < end; i++)
        feed_next(history, processor);
    return processor->fed >= end;
}

/* From at most half the capacity: run overwrites the other half meanwhile. */
void input_history_prime(const struct input_history *history, struct processor *processor)
{
    uint64_t end = atomic_load(&history->end), silence = atomic_load(&history->silence);
    uint64_t reach = processor->taps / PROCESSOR_BLOCK + 2;
    if (reach > history->blocks / 2)
        reach = history->blocks / 2;
    processor->fed = end > reach ? end - reach : 0;
    if (processor->fed < silence)
        processor->fed = silence;
    while (processor->fed + CLOSE < end) {
        feed_next(history, processor);
        end = atomic_load(&history->end);
        if (end > processor->fed + history->blocks - CLOSE) { /* slower than real time */
            processor_reset(processor);
            processor->fed = end;
        }
    }
}
