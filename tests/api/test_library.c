/* libhalo block by block, as its users link it: against convolution in double precision. */
#include "allocations.h"
#include "cells.h"
#include "library_rig.h"
#include "stream.h"
#include "suite.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

START_TEST(versions_are_those_of_the_header)
{
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", HALO_VERSION_MAJOR, HALO_VERSION_MINOR,
             HALO_VERSION_PATCH);
    ck_assert_str_eq(halo_version(), text);
    ck_assert_uint_eq(halo_version_number(), HALO_VERSION_NUMBER);
}

/* ---- block by block ---- */

static void check_stream(size_t channels, size_t taps, size_t block, size_t threads,
                         const char *backend)
{
    char what[128];
    size_t frames = block ? 4 * taps / block * block + 40 * block : 4 * taps + 5000;
    struct mask *mask = truth_noise_mask(taps + channels, channels, taps);
    struct halo_mask *own = library_mask(mask);
    const struct halo_convolver_options options = {
        .size = sizeof options, .backend = backend, .block = block, .threads = threads};
    struct halo_convolver *convolver = library_convolver(own, &options);
    halo_mask_destroy(own);
    struct block in = stream_noise(1, channels, frames), out = {0}, again = {0};
    out = stream_block(channels, frames);
    again = stream_block(channels, frames);
    double **truth = truth_render(mask, in.data, frames);
    snprintf(what, sizeof what, "%zu channels, %zu taps, block %zu, %zu threads, %s", channels,
             taps, block, threads, halo_convolver_algorithm(convolver));
    library_run(convolver, &in, &out, 0, frames, block, false, taps);
    library_expect(&out, truth, mask, &in, what);
    halo_convolver_reset(convolver);
    library_run(convolver, &in, &again, 0, frames, block, true,
                taps + 99); /* other lengths of calls */
    for (size_t c = 0; c < channels; c++)
        ck_assert_msg(memcmp(out.data[c], again.data[c], frames * sizeof(float)) == 0, "%s", what);
    halo_convolver_destroy(convolver);
}

START_TEST(calls_of_any_length_equal_truth)
{
    static const size_t taps[] = {1, 2, 63, 64, 65, 127, 128, 129, 1000, 20011};
    for (size_t t = 0; t < sizeof taps / sizeof *taps; t++) {
        check_stream(1, taps[t], 0, 0, NULL);
        check_stream(3, taps[t], 0, 1, "cpu");
    }
    check_stream(2, 300, 0, 1, "direct");
    check_stream(2, 30000, 0, 2, "auto");
}

START_TEST(calls_of_one_length_equal_truth)
{
    static const size_t blocks[] = {1, 37, 64, 74, 100, 512, 1009, 3000};
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) {
        check_stream(2, 1, blocks[b], 0, NULL);
        check_stream(1, 9001, blocks[b], 1, "cpu");
    }
    check_stream(2, 700, 48, 1, "direct");
    check_stream(2, 30000, 256, 2, NULL);
}

START_TEST(channels_may_stand_anywhere)
{
    struct mask *mask = truth_noise_mask(4, 2, 400);
    struct halo_mask *own = library_mask(mask);
    struct halo_convolver *convolver = library_convolver(own, NULL);
    struct block in = stream_noise(5, 2, 1000), out = stream_noise(6, 2, 1000);
    double **truth = truth_render(mask, in.data, 1000);
    ck_assert_int_eq(
        halo_convolver_process_channels(convolver, (const float *const *)in.data, out.data, 1000),
        HALO_OK);
    library_expect(&out, truth, mask, &in, "rows");
    halo_convolver_destroy(convolver);
    halo_mask_destroy(own);
}

/* Sounds that are no numbers are forgotten. */
START_TEST(reset_forgets_what_is_not_finite)
{
    struct mask *mask = truth_noise_mask(7, 1, 500);
    struct halo_mask *own = library_mask(mask);
    struct halo_convolver *convolver = library_convolver(own, NULL);
    float bad[3000], out[3000];
    for (size_t i = 0; i < 3000; i++)
        bad[i] = i % 3 ? NAN : INFINITY;
    ck_assert_int_eq(halo_convolver_process(convolver, bad, 0, out, 0, 3000), HALO_OK);
    ck_assert(!isfinite(out[2999]));
    halo_convolver_reset(convolver);
    struct block in = stream_noise(8, 1, 3000), sound = stream_noise(9, 1, 3000);
    double **truth = truth_render(mask, in.data, 3000);
    library_run(convolver, &in, &sound, 0, 3000, 0, true, 1);
    library_expect(&sound, truth, mask, &in, "after a reset");
    halo_convolver_destroy(convolver);
    halo_mask_destroy(own);
}

