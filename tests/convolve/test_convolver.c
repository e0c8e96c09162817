/* Block by block equals all at once: every backend against the truth, over mask lengths, block
 * lengths, channels and sound lengths. HALO_TEST_FULL in the environment runs the whole grid, or
 * for the CPU its even or odd cells ("even", "odd", to run in parallel); otherwise a part of it. */
#include "cells.h"
#include "convolve/convolver_backend.h"
#include "stream.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool full(void)
{
    return getenv("HALO_TEST_FULL") != NULL;
}

static bool is_mine(size_t cell)
{
    const char *half = getenv("HALO_TEST_FULL");
    return !half || strcmp(half, cell % 2 ? "even" : "odd") != 0;
}

START_TEST(truth_is_true)
{
    enum { N = 3000, TAPS = 2000 };
    float x[N], h[TAPS];
    static double fast[N + TAPS], plain[N + TAPS];
    truth_noise(1, x, N);
    truth_noise(2, h, TAPS);
    truth_add(x, N, h, TAPS, fast);
    truth_add_plain(x, N, h, TAPS, plain);
    for (size_t i = 0; i < N + TAPS - 1; i++)
        ck_assert_double_eq_tol(fast[i], plain[i], 1e-11);
}

/* The full grid. Without HALO_TEST_FULL: the smaller masks, each block and mask with one of the
 * numbers of channels, which take turns. */
START_TEST(cpu_equals_truth)
{
    const size_t blocks[] = {1, 16, 64, 100, 1024, 8192};
    const size_t channels[] = {1, 2, 6, 32};
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) {
        size_t block = blocks[b];
        /* Distributing pieces of a few frames would take longer than filtering them. */
        struct workers *workers = cells_crew(block >= 1024 ? 2 : 1);
        const size_t taps[] = {1, 2, 5, block - 1, block, block + 1, 1024, 16384, 16385, 100000};
        for (size_t t = 0; t < sizeof taps / sizeof *taps; t++) {
            if (taps[t] == 0)
                continue;
            for (size_t c = 0; c < sizeof channels / sizeof *channels; c++) {
                size_t work = taps[t] * channels[c];
                if (!full() && ((b + t) % 4 != c || work > 40000 || (block == 1 && work > 3000)))
                    continue;
                /* The reference takes a minute for each of the largest. */
                if (!is_mine(b + t + c) || (work > 1000000 && block != 64 && block != 8192))
                    continue;
                cells_check_lengths("cpu", taps[t], block, channels[c], workers);
            }
        }
        workers_destroy(workers);
    }
}

START_TEST(direct_equals_truth)
{
    const size_t blocks[] = {1, 16, 64, 100, 1024, 8192};
    const size_t taps[] = {1, 2, 5, 63, 64, 65, 1024, 16385}, channels[] = {1, 2, 6};
    struct workers *workers = cells_crew(2);
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++)
        for (size_t t = 0; t < sizeof taps / sizeof *taps; t++)
            for (size_t c = 0; c < sizeof channels / sizeof *channels; c++)
                if (taps[t] * channels[c] <= (full() ? 20000 : 2048) &&
                    (taps[t] < 16385 || b % 2) && (full() || (b + t) % 3 == c))
                    cells_check_lengths("direct", taps[t], blocks[b], channels[c], workers);
    workers_destroy(workers);
}

START_TEST(long_masks_in_small_blocks)
{
    struct workers *workers = cells_crew(1);
    cells_check("cpu", 100000, 64, 2, 250000, workers);
    cells_check("cpu", 100000, 100, 1, 250000, workers);
    cells_check("cpu", 16385, 1, 1, 40000, workers);
    cells_check("cpu", 480000, 1024, 1, 500000, workers);
    workers_destroy(workers);
}

/* As live: one thread spreads the work of long partitions over the blocks, with two threads a
 * worker does it. */
