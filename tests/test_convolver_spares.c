/* Shares of a live stream that other processors take over (shares_rig.h): what they make of it,
 * when they are lost themselves, and masks that they cannot have. */
#include "allocations.h"
#include "shares_rig.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>

enum { GPUS_ALONE = 0 }; /* a rate: there is no CPU at all */

/* As rig_run, with spares: of 3 shares, that of share p is place 3 + p, on the next processor. */
static struct outcome run_spared(uint32_t rate, const struct scene *scene, size_t threads)
{
    struct workers *workers = cells_crew(threads);
    const struct convolver_backend backend = rig_spared_backend();
    struct convolver_settings settings = rig_settings(workers);
    struct outcome outcome = {0};
    struct filter *filter;
    settings.rate = rate ? rate : RATE_HOPELESS;
    settings.gpus_alone = rate == GPUS_ALONE;
    ck_assert_int_eq(convolver_create_on(&backend, &settings, scene->mask, &filter), STATUS_OK);
    (void)rig_play(filter, scene->other, AT, FADE, &scene->x, &outcome);
    workers_destroy(workers);
    return outcome;
}

/* In the block of the loss, with all that came before; no CPU is there. */
static void check_moved(uint32_t rate, size_t lost, size_t at, size_t threads)
{
    char what[100], place[100];
    struct scene scene = rig_scene_make(500);
    rig_set(3);
    rig.deed[lost].lost_at = at;
    struct outcome outcome = run_spared(rate, &scene, threads);
    snprintf(what, sizeof what, "share %zu, lost at block %zu, on another", lost, at);
    rig_expect_exact(&scene, &outcome, what);
    ck_assert_uint_eq(outcome.failures, 1);
    ck_assert_uint_eq(outcome.late, 0);
    snprintf(
        place, sizeof place,
        "GPU %zu failed (unplugged): its outputs %zu to %zu continue on GPU %zu from frame %zu,",
        3 * lost, 2 * lost + 1, 2 * lost + 2, 3 * ((lost + 1) % 3), at * BLOCK);
    ck_assert_msg(strstr(outcome.notice, place), "%s", outcome.notice);
    for (size_t p = 0; p < 3; p++) { /* the others went on, and all spares heard every block */
        ck_assert_uint_eq(rig.posted[p], p == lost ? at + 1 : BLOCKS);
        ck_assert_uint_eq(rig.posted[3 + p], BLOCKS);
    }
    ck_assert_uint_eq(rig.destroyed, 6);
    block_free(&outcome.out);
    rig_scene_free(&scene);
}

START_TEST(a_lost_share_moves_to_another)
{
    static const size_t blocks[] = {0, 1, 2, 4, 7, 90};
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++)
        for (size_t lost = 0; lost < 3; lost++) {
            check_moved(GPUS_ALONE, lost, blocks[b], 1 + b % 2 * 2);
            check_moved(RATE_HOPELESS, lost, blocks[b], 3);
        }
}
END_TEST

/* Beside a share that the CPU computes along nothing else stands by. */
START_TEST(the_cpu_stands_by_where_it_can)
{
    struct scene scene = rig_scene_make(500);
    rig_set(3);
    rig.deed[1].lost_at = 10;
    struct outcome outcome = run_spared(RATE_EASY, &scene, 1);
    rig_expect_exact(&scene, &outcome, "beside the CPU");
    ck_assert_msg(strstr(outcome.notice, "continue on the CPU"), "%s", outcome.notice);
    ck_assert_uint_eq(rig.destroyed, 3);
    block_free(&outcome.out);
    rig_scene_free(&scene);
}
END_TEST

/* All at once, or one after the other; the same GPU may be lost as a share's and as a spare. */
START_TEST(several_shares_move)
{
    for (size_t step = 0; step < 30; step += 9) {
        struct scene scene = rig_scene_make(500);
        rig_set(3);
        for (size_t p = 0; p < 3; p++)
            rig.deed[p].lost_at = 3 + step * p;
        struct outcome outcome = run_spared(GPUS_ALONE, &scene, 2);
        rig_expect_exact(&scene, &outcome, "all on others");
        ck_assert_uint_eq(outcome.failures, 3);
        ck_assert_str_eq(outcome.backend, "rig");
        block_free(&outcome.out);
        rig_scene_free(&scene);
    }
}
END_TEST

/* A spare that is lost before its share, with it, or after it took over; or that is behind for
 * long: then it is the CPU's. `spare`: block of the spare, of which it collects one less. */
