/* Partition plans: they cover the mask, add no latency, and stay within their arrays. */
#include "convolve/partition.h"
#include "signal/fft.h"
#include "suite.h"

static void check_chunks(const struct partition_plan *plan, size_t taps, size_t block)
{
    ck_assert_uint_eq(plan->fft, plan->history_frames + plan->hop);
    ck_assert_uint_eq(plan->history_frames % PARTITION_LINE, 0);
    ck_assert_uint_eq(plan->hop % PARTITION_LINE, 0);
    ck_assert_uint_ge(plan->hop * plan->chunks, block);
    ck_assert_uint_lt(plan->hop * (plan->chunks - 1), block);
    if (plan->partitions == 1) {
        ck_assert_uint_ge(plan->history_frames + 1, taps);
        return;
    }
    ck_assert_uint_eq(plan->history_frames, plan->hop);
    ck_assert_uint_ge(plan->partitions * plan->hop, taps);
    ck_assert_uint_eq(block % plan->hop, 0);
}

static void check_segments(const struct partition_plan *plan, size_t taps, size_t block)
{
    size_t done = plan->head;
    ck_assert_uint_le(plan->segment_count, PARTITION_SEGMENTS_MOST);
    for (size_t s = 0; s < plan->segment_count; s++) {
        const struct partition_segment *segment = &plan->segments[s];
        ck_assert_uint_eq(segment->offset, done);
        ck_assert_uint_eq(segment->size % block, 0);
        ck_assert_uint_gt(segment->partitions, 0);
        ck_assert_uint_ge(segment->fft, 2 * segment->size);
        ck_assert_uint_eq(segment->fft, fft_realtime_length(segment->fft));
        ck_assert_msg(segment->offset + 2 * block >= 2 * segment->size,
                      "%zu taps, blocks of %zu: segment %zu is late", taps, block, s);
        done += segment->size * segment->partitions;
    }
    ck_assert_uint_ge(done, taps);
}

static void check_plan(size_t taps, size_t block, enum partition_pace pace)
{
    const struct partition_job job = {taps, block, pace, 1, 1};
    struct partition_plan plan = partition_plan(&job);
    if (plan.algorithm == PARTITION_DIRECT)
        ck_assert_uint_eq(plan.head, taps);
    else if (plan.algorithm == PARTITION_OVERLAP_SAVE)
        check_chunks(&plan, taps, block);
    else
        check_segments(&plan, taps, block);
}

START_TEST(plans_cover_the_mask)
{
    for (size_t taps = 1; taps < 2000000; taps = taps * 5 / 4 + 1)
        for (size_t block = 1; block < 1000000; block = block * 3 / 2 + 1) {
            for (int pace = PARTITION_AVERAGE; pace <= PARTITION_WORKER; pace++)
                check_plan(taps, block, (enum partition_pace)pace);
        }
    check_plan(100000000, 65536, PARTITION_AVERAGE); /* beyond the longest transform */
    check_plan(100000000, 64, PARTITION_SPREAD);
}
END_TEST

START_TEST(requests_are_within_bounds)
{
    for (size_t taps = 1; taps < 50000000; taps = taps * 3 / 2 + 1)
        for (size_t most = 1024; most < 20000000; most *= 4)
            for (size_t threads = 1; threads <= 64; threads *= 4) {
                size_t request = partition_preferred_block(taps, threads + 1, threads, most);
                ck_assert_uint_ge(request, 1);
                ck_assert_uint_le(request, most);
            }
}
END_TEST

SUITE_MAIN("partition", plans_cover_the_mask, requests_are_within_bounds)