START_TEST(long_masks_live)
{
    static const struct {
        size_t taps, block, channels, frames;
    } cells[] = {
        {1000, 64, 2, 20000},      {30000, 100, 3, 90000}, {20000, 16, 1, 50000},
        {480000, 1024, 1, 500000}, {20000, 74, 2, 50000}, /* with padded partitions */
        {50000, 1009, 1, 70000},
    };
    for (size_t threads = 1; threads <= 2; threads++) {
        struct workers *workers = cells_crew(threads);
        cells_check("cpu/live", 100000, 64, 2, 250000, workers);
        cells_check_lengths("cpu/live", 16385, 32, 1, workers);
        for (size_t i = full() ? 0 : threads - 1; i < sizeof cells / sizeof *cells;
             i += full() ? 1 : 2)
            cells_check("cpu/live", cells[i].taps, cells[i].block, cells[i].channels,
                        cells[i].frames, workers);
        workers_destroy(workers);
    }
}

/* Signals other than noise: the error stays within its bound for the worst case. */
START_TEST(hard_signals)
{
    enum { N = 60000, TAPS = 4096 };
    struct workers *workers = cells_crew(1);
    for (size_t kind = 0; kind < 4; kind++) {
        struct mask *mask = truth_noise_mask(5, 1, TAPS);
        struct block x = stream_noise(kind, 1, N);
        for (size_t i = 0; i < N; i++)
            x.data[0][i] = kind == 0   ? 1.0f
                           : kind == 1 ? (i == 12345 ? 1.0f : 0.0f)
                           : kind == 2 ? (float)sin((double)i * 0.004)
                                       : x.data[0][i] * (i < N / 2 ? 1.0f : 1e-4f);
        for (size_t k = 0; kind == 0 && k < TAPS; k++)
            mask->coefficients[k] = 1.0f / TAPS;
        double **truth = truth_render(mask, x.data, N);
        const size_t blocks[] = {64, 1000, N};
        for (size_t b = 0; b < 3; b++) {
            struct filter *filter = cells_make("cpu", mask, blocks[b], 0, workers);
            struct block out = stream_through(filter, x.data, N, N + TAPS - 1);
            cells_expect_within(&out, truth, mask, &x, false, "hard signal");
            filter_destroy(filter);
        }
    }
    workers_destroy(workers);
}

START_TEST(masks_in_phase_with_the_sound)
{
    static const size_t taps[] = {20, 100, 300, 1000, 5000, 20000, 60000, 200000};
    static const size_t blocks[] = {64, 74, 100, 1024, 8192, 131072};
    struct workers *workers = cells_crew(2);
    for (size_t t = 0; t < sizeof taps / sizeof *taps; t++)
        for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++)
            for (enum cells_near signal = 0; signal < CELLS_NEAR; signal++) {
                if (!full() && (taps[t] > 20000 || (taps[t] > 5000 && signal > 0)))
                    continue;
                /* Each with half of the others. */
                if ((!full() || taps[t] > 20000) && (t + b + signal) % 2)
                    continue;
                cells_check_near("cpu", signal, taps[t], blocks[b], workers);
                if (blocks[b] <= 1024)
                    cells_check_near("cpu/live", signal, taps[t], blocks[b], workers);
            }
    workers_destroy(workers);
}