static void check_spare_lost(size_t share_at, size_t spare_at, bool behind)
{
    char what[100];
    struct scene scene = rig_scene_make(500);
    for (size_t c = 0; c < 2; c++) {
        uint32_t rate = c ? RATE_HOPELESS : GPUS_ALONE;
        rig_set(3);
        rig.deed[1].lost_at = share_at;
        if (behind) {
            rig.deed[4].late_from = spare_at;
            rig.deed[4].late_until = SIZE_MAX;
        } else {
            rig.deed[4].lost_at = spare_at;
        }
        struct outcome outcome = run_spared(rate, &scene, 1);
        snprintf(what, sizeof what, "share lost at %zu, spare %s at %zu", share_at,
                 behind ? "behind" : "lost", spare_at);
        if (rate) {
            rig_expect_exact(&scene, &outcome, what);
            ck_assert_msg(strstr(outcome.notice, "continue on the CPU"), "%s", outcome.notice);
            ck_assert_uint_eq(outcome.failures, 1);
        } else {
            ck_assert_msg(outcome.failed, "%s: nothing is left, and nobody says so", what);
        }
        block_free(&outcome.out);
    }
    rig_scene_free(&scene);
}

START_TEST(spares_are_lost_too)
{
    check_spare_lost(40, 10, false);
    check_spare_lost(40, 39, false);
    check_spare_lost(40, 40, false);
    check_spare_lost(40, 70, false);
    check_spare_lost(0, 0, false);
    check_spare_lost(40, 10, true);
}
END_TEST

/* A spare that is behind for a while hears everything nevertheless. */
START_TEST(a_spare_that_was_behind_takes_over)
{
    struct scene scene = rig_scene_make(500);
    rig_set(3);
    rig.deed[1].lost_at = 40;
    rig.deed[4].late_from = 10;
    rig.deed[4].late_until = 18;
    struct outcome outcome = run_spared(GPUS_ALONE, &scene, 1);
    rig_expect_exact(&scene, &outcome, "a spare that was behind");
    block_free(&outcome.out);
    rig_scene_free(&scene);
}
END_TEST

/* One that is late when it takes over is waited for in the next block, and silent in this one. */
START_TEST(a_spare_may_be_late_at_first)
{
    struct scene scene = rig_scene_make(500);
    rig_set(3);
    struct outcome right = run_spared(RATE_HOPELESS, &scene, 1);
    rig_set(3);
    rig.deed[1].lost_at = 40;
    rig.deed[4].late_from = 40;
    rig.deed[4].late_until = 42;
    struct outcome late = run_spared(RATE_HOPELESS, &scene, 1);
    ck_assert_uint_eq(late.failures, 1);
    ck_assert_uint_ge(late.late, 1);
    for (size_t c = 0; c < CHANNELS; c++)
        for (size_t i = 0; i < scene.x.frames; i++) {
            bool silent = c / 2 == 1 && i / BLOCK >= 40 && i / BLOCK < 40 + late.late;
            ck_assert_msg(late.out.data[c][i] == (silent ? 0 : right.out.data[c][i]),
                          "output %zu, frame %zu", c, i);
        }
    block_free(&right.out);
    block_free(&late.out);
    rig_scene_free(&scene);
}
END_TEST

static size_t refused_from; /* masks of spares that were prepared before */
static _Atomic size_t prepared_masks;

static enum status refuse_spares(const struct convolution *convolution, const struct mask *mask,
                                 struct prepared **prepared)
{
    if (rig_share_of(convolution) >= rig.wanted && prepared_masks++ >= refused_from)
        return fail(STATUS_FAILED, "there is no room");
    return convolver_direct.prepare(convolution, mask, prepared);
}

/* Without the first mask there is no spare; without a later one it takes nothing over, but a mask
 * that it cannot have is refused once it has. */
START_TEST(spares_that_cannot_have_a_mask)
{
    for (refused_from = 0; refused_from <= 3; refused_from += 3) {
        struct scene scene = rig_scene_make(100);
        struct convolver_backend backend = rig_spared_backend();
        struct workers *workers = cells_crew(1);
        struct convolver_settings settings = rig_settings(workers);
        struct filter *filter;
        struct convolver_mask *prepared;
        backend.prepare = refuse_spares;
        prepared_masks = 0;
        rig_set(3);
        rig.deed[2].lost_at = 20;
        settings.rate = RATE_HOPELESS;
        ck_assert_int_eq(convolver_create_on(&backend, &settings, scene.mask, &filter), STATUS_OK);
        cells_switch(filter, scene.other, AT, FADE);
        struct outcome outcome = {
            .out = stream_through(filter, scene.x.data, scene.x.frames, scene.x.frames)};
        ck_assert(convolver_switched(filter, &outcome.began));
        rig_expect_exact(&scene, &outcome, "a spare without a mask");
        ck_assert_msg(strstr(filter->notice, "continue on the CPU"), "%s", filter->notice);
        ck_assert_int_eq(convolver_prepare(filter, scene.mask, &prepared), STATUS_OK);
        filter_destroy(filter);
        block_free(&outcome.out);
        rig_scene_free(&scene);
        workers_destroy(workers);
    }
}
END_TEST

