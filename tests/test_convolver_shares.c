/* Several processors that share the outputs of one convolver, as GPUs do: equality with one, the
 * deadline, a share that is late or lost, and masks that change. The processors are the CPU's
 * backends, with their answers held back or spoilt where a test wants that. */
#include "allocations.h"
#include "cells.h"
#include "convolve/convolver.h"
#include "convolve/mask_excerpt.h"
#include "suite.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum {
    BLOCK = 64,
    SHARES_MOST = 8,
    PLACES = 2 * SHARES_MOST /* a share's spare is after all shares */
};

/* ---- processors ---- */

/* What happens in a share, by the number of its block from 0. */
struct deed {
    size_t late_from, late_until; /* answers that do not come in time */
    size_t late_every;            /* and every so many; 0: none */
    size_t lost_at;               /* from here on it has failed; SIZE_MAX: never */
    size_t arm_calls;             /* until a new mask is ready */
};

static struct {
    size_t wanted; /* shares */
    struct deed deed[PLACES];
    const struct convolution *of[PLACES];
    size_t inputs[PLACES], outputs[PLACES], destroyed;
    _Atomic size_t posted[PLACES];
    size_t collected[PLACES], armed[PLACES];
    int64_t until[PLACES];
    atomic_bool out_of_order; /* a share was waited for before all were sent */
} rig;

static void rig_set(size_t shares)
{
    memset(&rig, 0, sizeof rig);
    rig.wanted = shares;
    for (size_t p = 0; p < PLACES; p++)
        rig.deed[p].lost_at = rig.deed[p].late_from = SIZE_MAX;
}

static size_t share_of(const struct convolution *convolution)
{
    size_t p = 0;
    while (p < PLACES && rig.of[p] != convolution)
        p++;
    if (p == PLACES)
        abort(); /* Check allocates, which a step must not */
    return p;
}

static enum status rig_share_out(const struct convolver_shape *shape, const struct mask *mask,
                                 struct gpu_devices *devices, char why[CONVOLVER_WHY])
{
    snprintf(why, CONVOLVER_WHY, "%zu are wanted", rig.wanted);
    ck_assert_uint_eq(shape->outputs, mask->outputs);
    *devices = (struct gpu_devices){.count = rig.wanted};
    for (size_t p = 0; p < rig.wanted; p++)
        devices->of[p] = (unsigned char)(3 * p); /* names, which nothing else depends on */
    return STATUS_OK;
}

static enum status rig_create(const struct convolver_shape *shape, struct convolution **result)
{
    size_t device = shape->gpu.devices.of[0];
    size_t of = shape->share < shape->shares ? shape->share : shape->share + 1; /* the next one */
    if (device != (shape->shares > 1 ? 3 * (of % shape->shares) : 0))
        abort(); /* Check is for one thread */
    struct convolver_shape own = *shape;
    own.workers = NULL; /* they serve one caller at a time */
    TRY(convolver_direct.create(&own, result));
    rig.of[shape->share] = *result;
    rig.inputs[shape->share] = shape->inputs;
    rig.outputs[shape->share] = shape->outputs;
    return STATUS_OK;
}

static void rig_destroy(struct convolution *convolution)
{
    rig.destroyed++;
    convolver_direct.destroy(convolution);
}

static void rig_post(struct convolution *convolution, const float *const *in,
                     const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    atomic_fetch_add(&rig.posted[share_of(convolution)], 1);
    convolver_direct.step(convolution, in, slots);
}

static void spoil(const struct convolver_slot slots[CONVOLVER_SLOTS], size_t outputs)
{
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++)
        for (size_t o = 0; o < outputs && slots[v].prepared; o++)
            for (size_t i = 0; i < BLOCK; i++)
                slots[v].out[o][i] = NAN;
}

static bool rig_collect(struct convolution *convolution,
                        const struct convolver_slot slots[CONVOLVER_SLOTS], int64_t until)
{
    size_t p = share_of(convolution), block = rig.collected[p]++;
    const struct deed *deed = &rig.deed[p];
    bool late = (block >= deed->late_from && block < deed->late_until) ||
                (deed->late_every && block % deed->late_every == deed->late_every - 1);
    rig.until[p] = until;
    for (size_t q = 0; q < rig.wanted && p < rig.wanted; q++)
        if (atomic_load(&rig.posted[q]) <= block && rig.deed[q].lost_at >= block)
            atomic_store(&rig.out_of_order, true);
    if (!late && block < deed->lost_at)
        return true;
    spoil(slots, rig.outputs[p]);
    return false;
}