START_TEST(change_of_mask)
{
    static const struct {
        const char *backend;
        size_t a, b, block, channels, at, fade;
    } cases[] = {
        {"direct", 100, 70, 64, 2, 1000, 500},
        {"direct", 1, 200, 100, 1, 333, 0},
        {"cpu", 30, 20, 64, 2, 1000, 480},
        {"cpu", 1000, 3000, 64, 2, 2048, 0},
        {"cpu", 3000, 1000, 64, 1, 2049, 1},
        {"cpu", 20000, 20000, 64, 1, 30011, 960},
        {"cpu", 20000, 5000, 16, 2, 12345, 4800},
        {"cpu", 5000, 20000, 100, 1, 777, 100},
        {"cpu", 5000, 6000, 1, 1, 1500, 20},
        {"cpu", 5000, 4000, 8192, 2, 9000, 10000},
        {"cpu", 70000, 70000, 128, 1, 0, 0},
        {"cpu", 70000, 40000, 128, 1, 90001, 3},
        {"cpu/live", 70000, 70000, 64, 1, 90001, 3},
        {"cpu/live", 20000, 60000, 64, 2, 77777, 20000},
        {"cpu/live", 60000, 300, 128, 1, 50000, 9000},
        {"cpu/live", 1, 60000, 64, 1, 65536, 0},
        {"cpu/live", 60000, 300, 74, 2, 50000, 900},
        {"cpu/live", 300, 60000, 1009, 1, 60000, 0},
        {"cpu", 300, 301, 65536, 2, 65536, 7},
        {"cpu", 20000, 20000, 1024, 6, 30000, 960},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cells_check_change(cases[i].backend, cases[i].a, cases[i].b, cases[i].block,
                           cases[i].channels, cases[i].at, cases[i].fade);
}

START_TEST(many_changes_in_a_row)
{
    enum { N = 40000, BLOCK = 64, TAPS = 3000, CHANGES = 5 };
    struct workers *workers = cells_crew(1);
    struct mask *masks[CHANGES + 1];
    struct block x = stream_noise(1, 1, N);
    double **truth = NULL;
    for (size_t m = 0; m <= CHANGES; m++) {
        masks[m] = truth_noise_mask(m + 20, 1, TAPS - 100 * m);
        double **next = truth_render(masks[m], x.data, N);
        if (m == 0) {
            truth = next;
            continue;
        }
        cells_crossfade(truth, next, 1, N, m * 6000 + m, 300);
    }
    struct filter *filter = cells_make("cpu", masks[0], BLOCK, 0, workers);
    struct block out = stream_noise(2, 1, N);
    size_t change = 1;
    for (size_t at = 0; at < N; at += BLOCK) {
        const float *in[] = {x.data[0] + at};
        float *to[] = {out.data[0] + at};
        bool due = change <= CHANGES && at + BLOCK >= change * 6000;
        if (due && convolver_switched(filter, NULL)) {
            cells_switch(filter, masks[change], change * 6000 + change, 300);
            change++;
        }
        filter_process(filter, in, to);
    }
    ck_assert_uint_eq(change, CHANGES + 1);
    cells_expect_within(&out, truth, masks[0], &x, true, "many changes");
    filter_destroy(filter);
    workers_destroy(workers);
}

/* The same with masks of a live stream, prepared in advance and used in turn: each starts at its
 * frame, whatever its slot played before. */
START_TEST(masks_in_turn_live)
{
    enum { N = 200000, BLOCK = 64, TAPS = 20000, MASKS = 3, FADE = 480 };
    static const enum switch_shape shapes[] = {SWITCH_FADE, SWITCH_DUCK, SWITCH_GAP};
    for (size_t threads = 1; threads <= 2; threads++) {
        struct workers *workers = cells_crew(threads);
        struct mask *masks[MASKS];
        double **whole[MASKS];
        struct convolver_mask *prepared[MASKS];
        struct block x = stream_noise(1, 2, N), out = stream_noise(2, 2, N);
        struct filter *filter = NULL;
        for (size_t m = 0; m < MASKS; m++) {
            masks[m] = truth_noise_mask(m + 30, 2, TAPS - 4000 * m);
            whole[m] = truth_render(masks[m], x.data, N);
            if (m == 0)
                filter = cells_make("cpu/live", masks[m], BLOCK, 0, workers);
            ck_assert_int_eq(convolver_prepare(filter, masks[m], &prepared[m]), STATUS_OK);
        }
        double **truth = truth_render(masks[0], x.data, N);
        size_t current = 0, switches = 0;
        bool under_way = false;
        for (size_t at = 0; at < N; at += BLOCK) {
            const float *in[] = {x.data[0] + at, x.data[1] + at};
            float *to[] = {out.data[0] + at, out.data[1] + at};
            uint64_t began;
            if (under_way && convolver_switched(filter, &began)) {
                cells_switched(truth, whole[current], 2, N, (size_t)began, FADE,
                               shapes[(switches - 1) % 3]);
                under_way = false;
            }
            /* The last change starts early enough to finish. */
            if (!under_way && at % (BLOCK * 37) == 0 && at + 20 * BLOCK < N - 2 * TAPS) {
                current = (current + 1 + switches % 2) % MASKS;
                struct convolver_switch next = {.to = prepared[current],
                                                .at = at + switches % 5 * 100,
                                                .frames = FADE,
                                                .shape = shapes[switches % 3]};
                ck_assert_int_eq(convolver_switch(filter, &next), STATUS_OK);
                under_way = true;
                switches++;
            }
            filter_process(filter, in, to);
        }
        ck_assert_msg(switches > 20, "only %zu switches", switches);
        cells_expect_within(&out, truth, masks[0], &x, true, "masks in turn");
        filter_destroy(filter);
        workers_destroy(workers);
    }
}

START_TEST(unsuitable_changes_are_refused)
{
    struct workers *workers = cells_crew(1);
    struct mask *mask = truth_noise_mask(1, 2, 100);
    struct mask *longer = truth_noise_mask(1, 2, 101);
    struct mask *wider = truth_noise_mask(1, 3, 100);
    struct filter *filter = cells_make("cpu", mask, 64, 0, workers);
    struct convolver_mask *prepared;
    ck_assert_int_eq(convolver_prepare(filter, longer, &prepared), STATUS_FAILED);
    ck_assert_int_eq(convolver_prepare(filter, wider, &prepared), STATUS_FAILED);
    cells_switch(filter, mask, 1000, 0);
    const struct convolver_switch again = {.to = convolver_first_mask(filter), .at = 1000};
    ck_assert_int_eq(convolver_switch(filter, &again), STATUS_FAILED);
    filter_destroy(filter);
    workers_destroy(workers);
}

START_TEST(reset_clears_the_history)
{
    struct workers *workers = cells_crew(1);
    const size_t blocks[] = {64, 8192};
    for (size_t b = 0; b < 2; b++) {
        struct mask *mask = truth_noise_mask(1, 2, 5000);
        struct block x = stream_noise(1, 2, 20000);
        struct filter *filter = cells_make("cpu", mask, blocks[b], 0, workers);
        struct block first = stream_through(filter, x.data, 20000, 20000);
        filter_reset(filter);
        struct block second = stream_through(filter, x.data, 20000, 20000);
        for (size_t c = 0; c < 2; c++)
            ck_assert_mem_eq(first.data[c], second.data[c], 20000 * sizeof(float));
        filter_destroy(filter);
    }
    workers_destroy(workers);
}

/* ---- a backend that fails, as a GPU can ---- */

static int steps_left;

/* Steps by the direct form until it fails; from then on it returns garbage. */
static void failing_step(struct convolution *convolution, const float *const *in,
                         const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    convolver_direct.step(convolution, in, slots);
    if (steps_left-- > 0)
        return;
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++)
        if (slots[v].prepared)
            slots[v].out[0][0] = NAN;
}

