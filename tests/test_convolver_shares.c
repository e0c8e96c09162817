/* Several processors that share the outputs of one convolver, as GPUs do: equality with one, the
 * deadline, a share that is late or lost, and masks that change (shares_rig.h). */
#include "allocations.h"
#include "convolve/mask_excerpt.h"
#include "shares_rig.h"
#include "suite.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* ---- equality ---- */

static struct block outputs_of(const struct convolver_backend *backend, const struct mask *mask,
                               const struct block *x, struct workers *workers, size_t *shares)
{
    struct convolver_settings settings = rig_settings(workers);
    struct filter *filter;
    ck_assert_int_eq(convolver_create_on(backend, &settings, mask, &filter), STATUS_OK);
    *shares = convolver_share_count(filter);
    struct block out = stream_through(filter, x->data, x->frames, x->frames + mask->taps - 1);
    ck_assert_uint_eq(convolver_failures(filter), 0);
    filter_destroy(filter);
    return out;
}

static void check_equality(enum paths paths, size_t inputs, size_t outputs, size_t taps,
                           size_t shares, size_t threads)
{
    char what[120];
    size_t one, several;
    struct workers *workers = cells_crew(threads);
    const struct convolver_backend backend = rig_backend();
    struct mask *mask = rig_mask(taps, paths, inputs, outputs, taps);
    struct block x = stream_noise(5, inputs, 40 * BLOCK + 17);
    snprintf(what, sizeof what, "paths %d, %zu to %zu, %zu shares", (int)paths, inputs, outputs,
             shares);
    rig_set(1);
    struct block whole = outputs_of(&backend, mask, &x, workers, &one);
    rig_set(shares);
    struct block shared = outputs_of(&backend, mask, &x, workers, &several);
    ck_assert_uint_eq(one, 1);
    ck_assert_uint_eq(several, shares < outputs ? shares : outputs);
    ck_assert_uint_eq(rig.destroyed, several);
    rig_expect_equal(&whole, &shared, what);
    block_free(&whole);
    block_free(&shared);
    block_free(&x);
    mask_destroy(mask);
    workers_destroy(workers);
}

START_TEST(shares_equal_the_whole)
{
    static const size_t counts[] = {2, 3, 5, 8};
    for (enum paths paths = DIAGONAL; paths < PATHS; paths++)
        for (size_t n = 0; n < sizeof counts / sizeof *counts; n++) {
            check_equality(paths, 5, 5, 100, counts[n], 1);
            check_equality(paths, 3, 11, 1, counts[n], 1);
            check_equality(paths, 2, 1, 65, counts[n], 1);
        }
    check_equality(MATRIX, 11, 3, 300, 2, 1);
}
END_TEST

/* The CPU's own convolvers as shares, with partitions that grow; these have no halves. */
START_TEST(long_masks_in_shares)
{
    struct convolver_backend backend = convolver_cpu;
    struct workers *workers = cells_crew(1);
    backend.share_out = NULL;
    for (enum paths paths = DIAGONAL; paths < PATHS; paths++)
        for (size_t live = 0; live < 2; live++) {
            struct mask *mask = rig_mask(3, paths, 4, 6, 5000);
            struct block x = stream_noise(5, 4, 20000);
            double **truth = truth_render(mask, x.data, x.frames);
            struct convolver_settings settings = rig_settings(workers);
            struct filter *filter;
            settings.live = live;
            settings.gpu.mode = GPU_MODE_GRAPH; /* block by block */
            rig_set(4);
            const struct convolver_shape shape = {.taps = 5000, .block = BLOCK, .live = true};
            backend = *convolver_cpu.variant(&shape, mask);
            backend.share_out = rig_share_out;
            ck_assert_int_eq(convolver_create_on(&backend, &settings, mask, &filter), STATUS_OK);
            ck_assert_uint_eq(convolver_share_count(filter), 4);
            struct block out = stream_through(filter, x.data, x.frames, x.frames + 4999);
            cells_expect_within(&out, truth, mask, &x, true, "the CPU in four shares");
            filter_destroy(filter);
            truth_free(truth, 6);
            block_free(&out);
            block_free(&x);
            mask_destroy(mask);
        }
    workers_destroy(workers);
}
END_TEST

