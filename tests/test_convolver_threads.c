/* The convolver with several threads at work: in files its workers; live a worker beside the step,
 * and a control thread that makes, switches to and frees masks while the step runs. Short, for
 * ThreadSanitizer. */
#include "cells.h"
#include "suite.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { BLOCK = 64, TAPS = 5000, FRAMES = 8000 * BLOCK, FADE = 480, SWITCHES = 8 };

START_TEST(workers_share_a_block)
{
    struct workers *workers = cells_crew(2);
    cells_check("cpu", 20000, 8192, 2, 50000, workers);
    cells_check("cpu", 300, 4096, 3, 20000, workers);
    workers_destroy(workers);
}
END_TEST

START_TEST(a_worker_beside_the_step)
{
    struct workers *workers = cells_crew(2);
    cells_check("cpu/live", 20000, BLOCK, 2, 60000, workers);
    workers_destroy(workers);
    cells_check_change("cpu/live", 20000, 9000, BLOCK, 1, 30000, 1000);
}
END_TEST

struct stream {
    struct filter *filter;
    struct block in, out;
    atomic_bool leave;
    size_t frames; /* done */
};

static void *run_steps(void *argument)
{
    struct stream *stream = argument;
    const struct timespec pause = {.tv_nsec = 100000};
    for (; stream->frames < FRAMES && !atomic_load(&stream->leave); stream->frames += BLOCK) {
        const float *in[] = {stream->in.data[0] + stream->frames};
        float *out[] = {stream->out.data[0] + stream->frames};
        filter_process(stream->filter, in, out);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

/* Switch to a new mask and free the old one. Returns the frame where it began, or FRAMES if the
 * stream is over. */
static size_t switch_to(struct filter *filter, const struct mask *mask,
                        struct convolver_mask **current)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    struct convolver_mask *old = *current;
    uint64_t began = 0;
    ck_assert_int_eq(convolver_prepare(filter, mask, current), STATUS_OK);
    const struct convolver_switch change = {.to = *current, .frames = FADE};
    ck_assert_int_eq(convolver_switch(filter, &change), STATUS_OK);
    for (size_t i = 0; !convolver_switched(filter, &began); i++) {
        if (i > 10000)
            return FRAMES;
        nanosleep(&pause, NULL);
    }
    convolver_release(filter, old);
    return (size_t)began;
}

START_TEST(masks_change_on_the_control_thread)
{
    pthread_t thread;
    struct workers *workers = cells_crew(2);
    struct mask *masks[] = {truth_noise_mask(1, 1, TAPS), truth_noise_mask(2, 1, TAPS - 700)};
    struct stream stream = {.in = stream_noise(3, 1, FRAMES), .out = stream_noise(4, 1, FRAMES)};
    const struct convolver_settings settings = {
        .backend = "cpu", .rate = 48000, .block = BLOCK, .live = true, .workers = workers};
    ck_assert_int_eq(convolver_create(&settings, masks[0], &stream.filter), STATUS_OK);
    struct convolver_mask *current = convolver_first_mask(stream.filter);
    size_t began[SWITCHES];
    ck_assert_int_eq(pthread_create(&thread, NULL, run_steps, &stream), 0);
    for (size_t i = 0; i < SWITCHES; i++)
        began[i] = switch_to(stream.filter, masks[(i + 1) % 2], &current);
    atomic_store(&stream.leave, true);
    pthread_join(thread, NULL);
    double **truth = truth_render(masks[0], stream.in.data, stream.frames);
    for (size_t i = 0; i < SWITCHES && began[i] < FRAMES; i++) {
        double **after = truth_render(masks[(i + 1) % 2], stream.in.data, stream.frames);
        cells_crossfade(truth, after, 1, stream.frames, began[i], FADE);
        truth_free(after, 1);
    }
    ck_assert_uint_lt(began[1], FRAMES);
    stream.in.frames = stream.out.frames = stream.frames;
    cells_expect_within(&stream.out, truth, masks[0], &stream.in, true, "masks of another thread");
    truth_free(truth, 1);
    filter_destroy(stream.filter);
    block_free(&stream.in);
    block_free(&stream.out);
    mask_destroy(masks[0]);
    mask_destroy(masks[1]);
    workers_destroy(workers);
}
END_TEST

SUITE_MAIN("convolver_threads", workers_share_a_block, a_worker_beside_the_step,
           masks_change_on_the_control_thread)