static const char *rig_failure(const struct convolution *convolution)
{
    size_t p = share_of(convolution);
    return rig.collected[p] > rig.deed[p].lost_at ? "unplugged" : NULL;
}

static bool rig_arm(struct convolution *convolution, size_t slot, const struct prepared *prepared,
                    bool at_once)
{
    size_t p = share_of(convolution);
    if (slot >= CONVOLVER_SLOTS || !prepared)
        abort();
    return at_once || ++rig.armed[p] > rig.deed[p].arm_calls;
}

/* The processor of the next share. */
static bool rig_choose_spare(const struct convolver_shape *shape, const struct gpu_devices *taken,
                             unsigned char *device)
{
    ck_assert_uint_eq(taken->count, rig.wanted);
    ck_assert_uint_eq(taken->of[shape->share], shape->gpu.devices.of[0]);
    *device = taken->of[(shape->share + 1) % taken->count];
    return true;
}

static struct convolver_backend rig_backend(void)
{
    struct convolver_backend backend = convolver_direct;
    backend.name = "rig";
    backend.share_out = rig_share_out;
    backend.create = rig_create;
    backend.destroy = rig_destroy;
    backend.post = rig_post;
    backend.collect = rig_collect;
    backend.failure = rig_failure;
    backend.arm = rig_arm;
    return backend;
}

/* Whose processors stand by for each other. */
static struct convolver_backend spared_backend(void)
{
    struct convolver_backend backend = rig_backend();
    backend.choose_spare = rig_choose_spare;
    return backend;
}

/* ---- masks ---- */

/* Each output from one input or from all; or random paths, of which some share a column and some
 * outputs have none. */
enum paths { DIAGONAL, MATRIX, FROM_ONE, SPARSE, PATHS };

static struct mask *make_mask(uint64_t seed, enum paths paths, size_t inputs, size_t outputs,
                              size_t taps)
{
    struct mask *mask;
    size_t columns = paths == MATRIX ? inputs * outputs : outputs;
    ck_assert_int_eq(mask_create("of noise", columns, taps, &mask), STATUS_OK);
    truth_noise_taps(seed, mask->coefficients, columns * taps);
    mask->inputs = inputs;
    mask->outputs = outputs;
    mask->paths = calloc(inputs * outputs, sizeof *mask->paths);
    ck_assert_ptr_nonnull(mask->paths);
    for (size_t o = 0; o < outputs; o++)
        for (size_t i = 0; i < inputs; i++) {
            float chance[1];
            truth_noise(seed + 7 * o + 1000 * i, chance, 1);
            bool there = paths == DIAGONAL   ? i == o % inputs
                         : paths == FROM_ONE ? i == 0
                         : paths == MATRIX   ? true
                                             : chance[0] > 0.2F && o % 5 != 2;
            size_t column = paths == MATRIX   ? i * outputs + o
                            : paths == SPARSE ? (3 * i + o) % columns
                                              : o;
            if (there)
                mask->paths[mask->path_count++] = (struct mask_path){i, o, column};
        }
    return mask;
}

static struct convolver_settings settings_with(struct workers *workers)
{
    return (struct convolver_settings){
        .backend = "", .rate = 48000, .block = BLOCK, .live = true, .workers = workers};
}

/* ---- equality ---- */

static struct block outputs_of(const struct convolver_backend *backend, const struct mask *mask,
                               const struct block *x, struct workers *workers, size_t *shares)
{
    struct convolver_settings settings = settings_with(workers);
    struct filter *filter;
    ck_assert_int_eq(convolver_create_on(backend, &settings, mask, &filter), STATUS_OK);
    *shares = convolver_share_count(filter);
    struct block out = stream_through(filter, x->data, x->frames, x->frames + mask->taps - 1);
    ck_assert_uint_eq(convolver_failures(filter), 0);
    filter_destroy(filter);
    return out;
}

static void expect_equal(const struct block *a, const struct block *b, const char *what)
{
    for (size_t c = 0; c < a->channels; c++)
        ck_assert_msg(memcmp(a->data[c], b->data[c], a->frames * sizeof(float)) == 0,
                      "%s: output %zu differs from that of one share", what, c);
}

