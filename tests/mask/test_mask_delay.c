/* Delays of masks: made masks with a known delay, those in filters/, and delays between two. */
#include "base/noise.h"
#include "command.h"
#include "import/mask_load.h"
#include "mask/mask_delay.h"
#include "sound.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct mask *make(size_t columns, size_t taps)
{
    struct mask *mask;
    ck_assert_int_eq(mask_create("test", columns, taps, &mask), STATUS_OK);
    mask->rate = 48000;
    return suite_mask(mask);
}

static void route(struct mask *mask)
{
    size_t channels = mask->columns == 1 ? 1 : 2;
    ck_assert_int_eq(mask_route(mask, channels, MASK_ORDER_LL_LR_RL_RR, MASK_MAP_AUTO), STATUS_OK);
}

static struct mask *load(const char *name)
{
    struct mask *mask;
    char path[512];
    snprintf(path, sizeof path, "%s/%s", getenv("FILTERS"), name);
    ck_assert_int_eq(mask_load_with(path, &(struct mask_load_options){0}, &mask), STATUS_OK);
    ck_assert_int_eq(mask_route(mask, 2, MASK_ORDER_LL_LR_RL_RR, MASK_MAP_AUTO), STATUS_OK);
    return suite_mask(mask);
}

static int delay_of(const struct mask *mask, enum mask_delay_method method)
{
    int64_t delay;
    ck_assert_int_eq(mask_delay(mask, method, &delay), STATUS_OK);
    return (int)delay;
}

static int delay_between(const struct mask *a, const struct mask *b)
{
    int64_t delay;
    ck_assert_int_eq(mask_delay_between(a, b, &delay), STATUS_OK);
    return (int)delay;
}

static void expect_all(const struct mask *mask, int right)
{
    ck_assert_int_eq(delay_of(mask, MASK_DELAY_AUTO), right);
    ck_assert_int_eq(delay_of(mask, MASK_DELAY_PEAK), right);
    ck_assert_int_eq(delay_of(mask, MASK_DELAY_CENTROID), right);
}

START_TEST(a_single_tap_is_its_place)
{
    for (size_t k = 0; k < 300; k += 23) {
        struct mask *mask = make(1, 300);
        mask_column(mask, 0)[k] = -0.25F;
        route(mask);
        expect_all(mask, (int)k);
        mask->origin = 100;
        expect_all(mask, (int)k - 100);
    }
    struct mask *silent = make(1, 10);
    route(silent);
    expect_all(silent, 0);
}

/* A windowed sinc; `length` odd or even, symmetric. */
static struct mask *linear_phase(size_t length, double corner)
{
    const double pi = acos(-1);
    struct mask *mask = make(1, length);
    for (size_t k = 0; k < length; k++) {
        double x = (double)k - ((double)length - 1) / 2;
        double sinc = fabs(x) < 1e-9 ? 2 * corner : sin(2 * pi * corner * x) / (pi * x);
        mask_column(mask, 0)[k] =
            (float)(sinc * (0.5 + 0.5 * cos(2 * pi * x / (double)(length + 1))));
    }
    route(mask);
    return mask;
}

START_TEST(linear_phase_is_half_the_length)
{
    static const size_t lengths[] = {3, 48, 49, 401, 1200};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (double corner = 0.01; corner < 0.5; corner *= 3) {
            struct mask *mask = linear_phase(lengths[i], corner);
            expect_all(mask, (int)(lengths[i] - 1) / 2);
            mask_align(mask, MASK_ALIGN_CENTRE);
            expect_all(mask, 0);
        }
}

/* As documented in filters/README.md, and half the lengths given there. */
START_TEST(filters_have_their_documented_delay)
{
    static const struct {
        const char *name;
        int delay;
    } masks[] = {
        {"identity.txt", 0},     {"moving-average.txt", 23},
        {"gaussian.txt", 16},    {"sharpen.txt", 8},
        {"pre-emphasis.txt", 0}, {"hilbert.txt", 99},
        {"swap-sides.txt", 0},   {"mono-sum.txt", 0},
        {"lowpass-1k.wav", 600}, {"highpass-100.wav", 2000},
        {"telephone.wav", 400},  {"de-emphasis.wav", 0},
        {"hum-notch-50.wav", 0}, {"slap-echo.wav", 0},
        {"resonator.wav", 0},    {"hall.wav", 0},
        {"reverse.wav", 35519},
    };
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        struct mask *mask = load(masks[i].name);
        ck_assert_msg(delay_of(mask, MASK_DELAY_AUTO) == masks[i].delay, "%s: %d", masks[i].name,
                      delay_of(mask, MASK_DELAY_AUTO));
    }
}

