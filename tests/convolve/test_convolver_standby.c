/* A processor that answers when it wants, as a GPU does, with the CPU beside it or standing by:
 * answers that come late or not at all at any block, the deadline, masks that change, places. The
 * processor is the direct backend, whose answers are held back and spoilt. */
#include "allocations.h"
#include "cells.h"
#include "convolve/convolver_backend.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 64, BLOCKS = 120, CHANNELS = 6, FADE = 300, AT = 2 * BLOCK + 5, TAPS = 500 };

/* A rate at which the CPU can run along, and one at which no processor could. */
enum { RATE_EASY = 1000, RATE_HOPELESS = 2000000000 };

/* What happens, by the number of the block from 0. */
static struct {
    size_t late_from, late_until; /* answers that do not come in time */
    size_t lost_at;               /* SIZE_MAX: never */
    size_t arm_calls;             /* until a new mask is ready */
    size_t posted, collected, armed;
    int64_t until; /* of the last answer */
} rig;

static void rig_set(size_t late_from, size_t late_until, size_t lost_at)
{
    memset(&rig, 0, sizeof rig);
    rig.late_from = late_from;
    rig.late_until = late_until;
    rig.lost_at = lost_at;
}

static void rig_post(struct convolution *convolution, const float *const *in,
                     const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    rig.posted++;
    convolver_direct.step(convolution, in, slots);
}

static bool rig_collect(struct convolution *convolution,
                        const struct convolver_slot slots[CONVOLVER_SLOTS], int64_t until)
{
    size_t block = rig.collected++;
    (void)convolution;
    rig.until = until;
    if (block < rig.lost_at && (block < rig.late_from || block >= rig.late_until))
        return true;
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++)
        for (size_t o = 0; o < CHANNELS && slots[v].prepared; o++)
            for (size_t i = 0; i < BLOCK; i++)
                slots[v].out[o][i] = NAN;
    return false;
}

static void rig_step(struct convolution *convolution, const float *const *in,
                     const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    rig_post(convolution, in, slots);
    (void)rig_collect(convolution, slots, INT64_MAX);
}

static const char *rig_failure(const struct convolution *convolution)
{
    (void)convolution;
    return rig.collected > rig.lost_at ? "unplugged" : NULL;
}

static bool rig_arm(struct convolution *convolution, size_t slot, const struct prepared *prepared,
                    bool at_once)
{
    (void)convolution;
    if (slot >= CONVOLVER_SLOTS || !prepared)
        abort(); /* Check allocates, which a step must not */
    return at_once || ++rig.armed > rig.arm_calls;
}

static struct convolver_backend rig_backend(void)
{
    struct convolver_backend backend = convolver_direct;
    backend.name = "rig";
    backend.step = rig_step;
    backend.post = rig_post;
    backend.collect = rig_collect;
    backend.failure = rig_failure;
    backend.arm = rig_arm;
    return backend;
}

static struct convolver_settings settings_at(uint32_t rate, struct workers *workers)
{
    return (struct convolver_settings){
        .backend = "", .rate = rate, .block = BLOCK, .live = true, .workers = workers};
}

struct outcome {
    uint64_t late, failures, began;
    char notice[200], backend[16];
};

/* A stream that changes its mask at frame AT, against double precision. */
static struct outcome check_stream(uint32_t rate, const char *what)
{
    struct workers *workers = cells_crew(1);
    const struct convolver_backend backend = rig_backend();
    struct convolver_settings settings = settings_at(rate, workers);
    struct mask *mask = truth_noise_mask(1, CHANNELS, TAPS);
    struct mask *other = truth_noise_mask(2, CHANNELS, TAPS);
    struct block x = stream_noise(3, CHANNELS, BLOCKS * BLOCK);
    double **truth = truth_render(mask, x.data, x.frames);
    double **after = truth_render(other, x.data, x.frames);
    struct outcome outcome = {0};
    struct filter *filter;
    ck_assert_int_eq(convolver_create_on(&backend, &settings, mask, &filter), STATUS_OK);
    cells_switch(filter, other, AT, FADE);
    struct block out = stream_through(filter, x.data, x.frames, x.frames);
    ck_assert(convolver_switched(filter, &outcome.began));
    cells_crossfade(truth, after, CHANNELS, x.frames, (size_t)outcome.began, FADE);
    cells_expect_within(&out, truth, mask, &x, true, what);
    ck_assert_ptr_null(filter->failure);
    outcome.late = convolver_late(filter);
    outcome.failures = convolver_failures(filter);
    snprintf(outcome.notice, sizeof outcome.notice, "%s", filter->notice ? filter->notice : "");
    snprintf(outcome.backend, sizeof outcome.backend, "%s", convolver_backend(filter));
    filter_destroy(filter);
    workers_destroy(workers);
    return outcome;
}

