/* The prover's step: copies stretches of inputs and outputs; compiled for each precision. */
#include "convolve/prover_state.h"

#include "base/monotonic.h"
#include "base/realtime.h"
#include "signal/real.h"

#include <string.h>

static const int64_t WAIT_NS = 200000; /* between looks for a spare stretch */

/* The frames that a block and another range have in common. */
struct overlap {
    size_t in_block, in_range, frames;
};

/* The overlap of the current block with the `length` frames from frame `start` - `before` on. */
HALO_REALTIME static struct overlap overlap_of(const struct prover *prover, uint64_t start,
                                               size_t before, size_t length)
{
    int64_t block = (int64_t)prover->position, range = (int64_t)start - (int64_t)before;
    int64_t block_end = block + (int64_t)prover->settings.block, end = range + (int64_t)length;
    int64_t from = block > range ? block : range, to = block_end < end ? block_end : end;
    if (to <= from)
        return (struct overlap){0};
    return (struct overlap){(size_t)(from - block), (size_t)(from - range), (size_t)(to - from)};
}

HALO_REALTIME static void copy_overlap(const struct overlap *overlap, const real *const *from,
                                       const struct block_in_double *to)
{
    for (size_t c = 0; c < to->channels; c++)
        for (size_t i = 0; i < overlap->frames; i++)
            to->data[c][overlap->in_range + i] = from[c][overlap->in_block + i];
}

/* Notes which mask made the frames. Frames are not compared if they are of a change (mask NULL), or
 * if the stretch has no room for another run. */
HALO_REALTIME static void add_run(struct proved_stretch *stretch, size_t from, size_t frames,
                                  struct proved_mask *mask)
{
    struct proved_run *last =
        stretch->run_count > 0 ? &stretch->runs[stretch->run_count - 1] : NULL;
    if (!mask || frames == 0)
        return;
    if (last && last->mask == mask && last->to == from) {
        last->to = from + frames;
    } else if (stretch->run_count < PROVER_RUNS) {
        atomic_fetch_add(&mask->users, 1);
        stretch->runs[stretch->run_count++] =
            (struct proved_run){.from = from, .to = from + frames, .mask = mask};
    }
}

/* Copies the stretch's share of the block. True: it is complete and no longer the step's. */
HALO_REALTIME static bool fill(struct prover *prover, struct proved_stretch *stretch,
                               const real *const *in, const real *const *out,
                               struct proved_mask *mask)
{
    size_t before = prover->settings.taps - 1, length = prover->plan.length;
    struct overlap inputs = overlap_of(prover, stretch->start, before, before + length);
    struct overlap outputs = overlap_of(prover, stretch->start, 0, length);
    copy_overlap(&inputs, in, &stretch->in);
    copy_overlap(&outputs, out, &stretch->out);
    add_run(stretch, outputs.in_range, outputs.frames, mask);
    stretch->filled += outputs.frames;
    if (stretch->filled < length)
        return false;
    ring_write(prover->ready, &stretch, 1);
    return true;
}

static struct proved_stretch *prover_wait(const struct prover *prover)
{
    struct proved_stretch *stretch;
    while (ring_read(prover->spare, &stretch, 1) == 0)
        monotonic_sleep_until(monotonic_ns() + WAIT_NS);
    return stretch;
}

/* Takes a spare stretch. NULL: there is none. */
HALO_REALTIME static struct proved_stretch *open_next(struct prover *prover, uint64_t start)
{
    struct proved_stretch *stretch = NULL;
    if (prover->open_count == PROVER_OPEN)
        return NULL;
    if (ring_read(prover->spare, &stretch, 1) == 0) {
        if (prover->settings.live)
            return NULL;
        stretch = prover_wait(prover);
    }
    size_t before = prover->settings.taps - 1;
    if (start < before && stretch->is_used) /* before the sound there is silence */
        block_silence_in_double(&stretch->in, 0, before - (size_t)start);
    stretch->start = start;
    stretch->filled = stretch->run_count = 0;
    stretch->is_used = true;
    return stretch;
}

HALO_REALTIME static void find_peak(struct prover *prover, const real *const *in)
{
    for (size_t c = 0; c < prover->settings.inputs; c++) {
        double peak = (double)audio_peak(in[c], prover->settings.block);
        prover->input_peak = peak > prover->input_peak ? peak : prover->input_peak;
    }
}

HALO_REALTIME void REAL(prover_step)(struct prover *prover, const real *const *in,
                                     const real *const *out, struct proved_mask *mask)
{
    size_t open = prover->open_count, before = prover->settings.taps - 1;
    uint64_t end = prover->position + prover->settings.block;
    find_peak(prover, in);
    prover->open_count = 0;
    for (size_t i = 0; i < open; i++)
        if (!fill(prover, prover->open[i], in, out, mask))
            prover->open[prover->open_count++] = prover->open[i];
    for (; prover->next < prover->plan.count; prover->next++) {
        uint64_t start = prover_plan_start(&prover->plan, prover->next);
        if (start >= end + before)
            break;
        struct proved_stretch *stretch = open_next(prover, start);
        if (stretch && !fill(prover, stretch, in, out, mask))
            prover->open[prover->open_count++] = stretch;
    }
    prover->position = end;
}