START_TEST(minimum_phase_has_the_least_delay)
{
    static const struct {
        const char *name;
        int delay;
    } masks[] = {{"moving-average.txt", 23}, {"hilbert.txt", 99}, {"lowpass-1k.wav", 600},
                 {"telephone.wav", 400},     {"plate.wav", 0},    {"reverse.wav", 35519}};
    struct mask *identity = load("identity.txt");
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        struct mask *mask = load(masks[i].name);
        ck_assert_msg(delay_between(identity, mask) == masks[i].delay, "%s: %d", masks[i].name,
                      delay_between(identity, mask));
    }
}

/* A mask without a distinct peak: the centre of its energy. */
START_TEST(noise_delay_is_its_energy_centre)
{
    uint64_t state = 11;
    struct mask *mask = make(1, 20001);
    for (size_t k = 0; k < mask->taps; k++)
        mask_column(mask, 0)[k] = noise_next(&state);
    route(mask);
    ck_assert_int_eq(delay_of(mask, MASK_DELAY_AUTO), delay_of(mask, MASK_DELAY_CENTROID));
    ck_assert_int_lt(abs(delay_of(mask, MASK_DELAY_AUTO) - 10000), 200);
}

/* The same mask after `frames` of silence. */
static struct mask *later(const struct mask *mask, size_t frames, float gain)
{
    struct mask *copy = make(mask->columns, mask->taps + frames);
    for (size_t c = 0; c < mask->columns; c++)
        for (size_t k = 0; k < mask->taps; k++)
            mask_column(copy, c)[frames + k] = gain * mask_column(mask, c)[k];
    ck_assert_int_eq(mask_route(copy, 2, MASK_ORDER_LL_LR_RL_RR, MASK_MAP_AUTO), STATUS_OK);
    return copy;
}

START_TEST(a_delayed_copy_is_found)
{
    static const char *const names[] = {"hall.wav", "spring.wav", "room-true-stereo.wav",
                                        "ping-pong.wav", "moving-average.txt"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct mask *mask = load(names[i]);
        for (size_t frames = 0; frames < 5000; frames = frames * 7 + 1) {
            struct mask *copy = later(mask, frames, frames % 2 ? -0.3F : 2);
            ck_assert_int_eq(delay_between(mask, copy), (int)frames);
            ck_assert_int_eq(delay_between(copy, mask), -(int)frames);
            ck_assert_int_eq(delay_of(copy, MASK_DELAY_AUTO),
                             delay_of(mask, MASK_DELAY_AUTO) + (int)frames);
            copy->origin = frames;
            ck_assert_int_eq(delay_between(mask, copy), 0);
        }
    }
}

/* (1 + 0.2 z^-1)^2, which is minimum-phase, and the symmetric filter of the same magnitude.
 * Their correlation by hand: 0.624 at 5, 1.12 at 6, 0.2 at 7. */
START_TEST(a_twin_of_minimum_phase_is_aligned)
{
    static const double lead[] = {1, 0.4, 0.04}, twin[] = {0, 0, 0, 0, 0, 0.2, 1.04, 0.2};
    struct mask *a = make(1, 3), *b = make(1, 8);
    memcpy(mask_column(a, 0), lead, sizeof lead);
    memcpy(mask_column(b, 0), twin, sizeof twin);
    route(a);
    route(b);
    ck_assert_int_eq(delay_between(a, b), 6);
}

/* Paths of only one mask do not count; without common paths each mask's own delay is used. */
START_TEST(only_common_paths_count)
{
    static struct mask_path left = {0, 0, 0}, right = {1, 1, 0};
    struct mask *a = make(1, 50), *b = make(1, 50);
    mask_column(a, 0)[10] = 1;
    mask_column(b, 0)[40] = 1;
    a->paths = &left;
    b->paths = &right;
    a->path_count = b->path_count = 1;
    ck_assert_int_eq(delay_between(a, b), 30);
    a->paths = b->paths = NULL;
}