static void check_equality(enum paths paths, size_t inputs, size_t outputs, size_t taps,
                           size_t shares, size_t threads)
{
    char what[120];
    size_t one, several;
    struct workers *workers = cells_crew(threads);
    const struct convolver_backend backend = rig_backend();
    struct mask *mask = make_mask(taps, paths, inputs, outputs, taps);
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
    expect_equal(&whole, &shared, what);
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
            struct mask *mask = make_mask(3, paths, 4, 6, 5000);
            struct block x = stream_noise(5, 4, 20000);
            double **truth = truth_render(mask, x.data, x.frames);
            struct convolver_settings settings = settings_with(workers);
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
    struct convolver_settings settings = settings_with(workers);
    struct mask *mask = make_mask(3, DIAGONAL, 7, 7, 10), *share;
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
        struct convolver_settings settings = settings_with(workers);
        struct mask *mask = make_mask(3, DIAGONAL, channels[n], channels[n], 4);
        struct mask *crossed = make_mask(4, FROM_ONE, channels[n], channels[n], 4);
        struct mask *again = make_mask(5, DIAGONAL, channels[n], channels[n], 4);
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

/* A rate at which the CPU can run along, and one at which no processor could. */
enum { RATE_EASY = 1000, RATE_HOPELESS = 2000000000 };

struct outcome {
    struct block out;
    uint64_t late, failures, began;
    char notice[200], backend[16];
    bool failed;
};

/* 6 channels crosswise, through one mask and, from frame `at` on, another. */
static struct outcome run_deeds(uint32_t rate, const struct mask *mask, const struct mask *other,
                                size_t at, size_t fade, const struct block *x, size_t threads)
{
    struct workers *workers = cells_crew(threads);
    const struct convolver_backend backend = rig_backend();
    struct convolver_settings settings = settings_with(workers);
    struct outcome outcome = {0};
    struct filter *filter;
    settings.rate = rate;
    ck_assert_int_eq(convolver_create_on(&backend, &settings, mask, &filter), STATUS_OK);
    cells_switch(filter, other, at, fade);
    outcome.out = stream_through(filter, x->data, x->frames, x->frames);
    ck_assert(convolver_switched(filter, &outcome.began));
    outcome.late = convolver_late(filter);
    outcome.failures = convolver_failures(filter);
    outcome.failed = filter->failure;
    snprintf(outcome.notice, sizeof outcome.notice, "%s", filter->notice ? filter->notice : "");
    snprintf(outcome.backend, sizeof outcome.backend, "%s", convolver_backend(filter));
    filter_destroy(filter);
    workers_destroy(workers);
    return outcome;
}

struct scene {
    struct mask *mask, *other;
    struct block x;
    double **truth, **after;
};

enum { CHANNELS = 6, FADE = 300, AT = 2 * 64 + 5, BLOCKS = 120 };

static struct scene scene_make(size_t taps)
{
    struct scene scene = {.mask = truth_noise_mask(1, CHANNELS, taps),
                          .other = truth_noise_mask(2, CHANNELS, taps),
                          .x = stream_noise(3, CHANNELS, BLOCKS * BLOCK)};
    scene.truth = truth_render(scene.mask, scene.x.data, scene.x.frames);
    scene.after = truth_render(scene.other, scene.x.data, scene.x.frames);
    return scene;
}

static void scene_free(struct scene *scene)
{
    truth_free(scene->truth, CHANNELS);
    truth_free(scene->after, CHANNELS);
    mask_destroy(scene->mask);
    mask_destroy(scene->other);
    block_free(&scene->x);
}

static void expect_exact(struct scene *scene, const struct outcome *outcome, const char *what)
{
    cells_crossfade(scene->truth, scene->after, CHANNELS, scene->x.frames, (size_t)outcome->began,
                    FADE);
    cells_expect_within(&outcome->out, scene->truth, scene->mask, &scene->x, true, what);
    ck_assert_msg(!outcome->failed, "%s: the filter failed", what);
    ck_assert_msg(!rig.out_of_order, "%s: a share was waited for before all were sent", what);
}

START_TEST(late_shares_come_from_the_cpu)
{
    for (size_t threads = 1; threads <= 3; threads += 2) {
        struct scene scene = scene_make(500);
        rig_set(3);
        rig.deed[0].late_every = 7;
        rig.deed[2].late_from = 3; /* in the fade, too */
        rig.deed[2].late_until = 13;
        struct outcome outcome =
            run_deeds(RATE_EASY, scene.mask, scene.other, AT, FADE, &scene.x, threads);
        expect_exact(&scene, &outcome, "late shares");
        ck_assert_uint_eq(outcome.late, BLOCKS / 7 + 10);
        ck_assert_uint_eq(outcome.failures, 0);
        ck_assert_str_eq(outcome.notice, "");
        block_free(&outcome.out);
        scene_free(&scene);
    }
}
END_TEST

/* Beside the CPU, and without it, where it is fed the history in the block of the loss. */
static void check_lost(uint32_t rate, size_t lost, size_t at, size_t threads)
{
    char what[100], place[64];
    struct scene scene = scene_make(500);
    rig_set(3);
    rig.deed[lost].lost_at = at;
    struct outcome outcome = run_deeds(rate, scene.mask, scene.other, AT, FADE, &scene.x, threads);
    snprintf(what, sizeof what, "share %zu lost at block %zu", lost, at);
    expect_exact(&scene, &outcome, what);
    ck_assert_uint_eq(outcome.failures, 1);
    ck_assert_str_eq(outcome.backend, "rig");
    snprintf(place, sizeof place, "GPU %zu failed (unplugged): its outputs %zu to %zu ", 3 * lost,
             2 * lost + 1, 2 * lost + 2);
    ck_assert_msg(strstr(outcome.notice, place), "%s", outcome.notice);
    for (size_t p = 0; p < 3; p++) /* the others went on to the end */
        ck_assert_uint_eq(rig.posted[p], p == lost ? at + 1 : BLOCKS);
    block_free(&outcome.out);
    scene_free(&scene);
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
    struct scene scene = scene_make(500);
    rig_set(3);
    for (size_t p = 0; p < 3; p++)
        rig.deed[p].lost_at = p == 1 ? 5 : 30;
    struct outcome outcome = run_deeds(RATE_EASY, scene.mask, scene.other, AT, FADE, &scene.x, 1);
    expect_exact(&scene, &outcome, "all lost");
    ck_assert_uint_eq(outcome.failures, 3);
    ck_assert_str_eq(outcome.backend, "cpu");
    block_free(&outcome.out);
    scene_free(&scene);
}
END_TEST

/* Without the CPU beside it, a late share is silent in that block, and nothing else is. */
START_TEST(a_late_share_without_the_cpu_is_silent_alone)
{
    enum { LATE = 40 };
    struct scene scene = scene_make(500);
    rig_set(3);
    struct outcome right = run_deeds(RATE_HOPELESS, scene.mask, scene.other, AT, FADE, &scene.x, 1);
    ck_assert_uint_eq(right.late, 0);
    rig_set(3);
    rig.deed[1].late_from = LATE;
    rig.deed[1].late_until = LATE + 2;
    struct outcome late = run_deeds(RATE_HOPELESS, scene.mask, scene.other, AT, FADE, &scene.x, 1);
    ck_assert_uint_eq(late.late, 2);
    for (size_t c = 0; c < CHANNELS; c++)
        for (size_t i = 0; i < scene.x.frames; i++) {
            bool silent = c / 2 == 1 && i / BLOCK >= LATE && i / BLOCK < LATE + 2;
            ck_assert_msg(late.out.data[c][i] == (silent ? 0 : right.out.data[c][i]),
                          "output %zu, frame %zu", c, i);
        }
    block_free(&right.out);
    block_free(&late.out);
    scene_free(&scene);
}
END_TEST

/* ---- shares that others take over ---- */

enum { GPUS_ALONE = 0 }; /* a rate: there is no CPU at all */

/* As run_deeds, with spares: of 3 shares, that of share p is place 3 + p, on the next processor. */
static struct outcome run_spared(uint32_t rate, const struct scene *scene, size_t threads)
{
    struct workers *workers = cells_crew(threads);
    const struct convolver_backend backend = spared_backend();
    struct convolver_settings settings = settings_with(workers);
    struct outcome outcome = {0};
    struct filter *filter;
    settings.rate = rate ? rate : RATE_HOPELESS;
    settings.gpus_alone = rate == GPUS_ALONE;
    ck_assert_int_eq(convolver_create_on(&backend, &settings, scene->mask, &filter), STATUS_OK);
    cells_switch(filter, scene->other, AT, FADE);
    outcome.out = stream_through(filter, scene->x.data, scene->x.frames, scene->x.frames);
    (void)convolver_switched(filter, &outcome.began);
    outcome.late = convolver_late(filter);
    outcome.failures = convolver_failures(filter);
    outcome.failed = filter->failure;
    snprintf(outcome.notice, sizeof outcome.notice, "%s", filter->notice ? filter->notice : "");
    snprintf(outcome.backend, sizeof outcome.backend, "%s", convolver_backend(filter));
    filter_destroy(filter);
    workers_destroy(workers);
    return outcome;
}

/* In the block of the loss, with all that came before; no CPU is there. */
static void check_moved(uint32_t rate, size_t lost, size_t at, size_t threads)
{
    char what[100], place[100];
    struct scene scene = scene_make(500);
    rig_set(3);
    rig.deed[lost].lost_at = at;
    struct outcome outcome = run_spared(rate, &scene, threads);
    snprintf(what, sizeof what, "share %zu, lost at block %zu, on another", lost, at);
    expect_exact(&scene, &outcome, what);
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
    scene_free(&scene);
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
    struct scene scene = scene_make(500);
    rig_set(3);
    rig.deed[1].lost_at = 10;
    struct outcome outcome = run_spared(RATE_EASY, &scene, 1);
    expect_exact(&scene, &outcome, "beside the CPU");
    ck_assert_msg(strstr(outcome.notice, "continue on the CPU"), "%s", outcome.notice);
    ck_assert_uint_eq(rig.destroyed, 3);
    block_free(&outcome.out);
    scene_free(&scene);
}
END_TEST

/* All at once, or one after the other; the same GPU may be lost as a share's and as a spare. */
START_TEST(several_shares_move)
{
    for (size_t step = 0; step < 30; step += 9) {
        struct scene scene = scene_make(500);
        rig_set(3);
        for (size_t p = 0; p < 3; p++)
            rig.deed[p].lost_at = 3 + step * p;
        struct outcome outcome = run_spared(GPUS_ALONE, &scene, 2);
        expect_exact(&scene, &outcome, "all on others");
        ck_assert_uint_eq(outcome.failures, 3);
        ck_assert_str_eq(outcome.backend, "rig");
        block_free(&outcome.out);
        scene_free(&scene);
    }
}
END_TEST

/* A spare that is lost before its share, with it, or after it took over; or that is behind for
 * long: then it is the CPU's. `spare`: block of the spare, of which it collects one less. */
static void check_spare_lost(size_t share_at, size_t spare_at, bool behind)
{
    char what[100];
    struct scene scene = scene_make(500);
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
            expect_exact(&scene, &outcome, what);
            ck_assert_msg(strstr(outcome.notice, "continue on the CPU"), "%s", outcome.notice);
            ck_assert_uint_eq(outcome.failures, 1);
        } else {
            ck_assert_msg(outcome.failed, "%s: nothing is left, and nobody says so", what);
        }
        block_free(&outcome.out);
    }
    scene_free(&scene);
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
    struct scene scene = scene_make(500);
    rig_set(3);
    rig.deed[1].lost_at = 40;
    rig.deed[4].late_from = 10;
    rig.deed[4].late_until = 18;
    struct outcome outcome = run_spared(GPUS_ALONE, &scene, 1);
    expect_exact(&scene, &outcome, "a spare that was behind");
    block_free(&outcome.out);
    scene_free(&scene);
}
END_TEST

