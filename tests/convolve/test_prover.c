/* The prover: what it says of convolvers is true, whichever frames it compares, and what a faulty
 * one does is found. */
#include "cells.h"
#include "convolve/convolver_backend.h"
#include "convolve/prover_state.h"
#include "stream.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct filter *make_on(const struct convolver_backend *backend, const struct mask *mask,
                              size_t block, int64_t frames, bool live)
{
    static struct workers *workers;
    struct filter *filter;
    if (!workers)
        workers = cells_crew(1);
    const struct convolver_settings settings = {.backend = "",
                                                .rate = 1000,
                                                .block = block,
                                                .live = live,
                                                .proof = {.wanted = true, .frames = frames},
                                                .workers = workers};
    ck_assert_int_eq(convolver_create_on(backend, &settings, mask, &filter), STATUS_OK);
    return filter;
}

static struct proof proof_of(struct filter *filter)
{
    struct proof proof, again;
    convolver_prove(filter, &proof);
    convolver_prove(filter, &again);
    ck_assert_mem_eq(&proof, &again, sizeof proof);
    return proof;
}

/* ---- the convolution in double precision ---- */

/* A mask of `taps` where `most` are possible. */
static void check_exact(size_t most, size_t taps, size_t frames)
{
    size_t before = most - 1, n = before + frames;
    struct mask *mask = truth_noise_mask(1, 2, taps);
    struct block x = stream_noise(2, 2, n);
    struct block_in_double wide;
    double **truth = truth_render(mask, x.data, n), norm = 2 * (double)taps;
    struct exact *exact;
    ck_assert_int_eq(block_init_in_double(&wide, 2, n, "a sound"), STATUS_OK);
    for (size_t i = 0; i < 2 * n; i++)
        wide.data[i % 2][i / 2] = (double)x.data[i % 2][i / 2];
    struct exact_mask *own;
    ck_assert_int_eq(exact_create(2, most, frames, &exact), STATUS_OK);
    ck_assert_int_eq(exact_mask_create(exact, mask, &own), STATUS_OK);
    exact_take(exact, (const double *const *)wide.data);
    for (size_t o = 0; o < 2; o++) {
        const double *y = exact_output(exact, own, o);
        double error = 0;
        for (size_t i = 0; i < frames; i++)
            error = fmax(error, fabs(y[i] - truth[o][before + i]));
        ck_assert_msg(error < 1e-14 * norm, "%zu of %zu taps, %zu frames: error %g", taps, most,
                      frames, error);
    }
    exact_mask_destroy(own);
    exact_destroy(exact);
    block_free_in_double(&wide);
}

START_TEST(exact_is_exact)
{
    const size_t taps[] = {1, 64, 65, 3000, 65536, 65537, 140000};
    const size_t frames[] = {1, 4096, 70001, 140000};
    for (size_t t = 0; t < sizeof taps / sizeof *taps; t++)
        for (size_t f = 0; f < sizeof frames / sizeof *frames; f++) {
            check_exact(taps[t], taps[t], frames[f]);
            check_exact(taps[t], taps[t] / 3 + 1, frames[f]);
        }
}

/* ---- what is said is true ---- */

static void expect_equal(double value, double truth, const char *what)
{
    ck_assert_msg(fabs(value - truth) <= 1e-4 * truth + 1e-14, "%s: %.9g, and it is %.9g", what,
                  value, truth);
}

/* A sound shorter than 10 s is compared as a whole. */
static void check_true(const struct convolver_backend *backend, size_t taps, size_t channels,
                       size_t block, size_t n)
{
    char what[100];
    snprintf(what, sizeof what, "%s, %zu taps, %zu channels, blocks of %zu, %zu frames",
             backend->name, taps, channels, block, n);
    struct mask *mask = truth_noise_mask(1, channels, taps);
    struct block x = stream_noise(2, channels, n);
    double **truth = truth_render(mask, x.data, n);
    size_t frames = n + taps - 1;
    struct filter *filter = make_on(backend, mask, block, (int64_t)frames, false);
    struct block out = stream_through(filter, x.data, n, frames);
    struct proof proof = proof_of(filter);
    struct truth_error error = stream_error(&out, truth, mask, &x);
    ck_assert_msg(proof.frames == frames, "%s: %zu frames compared", what, (size_t)proof.frames);
    expect_equal(proof.to_bound, error.largest / (error.input_peak * error.mask_norm), what);
    expect_equal(proof.to_peak, error.largest / error.output_peak, what);
    filter_destroy(filter);
}