static const char *failing_failure(const struct convolution *convolution)
{
    (void)convolution;
    return steps_left < 0 ? "fault requested" : NULL;
}

static void check_failing(size_t taps, size_t block, int after, size_t change_at)
{
    struct convolver_backend failing = convolver_direct;
    failing.name = "failing";
    failing.step = failing_step;
    failing.failure = failing_failure;
    struct workers *workers = cells_crew(1);
    struct mask *mask = truth_noise_mask(1, 2, taps), *other = truth_noise_mask(2, 2, taps);
    size_t n = 3 * taps + (block < 10000 ? 20 : 4) * block, fade = taps / 2;
    struct block x = stream_noise(3, 2, n);
    double **truth = truth_render(mask, x.data, n), **after_change = truth_render(other, x.data, n);
    cells_crossfade(truth, after_change, 2, n, change_at, fade);
    struct convolver_settings settings = {.backend = "", .block = block, .workers = workers};
    struct filter *filter;
    steps_left = after;
    ck_assert_int_eq(convolver_create_on(&failing, &settings, mask, &filter), STATUS_OK);
    ck_assert_str_eq(convolver_backend(filter), "failing");
    cells_switch(filter, other, change_at, fade);
    struct block out = stream_through(filter, x.data, n, n);
    cells_expect_within(&out, truth, mask, &x, true, "a failing backend");
    ck_assert_uint_eq(convolver_failures(filter), 1);
    ck_assert_str_eq(convolver_backend(filter), "cpu");
    ck_assert_ptr_null(filter->failure);
    ck_assert_msg(filter->notice && strstr(filter->notice, "fault requested"), "no notice");
    ck_assert(convolver_switched(filter, NULL));
    filter_destroy(filter);
    workers_destroy(workers);
}

