/* Live streams whose outputs several GPUs share: with two GPUs on both, with one as two shares on
 * it. Against double precision; one share late, lost or silent; masks that change. */
#include "cells.h"
#include "convolve/convolver.h"
#include "suite.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 64 };

static struct gpu_devices pair; /* 0,1 or 0,0 */

static const enum gpu_mode MODES[] = {GPU_MODE_RESIDENT, GPU_MODE_GRAPH};
enum { MODE_COUNT = sizeof MODES / sizeof *MODES };

static struct convolver_settings settings_with(enum gpu_mode mode, struct workers *workers)
{
    return (struct convolver_settings){.backend = "cuda",
                                       .rate = 48000,
                                       .block = BLOCK,
                                       .live = true,
                                       .gpu = {.mode = mode, .devices = pair},
                                       .workers = workers};
}

static struct filter *make(const struct convolver_settings *settings, const struct mask *mask,
                           const char *fault)
{
    struct filter *filter;
    if (fault)
        setenv("HALO_GPU_FAULT", fault, 1);
    enum status status = convolver_create(settings, mask, &filter);
    unsetenv("HALO_GPU_FAULT");
    ck_assert_int_eq(status, STATUS_OK);
    ck_assert_uint_eq(convolver_share_count(filter), 2);
    return filter;
}

static void check_equality(enum gpu_mode mode, size_t taps, size_t channels, size_t threads)
{
    struct workers *workers = cells_crew(threads);
    struct convolver_settings settings = settings_with(mode, workers);
    struct mask *mask = truth_noise_mask(taps, channels, taps);
    struct block x = stream_noise(2, channels, 3 * taps + 50 * BLOCK);
    double **truth = truth_render(mask, x.data, x.frames);
    settings.alone = true; /* no answer may come from the CPU */
    struct filter *filter = make(&settings, mask, NULL);
    struct block out = stream_through(filter, x.data, x.frames, x.frames + taps - 1);
    cells_expect_within(&out, truth, mask, &x, true, "two shares");
    ck_assert_uint_eq(convolver_failures(filter), 0);
    filter_destroy(filter);
    truth_free(truth, channels);
    mask_destroy(mask);
    block_free(&x);
    block_free(&out);
    workers_destroy(workers);
}

START_TEST(two_shares_equal_truth)
{
    for (size_t m = 0; m < MODE_COUNT; m++) {
        check_equality(MODES[m], 10, 2, 1);
        check_equality(MODES[m], 1000, 5, 2);
        check_equality(MODES[m], 20000, 3, 8);
    }
    check_equality(GPU_MODE_GRAPH, 3000, 65, 8);
}
END_TEST

/* As many channels as the host's copies are shared out for. */
START_TEST(many_channels_equal_truth)
{
    enum { CHANNELS = 5000, TAPS = 300, BLOCKS = 12 };
    struct workers *workers = cells_crew(8);
    struct convolver_settings settings = settings_with(GPU_MODE_GRAPH, workers);
    struct mask *mask = truth_noise_mask(9, CHANNELS, TAPS);
    struct block x = stream_noise(2, CHANNELS, BLOCKS * BLOCK);
    double **truth = truth_render(mask, x.data, x.frames);
    settings.alone = true;
    struct filter *filter = make(&settings, mask, NULL);
    struct block out = stream_through(filter, x.data, x.frames, x.frames);
    cells_expect_within(&out, truth, mask, &x, true, "many channels");
    filter_destroy(filter);
    truth_free(truth, CHANNELS);
    mask_destroy(mask);
    block_free(&x);
    block_free(&out);
    workers_destroy(workers);
}
END_TEST

/* What happens while a mask changes. NULL: no notice; late: blocks at least; fails: shares. */
struct expected {
    size_t late, fails;
    const char *notice;
};