/* A share gets the inputs and the columns that its outputs need, and no others. */
START_TEST(shares_have_what_they_need)
{
    struct workers *workers = cells_crew(1);
    const struct convolver_backend backend = rig_backend();
    struct convolver_settings settings = rig_settings(workers);
    struct mask *mask = rig_mask(3, DIAGONAL, 7, 7, 10), *share;
    struct filter *filter;
    rig_set(3);
    ck_assert_int_eq(convolver_create_on(&backend, &settings, mask, &filter), STATUS_OK);
    size_t inputs = 0, outputs = 0;
    for (size_t p = 0; p < 3; p++) {
        ck_assert_uint_eq(rig.inputs[p], rig.outputs[p]);
        inputs += rig.inputs[p];
        outputs += rig.outputs[p];
    }
    ck_assert_uint_eq(inputs, 7);
    ck_assert_uint_eq(outputs, 7);
    filter_destroy(filter);
    ck_assert_int_eq(
        mask_excerpt_create(mask, (struct channel_span){2, 3}, (struct channel_span){2, 3}, &share),
        STATUS_OK);
    ck_assert_uint_eq(share->columns, 3);
    for (size_t c = 0; c < 3; c++)
        ck_assert_ptr_eq(mask_column(share, c), mask_column(mask, c + 2));
    float *rounded = mask_round(share);
    ck_assert(rounded[10] == (float)mask_column(mask, 3)[0]);
    free(rounded);
    mask_excerpt_destroy(share);
    mask_destroy(mask);
    workers_destroy(workers);
}
END_TEST

/* Later masks may lead from any input to any output, where the inputs are few. With more each share
 * has only those that the first mask needs, and a mask that needs others is refused. */
START_TEST(later_masks_may_need_other_inputs)
{
    struct workers *workers = cells_crew(1);
    const struct convolver_backend backend = rig_backend();
    static const size_t channels[] = {6, 300};
    for (size_t n = 0; n < 2; n++) {
        struct convolver_settings settings = rig_settings(workers);
        struct mask *mask = rig_mask(3, DIAGONAL, channels[n], channels[n], 4);
        struct mask *crossed = rig_mask(4, FROM_ONE, channels[n], channels[n], 4);
        struct mask *again = rig_mask(5, DIAGONAL, channels[n], channels[n], 4);
        struct filter *filter;
        struct convolver_mask *prepared;
        settings.taps = 4;
        rig_set(2);
        ck_assert_int_eq(convolver_create_on(&backend, &settings, mask, &filter), STATUS_OK);
        ck_assert_uint_eq(rig.inputs[0], n == 0 ? 6 : 150);
        ck_assert_int_eq(convolver_prepare(filter, again, &prepared), STATUS_OK);
        ck_assert_int_eq(convolver_prepare(filter, crossed, &prepared),
                         n == 0 ? STATUS_OK : STATUS_FAILED);
        filter_destroy(filter);
        mask_destroy(mask);
        mask_destroy(crossed);
        mask_destroy(again);
    }
    workers_destroy(workers);
}
END_TEST

/* ---- shares that are late or lost ---- */

START_TEST(late_shares_come_from_the_cpu)
{
    for (size_t threads = 1; threads <= 3; threads += 2) {
        struct scene scene = rig_scene_make(500);
        rig_set(3);
        rig.deed[0].late_every = 7;
        rig.deed[2].late_from = 3; /* in the fade, too */
        rig.deed[2].late_until = 13;
        struct outcome outcome =
            rig_run(RATE_EASY, scene.mask, scene.other, AT, FADE, &scene.x, threads);
        rig_expect_exact(&scene, &outcome, "late shares");
        ck_assert_uint_eq(outcome.late, BLOCKS / 7 + 10);
        ck_assert_uint_eq(outcome.failures, 0);
        ck_assert_str_eq(outcome.notice, "");
        block_free(&outcome.out);
        rig_scene_free(&scene);
    }
}
END_TEST