/* One that is late when it takes over is waited for in the next block, and silent in this one. */
START_TEST(a_spare_may_be_late_at_first)
{
    struct scene scene = scene_make(500);
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
    scene_free(&scene);
}
END_TEST

static size_t refused_from; /* masks of spares that were prepared before */
static _Atomic size_t prepared_masks;

static enum status refuse_spares(const struct convolution *convolution, const struct mask *mask,
                                 struct prepared **prepared)
{
    if (share_of(convolution) >= rig.wanted && prepared_masks++ >= refused_from)
        return fail(STATUS_FAILED, "there is no room");
    return convolver_direct.prepare(convolution, mask, prepared);
}

/* Without the first mask there is no spare; without a later one it takes nothing over, but a mask
 * that it cannot have is refused once it has. */
START_TEST(spares_that_cannot_have_a_mask)
{
    for (refused_from = 0; refused_from <= 3; refused_from += 3) {
        struct scene scene = scene_make(100);
        struct convolver_backend backend = spared_backend();
        struct workers *workers = cells_crew(1);
        struct convolver_settings settings = settings_with(workers);
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
        expect_exact(&scene, &outcome, "a spare without a mask");
        ck_assert_msg(strstr(filter->notice, "continue on the CPU"), "%s", filter->notice);
        ck_assert_int_eq(convolver_prepare(filter, scene.mask, &prepared), STATUS_OK);
        filter_destroy(filter);
        block_free(&outcome.out);
        scene_free(&scene);
        workers_destroy(workers);
    }
}
END_TEST