START_TEST(failing_backend_is_replaced_by_the_cpu)
{
    const size_t taps[] = {1, 63, 1000,
                           5000}; /* which the failing backend filters in direct form */
    check_failing(20000, 64, 10, 100);
    for (size_t t = 0; t < sizeof taps / sizeof *taps; t++) {
        check_failing(taps[t], 64, 0, 100);    /* in the first block */
        check_failing(taps[t], 64, 10, 100);   /* in or after the fade */
        check_failing(taps[t], 64, 10, 700);   /* before the change */
        check_failing(taps[t], 1000, 3, 3100); /* in the block where it begins */
        if (t % 2)
            check_failing(taps[t], 30000, 1, 2 * 30000 + 17); /* in blocks of files */
    }
}

/* In files the CPU is set up when it is needed, from the mask that the caller keeps. */
static void check_failing_file(size_t taps, size_t block, int after, size_t crew)
{
    struct convolver_backend failing = convolver_direct;
    failing.name = "failing";
    failing.step = failing_step;
    failing.failure = failing_failure;
    struct workers *workers = cells_crew(crew);
    struct mask *mask = truth_noise_mask(1, 2, taps);
    size_t n = 3 * taps + 7 * block;
    struct block x = stream_noise(3, 2, n);
    double **truth = truth_render(mask, x.data, n);
    struct convolver_settings settings = {
        .backend = "", .block = block, .mask_stays = true, .workers = workers};
    struct filter *filter;
    steps_left = after;
    ck_assert_int_eq(convolver_create_on(&failing, &settings, mask, &filter), STATUS_OK);
    ck_assert(convolver_needs_mask(filter));
    struct block out = stream_through(filter, x.data, n, n);
    cells_expect_within(&out, truth, mask, &x, true, "a failing backend");
    ck_assert_uint_eq(convolver_failures(filter), 1);
    ck_assert(!convolver_needs_mask(filter));
    ck_assert_ptr_null(filter->failure);
    filter->kind->reset(filter);
    struct block again = stream_through(filter, x.data, n, n);
    cells_expect_within(&again, truth, mask, &x, true, "the CPU after a reset");
    filter_destroy(filter);
    workers_destroy(workers);
}

START_TEST(files_make_their_standby_late)
{
    const size_t taps[] = {1, 63, 1000, 5000};
    for (size_t t = 0; t < sizeof taps / sizeof *taps; t++) {
        check_failing_file(taps[t], 64, 0, 1);
        check_failing_file(taps[t], 1000, 3, 2);
        if (t % 2)
            check_failing_file(taps[t], 30000, 4, 2);
    }
}

/* ---- workers: steps follow each other faster than any of them can work ---- */

struct worked {
    bool has_worker, is_late;
};

static struct worked run_at_once(size_t taps, uint32_t rate, size_t threads)
{
    enum { BLOCK = 64, STEPS = 4000 };
    struct workers *workers = cells_crew(threads);
    struct mask *mask = truth_noise_mask(1, 1, taps);
    struct block x = stream_noise(3, 1, BLOCK), out = stream_noise(4, 1, BLOCK);
    const struct convolver_settings settings = {
        .backend = "cpu", .rate = rate, .block = BLOCK, .live = true, .workers = workers};
    struct filter *filter;
    unsigned held_up = 0;
    ck_assert_int_eq(convolver_create(&settings, mask, &filter), STATUS_OK);
    for (size_t i = 0; i < STEPS; i++) {
        filter_process(filter, (const float *const *)x.data, out.data);
        held_up |= filter->held_up;
    }
    bool has_worker = strstr(convolver_algorithm(filter), "with a worker");
    filter_destroy(filter);
    workers_destroy(workers);
    ck_assert_uint_eq(held_up & ~(unsigned)FILTER_WORKER_LATE, 0);
    return (struct worked){has_worker, held_up != 0};
}