/* Beside the CPU, and without it, where it is fed the history in the block of the loss. */
static void check_lost(uint32_t rate, size_t lost, size_t at, size_t threads)
{
    char what[100], place[64];
    struct scene scene = rig_scene_make(500);
    rig_set(3);
    rig.deed[lost].lost_at = at;
    struct outcome outcome = rig_run(rate, scene.mask, scene.other, AT, FADE, &scene.x, threads);
    snprintf(what, sizeof what, "share %zu lost at block %zu", lost, at);
    rig_expect_exact(&scene, &outcome, what);
    ck_assert_uint_eq(outcome.failures, 1);
    ck_assert_str_eq(outcome.backend, "rig");
    snprintf(place, sizeof place, "GPU %zu failed (unplugged): its outputs %zu to %zu ", 3 * lost,
             2 * lost + 1, 2 * lost + 2);
    ck_assert_msg(strstr(outcome.notice, place), "%s", outcome.notice);
    for (size_t p = 0; p < 3; p++) /* the others went on to the end */
        ck_assert_uint_eq(rig.posted[p], p == lost ? at + 1 : BLOCKS);
    block_free(&outcome.out);
    rig_scene_free(&scene);
}

START_TEST(a_lost_share_is_replaced_alone)
{
    static const size_t blocks[] = {0, 1, 4, 90};
    for (size_t b = 0; b < 4; b++)
        for (size_t lost = 0; lost < 3; lost++) {
            check_lost(RATE_EASY, lost, blocks[b], 1 + b % 2 * 2);
            check_lost(RATE_HOPELESS, lost, blocks[b], 1);
        }
}
END_TEST

START_TEST(all_shares_may_be_lost)
{
    struct scene scene = rig_scene_make(500);
    rig_set(3);
    for (size_t p = 0; p < 3; p++)
        rig.deed[p].lost_at = p == 1 ? 5 : 30;
    struct outcome outcome = rig_run(RATE_EASY, scene.mask, scene.other, AT, FADE, &scene.x, 1);
    rig_expect_exact(&scene, &outcome, "all lost");
    ck_assert_uint_eq(outcome.failures, 3);
    ck_assert_str_eq(outcome.backend, "cpu");
    block_free(&outcome.out);
    rig_scene_free(&scene);
}
END_TEST

/* Without the CPU beside it, a late share is silent in that block, and nothing else is. */
START_TEST(a_late_share_without_the_cpu_is_silent_alone)
{
    enum { LATE = 40 };
    struct scene scene = rig_scene_make(500);
    rig_set(3);
    struct outcome right = rig_run(RATE_HOPELESS, scene.mask, scene.other, AT, FADE, &scene.x, 1);
    ck_assert_uint_eq(right.late, 0);
    rig_set(3);
    rig.deed[1].late_from = LATE;
    rig.deed[1].late_until = LATE + 2;
    struct outcome late = rig_run(RATE_HOPELESS, scene.mask, scene.other, AT, FADE, &scene.x, 1);
    ck_assert_uint_eq(late.late, 2);
    for (size_t c = 0; c < CHANNELS; c++)
        for (size_t i = 0; i < scene.x.frames; i++) {
            bool silent = c / 2 == 1 && i / BLOCK >= LATE && i / BLOCK < LATE + 2;
            ck_assert_msg(late.out.data[c][i] == (silent ? 0 : right.out.data[c][i]),
                          "output %zu, frame %zu", c, i);
        }
    block_free(&right.out);
    block_free(&late.out);
    rig_scene_free(&scene);
}
END_TEST

/* ---- time ---- */