START_TEST(processing_allocates_nothing)
{
    static const size_t blocks[] = {0, 37, 74, 100, 1009};
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) {
        const size_t block = blocks[b];
        struct mask *first = truth_noise_mask(1, 2, 9000), *second = truth_noise_mask(2, 2, 7000);
        struct halo_mask *own[] = {library_mask(first), library_mask(second)};
        const struct halo_convolver_options options = {
            .size = sizeof options, .block = block, .threads = 2};
        struct halo_convolver *convolver = library_convolver(own[0], &options);
        ck_assert_int_eq(halo_convolver_switch(convolver, own[1], 4000, 999, NULL), HALO_OK);
        size_t stride = block > 100 ? block : 100;
        float *x = calloc(2 * stride, sizeof *x);
        size_t before = allocations_of_all();
        for (size_t i = 0; i < 3000; i++)
            (void)halo_convolver_process(convolver, x, stride, x, stride,
                                         block ? block : 1 + i % 100);
        ck_assert_uint_eq(allocations_of_all(), before);
        ck_assert(halo_convolver_switched(convolver, NULL));
        free(x);
        halo_convolver_destroy(convolver);
        halo_mask_destroy(own[0]);
        halo_mask_destroy(own[1]);
    }
}

/* ---- threads ---- */

struct side {
    const struct halo_mask *mask;
    const struct mask *truth;
    struct block in;
    double **out; /* expected */
    const char *missing;
    size_t wrong;
};

/* A convolver, buffers and errors of its own. Check is for one thread. */
static void *work_beside(void *argument)
{
    struct side *side = argument;
    struct halo_convolver *convolver = NULL;
    struct halo_error error;
    struct halo_mask *none = NULL;
    struct block out = stream_noise(1, 2, 8000);
    struct planes from = planes_of(&side->in), to = planes_of(&out);
    for (size_t round = 0; round < 4; round++) {
        side->wrong += halo_convolver_create(side->mask, NULL, &convolver, &error) != HALO_OK;
        for (size_t done = 0; done < 8000; done += 500)
            side->wrong += halo_convolver_process(convolver, from.samples + done, from.stride,
                                                  to.samples + done, to.stride, 500) != HALO_OK;
        planes_take(&to, &out);
        struct truth_error off = stream_error(&out, side->out, side->truth, &side->in);
        side->wrong += truth_error_bound_db(&off) >= LIBRARY_BOUND;
        side->wrong += halo_mask_load(side->missing, LIBRARY_RATE, 2, &none, &error) != HALO_FAILED;
        side->wrong += strstr(error.text, side->missing) == NULL;
        side->wrong += halo_convolve(side->mask, from.samples, from.stride, 8000, to.samples,
                                     to.stride, 8000, &error) != HALO_OK;
        planes_take(&to, &out);
        off = stream_error(&out, side->out, side->truth, &side->in);
        side->wrong += truth_error_bound_db(&off) >= LIBRARY_BOUND;
        halo_convolver_destroy(convolver);
    }
    free(from.samples);
    free(to.samples);
    return NULL;
}

START_TEST(threads_do_not_meet)
{
    static const char *const missing[] = {"/missing/left.wav", "/missing/right.wav",
                                          "/missing/third.wav"};
    struct mask *mask = truth_noise_mask(1, 2, 3000);
    struct halo_mask *own = library_mask(mask);
    struct side sides[3];
    pthread_t threads[3];
    for (size_t i = 0; i < 3; i++) {
        sides[i] = (struct side){
            .mask = own, .truth = mask, .in = stream_noise(i + 5, 2, 8000), .missing = missing[i]};
        sides[i].out = truth_render(mask, sides[i].in.data, 8000); /* on one thread */
    }
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, work_beside, &sides[i]), 0);
    for (size_t i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_uint_eq(sides[i].wrong, 0);
    }
    halo_mask_destroy(own);
}