START_TEST(proofs_are_true)
{
    const size_t taps[] = {1, 5, 64, 65, 1000, 9000};
    for (size_t t = 0; t < sizeof taps / sizeof *taps; t++) {
        check_true(&convolver_cpu, taps[t], 2, 64, 9900 - taps[t]);
        check_true(&convolver_cpu, taps[t], 1, 30000, 900);
        check_true(&convolver_direct, taps[t], 3, 1024, 900);
        check_true(&convolver_cpu, taps[t], 1, 100, 1);
    }
}

/* ---- which frames ---- */

static void check_plan(const struct prover_settings *settings)
{
    struct prover_plan plan = prover_plan_make(settings);
    uint64_t end = 0, frames = (uint64_t)settings->frames, proven = 0;
    uint64_t ends[PROVER_OPEN] = {0}; /* of the latest stretches */
    for (uint64_t i = 0; i < plan.count; i++) {
        uint64_t start = prover_plan_start(&plan, i);
        ck_assert_uint_ge(start, end);
        ck_assert_uint_lt(start, frames);
        end = start + plan.length;
        proven += (end < frames ? end : frames) - start;
        if (i >= PROVER_OPEN) /* that one is complete when the history of this one begins */
            ck_assert_uint_le(ends[i % PROVER_OPEN] + settings->taps - 1, start);
        ends[i % PROVER_OPEN] = end;
    }
    uint64_t least = 10 * (uint64_t)settings->rate;
    if (least < frames / 100)
        least = frames / 100;
    ck_assert_uint_ge(proven, least < frames ? least : frames);
    ck_assert_uint_eq(prover_plan_start(&plan, 0), 0);
    ck_assert_uint_ge(end, frames);
}

START_TEST(plans_cover_enough)
{
    const size_t taps[] = {1, 64, 1000, 48000, 480000, 5000000};
    const int64_t seconds[] = {1, 9, 10, 11, 60, 100, 600, 1000, 1001, 5000, 36000};
    for (size_t t = 0; t < sizeof taps / sizeof *taps; t++)
        for (size_t s = 0; s < sizeof seconds / sizeof *seconds; s++)
            check_plan(&(struct prover_settings){
                .taps = taps[t], .rate = 48000, .frames = 48000 * seconds[s] + 17});
    check_plan(&(struct prover_settings){.taps = 100, .rate = 8000, .frames = 1});
}

/* An error of the whole sound bounds that of its stretches. */
static void check_samples(size_t taps, size_t block, int64_t frames, size_t least)
{
    size_t n = 250000;
    struct mask *mask = truth_noise_mask(1, 1, taps);
    struct block x = stream_noise(2, 1, n);
    double **truth = truth_render(mask, x.data, n);
    struct filter *filter = make_on(&convolver_cpu, mask, block, frames, false);
    struct block out = stream_through(filter, x.data, n, n);
    struct proof proof = proof_of(filter);
    struct truth_error error = stream_error(&out, truth, mask, &x);
    double most = error.largest / (error.input_peak * error.mask_norm);
    ck_assert_uint_ge(proof.frames, least);
    ck_assert_uint_lt(proof.frames, n / 4);
    ck_assert(proof.to_bound > 0 && proof.to_bound <= 1.0001 * most);
    filter_destroy(filter);
}

START_TEST(long_sounds_are_sampled)
{
    const size_t blocks[] = {64, 5000, 100000};
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) {
        check_samples(3, blocks[b], 250000, 10000);
        check_samples(3000, blocks[b], 250000, 10000);
        check_samples(3000, blocks[b], 0, 12000); /* a length that is not known */
    }
}