START_TEST(a_spare_in_use_needs_its_masks)
{
    struct scene scene = scene_make(100);
    struct convolver_backend backend = spared_backend();
    struct workers *workers = cells_crew(1);
    struct convolver_settings settings = settings_with(workers);
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
    scene_free(&scene);
    workers_destroy(workers);
}
END_TEST

START_TEST(a_spare_is_reset_with_its_share)
{
    struct scene scene = scene_make(500);
    struct workers *workers = cells_crew(3);
    const struct convolver_backend backend = spared_backend();
    struct convolver_settings settings = settings_with(workers);
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
    expect_equal(&before, &after, "after a reset, and a loss");
    filter_destroy(filter);
    block_free(&before);
    block_free(&after);
    scene_free(&scene);
    workers_destroy(workers);
}
END_TEST

START_TEST(moving_allocates_nothing)
{
    struct scene scene = scene_make(100);
    struct workers *workers = cells_crew(3);
    const struct convolver_backend backend = spared_backend();
    struct convolver_settings settings = settings_with(workers);
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
    scene_free(&scene);
    workers_destroy(workers);
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
        struct convolver_settings settings = settings_with(workers);
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
    struct convolver_settings settings = settings_with(workers);
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
        struct scene scene = scene_make(500);
        rig_set(3);
        rig.deed[slowest].arm_calls = 20;
        rig.deed[(slowest + 1) % 3].arm_calls = 3;
        struct outcome outcome =
            run_deeds(RATE_EASY, scene.mask, scene.other, AT, FADE, &scene.x, 3);
        ck_assert_uint_eq(outcome.began, 20 * BLOCK);
        expect_exact(&scene, &outcome, "shares that are ready one after the other");
        block_free(&outcome.out);
        scene_free(&scene);
    }
}
END_TEST

