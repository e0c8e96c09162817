/* The step's own work in the CPU's live convolver, in pieces of channels that workers take as well.
 * Real-time, except live_share_init. */
#include "convolve/convolver_cpu_live.h"

#include "base/monotonic.h"
#include "base/realtime.h"

#include <math.h>
#include <string.h>

static const double SHARED_FROM = 1.0 / 16; /* of a block, by the estimate, which is low */
static const double MOVING_COST = 400;      /* ns per channel and direction, uncached */

enum {
    MARGIN = 100000,     /* ns */
    MARGIN_PART = 8,     /* of a block, at most */
    BETWEEN_NS = 100000, /* that a worker waits for the second phase */
    LOOKS = 64,          /* between two readings of the clock */
    LINE = 64 / sizeof(real),
};

/* ---- set-up ---- */

double live_share_cost(const struct convolver_shape *shape, const struct partition_plan *plan)
{
    double rows = (double)(shape->inputs + shape->outputs), cost = MOVING_COST * rows;
    cost += partition_head_cost(plan->head, shape->block) * (double)shape->paths;
    for (size_t s = 0; s < plan->segment_count; s++) {
        const struct partition_segment *cut = &plan->segments[s];
        if (cut->size == shape->block)
            cost += rows * partition_fft_cost(cut->fft) +
                    (double)(shape->paths * cut->partitions) * partition_multiply_cost(cut->fft);
    }
    return cost;
}

bool live_share_is_worthwhile(const struct convolver_shape *shape,
                              const struct partition_plan *plan)
{
    double period = 1e9 * (double)shape->block / live_rate(shape);
    return shape->live && workers_count(shape->workers) > 1 &&
           live_share_cost(shape, plan) > SHARED_FROM * period;
}

void live_share_init(struct cpu_live_convolution *convolution)
{
    const struct convolver_shape *shape = &convolution->shape;
    struct live_share *share = &convolution->share;
    size_t rows = shape->inputs > shape->outputs ? shape->inputs : shape->outputs;
    share->period = (int64_t)(1e9 * (double)shape->block / live_rate(shape));
    share->pieces = 1;
    if (live_share_is_worthwhile(shape, &convolution->plan))
        share->pieces = rows < LANES_MOST ? rows : LANES_MOST;
}

HALO_REALTIME int64_t live_share_margin(const struct live_share *share)
{
    return share->period / MARGIN_PART < MARGIN ? share->period / MARGIN_PART : MARGIN;
}

/* ---- pieces ---- */

/* The jobs of a piece that are due in this block: the inputs, or the rest. */
HALO_REALTIME static void run_due_jobs(struct cpu_live_convolution *convolution, size_t piece,
                                       bool inputs)
{
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        if (convolution->segments[s].cut.size != convolution->shape.block)
            continue;
        struct lane *lane = &convolution->segments[s].lanes[piece];
        job_lock(lane);
        if (inputs)
            job_run_inputs(convolution, s, lane);
        else
            job_run(convolution, s, lane, INFINITY);
        job_release(lane);
    }
}

/* What is due to an output was written by another processor, some blocks ago: fetch it beforehand.
 */
HALO_REALTIME static void fetch_due(const struct cpu_live_convolution *convolution, size_t slot,
                                    size_t output)
{
    size_t block = convolution->shape.block;
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        const struct segment *segment = &convolution->segments[s];
        const real *due = due_block(convolution, segment, slot, output, convolution->end - block);
        for (size_t i = 0; i < block && segment->helped; i += LINE)
            __builtin_prefetch(due + i, 1);
    }
}

HALO_REALTIME static void take_inputs(struct cpu_live_convolution *convolution, size_t piece)
{
    const struct live_share *share = &convolution->share;
    size_t inputs = convolution->shape.inputs, end = inputs * (piece + 1) / share->pieces;
    size_t outputs = convolution->shape.outputs, last = outputs * (piece + 1) / share->pieces;
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++)
        for (size_t o = outputs * piece / share->pieces; o < last && convolution->joined[v].mask;
             o++)
            fetch_due(convolution, v, o);
    for (size_t c = inputs * piece / share->pieces; c < end; c++)
        history_write(&convolution->history, c, share->in[c]);
    run_due_jobs(convolution, piece, true);
}

/* Take what is due to an output in this block and clear it there. `out` is NULL for a mask that is
 * not active yet. */