/* ---- late and lost ---- */

START_TEST(late_blocks_come_from_the_cpu)
{
    static const size_t from[] = {0, 3, 8, 100}; /* the second in the fade */
    for (size_t f = 0; f < sizeof from / sizeof *from; f++) {
        rig_set(from[f], from[f] + 7, SIZE_MAX);
        struct outcome outcome = check_stream(RATE_EASY, "late blocks");
        ck_assert_uint_eq(outcome.late, 7);
        ck_assert_uint_eq(outcome.failures, 0);
        ck_assert_str_eq(outcome.backend, "rig");
        ck_assert_str_eq(outcome.notice, "");
        ck_assert_uint_eq(rig.posted, BLOCKS);
    }
}

/* With the CPU beside it, and without, where the CPU is fed the history in the block of the loss.
 */
START_TEST(a_lost_processor_is_replaced_in_its_block)
{
    static const size_t blocks[] = {0, 1, 2, 4, 7, 90};
    static const uint32_t rates[] = {RATE_EASY, RATE_HOPELESS};
    for (size_t n = 0; n < 2 * sizeof blocks / sizeof *blocks; n++) {
        char what[80];
        size_t at = blocks[n / 2];
        rig_set(SIZE_MAX, 0, at);
        snprintf(what, sizeof what, "lost at block %zu, rate %u", at, (unsigned)rates[n % 2]);
        struct outcome outcome = check_stream(rates[n % 2], what);
        ck_assert_uint_eq(outcome.failures, 1);
        ck_assert_uint_eq(outcome.late, 0);
        ck_assert_str_eq(outcome.backend, "cpu");
        snprintf(what, sizeof what, "(unplugged): continuing on the CPU from frame %zu,",
                 at * BLOCK);
        ck_assert_msg(strstr(outcome.notice, what), "%s", outcome.notice);
        ck_assert_uint_eq(rig.posted, at + 1);
    }
}

START_TEST(a_late_processor_may_be_lost)
{
    rig_set(20, 45, 40);
    struct outcome outcome = check_stream(RATE_EASY, "late, then lost");
    ck_assert_uint_eq(outcome.late, 20);
    ck_assert_uint_eq(outcome.failures, 1);
}

/* The new mask is ready on the CPU long before: it enters both sides at once. */
START_TEST(masks_enter_both_sides_in_one_block)
{
    for (size_t lost = 0; lost < 2; lost++) {
        rig_set(22, 24, lost ? 26 : SIZE_MAX);
        rig.arm_calls = 20;
        struct outcome outcome = check_stream(RATE_EASY, "a mask that arms slowly");
        ck_assert_uint_eq(outcome.began, 20 * BLOCK);
        ck_assert_uint_eq(outcome.late, 2);
    }
}

/* ---- time ---- */

/* The answer is awaited for a part of the period with the CPU beside it, or as long as it takes. */
START_TEST(the_deadline)
{
    for (size_t n = 0; n < 3; n++) {
        struct workers *workers = cells_crew(1);
        const struct convolver_backend backend = rig_backend();
        struct convolver_settings settings =
            settings_at(n == 1 ? RATE_HOPELESS : RATE_EASY, workers);
        struct mask *mask = truth_noise_mask(1, CHANNELS, 100);
        struct block x = stream_noise(3, CHANNELS, BLOCK), out = stream_noise(4, CHANNELS, BLOCK);
        struct filter *filter;
        settings.alone = n == 2; /* a measurement */
        rig_set(SIZE_MAX, 0, SIZE_MAX);
        ck_assert_int_eq(convolver_create_on(&backend, &settings, mask, &filter), STATUS_OK);
        filter_process(filter, (const float *const *)x.data, out.data);
        ck_assert_msg((rig.until == INT64_MAX) == (n > 0), "case %zu: until %lld", n,
                      (long long)rig.until);
        filter_destroy(filter);
        workers_destroy(workers);
    }
}