/* All shares are sent before one is waited for, and waited for until the same moment. */
START_TEST(shares_have_one_deadline)
{
    static const uint32_t rates[] = {RATE_EASY, RATE_HOPELESS};
    for (size_t r = 0; r < 2; r++) {
        struct workers *workers = cells_crew(1);
        const struct convolver_backend backend = rig_backend();
        struct convolver_settings settings = rig_settings(workers);
        struct mask *mask = truth_noise_mask(1, 4, 100);
        struct block x = stream_noise(3, 4, BLOCK), out = stream_noise(4, 4, BLOCK);
        struct filter *filter;
        settings.rate = rates[r];
        rig_set(4);
        ck_assert_int_eq(convolver_create_on(&backend, &settings, mask, &filter), STATUS_OK);
        for (size_t n = 0; n < 50; n++) {
            filter_process(filter, (const float *const *)x.data, out.data);
            for (size_t p = 0; p < 4; p++) {
                ck_assert_int_eq(rig.until[p], rig.until[0]);
                ck_assert_uint_eq(rig.posted[p], n + 1);
                ck_assert_uint_eq(rig.collected[p], n + 1);
            }
            ck_assert_int_lt(rig.until[0], INT64_MAX);
        }
        ck_assert(!rig.out_of_order);
        filter_destroy(filter);
        block_free(&x);
        block_free(&out);
        mask_destroy(mask);
        workers_destroy(workers);
    }
}
END_TEST

/* A measurement waits as long as it takes. */
START_TEST(alone_there_is_no_deadline)
{
    struct workers *workers = cells_crew(1);
    const struct convolver_backend backend = rig_backend();
    struct convolver_settings settings = rig_settings(workers);
    struct mask *mask = truth_noise_mask(1, 4, 100);
    struct block x = stream_noise(3, 4, BLOCK), out = stream_noise(4, 4, BLOCK);
    struct filter *filter;
    settings.alone = true;
    rig_set(2);
    ck_assert_int_eq(convolver_create_on(&backend, &settings, mask, &filter), STATUS_OK);
    filter_process(filter, (const float *const *)x.data, out.data);
    ck_assert(rig.until[0] == INT64_MAX && rig.until[1] == INT64_MAX);
    filter_destroy(filter);
    block_free(&x);
    block_free(&out);
    mask_destroy(mask);
    workers_destroy(workers);
}
END_TEST

/* ---- masks that change ---- */

/* The new mask is ready in one share long before the others: it enters all of them at once. */
START_TEST(masks_enter_all_shares_in_one_block)
{
    for (size_t slowest = 0; slowest < 3; slowest++) {
        struct scene scene = rig_scene_make(500);
        rig_set(3);
        rig.deed[slowest].arm_calls = 20;
        rig.deed[(slowest + 1) % 3].arm_calls = 3;
        struct outcome outcome = rig_run(RATE_EASY, scene.mask, scene.other, AT, FADE, &scene.x, 3);
        ck_assert_uint_eq(outcome.began, 20 * BLOCK);
        rig_expect_exact(&scene, &outcome, "shares that are ready one after the other");
        block_free(&outcome.out);
        rig_scene_free(&scene);
    }
}
END_TEST

START_TEST(reset_clears_all_shares)
{
    struct workers *workers = cells_crew(1);
    const struct convolver_backend backend = rig_backend();
    struct convolver_settings settings = rig_settings(workers);
    struct mask *mask = truth_noise_mask(1, 4, 1000);
    struct block x = stream_noise(3, 4, 2000);
    struct filter *filter;
    rig_set(3);
    ck_assert_int_eq(convolver_create_on(&backend, &settings, mask, &filter), STATUS_OK);
    struct block before = stream_through(filter, x.data, 2000, 2000);
    filter_reset(filter);
    struct block after = stream_through(filter, x.data, 2000, 2000);
    rig_expect_equal(&before, &after, "after a reset");
    filter_destroy(filter);
    block_free(&before);
    block_free(&after);
    block_free(&x);
    mask_destroy(mask);
    workers_destroy(workers);
}
END_TEST

/* ---- the step ---- */

START_TEST(the_step_allocates_nothing)
{
    struct workers *workers = cells_crew(3);
    const struct convolver_backend backend = rig_backend();
    struct convolver_settings settings = rig_settings(workers);
    struct mask *mask = truth_noise_mask(1, 4, 100), *other = truth_noise_mask(2, 4, 100);
    struct block x = stream_noise(3, 4, BLOCK), out = stream_noise(4, 4, BLOCK);
    struct filter *filter;
    settings.rate = RATE_EASY;
    rig_set(3);
    rig.deed[1].late_every = 3;
    rig.deed[2].lost_at = 100;
    ck_assert_int_eq(convolver_create_on(&backend, &settings, mask, &filter), STATUS_OK);
    cells_switch(filter, other, 40 * BLOCK, FADE);
    size_t before = allocations_of_all();
    for (size_t n = 0; n < 200; n++)
        filter_process(filter, (const float *const *)x.data, out.data);
    size_t after = allocations_of_all();
    if (allocations_are_counted())
        ck_assert_uint_eq(after, before);
    ck_assert_uint_eq(convolver_failures(filter), 1);
    filter_destroy(filter);
    block_free(&x);
    block_free(&out);
    mask_destroy(mask);
    mask_destroy(other);
    workers_destroy(workers);
}
END_TEST

