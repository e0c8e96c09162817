/* The convolver with several threads at work: in files its workers; live workers beside the step
 * and within it, and a control thread that makes, switches to and frees masks while the step runs.
 * Short, for ThreadSanitizer. */
#include "cells.h"
#include "suite.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum {
    MOST_CHANNELS = 4,
    BLOCK = 64,
    TAPS = 5000,
    FRAMES = 8000 * BLOCK,
    FADE = 480,
    SWITCHES = 8
};

START_TEST(workers_share_a_block)
{
    struct workers *workers = cells_crew(2);
    cells_check("cpu", 20000, 32768, 4, 70000, workers); /* long enough to be shared, as is */
    cells_check("cpu", 300, 65536, 4, 70000, workers);
    cells_check("cpu", 3000, 1 << 17, 4, 140000, workers); /* its inputs are shared as well */
    workers_destroy(workers);
}

START_TEST(a_worker_beside_the_step)
{
    struct workers *workers = cells_crew(2);
    cells_check("cpu/live", 20000, BLOCK, 2, 60000, workers);
    workers_destroy(workers);
    cells_check_change("cpu/live", 20000, 9000, BLOCK, 1, 30000, 1000);
}

/* Several workers, each with its share of the channels. Paths cross from one share to the next, so
 * no product may begin before the other workers' inputs are transformed. The rate makes one worker
 * too few by the estimate. */
static void check_lanes(size_t channels, size_t threads)
{
    enum { LANE_FRAMES = 40000 - 40000 % BLOCK, LANE_RATE = 40000000, LANE_TAPS = 9000 };
    struct workers *workers = cells_crew(threads);
    struct mask *mask = truth_noise_mask(5, channels, LANE_TAPS);
    struct block in = stream_noise(6, channels, LANE_FRAMES);
    const struct convolver_settings settings = {
        .backend = "cpu", .rate = LANE_RATE, .block = BLOCK, .live = true, .workers = workers};
    struct filter *filter;
    ck_assert_int_eq(convolver_create(&settings, mask, &filter), STATUS_OK);
    ck_assert_msg(strstr(convolver_algorithm(filter), " workers"), "%s",
                  convolver_algorithm(filter));
    struct block out = stream_through(filter, in.data, LANE_FRAMES, LANE_FRAMES);
    double **truth = truth_render(mask, in.data, LANE_FRAMES);
    cells_expect_within(&out, truth, mask, &in, true, "lanes");
    filter_destroy(filter);
    workers_destroy(workers);
}

START_TEST(workers_share_the_channels)
{
    check_lanes(9, 4);
    check_lanes(2, 8);
    check_lanes(32, 3);
}

/* ---- the step's own work, shared with the workers ---- */

/* By the estimate the step takes more than a tenth of a block at the busy rate. At this part of it
 * for each channel it takes less, and late partitions are still too much for it: so both have the
 * same partitions. */
enum { BUSY_RATE = 2000000, HOGS = 4 };

static bool is_shared(const struct filter *filter)
{
    return strstr(convolver_algorithm(filter), " in each block");
}

static struct filter *make_live(const struct mask *mask, uint32_t rate, struct workers *workers)
{
    const struct convolver_settings settings = {
        .backend = "cpu", .rate = rate, .block = BLOCK, .live = true, .workers = workers};
    struct filter *filter;
    ck_assert_int_eq(convolver_create(&settings, mask, &filter), STATUS_OK);
    return filter;
}

static struct block run_live(const struct mask *mask, const struct block *in, uint32_t rate,
                             size_t threads)
{
    struct workers *workers = cells_crew(threads);
    struct filter *filter = make_live(mask, rate, workers);
    ck_assert_msg(is_shared(filter) == (rate == BUSY_RATE), "%s", convolver_algorithm(filter));
    struct block out = stream_through(filter, in->data, in->frames, in->frames);
    filter_destroy(filter);
    workers_destroy(workers);
    return out;
}

/* Others that want the processors, so that workers are preempted in the midst of a piece. */
struct hogs {
    atomic_bool leave;
    pthread_t threads[HOGS];
};

static void *hog_main(void *argument)
{
    struct hogs *hogs = argument;
    while (!atomic_load(&hogs->leave))
        continue;
    return NULL;
}