/* ---- faults in a kernel ---- */

enum fault { FAULT_NONE, FAULT_BIT, FAULT_PARTITION, FAULT_NAN, FAULT_SHIFT };

static enum fault fault;
static size_t steps, every; /* the fault is in each of these steps */

static void faulty_step(struct convolution *convolution, const float *const *in,
                        const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    uint32_t bits;
    size_t at = 37;
    convolver_direct.step(convolution, in, slots);
    if (fault == FAULT_NONE || ++steps % every != 0)
        return;
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++) {
        float *out = slots[v].prepared ? slots[v].out[0] : NULL;
        if (!out)
            continue;
        memcpy(&bits, out + at, sizeof bits);
        bits ^= UINT32_C(1) << 21; /* of the mantissa */
        if (fault == FAULT_BIT)
            memcpy(out + at, &bits, sizeof bits);
        else if (fault == FAULT_NAN)
            out[at] = NAN;
        else if (fault == FAULT_PARTITION) /* what one tap adds */
            for (size_t i = 0; i < 64; i++)
                out[i] -= 0.01F * in[0][i];
        else
            memmove(out + 1, out, 63 * sizeof *out);
    }
}

static struct proof proof_with(enum fault what, size_t which, size_t n, bool live)
{
    struct convolver_backend faulty = convolver_direct;
    faulty.name = "faulty";
    faulty.step = faulty_step;
    fault = what;
    steps = 0;
    every = which;
    struct mask *mask = truth_noise_mask(1, 2, 100);
    struct block x = stream_noise(2, 2, n);
    struct filter *filter = make_on(&faulty, mask, 64, live ? 0 : (int64_t)n, live);
    (void)stream_through(filter, x.data, n, n);
    struct proof proof = proof_of(filter);
    filter_destroy(filter);
    return proof;
}

START_TEST(faults_are_found)
{
    const double bound = 1e-6; /* -120 dB */
    for (enum fault what = FAULT_BIT; what <= FAULT_SHIFT; what++) {
        struct proof short_one = proof_with(what, 100, 9000, false);
        ck_assert_msg(short_one.to_bound > bound, "fault %d: %g", what, short_one.to_bound);
        ck_assert_uint_eq(short_one.worst_at / 64, 99);
        ck_assert_msg(proof_with(what, 20, 200000, false).to_bound > bound, "fault %d", what);
        ck_assert_msg(proof_with(what, 50, 9000, true).to_bound > bound, "fault %d live", what);
    }
    ck_assert(isinf(proof_with(FAULT_NAN, 100, 9000, false).to_bound));
    struct proof none = proof_with(FAULT_NONE, 1, 200000, false);
    ck_assert(none.to_bound < bound && none.to_bound > 0);
}

/* ---- changes of the mask, failing backends, resets ---- */

static const struct prepared *first;

/* Never changes its mask. */
static void stubborn_step(struct convolution *convolution, const float *const *in,
                          const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    struct convolver_slot same[CONVOLVER_SLOTS] = {slots[0], slots[1]};
    if (!first)
        first = slots[0].prepared;
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++)
        if (same[v].prepared)
            same[v].prepared = first;
    convolver_direct.step(convolution, in, same);
}

static struct proof proof_of_change(const struct convolver_backend *backend, size_t n, size_t at,
                                    size_t fade)
{
    struct mask *mask = truth_noise_mask(1, 2, 300), *other = truth_noise_mask(2, 2, 200);
    struct block x = stream_noise(3, 2, n);
    struct filter *filter = make_on(backend, mask, 64, (int64_t)n, false);
    cells_switch(filter, other, at, fade);
    (void)stream_through(filter, x.data, n, n);
    struct proof proof = proof_of(filter);
    ck_assert(convolver_switched(filter, NULL));
    filter_destroy(filter);
    return proof;
}