static void check_change(const struct convolver_settings *settings, size_t taps, const char *fault,
                         const struct expected *expected)
{
    enum { CHANNELS = 4 };
    struct mask *mask = truth_noise_mask(1, CHANNELS, taps);
    struct mask *other = truth_noise_mask(2, CHANNELS, taps);
    struct block x = stream_noise(3, CHANNELS, 3 * taps + 200 * BLOCK);
    struct filter *filter = make(settings, mask, fault);
    cells_switch(filter, other, 18 * BLOCK + 5, 300);
    double **truth = truth_render(mask, x.data, x.frames);
    double **after = truth_render(other, x.data, x.frames);
    struct block out = stream_through(filter, x.data, x.frames, x.frames);
    uint64_t began;
    ck_assert(convolver_switched(filter, &began));
    cells_crossfade(truth, after, CHANNELS, x.frames, (size_t)began, 300);
    cells_expect_within(&out, truth, mask, &x, true, fault);
    ck_assert_uint_ge(convolver_late(filter), expected->late);
    ck_assert_uint_eq(convolver_failures(filter), expected->fails);
    ck_assert_str_eq(convolver_backend(filter), expected->fails < 2 ? "cuda" : "cpu");
    ck_assert_ptr_null(filter->failure);
    const char *notice = filter->notice ? filter->notice : "no notice";
    ck_assert_msg(expected->notice ? filter->notice && strstr(notice, expected->notice)
                                   : !filter->notice,
                  "%s: %s", fault, notice);
    if (settings->gpus_alone)
        ck_assert_uint_eq(convolver_late(filter), 0);
    truth_free(truth, CHANNELS);
    truth_free(after, CHANNELS);
    filter_destroy(filter);
    mask_destroy(mask);
    mask_destroy(other);
    block_free(&x);
    block_free(&out);
}

static void check_fault(enum gpu_mode mode, size_t taps, const char *fault, size_t late,
                        size_t fails)
{
    struct workers *workers = cells_crew(3);
    struct convolver_settings settings = settings_with(mode, workers);
    check_change(&settings, taps, fault,
                 &(struct expected){late, fails, .notice = fails > 0 ? "" : NULL});
    workers_destroy(workers);
}

START_TEST(masks_change_in_both_shares)
{
    for (size_t m = 0; m < MODE_COUNT; m++) {
        check_fault(MODES[m], 64, NULL, 0, 0);
        check_fault(MODES[m], 5000, NULL, 0, 0);
    }
}
END_TEST

START_TEST(a_late_share_comes_from_the_cpu)
{
    for (size_t m = 0; m < MODE_COUNT; m++) {
        check_fault(MODES[m], 5000, "20:late@1", 5, 0); /* during the change */
        check_fault(MODES[m], 5000, "100:late@0", 5, 0);
        check_fault(MODES[m], 5000, "20:late", 10, 0);
    }
}
END_TEST

START_TEST(a_lost_share_is_replaced_alone)
{
    static const char *const faults[] = {"0@0", "1:memory@1", "19:lost@1", "40:lost@0"};
    for (size_t m = 0; m < MODE_COUNT; m++)
        for (size_t f = 0; f < sizeof faults / sizeof *faults; f++)
            check_fault(MODES[m], 1000, faults[f], 0, 1);
    check_fault(GPU_MODE_GRAPH, 1000, "30:lost", 0, 2);
}
END_TEST

/* Without a CPU the other GPU takes over, in the block of the loss. */
static void check_moved(enum gpu_mode mode, size_t taps, const char *fault)
{
    struct workers *workers = cells_crew(3);
    struct convolver_settings settings = settings_with(mode, workers);
    settings.gpus_alone = true;
    settings.rate = 100; /* time for both, however slow the GPU is */
    check_change(&settings, taps, fault,
                 &(struct expected){.fails = 1, .notice = "continue on GPU"});
    workers_destroy(workers);
}

START_TEST(a_lost_share_moves_to_the_other_gpu)
{
    static const char *const faults[] = {"0:memory@0", "1:memory@1", "19:lost@1", "40:lost@0",
                                         "150:lost@1"};
    for (size_t m = 0; m < MODE_COUNT; m++)
        for (size_t f = 0; f < sizeof faults / sizeof *faults; f++) {
            check_moved(MODES[m], 64, faults[f]);
            check_moved(MODES[m], 5000, faults[f]);
        }
}
END_TEST

/* The share of a GPU that does not answer comes from the CPU; the other GPU goes on. It is then
 * given up for the whole process: run this test last. */
START_TEST(a_silent_share_is_replaced_alone)
{
    check_fault(GPU_MODE_GRAPH, 5000, "20:never@1", 10, 1);
}
END_TEST

int main(void)
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        puts("no GPU here: streams on several are not tested");
        return 77;
    }
    pair = (struct gpu_devices){.count = 2, .of = {0, devices > 1}};
    printf("shares on GPU 0 and %d\n", pair.of[1]);
    const TTest *const tests[] = {
        two_shares_equal_truth,           many_channels_equal_truth,
        masks_change_in_both_shares,      a_late_share_comes_from_the_cpu,
        a_lost_share_is_replaced_alone,   a_lost_share_moves_to_the_other_gpu,
        a_silent_share_is_replaced_alone,
    };
    return suite_run("live_gpus", tests, sizeof tests / sizeof *tests);
}
