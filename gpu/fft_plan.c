#include "gpu/fft_plan.h"

#include <math.h>

enum {
    HOP_MULTIPLE = 32,      /* frames; chunks start at multiples of 128 bytes of output */
    BATCH_POINTS = 1 << 25, /* 256 MB; launch costs are then negligible */
};

static const double LAUNCH_COST = 5000; /* ns per launch */

static const double STORE_COST = 0.0015; /* ns per frame of output, for one of the two chunks */

/* Nanoseconds per pair, there and back, in a large batch. The table is per point: measured by halo
 * bench kernels --kernel fft --fft ... on an H200, less the cost of the output. */
static double pair_cost(size_t fft, size_t hop, bool fused)
{
    enum { PASSES_FIRST = 5 }; /* the first length in passes; shorter ones are not measured */
    static const double costs[] = {
        0.0028, 0.0031, 0.0034, 0.0043, 0.0054,                 /* 2^10 to 2^14, fused */
        0.0114, 0.0121, 0.0132, 0.0131, 0.0132, 0.0139, 0.0162, /* 2^15 to 2^21, three passes */
        0.0181, 0.0206, 0.0276, 0.0315,                         /* 2^22 to 2^25 */
    };
    size_t power = 0;
    while ((size_t)FFT_FUSED_LEAST << power < fft)
        power++;
    if (!fused && power < PASSES_FIRST)
        power = PASSES_FIRST;
    return costs[power] * (double)fft + STORE_COST * (double)hop;
}

static struct fft_plan plan_length(size_t taps, size_t frames, size_t fused_most, size_t fft)
{
    struct fft_plan plan = {.fft = fft, .fused = fft <= fused_most};
    plan.hop = fft - taps + 1;
    if (plan.hop > HOP_MULTIPLE)
        plan.hop = plan.hop / HOP_MULTIPLE * HOP_MULTIPLE;
    plan.history_frames = fft - plan.hop;
    plan.pairs = (frames + 2 * plan.hop - 1) / (2 * plan.hop);
    size_t most = BATCH_POINTS / fft ? BATCH_POINTS / fft : 1;
    size_t batches = plan.fused ? 1 : (plan.pairs + most - 1) / most;
    plan.batch = (plan.pairs + batches - 1) / batches;
    return plan;
}

static double plan_cost(const struct fft_plan *plan)
{
    size_t batches = (plan->pairs + plan->batch - 1) / plan->batch;
    double launches = plan->fused ? 1 : 3 * (double)batches;
    return LAUNCH_COST * launches +
           pair_cost(plan->fft, plan->hop, plan->fused) * (double)plan->pairs;
}

size_t fft_plan_length_among_many(size_t taps, size_t frames, size_t fused_most)
{
    size_t best = 0;
    double best_cost = INFINITY;
    for (size_t length = FFT_FUSED_LEAST; length <= FFT_MOST; length *= 2) {
        if (length < taps + HOP_MULTIPLE)
            continue;
        struct fft_plan plan = plan_length(taps, frames, fused_most, length);
        double cost = pair_cost(length, plan.hop, plan.fused) * (double)plan.pairs;
        if (cost < best_cost) {
            best_cost = cost;
            best = length;
        }
        if (plan.pairs == 1)
            break;
    }
    return best;
}

struct fft_plan fft_plan_choose(size_t taps, size_t frames, size_t fused_most, size_t fft)
{
    if (fft)
        return plan_length(taps, frames, fused_most, fft);
    struct fft_plan best = {0};
    double best_cost = INFINITY;
    for (size_t length = FFT_FUSED_LEAST; length <= FFT_MOST; length *= 2) {
        if (length < taps + HOP_MULTIPLE)
            continue;
        struct fft_plan plan = plan_length(taps, frames, fused_most, length);
        double cost = plan_cost(&plan);
        if (cost < best_cost) {
            best_cost = cost;
            best = plan;
        }
        if (plan.pairs == 1)
            break;
    }
    return best;
}
