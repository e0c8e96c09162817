/* libhalo: from one mask to the next. */
#include "command.h"
#include "library_rig.h"
#include "stream.h"
#include "suite.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

/* truth[0] becomes truth[1] by the fade that began at `at`. */
static void fade_truth(double **old, double **new, size_t channels, size_t frames, uint64_t at,
                       uint64_t fade)
{
    for (size_t c = 0; c < channels; c++)
        for (size_t i = (size_t)at; i < frames; i++) {
            double t = i - at >= fade ? 1 : (double)(i - at) / (double)fade;
            old[c][i] += t * (new[c][i] - old[c][i]);
        }
}

struct switch_case {
    size_t channels, block, longest;
    size_t taps[3]; /* of the masks that follow one another */
    uint64_t at[2]; /* 0: at once */
    uint64_t fade;
};

static void check_switches(const struct switch_case *test)
{
    size_t half = test->block ? 12000 / test->block * test->block : 12000, frames = 2 * half;
    struct block in = stream_noise(1, test->channels, frames), out = {0};
    out = stream_block(test->channels, frames);
    struct mask *masks[3];
    struct halo_mask *own[3];
    double **truth[3];
    double norm = 0;
    for (size_t m = 0; m < 3; m++) {
        masks[m] = truth_noise_mask(m + 70, test->channels, test->taps[m]);
        own[m] = library_mask(masks[m]);
        truth[m] = truth_render(masks[m], in.data, frames);
        norm = fmax(norm, mask_norm(masks[m]));
    }
    const struct halo_convolver_options options = {
        .size = sizeof options, .block = test->block, .taps = test->longest};
    struct halo_convolver *convolver = library_convolver(own[0], &options);
    halo_mask_destroy(own[0]);
    struct halo_error error;
    for (size_t m = 0; m < 2; m++) {
        uint64_t at = 0;
        size_t lead = test->block ? 3 * test->block : 333;
        library_run(convolver, &in, &out, m * half, lead, test->block, false, test->fade);
        uint64_t wanted = test->at[m] ? m * half + test->at[m] : 0;
        enum halo_status status =
            halo_convolver_switch(convolver, own[m + 1], wanted, test->fade, &error);
        ck_assert_msg(status == HALO_OK, "%s", error.text);
        halo_mask_destroy(own[m + 1]);
        ck_assert(!halo_convolver_switched(convolver, &at));
        library_run(convolver, &in, &out, m * half + lead, half - lead, test->block, m == 1,
                    test->fade);
        ck_assert(halo_convolver_switched(convolver, &at));
        ck_assert_uint_ge(at, wanted > m * half + lead ? wanted : m * half + lead);
        fade_truth(truth[0], truth[m + 1], test->channels, frames, at, test->fade);
    }
    char what[64];
    snprintf(what, sizeof what, "block %zu, %zu to %zu to %zu taps", test->block, test->taps[0],
             test->taps[1], test->taps[2]);
    library_expect_faded(&out, truth[0], norm, what);
    halo_convolver_destroy(convolver);
}