START_TEST(reset_clears_both_sides)
{
    struct workers *workers = cells_crew(1);
    const struct convolver_backend backend = rig_backend();
    struct convolver_settings settings = settings_at(RATE_EASY, workers);
    struct mask *mask = truth_noise_mask(1, CHANNELS, 1000);
    struct block x = stream_noise(3, CHANNELS, 50 * BLOCK);
    double **truth = truth_render(mask, x.data, x.frames);
    struct filter *filter;
    rig_set(70, 80, 90); /* in the second run */
    ck_assert_int_eq(convolver_create_on(&backend, &settings, mask, &filter), STATUS_OK);
    for (size_t run = 0; run < 2; run++) {
        struct block out = stream_through(filter, x.data, x.frames, x.frames);
        cells_expect_within(&out, truth, mask, &x, true, run ? "after a reset" : "before");
        ck_assert_uint_eq(convolver_failures(filter), run);
        filter_reset(filter);
    }
    filter_destroy(filter);
    workers_destroy(workers);
}

START_TEST(the_step_allocates_nothing)
{
    static const uint32_t rates[] = {RATE_EASY, RATE_HOPELESS};
    for (size_t r = 0; r < 2; r++) {
        struct workers *workers = cells_crew(2);
        const struct convolver_backend backend = rig_backend();
        struct convolver_settings settings = settings_at(rates[r], workers);
        struct mask *mask = truth_noise_mask(1, CHANNELS, 100);
        struct mask *other = truth_noise_mask(2, CHANNELS, 100);
        struct block x = stream_noise(3, CHANNELS, BLOCK), out = stream_noise(4, CHANNELS, BLOCK);
        struct filter *filter;
        rig_set(30, 50, 100);
        ck_assert_int_eq(convolver_create_on(&backend, &settings, mask, &filter), STATUS_OK);
        cells_switch(filter, other, 40 * BLOCK, 70 * BLOCK);
        size_t before = allocations_of_all();
        for (size_t n = 0; n < 200; n++)
            filter_process(filter, (const float *const *)x.data, out.data);
        size_t after = allocations_of_all();
        if (allocations_are_counted())
            ck_assert_uint_eq(after, before);
        ck_assert_uint_eq(convolver_failures(filter), 1);
        filter_destroy(filter);
        workers_destroy(workers);
    }
}

/* ---- places ---- */

static size_t entered;

static int processors_here(void)
{
    cpu_set_t now;
    return sched_getaffinity(0, sizeof now, &now) == 0 ? CPU_COUNT(&now) : 0;
}

/* The first processor that this process may use is all that is near a GPU. */
static void rig_enter(const struct convolver_shape *shape, struct numa_before *before)
{
    struct numa_place place = {.node = 0};
    cpu_set_t all;
    size_t cpu = 0;
    (void)shape;
    ck_assert_int_eq(sched_getaffinity(0, sizeof all, &all), 0);
    while (!CPU_ISSET(cpu, &all))
        cpu++;
    CPU_ZERO(&place.cpus);
    CPU_SET(cpu, &place.cpus);
    numa_enter(&place, before);
    entered++;
}

static enum status create_beside(const struct convolver_shape *shape, struct convolution **result)
{
    return processors_here() == 1 ? convolver_direct.create(shape, result)
                                  : fail(CAUSE_OTHER, "it is made anywhere");
}

START_TEST(what_a_processor_needs_is_made_beside_it)
{
    struct workers *workers = cells_crew(2);
    struct convolver_backend backend = rig_backend();
    struct mask *mask = truth_noise_mask(1, CHANNELS, 100);
    struct convolver_settings settings = settings_at(RATE_EASY, workers);
    struct filter *filter;
    int before = processors_here();
    backend.enter = rig_enter;
    backend.create = create_beside;
    rig_set(SIZE_MAX, 0, SIZE_MAX);
    ck_assert_int_eq(convolver_create_on(&backend, &settings, mask, &filter), STATUS_OK);
    ck_assert_uint_eq(entered, 1);
    ck_assert_int_eq(processors_here(), before);
    filter_destroy(filter);
    workers_destroy(workers);
}

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
    static const char *const several[] = {"all", "0,1", "0,0", "63,0,0"};
    struct gpu_devices devices;
    char many[4 * GPU_MOST] = "0";
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
    for (size_t s = 0; s < sizeof several / sizeof *several; s++) {
        ck_assert_int_eq(gpu_devices_parse("devices", several[s], &devices), STATUS_OK);
        ck_assert_int_eq(gpu_devices_check_one(&devices), STATUS_USAGE);
    }
    ck_assert_int_eq(gpu_devices_parse("devices", "63", &devices), STATUS_OK);
    ck_assert_int_eq(gpu_devices_check_one(&devices), STATUS_OK);
    ck_assert_int_eq(gpu_devices_check_one(&(struct gpu_devices){0}), STATUS_OK);
}