START_TEST(late_workers_are_reported)
{
    const struct worked helped = run_at_once(100000, 192000, 2);
    const struct worked alone = run_at_once(100000, 192000, 1);
    ck_assert(helped.has_worker && helped.is_late);
    ck_assert(!alone.has_worker && !alone.is_late);
}

/* What costs the step less than it costs to wake a worker; less of a shorter block. */
START_TEST(light_masks_have_no_worker)
{
    ck_assert(!run_at_once(4800, 48000, 2).has_worker);
    ck_assert(!run_at_once(100000, 48000, 2).has_worker);
    ck_assert(run_at_once(4000000, 48000, 2).has_worker);
    ck_assert(run_at_once(4800, 4800000, 2).has_worker);
    ck_assert(run_at_once(4800, 0, 2).has_worker); /* it is not known how light it is */
}

/* ---- a backend that is late, as a GPU can be ---- */

static size_t collected;
static size_t late_ones;

/* Every third block, and a run of ten, are late; the returned data is garbage. */
static bool late_collect(struct convolution *convolution,
                         const struct convolver_slot slots[CONVOLVER_SLOTS], int64_t until)
{
    (void)convolution;
    ck_assert_msg(until > 0, "waited without a deadline");
    size_t n = collected++;
    bool late = n % 3 == 2 || (n >= 300 && n < 310);
    for (size_t v = 0; v < CONVOLVER_SLOTS && late; v++)
        if (slots[v].prepared)
            slots[v].out[0][0] = NAN;
    late_ones += late;
    return !late && steps_left > 0;
}

static void check_late(size_t taps, int fail_after)
{
    enum { BLOCK = 64 };
    struct convolver_backend late = convolver_direct;
    late.name = "late";
    late.failure = failing_failure;
    late.post = failing_step;
    late.collect = late_collect;
    struct workers *workers = cells_crew(2);
    struct mask *mask = truth_noise_mask(1, 2, taps), *other = truth_noise_mask(2, 2, taps);
    size_t n = 3 * taps + 600 * BLOCK, fade = taps / 2;
    struct block x = stream_noise(3, 2, n);
    double **truth = truth_render(mask, x.data, n), **after = truth_render(other, x.data, n);
    struct convolver_settings settings = {
        .backend = "", .rate = 48000, .block = BLOCK, .live = true, .workers = workers};
    struct filter *filter;
    steps_left = fail_after;
    collected = late_ones = 0;
    ck_assert_int_eq(convolver_create_on(&late, &settings, mask, &filter), STATUS_OK);
    cells_switch(filter, other, 290 * BLOCK, fade);
    struct block out = stream_through(filter, x.data, n, n);
    uint64_t began;
    ck_assert(convolver_switched(filter, &began));
    cells_crossfade(truth, after, 2, n, (size_t)began, fade);
    cells_expect_within(&out, truth, mask, &x, true, "a late backend");
    bool failed = fail_after < 1000;
    ck_assert_uint_eq(convolver_failures(filter), failed);
    ck_assert_uint_ge(convolver_late(filter) + failed, late_ones);
    ck_assert_uint_gt(late_ones, 100);
    ck_assert_int_eq((filter->held_up & FILTER_GPU_LATE) == 0, failed);
    filter_destroy(filter);
    workers_destroy(workers);
}

START_TEST(cpu_steps_in_for_late_blocks)
{
    check_late(100, 1 << 20);
    check_late(5000, 1 << 20);
    check_late(5000, 350); /* and then it fails */
}