START_TEST(a_spare_in_use_needs_its_masks)
{
    struct scene scene = rig_scene_make(100);
    struct convolver_backend backend = rig_spared_backend();
    struct workers *workers = cells_crew(1);
    struct convolver_settings settings = rig_settings(workers);
    struct filter *filter;
    struct convolver_mask *prepared;
    backend.prepare = refuse_spares;
    prepared_masks = 0;
    refused_from = 3;
    rig_set(3);
    rig.deed[0].lost_at = 5;
    settings.gpus_alone = true;
    ck_assert_int_eq(convolver_create_on(&backend, &settings, scene.mask, &filter), STATUS_OK);
    struct block out = stream_through(filter, scene.x.data, scene.x.frames, scene.x.frames);
    cells_expect_within(&out, scene.truth, scene.mask, &scene.x, true, "on a spare");
    ck_assert_int_eq(convolver_prepare(filter, scene.other, &prepared), STATUS_FAILED);
    filter_destroy(filter);
    block_free(&out);
    rig_scene_free(&scene);
    workers_destroy(workers);
}
END_TEST

START_TEST(a_spare_is_reset_with_its_share)
{
    struct scene scene = rig_scene_make(500);
    struct workers *workers = cells_crew(3);
    const struct convolver_backend backend = rig_spared_backend();
    struct convolver_settings settings = rig_settings(workers);
    struct filter *filter;
    rig_set(3);
    rig.deed[1].lost_at = BLOCKS + 8 + 5; /* in the second run, after the tail of the first */
    settings.gpus_alone = true;
    ck_assert_int_eq(convolver_create_on(&backend, &settings, scene.mask, &filter), STATUS_OK);
    struct block before = stream_through(filter, scene.x.data, scene.x.frames, scene.x.frames);
    ck_assert_uint_eq(convolver_failures(filter), 0);
    filter_reset(filter);
    struct block after = stream_through(filter, scene.x.data, scene.x.frames, scene.x.frames);
    ck_assert_uint_eq(convolver_failures(filter), 1);
    rig_expect_equal(&before, &after, "after a reset, and a loss");
    filter_destroy(filter);
    block_free(&before);
    block_free(&after);
    rig_scene_free(&scene);
    workers_destroy(workers);
}
END_TEST

START_TEST(moving_allocates_nothing)
{
    struct scene scene = rig_scene_make(100);
    struct workers *workers = cells_crew(3);
    const struct convolver_backend backend = rig_spared_backend();
    struct convolver_settings settings = rig_settings(workers);
    struct block out = stream_noise(4, CHANNELS, BLOCK);
    struct filter *filter;
    rig_set(3);
    rig.deed[1].lost_at = 50;
    settings.gpus_alone = true;
    ck_assert_int_eq(convolver_create_on(&backend, &settings, scene.mask, &filter), STATUS_OK);
    cells_switch(filter, scene.other, 40 * BLOCK, 30 * BLOCK);
    size_t before = allocations_of_all();
    for (size_t n = 0; n < 100; n++)
        filter_process(filter, (const float *const *)scene.x.data, out.data);
    size_t after = allocations_of_all();
    if (allocations_are_counted())
        ck_assert_uint_eq(after, before);
    ck_assert_uint_eq(convolver_failures(filter), 1);
    filter_destroy(filter);
    block_free(&out);
    rig_scene_free(&scene);
    workers_destroy(workers);
}
END_TEST

SUITE_MAIN("convolver_spares", a_lost_share_moves_to_another, the_cpu_stands_by_where_it_can,
           several_shares_move, spares_are_lost_too, a_spare_that_was_behind_takes_over,
           a_spare_may_be_late_at_first, spares_that_cannot_have_a_mask,
           a_spare_in_use_needs_its_masks, a_spare_is_reset_with_its_share,
           moving_allocates_nothing)