/* ---- files: whole steps at once ---- */

static void rig_step(struct convolution *convolution, const float *const *in,
                     const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    size_t p = rig_share_of(convolution), block = rig.collected[p]++;
    convolver_direct.step(convolution, in, slots);
    if (block >= rig.deed[p].lost_at)
        rig_spoil(slots, rig.outputs[p]);
}

static struct convolver_backend file_backend(void)
{
    struct convolver_backend backend = rig_backend();
    backend.post = NULL;
    backend.collect = NULL;
    backend.arm = NULL;
    backend.step = rig_step;
    backend.steps_at_once = true;
    return backend;
}

/* `lost`: shares that fail in one block, whose standby is made then, or was before. */
static void check_file(size_t threads, size_t lost, bool stays)
{
    struct workers *workers = cells_crew(threads);
    const struct convolver_backend backend = file_backend();
    struct mask *mask = rig_mask(3, SPARSE, 5, 7, 500);
    struct block x = stream_noise(2, 5, 100 * BLOCK);
    double **truth = truth_render(mask, x.data, x.frames);
    struct convolver_settings settings = {
        .backend = "", .block = BLOCK, .mask_stays = stays, .workers = workers};
    struct filter *filter;
    rig_set(3);
    for (size_t p = 0; p < lost; p++)
        rig.deed[2 - p].lost_at = 40;
    ck_assert_int_eq(convolver_create_on(&backend, &settings, mask, &filter), STATUS_OK);
    struct block out = stream_through(filter, x.data, x.frames, x.frames + 499);
    cells_expect_within(&out, truth, mask, &x, true, "a file in shares");
    ck_assert_uint_eq(convolver_failures(filter), lost);
    ck_assert_ptr_null(filter->failure);
    filter_destroy(filter);
    truth_free(truth, 7);
    block_free(&out);
    block_free(&x);
    mask_destroy(mask);
    workers_destroy(workers);
}

START_TEST(files_in_shares)
{
    for (size_t threads = 1; threads <= 7; threads += 3)
        for (size_t lost = 0; lost <= 3; lost++) {
            check_file(threads, lost, false);
            check_file(threads, lost, true);
        }
}
END_TEST

/* ---- places ---- */

static atomic_uint entered;

/* The first processor that this process may use is all that is near a GPU. */
static void go_beside(struct numa_before *before)
{
    struct numa_place place = {.node = 0};
    cpu_set_t all;
    size_t cpu = 0;
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        abort();
    while (!CPU_ISSET(cpu, &all))
        cpu++;
    CPU_ZERO(&place.cpus);
    CPU_SET(cpu, &place.cpus);
    numa_enter(&place, before);
}

static void rig_enter(const struct convolver_shape *shape, struct numa_before *before)
{
    if (shape->gpu.devices.count != 1)
        abort();
    atomic_fetch_add(&entered, 1);
    go_beside(before);
}

static int processors_here(void)
{
    cpu_set_t now;
    return sched_getaffinity(0, sizeof now, &now) == 0 ? CPU_COUNT(&now) : 0;
}

static enum status create_beside(const struct convolver_shape *shape, struct convolution **result)
{
    if (processors_here() != 1)
        return fail(STATUS_FAILED, "it is made anywhere");
    return rig_create(shape, result);
}

