#include "gpu/device_arrays_plan.h"

#include <math.h>

enum {
    HOP_MULTIPLE = 32, /* frames; chunks then start at multiples of 128 bytes of output */
    POWER_PASSES = 15, /* shortest transform in three passes in single precision */
};

static const double WAVE_POINTS = 132 << 14; /* points that the GPU holds at once */
static const double MASK_SHARE = 0.6;        /* transform of a mask: there, but not back */
static const double STORE_COST = 0.0025;     /* ns per output */
static const double DOUBLE_COST = 0.036;     /* ns per point, in three passes */

/* Nanoseconds per point, there and back. Measured on an H200. */
static double point_cost(unsigned power, enum arrays_sample sample, unsigned fused_most)
{
    static const double costs[] = {
        0.0036, 0.0036, 0.0040, 0.0045, 0.0058, /* 2^10 to 2^14, a thread block */
        0.0105, 0.0112, 0.0130, 0.0131, 0.0132, /* 2^15 to 2^19, three passes */
        0.0139, 0.0162, 0.0181, 0.0206, 0.0276, /* 2^20 to 2^24 */
    };
    if (sample == ARRAYS_FLOAT64)
        return DOUBLE_COST;
    if (power > fused_most && power < POWER_PASSES)
        return INFINITY;
    return costs[power - ARRAYS_POWER_LEAST];
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Completes a plan for its length of transforms. Infinity: impossible. Otherwise the time in ns. */
static double plan_length(const struct arrays_group *group, enum arrays_sample sample,
                          unsigned fused_most, struct device_arrays_plan *plan)
{
    uint64_t signal = plan->swapped ? group->taps : group->frames;
    uint64_t mask = plan->swapped ? group->frames : group->taps, first = group->first;
    uint64_t length = UINT64_C(2) << plan->power, all = signal + mask - 1;
    ptrdiff_t mask_step = plan->swapped ? group->x_step : group->h_step;
    if (most(most(signal, mask), most(first + plan->heard, all - first)) <= length) {
        plan->hop = plan->heard;
        plan->chunks = 1;
        plan->skip = first;
        plan->origin = 0;
    } else if (length < mask + HOP_MULTIPLE) {
        return INFINITY;
    } else {
        plan->hop = (length - mask + 1) / HOP_MULTIPLE * HOP_MULTIPLE;
        plan->chunks = (plan->heard + plan->hop - 1) / plan->hop;
        plan->skip = length - plan->hop;
        plan->origin = (int64_t)first - (int64_t)plan->skip;
    }
    double cost = point_cost(plan->power, sample, fused_most), points = (double)length / 2;
    double masks = mask_step ? (double)group->count : 1;
    double all_points = (double)group->count * (double)plan->chunks * points;
    double waves = ceil(all_points / WAVE_POINTS) * WAVE_POINTS;
    return cost * (waves + MASK_SHARE * masks * points) +
           STORE_COST * (double)group->count * (double)plan->heard;
}

static void plan_sums(const struct arrays_group *group, struct device_arrays_plan *plan)
{
    plan->hop = ARRAYS_DIRECT_TILE;
    plan->chunks = (plan->heard + plan->hop - 1) / plan->hop;
    plan->origin = (int64_t)group->first - ARRAYS_DIRECT_TAPS;
}

bool device_arrays_plan_choose(const struct arrays_group *group, enum arrays_sample sample,
                               unsigned fused_most, struct device_arrays_plan *plan)
{
    uint64_t all = group->frames && group->taps ? group->frames + group->taps - 1 : 0;
    uint64_t heard = all > group->first ? least(all - group->first, group->out_frames) : 0;
    *plan = (struct device_arrays_plan){.swapped = group->taps > group->frames, .heard = heard};
    if (least(group->frames, group->taps) <= ARRAYS_DIRECT_TAPS) {
        plan_sums(group, plan);
        return true;
    }
    double best = INFINITY;
    unsigned from = sample == ARRAYS_FLOAT64 ? ARRAYS_POWER_LEAST_2 : ARRAYS_POWER_LEAST;
    for (int swapped = 0; swapped < 2; swapped++)
        for (unsigned power = from; power <= ARRAYS_POWER_MOST; power++) {
            struct device_arrays_plan one = {.swapped = swapped, .power = power, .heard = heard};
            double cost = plan_length(group, sample, fused_most, &one);
            if (cost < best) {
                best = cost;
                *plan = one;
            }
            if (cost < INFINITY && one.chunks == 1)
                break;
        }
    return best < INFINITY;
}
