#include "live/switch_gap.h"

#include "base/realtime.h"
#include "convolve/convolver.h"

void switch_gap_ask(struct switch_gap *gap)
{
    atomic_store(&gap->asked, true);
}

bool switch_gap_is_under_way(const struct switch_gap *gap)
{
    return atomic_load(&gap->asked);
}

HALO_REALTIME static uint64_t silent_from(const struct switch_gap *gap)
{
    return (uint64_t)gap->delay + gap->fade;
}

HALO_REALTIME void switch_gap_begin(struct switch_gap *gap, size_t block)
{
    uint64_t silent = silent_from(gap);
    if (!gap->runs && !atomic_load(&gap->asked))
        return;
    if (!gap->runs) {
        gap->runs = true;
        gap->at = 0;
        gap->rises = UINT64_MAX;
    }
    if (gap->at <= silent && silent - gap->at < block)
        convolver_begin_switch(gap->convolver, silent - gap->at);
}

/* The convolver switches at once, so that no block has a part of both: what it makes is new from
 * the end of this block on, at the latest. */
HALO_REALTIME static void find_rise(struct switch_gap *gap, size_t block)
{
    uint64_t silent = silent_from(gap), end = gap->at + block, due = silent + gap->pause;
    if (gap->rises != UINT64_MAX || end <= silent || !convolver_switched(gap->convolver, NULL))
        return;
    uint64_t new_from = end + gap->latency;
    gap->rises = new_from > due ? new_from : due;
    if (gap->rises == due)
        return;
    atomic_store(&gap->late_by, gap->rises - due);
    atomic_fetch_add(&gap->late, 1);
}

HALO_REALTIME static float gain_at(const struct switch_gap *gap, uint64_t frame)
{
    if (frame < gap->delay)
        return 1;
    if (frame < silent_from(gap))
        return 1 - (float)(frame - gap->delay) / (float)gap->fade;
    if (frame < gap->rises)
        return 0;
    return frame - gap->rises < gap->fade ? (float)(frame - gap->rises) / (float)gap->fade : 1;
}

HALO_REALTIME void switch_gap_process(struct switch_gap *gap, size_t channels, float *const *out,
                                      size_t block)
{
    if (!gap->runs)
        return;
    find_rise(gap, block);
    for (size_t i = 0; i < block; i++) {
        float gain = gain_at(gap, gap->at + i);
        for (size_t c = 0; c < channels && gain != 1; c++)
            out[c][i] = gain == 0 ? 0 : gain * out[c][i];
    }
    gap->at += block;
    gap->runs = gap->rises == UINT64_MAX || gap->at < gap->rises + gap->fade;
    if (!gap->runs)
        atomic_store(&gap->asked, false);
}
