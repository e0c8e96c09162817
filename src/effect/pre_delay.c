#include "effect/effect_state.h"

#include "base/realtime.h"

enum status pre_delay_init(struct pre_delay *delay, size_t channels, uint32_t rate, size_t fade)
{
    size_t frames = 1;
    while (frames <= (size_t)PRE_DELAY_MOST * rate)
        frames *= 2;
    *delay = (struct pre_delay){.fade = fade};
    return block_init(&delay->ring, channels, frames, "a plugin");
}

void pre_delay_reset(struct pre_delay *delay)
{
    block_silence(&delay->ring, 0, delay->ring.frames);
    delay->delay = delay->next;
}

HALO_REALTIME void pre_delay_set(struct pre_delay *delay, size_t frames, bool at_once)
{
    if (frames >= delay->ring.frames)
        frames = delay->ring.frames - 1;
    if (at_once)
        delay->delay = delay->next = frames;
    if (delay->delay != delay->next || frames == delay->delay)
        return;
    delay->next = frames;
    delay->faded = 0;
}

HALO_REALTIME static void run_channel(const struct pre_delay *delay, float *ring, float *sound,
                                      size_t frames)
{
    size_t mask = delay->ring.frames - 1, faded = delay->faded;
    bool changing = delay->delay != delay->next;
    for (size_t i = 0; i < frames; i++) {
        size_t at = delay->at + i;
        ring[at & mask] = sound[i];
        sound[i] = ring[(at - delay->delay) & mask];
        if (!changing)
            continue;
        float new = ring[(at - delay->next) & mask];
        float share = (float)(faded + i) / (float)delay->fade;
        sound[i] = share < 1 ? sound[i] + share * (new - sound[i]) : new;
    }
}

HALO_REALTIME void pre_delay_process(struct pre_delay *delay, float *const *sound, size_t frames)
{
    for (size_t c = 0; c < delay->ring.channels; c++)
        run_channel(delay, delay->ring.data[c], sound[c], frames);
    delay->at += frames;
    if (delay->delay == delay->next)
        return;
    delay->faded += frames;
    if (delay->faded >= delay->fade)
        delay->delay = delay->next;
}