START_TEST(a_switch_is_the_crossfade_of_both_outputs)
{
    static const struct switch_case cases[] = {
        {2, 0, 0, {900, 900, 900}, {0, 0}, 480},
        {1, 0, 5000, {5000, 3, 4999}, {0, 5003}, 1000},
        {2, 0, 3000, {10, 3000, 64}, {777, 0}, 1},
        {1, 0, 64, {64, 1, 33}, {0, 2050}, 700},
        {1, 0, 20, {20, 20, 20}, {401, 0}, 0},
        {2, 0, 700, {65, 64, 700}, {0, 0}, 0},
        {2, 64, 0, {900, 900, 900}, {0, 1000}, 480},
        {1, 100, 5000, {5000, 3, 4999}, {0, 5003}, 1000},
        {2, 512, 3000, {10, 3000, 64}, {4096, 0}, 1},
        {1, 1000, 20, {20, 1, 20}, {0, 0}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_switches(&cases[i]);
}

START_TEST(switches_that_cannot_be_are_refused)
{
    struct mask *masks[] = {truth_noise_mask(1, 2, 500), truth_noise_mask(2, 2, 501),
                            truth_noise_mask(3, 1, 500), truth_noise_mask(4, 2, 400)};
    struct halo_mask *own[4];
    struct halo_error error;
    for (size_t m = 0; m < 4; m++)
        own[m] = library_mask(masks[m]);
    for (size_t block = 0; block <= 64; block += 64) {
        const struct halo_convolver_options options = {.size = sizeof options, .block = block};
        struct halo_convolver *convolver = library_convolver(own[0], &options);
        ck_assert_int_eq(halo_convolver_switch(convolver, own[1], 0, 100, &error), HALO_USAGE);
        command_expect(error.text, "501 taps");
        ck_assert_int_eq(halo_convolver_switch(convolver, own[2], 0, 100, &error), HALO_USAGE);
        command_expect(error.text, "it has 1 input and");
        ck_assert_int_eq(halo_convolver_switch(convolver, NULL, 0, 100, NULL), HALO_USAGE);
        ck_assert(halo_convolver_switched(convolver, NULL));
        ck_assert_int_eq(halo_convolver_switch(convolver, own[3], 0, 100, &error), HALO_OK);
        ck_assert_int_eq(halo_convolver_switch(convolver, own[0], 0, 100, &error), HALO_BUSY);
        command_expect(error.text, "still under way");
        halo_convolver_reset(convolver);
        ck_assert(halo_convolver_switched(convolver, NULL));
        struct block in = stream_noise(1, 2, 6400), out = stream_noise(2, 2, 6400);
        double **truth = truth_render(masks[3], in.data, 6400);
        library_run(convolver, &in, &out, 0, 6400, block, false, 1);
        library_expect(&out, truth, masks[3], &in, "the new mask after a reset");
        ck_assert_int_eq(halo_convolver_switch(convolver, own[0], 0, 100, &error), HALO_OK);
        library_run(convolver, &in, &out, 0, 6400, block, false, 1);
        ck_assert(halo_convolver_switched(convolver, NULL));
        if (block)
            ck_assert_int_eq(
                halo_convolver_process(convolver, in.data[0], 0, out.data[0], 0, block + 1),
                HALO_USAGE);
        halo_convolver_destroy(convolver);
    }
    for (size_t m = 0; m < 4; m++)
        halo_mask_destroy(own[m]);
}

struct player {
    struct halo_convolver *convolver;
    atomic_bool leave;
};

static void *play(void *argument)
{
    struct player *player = argument;
    float x[300] = {1, -1, 0.5f};
    for (size_t i = 0; !atomic_load(&player->leave); i++)
        (void)halo_convolver_process(player->convolver, x, 150, x, 150, 1 + i % 150);
    return NULL;
}

/* The control thread switches while the other one processes: for ThreadSanitizer. */
START_TEST(switches_beside_processing)
{
    struct mask *masks[] = {truth_noise_mask(1, 2, 3000), truth_noise_mask(2, 2, 50)};
    struct halo_mask *own[] = {library_mask(masks[0]), library_mask(masks[1])};
    struct player player = {.convolver = library_convolver(own[0], NULL)};
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, play, &player), 0);
    uint64_t last = 0, at = 0;
    for (size_t i = 0; i < 12; i++) {
        enum halo_status status =
            halo_convolver_switch(player.convolver, own[1 - i % 2], 0, i * 40, NULL);
        ck_assert_int_eq(status, HALO_OK);
        while (!halo_convolver_switched(player.convolver, &at))
            usleep(200);
        ck_assert_uint_ge(at, last);
        last = at;
    }
    atomic_store(&player.leave, true);
    pthread_join(thread, NULL);
    halo_convolver_destroy(player.convolver);
    for (size_t m = 0; m < 2; m++)
        halo_mask_destroy(own[m]);
}