/* What a share needs is made beside its processor, its workers, too, and nothing else is. */
START_TEST(shares_are_made_beside_their_processors)
{
    for (size_t live = 0; live < 2; live++) {
        struct workers *workers = cells_crew(4);
        struct convolver_backend backend = live ? rig_spared_backend() : file_backend();
        struct mask *mask = rig_mask(3, DIAGONAL, 6, 6, 100);
        struct convolver_settings settings = rig_settings(workers);
        struct filter *filter;
        int before = processors_here();
        backend.enter = rig_enter;
        backend.create = create_beside;
        settings.live = live;
        settings.gpus_alone = live;
        atomic_store(&entered, 0);
        rig_set(3);
        ck_assert_int_eq(convolver_create_on(&backend, &settings, mask, &filter), STATUS_OK);
        ck_assert_uint_eq(entered, 6); /* three shares, and their spares or workers */
        ck_assert_int_eq(processors_here(), before);
        filter_destroy(filter);
        mask_destroy(mask);
        workers_destroy(workers);
    }
}
END_TEST

/* What fails in a thread is reported by the caller, once. */
static enum status refuse(const struct convolution *convolution, const struct mask *mask,
                          struct prepared **prepared)
{
    (void)mask, (void)prepared;
    return rig_share_of(convolution) > 0 ? fail(STATUS_FAILED, "cannot load the mask: no room")
                                         : convolver_direct.prepare(convolution, mask, prepared);
}

START_TEST(failures_of_shares_are_reported_once)
{
    char failure[200] = "";
    struct workers *workers = cells_crew(2);
    struct convolver_backend backend = file_backend();
    struct mask *mask = rig_mask(3, MATRIX, 4, 4, 10);
    struct convolver_settings settings = {.backend = "", .block = BLOCK, .workers = workers};
    struct filter *filter = NULL;
    backend.prepare = refuse;
    rig_set(4);
    log_capture(failure, sizeof failure);
    enum status status = convolver_create_on(&backend, &settings, mask, &filter);
    log_capture(NULL, 0);
    ck_assert_int_eq(status, STATUS_FAILED);
    ck_assert_ptr_null(filter);
    ck_assert_str_eq(failure, "cannot load the mask: no room");
    ck_assert_uint_eq(rig.destroyed, 4);
    mask_destroy(mask);
    workers_destroy(workers);
}
END_TEST

/* ---- names ---- */

START_TEST(devices_are_parsed)
{
    static const char *const bad[] = {"",
                                      ",",
                                      "0,",
                                      ",0",
                                      "0,,1",
                                      "-1",
                                      "64",
                                      "al",
                                      "all,0",
                                      "0 1",
                                      "0x1",
                                      "1.5",
                                      "99999999999999999999"};
    struct gpu_devices devices;
    char many[4 * GPU_MOST] = "0";
    ck_assert_int_eq(gpu_devices_parse("devices", "all", &devices), STATUS_OK);
    ck_assert(devices.all && devices.count == 0);
    ck_assert_int_eq(gpu_devices_parse("devices", "63,0,0", &devices), STATUS_OK);
    ck_assert(!devices.all && devices.count == 3 && devices.of[0] == 63 && devices.of[2] == 0);
    for (size_t b = 0; b < sizeof bad / sizeof *bad; b++)
        ck_assert_msg(gpu_devices_parse("devices", bad[b], &devices) == STATUS_USAGE, "'%s'",
                      bad[b]);
    for (size_t n = 1; n < GPU_MOST; n++)
        strcat(many, ",0");
    ck_assert_int_eq(gpu_devices_parse("devices", many, &devices), STATUS_OK);
    ck_assert_uint_eq(devices.count, GPU_MOST);
    strcat(many, ",0");
    ck_assert_int_eq(gpu_devices_parse("devices", many, &devices), STATUS_USAGE);
}
END_TEST

SUITE_MAIN("convolver_shares", shares_equal_the_whole, long_masks_in_shares,
           shares_have_what_they_need, later_masks_may_need_other_inputs,
           late_shares_come_from_the_cpu, a_lost_share_is_replaced_alone, all_shares_may_be_lost,
           a_late_share_without_the_cpu_is_silent_alone, shares_have_one_deadline,
           alone_there_is_no_deadline, masks_enter_all_shares_in_one_block, reset_clears_all_shares,
           the_step_allocates_nothing, files_in_shares, shares_are_made_beside_their_processors,
           failures_of_shares_are_reported_once, devices_are_parsed)
