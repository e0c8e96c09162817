/* Plans of convolutions of arrays: what the chunks' transforms would give, by sums. No GPU. */
#include "gpu/device_arrays_plan.h"
#include "suite.h"

#include <math.h>

enum { FUSED = 14, ARRAY_MOST = 40000 };

static double frames[ARRAY_MOST], taps[ARRAY_MOST];

static double at(const double *samples, size_t count, int64_t i)
{
    return i >= 0 && (uint64_t)i < count ? samples[i] : 0;
}

static double convolved(const double *a, size_t a_count, const double *b, size_t b_count, int64_t n)
{
    double sum = 0;
    for (size_t k = 0; k < b_count; k++)
        sum += at(a, a_count, n - (int64_t)k) * b[k];
    return sum;
}

/* Frame q of a chunk that begins at frame `from` of the signal, modulo t^length + 1. */
static double wrapped(const double *signal, size_t signal_count, int64_t from, const double *mask,
                      size_t mask_count, uint64_t length, uint64_t q)
{
    double sum = 0;
    for (size_t k = 0; k < mask_count; k++) {
        uint64_t i = q >= k ? q - k : q + length - k;
        double frame = at(signal, signal_count, from + (int64_t)i);
        sum += q >= k ? frame * mask[k] : -frame * mask[k];
    }
    return sum;
}

static void check_plan(const struct arrays_group *group, const struct device_arrays_plan *plan)
{
    const double *signal = plan->swapped ? taps : frames, *mask = plan->swapped ? frames : taps;
    size_t signal_count = plan->swapped ? group->taps : group->frames;
    size_t mask_count = plan->swapped ? group->frames : group->taps;
    uint64_t length = UINT64_C(2) << plan->power;
    ck_assert_uint_ge(plan->chunks * plan->hop, plan->heard);
    ck_assert_uint_le(plan->skip + plan->hop, length);
    for (size_t probe = 0; probe < 40; probe++) {
        uint64_t i = probe == 0 ? 0 : probe == 1 ? plan->heard - 1 : (uint64_t)rand() % plan->heard;
        uint64_t chunk = i / plan->hop;
        double wanted =
            convolved(frames, group->frames, taps, group->taps, (int64_t)(group->first + i));
        double got = wrapped(signal, signal_count, plan->origin + (int64_t)(chunk * plan->hop),
                             mask, mask_count, length, plan->skip + i % plan->hop);
        ck_assert_msg(fabs(wanted - got) < 1e-9,
                      "%zu frames, %zu taps from %zu: output %zu by 2^%u points is %g, not %g",
                      group->frames, group->taps, group->first, (size_t)i, plan->power, got,
                      wanted);
    }
}

START_TEST(chunks_give_the_convolution)
{
    srand(1);
    for (size_t i = 0; i < ARRAY_MOST; i++) {
        frames[i] = rand() / (double)RAND_MAX - 0.5;
        taps[i] = rand() / (double)RAND_MAX - 0.5;
    }
    for (size_t round = 0; round < 300; round++) {
        struct arrays_group group = {.frames = 65 + (size_t)rand() % (ARRAY_MOST - 65),
                                     .taps = 65 + (size_t)rand() % (ARRAY_MOST - 65),
                                     .x_step = rand() % 2,
                                     .h_step = rand() % 2,
                                     .count = 1 + (size_t)rand() % 40};
        if (rand() % 2)
            group.taps = 65 + group.taps % 3000;
        group.first = (size_t)rand() % 3 ? (size_t)rand() % (group.frames + group.taps) : 0;
        group.out_frames = 1 + (size_t)rand() % (group.frames + group.taps);
        struct device_arrays_plan plan;
        ck_assert(device_arrays_plan_choose(&group, round % 2 ? ARRAYS_FLOAT32 : ARRAYS_FLOAT64,
                                            FUSED, &plan));
        if (plan.heard)
            check_plan(&group, &plan);
    }
}

START_TEST(outputs_beyond_the_convolution_are_silent)
{
    const struct arrays_group none = {.frames = 0, .taps = 10, .out_frames = 5, .count = 1};
    const struct arrays_group late = {
        .frames = 10, .taps = 10, .first = 17, .out_frames = 5, .count = 1};
    struct device_arrays_plan plan;
    ck_assert(device_arrays_plan_choose(&none, ARRAYS_FLOAT32, FUSED, &plan));
    ck_assert_uint_eq(plan.heard, 0);
    ck_assert(device_arrays_plan_choose(&late, ARRAYS_FLOAT32, FUSED, &plan));
    ck_assert_uint_eq(plan.heard, 2);
    ck_assert_uint_eq(plan.power, 0);
}

START_TEST(arrays_of_any_length_with_a_mask_that_fits)
{
    struct arrays_group group = {.frames = (size_t)1 << 33,
                                 .taps = (size_t)1 << 24,
                                 .out_frames = (size_t)1 << 33,
                                 .count = 1};
    struct device_arrays_plan plan;
    ck_assert(device_arrays_plan_choose(&group, ARRAYS_FLOAT32, FUSED, &plan));
    ck_assert_uint_gt(plan.chunks, 1);
    group.taps = (size_t)1 << 26;
    ck_assert(!device_arrays_plan_choose(&group, ARRAYS_FLOAT32, FUSED, &plan));
}