HALO_REALTIME static void take_due(struct cpu_live_convolution *convolution, size_t slot,
                                   size_t output, real *out)
{
    size_t block = convolution->shape.block;
    if (out)
        memset(out, 0, block * sizeof *out);
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        real *due = due_block(convolution, &convolution->segments[s], slot, output,
                              convolution->end - block);
        for (size_t i = 0; out && i < block; i++)
            out[i] += due[i];
        memset(due, 0, block * sizeof *due);
    }
}

HALO_REALTIME static void make_output(struct cpu_live_convolution *convolution, size_t v, size_t o)
{
    const struct convolver_slot *slot = &convolution->share.slots[v];
    const struct cpu_live_mask *mask = (const struct cpu_live_mask *)slot->prepared;
    take_due(convolution, v, o, mask ? slot->REAL(out)[o] : NULL);
    if (mask)
        add_head(&convolution->shape, &convolution->history, &mask->paths, mask->head,
                 convolution->plan.head, o, slot->REAL(out)[o]);
}

HALO_REALTIME static void make_outputs(struct cpu_live_convolution *convolution, size_t piece)
{
    const struct live_share *share = &convolution->share;
    size_t outputs = convolution->shape.outputs, end = outputs * (piece + 1) / share->pieces;
    run_due_jobs(convolution, piece, false);
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++)
        for (size_t o = outputs * piece / share->pieces; o < end && convolution->joined[v].mask;
             o++)
            make_output(convolution, v, o);
}

/* ---- sharing ---- */

HALO_REALTIME static bool is_first_phase(unsigned phase)
{
    return phase % 2 == 1;
}

HALO_REALTIME static void run_piece(struct cpu_live_convolution *convolution, unsigned phase,
                                    size_t piece)
{
    (is_first_phase(phase) ? take_inputs : make_outputs)(convolution, piece);
}

/* Whether the phase is the current one, and nobody else has the piece. */
HALO_REALTIME static bool take_piece(struct live_share *share, unsigned phase, size_t piece)
{
    unsigned before = phase - 1;
    return atomic_load(&share->taken[piece]) == before &&
           atomic_compare_exchange_strong(&share->taken[piece], &before, phase);
}

/* All that are left, the same ones first in every block, as their data may still be in this
 * processor's cache. Who gets the first of them wakes the next worker. */
HALO_REALTIME static void take_pieces(struct cpu_live_convolution *convolution, unsigned phase,
                                      size_t first, bool waking)
{
    struct live_share *share = &convolution->share;
    for (size_t i = 0; i < share->pieces; i++) {
        size_t piece = (first + i) % share->pieces;
        if (!take_piece(share, phase, piece))
            continue;
        if (waking)
            futex_wake_one(&convolution->bell);
        waking = false;
        run_piece(convolution, phase, piece);
        atomic_fetch_sub(&share->left, 1);
    }
}

HALO_REALTIME void live_share_begin(struct cpu_live_convolution *convolution, const real *const *in,
                                    const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    struct live_share *share = &convolution->share;
    share->in = in;
    share->slots = slots;
    if (share->pieces > 1)
        atomic_store(&share->expected, monotonic_ns() + share->period);
}

HALO_REALTIME void live_share_run(struct cpu_live_convolution *convolution)
{
    struct live_share *share = &convolution->share;
    unsigned phase = atomic_load(&share->phase) + 1;
    atomic_store(&share->left, share->pieces);
    atomic_store(&share->phase, phase);
    if (share->pieces > 1 && is_first_phase(phase))
        futex_raise_for_one(&convolution->bell);
    take_pieces(convolution, phase, 0, false);
    for (size_t turn = 1; atomic_load(&share->left) > 0; turn++)
        job_pause(turn);
}

HALO_REALTIME bool live_share_help(struct live_worker *worker)
{
    struct live_share *share = &worker->convolution->share;
    unsigned phase = atomic_load(&share->phase);
    if (share->pieces == 1 || phase == worker->phase)
        return false;
    worker->phase = phase;
    take_pieces(worker->convolution, phase, worker->first_piece, is_first_phase(phase));
    int64_t until = monotonic_ns() + BETWEEN_NS;
    while (is_first_phase(phase) && atomic_load(&share->phase) == phase && monotonic_ns() < until)
        for (int i = 0; i < LOOKS && atomic_load(&share->phase) == phase; i++)
            realtime_pause();
    return true;
}