START_TEST(changes_of_mask_are_proven_up_to_their_blocks)
{
    struct convolver_backend stubborn = convolver_direct;
    stubborn.step = stubborn_step;
    struct proof proof = proof_of_change(&convolver_cpu, 9000, 4000, 500);
    size_t blocks = 4500 / 64 + 1 - 4000 / 64;
    ck_assert_uint_eq(proof.frames, 9000 - 64 * blocks);
    ck_assert(proof.to_bound > 0 && proof.to_bound < 1e-6);
    first = NULL;
    proof = proof_of_change(&stubborn, 9000, 4000, 500);
    ck_assert(proof.to_bound > 1e-3);
    ck_assert_uint_ge(proof.worst_at, 4500);
}

static int steps_left;

static void failing_step(struct convolution *convolution, const float *const *in,
                         const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    convolver_direct.step(convolution, in, slots);
    if (steps_left-- <= 0)
        slots[0].out[0][0] = NAN;
}

static const char *failure_of(const struct convolution *convolution)
{
    (void)convolution;
    return steps_left < 0 ? "fault requested" : NULL;
}

START_TEST(a_standby_that_takes_over_is_proven)
{
    struct convolver_backend failing = convolver_direct;
    failing.step = failing_step;
    failing.failure = failure_of;
    steps_left = 50;
    struct mask *mask = truth_noise_mask(1, 2, 1000);
    struct block x = stream_noise(3, 2, 9000);
    struct filter *filter = make_on(&failing, mask, 64, 9000, false);
    (void)stream_through(filter, x.data, 9000, 9000);
    struct proof proof = proof_of(filter);
    ck_assert_uint_eq(convolver_failures(filter), 1);
    ck_assert_uint_eq(proof.frames, 9000);
    ck_assert(proof.to_bound > 0 && proof.to_bound < 1e-6);
    filter_destroy(filter);
}

/* What was before a reset counts no more, whatever it was. */
START_TEST(a_reset_forgets)
{
    struct convolver_backend faulty = convolver_direct;
    faulty.step = faulty_step;
    fault = FAULT_NAN;
    every = 1;
    struct mask *mask = truth_noise_mask(1, 2, 3000);
    struct block x = stream_noise(2, 2, 20000);
    struct filter *filter = make_on(&faulty, mask, 64, 0, true);
    (void)stream_through(filter, x.data, 20000, 20000);
    filter_reset(filter);
    fault = FAULT_NONE;
    (void)stream_through(filter, x.data, 4000, 4000);
    struct proof proof = proof_of(filter);
    ck_assert_uint_eq(proof.frames, 4032); /* whole blocks */
    ck_assert(proof.to_bound > 0 && proof.to_bound < 1e-6);
    filter_destroy(filter);
}

static void idle_step(struct convolution *convolution, const float *const *in,
                      const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    (void)convolution, (void)in, (void)slots;
}

/* A live step does not wait for a thread that cannot keep up. */
START_TEST(live_stretches_are_left_out_where_time_lacks)
{
    struct convolver_backend idle = convolver_direct;
    idle.step = idle_step;
    size_t n = 4000000;
    struct mask *mask = truth_noise_mask(1, 2, 100000);
    struct block x = stream_noise(2, 2, 1000000);
    struct filter *filter = make_on(&idle, mask, 1000, 0, true);
    (void)stream_through(filter, x.data, 1000000, n);
    struct proof proof = proof_of(filter);
    ck_assert_uint_gt(proof.frames, 0);
    ck_assert_uint_lt(proof.frames, n);
    ck_assert(proof.to_bound > 1e-3);
    filter_destroy(filter);
}

START_TEST(silence_has_no_error)
{
    struct mask *mask = truth_noise_mask(1, 1, 300);
    struct block x = stream_block(1, 5000);
    struct filter *filter = make_on(&convolver_cpu, mask, 64, 5000, false);
    (void)stream_through(filter, x.data, 5000, 5000);
    struct proof proof = proof_of(filter);
    ck_assert_uint_eq(proof.frames, 5000);
    ck_assert(proof.to_bound == 0 && proof.to_peak == 0);
    filter_destroy(filter);
}
