/* Partition plans: they cover the mask, add no latency, and stay within their arrays. */
#include "convolve/partition.h"
#include "signal/fft_odd.h"
#include "suite.h"

#include <math.h>

static void check_chunks(const struct partition_plan *plan, size_t taps, size_t block)
{
    ck_assert_uint_eq(plan->fft, plan->history_frames + plan->hop);
    ck_assert(odd_fft_fits(plan->fft));
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
        ck_assert(odd_fft_fits(segment->fft));
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

START_TEST(requests_are_within_bounds)
{
    for (size_t taps = 1; taps < 50000000; taps = taps * 3 / 2 + 1)
        for (size_t most = 1024; most < 20000000; most *= 4)
            for (size_t channels = 2; channels <= 65; channels = 2 * channels - 1) {
                const struct partition_job job = {.taps = taps, .channels = channels};
                size_t request = partition_preferred_block(&job, most);
                ck_assert_uint_ge(request, 1);
                ck_assert_uint_le(request, most);
            }
}

/* By the model. Chunks are shared by threads and segments are not: where masks become too long for
 * the one form, the other must not take several times as long; with many threads a block may have
 * fewer pieces than threads. */
static double wall_of(size_t taps, size_t frames, size_t channels, size_t threads)
{
    size_t most = (frames + taps) / 8;
    struct partition_job job = {.taps = taps, .pace = PARTITION_AVERAGE, .channels = channels};
    size_t block = job.block = partition_preferred_block(&job, most);
    struct partition_plan plan = partition_plan(&job);
    double blocks = ceil((double)(frames + taps) / (double)block);
    double step = partition_step_cost(&plan, channels, channels, channels, block);
    return blocks * step / (double)partition_sharers(&plan, channels, threads);
}

/* A channel is transformed once for all its paths: fewer products for each frame then pay. */
START_TEST(matrices_have_fewer_products)
{
    enum { CHANNELS = 32, FRAMES = 480000 };
    for (size_t taps = 1 << 14; taps <= 1 << 17; taps = taps * 3 / 2) {
        double products[2];
        for (size_t k = 0; k < 2; k++) {
            struct partition_job job = {
                .taps = taps, .channels = CHANNELS, .paths = k ? CHANNELS : 1};
            job.block = partition_preferred_block(&job, FRAMES);
            struct partition_plan plan = partition_plan(&job);
            ck_assert_int_eq(plan.algorithm, PARTITION_OVERLAP_SAVE);
            products[k] = (double)(plan.fft * plan.partitions) / (double)plan.hop;
        }
        double most = taps > 1 << 14 ? products[0] / 2 : products[0];
        ck_assert_msg(products[1] <= most, "%zu taps: %.2f, one path %.2f", taps, products[1],
                      products[0]);
    }
}

START_TEST(longer_masks_bring_no_surprise)
{
    for (size_t threads = 1; threads <= 64; threads *= 4)
        for (size_t channels = 1; channels <= 8; channels *= 2)
            for (size_t seconds = 60; seconds <= 6000; seconds *= 10)
                for (size_t taps = 1 << 14; taps <= 1 << 21; taps *= 2) {
                    size_t frames = 48000 * seconds;
                    double wall = wall_of(taps, frames, channels, threads);
                    double longer = wall_of(2 * taps, frames, channels, threads);
                    double work = 1 + (double)taps / (double)(frames + taps);
                    ck_assert_msg(
                        longer < (3 + (double)threads / 8) * work * wall,
                        "%zu channels, %zu s, %zu threads: %zu taps %.0f ms, twice as many "
                        "%.0f ms",
                        channels, seconds, threads, taps, 1e-6 * wall, 1e-6 * longer);
                }
}
