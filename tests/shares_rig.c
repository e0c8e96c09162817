#include "shares_rig.h"

#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- processors ---- */

struct shares_rig rig;

void rig_set(size_t shares)
{
    memset(&rig, 0, sizeof rig);
    rig.wanted = shares;
    for (size_t p = 0; p < PLACES; p++)
        rig.deed[p].lost_at = rig.deed[p].late_from = SIZE_MAX;
}

size_t rig_share_of(const struct convolution *convolution)
{
    size_t p = 0;
    while (p < PLACES && rig.of[p] != convolution)
        p++;
    if (p == PLACES)
        abort(); /* Check allocates, which a step must not */
    return p;
}

enum status rig_share_out(const struct convolver_shape *shape, const struct mask *mask,
                          struct gpu_devices *devices, char why[CONVOLVER_WHY])
{
    snprintf(why, CONVOLVER_WHY, "%zu are wanted", rig.wanted);
    ck_assert_uint_eq(shape->outputs, mask->outputs);
    *devices = (struct gpu_devices){.count = rig.wanted};
    for (size_t p = 0; p < rig.wanted; p++)
        devices->of[p] = (unsigned char)(3 * p); /* names, which nothing else depends on */
    return STATUS_OK;
}

enum status rig_create(const struct convolver_shape *shape, struct convolution **result)
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
    atomic_fetch_add(&rig.posted[rig_share_of(convolution)], 1);
    convolver_direct.step(convolution, in, slots);
}

void rig_spoil(const struct convolver_slot slots[CONVOLVER_SLOTS], size_t outputs)
{
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++)
        for (size_t o = 0; o < outputs && slots[v].prepared; o++)
            for (size_t i = 0; i < BLOCK; i++)
                slots[v].out[o][i] = NAN;
}

static bool rig_collect(struct convolution *convolution,
                        const struct convolver_slot slots[CONVOLVER_SLOTS], int64_t until)
{
    size_t p = rig_share_of(convolution), block = rig.collected[p]++;
    const struct deed *deed = &rig.deed[p];
    bool late = (block >= deed->late_from && block < deed->late_until) ||
                (deed->late_every && block % deed->late_every == deed->late_every - 1);
    rig.until[p] = until;
    for (size_t q = 0; q < rig.wanted && p < rig.wanted; q++)
        if (atomic_load(&rig.posted[q]) <= block && rig.deed[q].lost_at >= block)
            atomic_store(&rig.out_of_order, true);
    if (!late && block < deed->lost_at)
        return true;
    rig_spoil(slots, rig.outputs[p]);
    return false;
}

static const char *rig_failure(const struct convolution *convolution)
{
    size_t p = rig_share_of(convolution);
    return rig.collected[p] > rig.deed[p].lost_at ? "unplugged" : NULL;
}

static bool rig_arm(struct convolution *convolution, size_t slot, const struct prepared *prepared,
                    bool at_once)
{
    size_t p = rig_share_of(convolution);
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

struct convolver_backend rig_backend(void)
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
struct convolver_backend rig_spared_backend(void)
{
    struct convolver_backend backend = rig_backend();
    backend.choose_spare = rig_choose_spare;
    return backend;
}

/* ---- masks ---- */

struct mask *rig_mask(uint64_t seed, enum paths paths, size_t inputs, size_t outputs, size_t taps)
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

struct convolver_settings rig_settings(struct workers *workers)
{
    return (struct convolver_settings){
        .backend = "", .rate = 48000, .block = BLOCK, .live = true, .workers = workers};
}

void rig_expect_equal(const struct block *a, const struct block *b, const char *what)
{
    for (size_t c = 0; c < a->channels; c++)
        ck_assert_msg(memcmp(a->data[c], b->data[c], a->frames * sizeof(float)) == 0,
                      "%s: output %zu differs from that of one share", what, c);
}

/* ---- streams ---- */

bool rig_play(struct filter *filter, const struct mask *other, size_t at, size_t fade,
              const struct block *x, struct outcome *outcome)
{
    cells_switch(filter, other, at, fade);
    outcome->out = stream_through(filter, x->data, x->frames, x->frames);
    bool switched = convolver_switched(filter, &outcome->began);
    outcome->late = convolver_late(filter);
    outcome->failures = convolver_failures(filter);
    outcome->failed = filter->failure;
    snprintf(outcome->notice, sizeof outcome->notice, "%s", filter->notice ? filter->notice : "");
    snprintf(outcome->backend, sizeof outcome->backend, "%s", convolver_backend(filter));
    filter_destroy(filter);
    return switched;
}

/* 6 channels crosswise, through one mask and, from frame `at` on, another. */
struct outcome rig_run(uint32_t rate, const struct mask *mask, const struct mask *other, size_t at,
                       size_t fade, const struct block *x, size_t threads)
{
    struct workers *workers = cells_crew(threads);
    const struct convolver_backend backend = rig_backend();
    struct convolver_settings settings = rig_settings(workers);
    struct outcome outcome = {0};
    struct filter *filter;
    settings.rate = rate;
    ck_assert_int_eq(convolver_create_on(&backend, &settings, mask, &filter), STATUS_OK);
    ck_assert(rig_play(filter, other, at, fade, x, &outcome));
    workers_destroy(workers);
    return outcome;
}

struct scene rig_scene_make(size_t taps)
{
    struct scene scene = {.mask = truth_noise_mask(1, CHANNELS, taps),
                          .other = truth_noise_mask(2, CHANNELS, taps),
                          .x = stream_noise(3, CHANNELS, BLOCKS * BLOCK)};
    scene.truth = truth_render(scene.mask, scene.x.data, scene.x.frames);
    scene.after = truth_render(scene.other, scene.x.data, scene.x.frames);
    return scene;
}

void rig_scene_free(struct scene *scene)
{
    truth_free(scene->truth, CHANNELS);
    truth_free(scene->after, CHANNELS);
    mask_destroy(scene->mask);
    mask_destroy(scene->other);
    block_free(&scene->x);
}

void rig_expect_exact(struct scene *scene, const struct outcome *outcome, const char *what)
{
    cells_crossfade(scene->truth, scene->after, CHANNELS, scene->x.frames, (size_t)outcome->began,
                    FADE);
    cells_expect_within(&outcome->out, scene->truth, scene->mask, &scene->x, true, what);
    ck_assert_msg(!outcome->failed, "%s: the filter failed", what);
    ck_assert_msg(!rig.out_of_order, "%s: a share was waited for before all were sent", what);
}