START_TEST(reset_clears_all_shares)
{
    struct workers *workers = cells_crew(1);
    const struct convolver_backend backend = rig_backend();
    struct convolver_settings settings = settings_with(workers);
    struct mask *mask = truth_noise_mask(1, 4, 1000);
    struct block x = stream_noise(3, 4, 2000);
    struct filter *filter;
    rig_set(3);
    ck_assert_int_eq(convolver_create_on(&backend, &settings, mask, &filter), STATUS_OK);
    struct block before = stream_through(filter, x.data, 2000, 2000);
    filter_reset(filter);
    struct block after = stream_through(filter, x.data, 2000, 2000);
    expect_equal(&before, &after, "after a reset");
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
    struct convolver_settings settings = settings_with(workers);
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
    size_t p = share_of(convolution), block = rig.collected[p]++;
    convolver_direct.step(convolution, in, slots);
    if (block >= rig.deed[p].lost_at)
        spoil(slots, rig.outputs[p]);
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
    struct mask *mask = make_mask(3, SPARSE, 5, 7, 500);
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
        struct convolver_backend backend = live ? spared_backend() : file_backend();
        struct mask *mask = make_mask(3, DIAGONAL, 6, 6, 100);
        struct convolver_settings settings = settings_with(workers);
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
    return share_of(convolution) > 0 ? fail(STATUS_FAILED, "cannot load the mask: no room")
                                     : convolver_direct.prepare(convolution, mask, prepared);
}

START_TEST(failures_of_shares_are_reported_once)
{
    char failure[200] = "";
    struct workers *workers = cells_crew(2);
    struct convolver_backend backend = file_backend();
    struct mask *mask = make_mask(3, MATRIX, 4, 4, 10);
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
           a_late_share_without_the_cpu_is_silent_alone, a_lost_share_moves_to_another,
           the_cpu_stands_by_where_it_can, several_shares_move, spares_are_lost_too,
           a_spare_that_was_behind_takes_over, a_spare_may_be_late_at_first,
           spares_that_cannot_have_a_mask, a_spare_in_use_needs_its_masks,
           a_spare_is_reset_with_its_share, moving_allocates_nothing, shares_have_one_deadline,
           alone_there_is_no_deadline, masks_enter_all_shares_in_one_block, reset_clears_all_shares,
           the_step_allocates_nothing, files_in_shares, shares_are_made_beside_their_processors,
           failures_of_shares_are_reported_once, devices_are_parsed)