static void hogs_start(struct hogs *hogs)
{
    atomic_store(&hogs->leave, false);
    for (size_t i = 0; i < HOGS; i++)
        ck_assert_int_eq(pthread_create(&hogs->threads[i], NULL, hog_main, hogs), 0);
}

static void hogs_stop(struct hogs *hogs)
{
    atomic_store(&hogs->leave, true);
    for (size_t i = 0; i < HOGS; i++)
        pthread_join(hogs->threads[i], NULL);
}

/* Noise through noise, or a constant through a mask of one sign, which comes near the bound and is
 * computed in double precision. */
static void check_bits(size_t channels, bool near)
{
    enum { BITS_FRAMES = 90 * BLOCK, BITS_TAPS = 3000 };
    static const size_t threads[] = {2, 3, 16};
    struct mask *mask = truth_noise_mask(5, channels, BITS_TAPS);
    struct block in = stream_noise(6, channels, BITS_FRAMES);
    for (size_t c = 0; near && c < mask->columns; c++)
        for (size_t k = 0; k < BITS_TAPS; k++)
            mask_column(mask, c)[k] = fabs(mask_column(mask, c)[k]);
    for (size_t c = 0; near && c < channels; c++)
        for (size_t i = 0; i < BITS_FRAMES; i++)
            in.data[c][i] = 0.5F;
    struct block alone = run_live(mask, &in, BUSY_RATE / (uint32_t)channels, 2);
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
        struct block shared = run_live(mask, &in, BUSY_RATE, threads[t]);
        for (size_t c = 0; c < channels; c++)
            ck_assert_mem_eq(shared.data[c], alone.data[c], BITS_FRAMES * sizeof(float));
    }
}

START_TEST(shared_steps_give_the_same_bits)
{
    check_bits(9, false);
    check_bits(5, true);
}

START_TEST(preempted_workers_give_the_same_bits)
{
    struct hogs hogs;
    hogs_start(&hogs);
    check_bits(40, false);
    hogs_stop(&hogs);
}

/* While workers are at a piece, wait for the next one, or sleep. */
START_TEST(closing_beside_workers_of_the_step)
{
    enum { CLOSINGS = 24, CLOSING_TAPS = 6000, CLOSING_CHANNELS = 8 };
    struct workers *workers = cells_crew(4);
    struct mask *mask = truth_noise_mask(5, CLOSING_CHANNELS, CLOSING_TAPS);
    struct block in = stream_noise(6, CLOSING_CHANNELS, 40 * BLOCK);
    for (size_t i = 0; i < CLOSINGS; i++) {
        struct filter *filter = make_live(mask, BUSY_RATE, workers);
        (void)stream_through(filter, in.data, i * BLOCK, i * BLOCK);
        if (i % 3 == 0)
            filter_reset(filter);
        filter_destroy(filter);
    }
    workers_destroy(workers);
}

/* ---- masks that change ---- */

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
        const float *in[MOST_CHANNELS];
        float *out[MOST_CHANNELS];
        for (size_t c = 0; c < stream->in.channels; c++) {
            in[c] = stream->in.data[c] + stream->frames;
            out[c] = stream->out.data[c] + stream->frames;
        }
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

static void check_changes(size_t channels, uint32_t rate, size_t threads)
{
    pthread_t thread;
    struct workers *workers = cells_crew(threads);
    struct mask *masks[] = {truth_noise_mask(1, channels, TAPS),
                            truth_noise_mask(2, channels, TAPS - 700)};
    struct stream stream = {.in = stream_noise(3, channels, FRAMES),
                            .out = stream_noise(4, channels, FRAMES)};
    stream.filter = make_live(masks[0], rate, workers);
    ck_assert(is_shared(stream.filter) == (rate == BUSY_RATE));
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
        cells_crossfade(truth, after, channels, stream.frames, began[i], FADE);
    }
    ck_assert_uint_lt(began[1], FRAMES);
    stream.in.frames = stream.out.frames = stream.frames;
    cells_expect_within(&stream.out, truth, masks[0], &stream.in, true, "masks of another thread");
    filter_destroy(stream.filter);
    workers_destroy(workers);
}

START_TEST(masks_change_on_the_control_thread)
{
    check_changes(1, BUSY_RATE / 4, 2);
}

START_TEST(masks_change_while_the_step_is_shared)
{
    check_changes(MOST_CHANNELS, BUSY_RATE, 3);
}
