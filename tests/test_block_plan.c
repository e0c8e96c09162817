/* How blocks and masks are partitioned for the GPU: arithmetic, tested without one. */
#include "gpu/block_plan.h"
#include "gpu/live_need.h"
#include "suite.h"

#include <math.h>

static const size_t BLOCKS[] = {1,    3,    32,    64,     100,     480,
                                1024, 2048, 65536, 262144, 1 << 20, 1 << 23};
static const size_t TAPS[] = {1, 2, 64, 65, 1000, 16384, 480000, 10000000};
enum { BLOCK_COUNT = sizeof BLOCKS / sizeof *BLOCKS, TAP_COUNT = sizeof TAPS / sizeof *TAPS };

START_TEST(slices_cover_the_block)
{
    for (size_t b = 0; b < BLOCK_COUNT; b++)
        for (size_t t = 0; t < TAP_COUNT; t++) {
            struct slice_plan plan = slice_plan_for(BLOCKS[b], TAPS[t]);
            ck_assert_uint_eq(plan.slice % 4, 0);
            ck_assert_uint_ge(plan.slices, 1);
            ck_assert_uint_le(plan.slices, SLICES_MOST);
            ck_assert_uint_ge(plan.slice * plan.slices, BLOCKS[b]);
            ck_assert_uint_lt(plan.slice * (plan.slices - 1), BLOCKS[b]);
        }
    /* A long block of a short mask is sliced; a short block, or one of a long mask, is not. */
    ck_assert_uint_eq(slice_plan_for(1 << 20, 1000).slices, SLICES_MOST);
    ck_assert_uint_eq(slice_plan_for(1 << 12, 1000).slices, 1);
    ck_assert_uint_eq(slice_plan_for(1 << 20, 480000).slices, 1);
}
END_TEST

START_TEST(live_partitions_hold_the_mask)
{
    for (size_t b = 0; b < BLOCK_COUNT; b++)
        for (size_t t = 0; t < TAP_COUNT; t++) {
            size_t block = BLOCKS[b], taps = TAPS[t];
            struct live_plan plan = live_plan_for(block, taps);
            ck_assert_uint_ge(block * (plan.partitions + 1), taps); /* the head is one block */
            ck_assert(plan.partitions == 0 || block * plan.partitions < taps);
            ck_assert_uint_eq(plan.partitions, live_partitions(block, taps));
            ck_assert_uint_ge(plan.fft, 2 * block);
            ck_assert_uint_eq((size_t)1 << plan.fft_log2, plan.fft);
            ck_assert_uint_ge(3 * plan.packets, block);
            ck_assert(plan.partitions > 0 ? plan.depth >= plan.partitions + 3 : plan.depth == 0);
            ck_assert_uint_eq(plan.depth & (plan.depth - 1), 0);
        }
}
END_TEST

/* An H200: 141 GB at 4.9 TB/s. */
static const struct live_device H200[4] = {
    {150.7e9, 4.9e12}, {150.7e9, 4.9e12}, {150.7e9, 4.9e12}, {150.7e9, 4.9e12}};

static struct live_job diagonal(size_t channels, size_t taps)
{
    return (struct live_job){.inputs = channels,
                             .outputs = channels,
                             .paths = channels,
                             .columns = channels,
                             .taps = taps,
                             .block = 128,
                             .period = 128 / 48000.0,
                             .masks = 1};
}

/* What was measured on one (docs/measurements.md), and what has no place there. */
START_TEST(streams_take_as_few_gpus_as_they_need)
{
    static const size_t channels[] = {2, 4096, 16384, 24576, 40000, 100000};
    static const size_t needed[] = {1, 1, 1, 2, 3, 4};
    struct live_need need;
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        const struct live_job job = diagonal(channels[i], 480000);
        ck_assert_msg(live_devices_needed(&job, H200, 4, &need) == needed[i],
                      "%zu channels: not %zu", channels[i], needed[i]);
        ck_assert_uint_eq(live_devices_needed(&job, H200, 1, &need), 1);
    }
    struct live_job matrix = diagonal(64, 240000);
    matrix.paths = matrix.columns = (size_t)64 * 64;
    ck_assert_uint_eq(live_devices_needed(&matrix, H200, 4, &need), 1);
    matrix.masks = 8; /* do not fit one */
    ck_assert_uint_gt(live_devices_needed(&matrix, H200, 4, &need), 0);
}
END_TEST

START_TEST(shares_need_less)
{
    const struct live_job job = diagonal(10001, 480000);
    double before = INFINITY, seconds = INFINITY;
    for (size_t shares = 1; shares <= 8; shares++) {
        struct live_need need = live_need_for(&job, shares, &H200[0]);
        ck_assert(need.bytes < before && need.seconds < seconds);
        ck_assert(need.bytes > 10001.0 / (double)shares * 480000 * 8);
        before = need.bytes;
        seconds = need.seconds;
    }
    /* A slower device is one with more to do. */
    struct live_device slow[2] = {{150.7e9, 1e12}, {150.7e9, 1e12}};
    struct live_job heavy = diagonal(8192, 480000);
    struct live_need need;
    ck_assert_uint_eq(live_devices_needed(&heavy, H200, 2, &need), 1);
    ck_assert_uint_eq(live_devices_needed(&heavy, slow, 2, &need), 2);
}
END_TEST

/* A GPU stands by for another's share where it has the memory, and the time for both. */
START_TEST(spares_have_room_and_time)
{
    struct live_job half = diagonal(4096, 480000), heavy = diagonal(12288, 480000);
    struct live_need need = live_need_for(&half, 1, &H200[0]);
    double all = 150.7e9;
    ck_assert(live_spare_suits(&half, &need, 1, all - need.bytes));
    ck_assert(live_spare_suits(&half, &need, 0, all));
    ck_assert(!live_spare_suits(&half, &need, 1, 0.9 * need.bytes));
    ck_assert(!live_spare_suits(&half, &need, 1, 0));
    ck_assert(!live_spare_suits(&half, &need, 100, all)); /* no time */
    half.masks = 2;                                       /* later ones need the room */
    need = live_need_for(&half, 1, &H200[0]);
    ck_assert(!live_spare_suits(&half, &need, 1, 1.5 * need.bytes));
    ck_assert(live_spare_suits(&half, &need, 0, 1.5 * need.bytes));
    need = live_need_for(&heavy, 1, &H200[0]);
    ck_assert(!live_spare_suits(&heavy, &need, 1, all - need.bytes));
}
END_TEST

SUITE_MAIN("block_plan", spares_have_room_and_time, slices_cover_the_block,
           live_partitions_hold_the_mask, streams_take_as_few_gpus_as_they_need, shares_need_less)
