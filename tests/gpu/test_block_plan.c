/* How blocks and masks are partitioned for the GPU: arithmetic, tested without one. */
#include "gpu/block_plan.h"
#include "suite.h"

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
