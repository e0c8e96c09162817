/* The GPU's convolver against the truth, on the cells of test_convolver; exit 77 (skipped) where
 * there is no GPU. */
#include "cells.h"
#include "convolve/convolver_backend.h"
#include "suite.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

START_TEST(files_equal_truth)
{
    const size_t blocks[] = {1, 16, 64, 100, 1024, 8192, 200001};
    const size_t taps[] = {1, 2, 5, 33, 63, 64, 65, 196, 197, 1024, 1025, 16384, 16385, 100000};
    const size_t channels[] = {1, 2, 6, 32};
    struct workers *workers = cells_crew(2);
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++)
        for (size_t t = 0; t < sizeof taps / sizeof *taps; t++)
            for (size_t c = 0; c < sizeof channels / sizeof *channels; c++) {
                /* A step of one frame costs as much as one of thousands, and the truth is the
                 * slowest part. */
                size_t work = (taps[t] + blocks[b]) * channels[c];
                size_t steps = taps[t] / blocks[b] * channels[c];
                if (work <= 4000 && steps <= 400)
                    cells_check_lengths("cuda", taps[t], blocks[b], channels[c], workers);
                else if (work <= 210000 && steps <= 400)
                    cells_check("cuda", taps[t], blocks[b], channels[c],
                                2 * taps[t] + 2 * blocks[b] + 7, workers);
            }
    workers_destroy(workers);
}

START_TEST(every_kernel_filters_files)
{
    static const char *const ways[] = {"cuda/basic",  "cuda/constant", "cuda/tiled",
                                       "cuda/cached", "cuda/register", "cuda/fft"};
    const size_t taps[] = {1, 65, 1000, 16384};
    struct workers *workers = cells_crew(1);
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
        /* With a mask of one tap a transform's rounding error shows: see test_kernels. */
        for (size_t t = strcmp(ways[w], "cuda/fft") == 0; t < sizeof taps / sizeof *taps; t++) {
            cells_check(ways[w], taps[t], 4096, 2, 3 * taps[t] + 9001, workers);
            cells_check(ways[w], taps[t], 100003, 2, 250001, workers); /* in slices */
        }
    workers_destroy(workers);
}

/* Single blocks, as in a live stream. */
static void check_live(const char *way)
{
    const size_t blocks[] = {1, 16, 32, 64, 100, 128, 480, 1024, 1025, 2048};
    const size_t taps[] = {1, 2, 33, 64, 65, 129, 1024, 5000, 20000, 40000};
    const size_t channels[] = {1, 2, 6, 32};
    struct workers *workers = cells_crew(1);
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++)
        for (size_t t = 0; t < sizeof taps / sizeof *taps; t++)
            for (size_t c = 0; c < sizeof channels / sizeof *channels; c++) {
                if (taps[t] / blocks[b] <= 400 && taps[t] * channels[c] <= 40000)
                    cells_check(way, taps[t], blocks[b], channels[c],
                                3 * blocks[b] + 2 * taps[t] + 7, workers);
            }
    workers_destroy(workers);
}

START_TEST(resident_kernel_equals_truth)
{
    check_live("cuda/resident");
}

START_TEST(graph_equals_truth)
{
    check_live("cuda/graph");
}

/* A different mask for each channel without crossing paths, or any other set of paths. */
static void check_paths(const char *way, size_t inputs, size_t outputs,
                        const struct mask_path *paths, size_t count, size_t taps, size_t block)
{
    char what[120];
    snprintf(what, sizeof what, "%s, %zu inputs, %zu outputs, %zu paths, %zu taps", way, inputs,
             outputs, count, taps);
    struct workers *workers = cells_crew(1);
    struct mask *mask = truth_noise_mask(5, 1, taps * count); /* cut into columns */
    mask->columns = count;
    mask->taps = taps;
    mask->inputs = inputs;
    mask->outputs = outputs;
    mask->path_count = count;
    free(mask->paths);
    mask->paths = malloc(count * sizeof *paths);
    memcpy(mask->paths, paths, count * sizeof *paths);
    size_t n = 2 * taps + 5 * block + 7;
    struct block x = stream_noise(6, inputs, n);
    double **truth = truth_render(mask, x.data, n);
    struct filter *filter = cells_make(way, mask, block, 0, workers);
    struct block out = stream_through(filter, x.data, n, n);
    ck_assert_msg(convolver_failures(filter) == 0, "%s: the GPU was given up", what);
    cells_expect_within(&out, truth, mask, &x, false, what);
    filter_destroy(filter);
    workers_destroy(workers);
}

START_TEST(paths_of_all_kinds)
{
    static const char *const ways[] = {"cuda", "cuda/tiled", "cuda/resident", "cuda/graph"};
    static struct mask_path diagonal[400];
    for (size_t c = 0; c < 400; c++)
        diagonal[c] = (struct mask_path){c, c, c};
    const struct mask_path down[] = {{0, 0, 0}, {2, 1, 1}, {4, 1, 2}};          /* 5 to 2 */
    const struct mask_path up[] = {{0, 0, 0}, {0, 4, 1}, {1, 2, 2}, {0, 2, 3}}; /* 2 to 5 */
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
        for (size_t t = 0; t < 3; t++) {
            const size_t taps[] = {10, 300, 2000};
            check_paths(ways[w], 5, 2, down, 3, taps[t], 64);
            check_paths(ways[w], 2, 5, up, 4, taps[t], 64);
            check_paths(ways[w], 3, 3, diagonal, 3, taps[t], 100);
            check_paths(ways[w], 400, 400, diagonal, 400, taps[t] / 10, 32); /* more than fit */
        }
}

/* What is asked for by name keeps to single precision: the kernel `fft` has errors of up to -125 dB
 * then, `register` with a few large taps among tiny ones of up to -127 dB. */
START_TEST(masks_in_phase_with_the_sound)
{
    static const struct {
        const char *way;
        size_t taps, block;
    } cases[] = {
        {"cuda/basic", 300, 8192},     {"cuda/constant", 300, 8192}, {"cuda/tiled", 300, 8192},
        {"cuda/cached", 300, 8192},    {"cuda/register", 20, 8192},  {"cuda/register", 300, 8192},
        {"cuda/register", 4000, 8192}, {"cuda/resident", 300, 64},   {"cuda/resident", 5000, 64},
        {"cuda/graph", 5000, 1024},    {"cuda", 20, 8192},           {"cuda", 300, 8192},
        {"cuda", 5000, 100000},        {"cuda", 100000, 65536},
    };
    struct workers *workers = cells_crew(2);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (enum cells_near signal = 0; signal < CELLS_NEAR; signal++)
            if (signal != NEAR_LOST || strcmp(cases[i].way, "cuda/register") != 0)
                cells_check_near(cases[i].way, signal, cases[i].taps, cases[i].block, workers);
    workers_destroy(workers);
}

START_TEST(change_of_mask)
{
    static const struct {
        const char *way;
        size_t a, b, block, channels, at, fade;
    } cases[] = {
        {"cuda", 30, 20, 64, 2, 1000, 480},
        {"cuda", 1000, 3000, 64, 2, 2048, 0},
        {"cuda", 3000, 1000, 64, 1, 2049, 1},
        {"cuda", 16384, 16384, 1024, 1, 30011, 960},
        {"cuda", 300, 301, 65536, 2, 65536, 7},
        {"cuda", 20000, 30000, 65536, 2, 100000, 10000},
        {"cuda/resident", 30, 20, 64, 2, 1000, 480},
        {"cuda/resident", 1000, 3000, 64, 2, 2048, 0},
        {"cuda/resident", 3000, 1000, 64, 1, 2049, 1},
        {"cuda/resident", 20000, 20000, 128, 6, 30011, 960},
        {"cuda/graph", 30, 20, 64, 2, 1000, 480},
        {"cuda/graph", 1000, 3000, 64, 2, 2048, 0},
        {"cuda/graph", 3000, 1000, 64, 1, 2049, 1},
        {"cuda/graph", 20000, 20000, 128, 6, 30011, 960},
        {"cuda/graph", 100000, 120000, 128, 20, 5000, 480}, /* armed block by block */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cells_check_change(cases[i].way, cases[i].a, cases[i].b, cases[i].block, cases[i].channels,
                           cases[i].at, cases[i].fade);
}

/* Masks change while the kernel stays resident: their memory is reused, none is freed. */
START_TEST(many_changes_while_resident)
{
    static const char *const ways[] = {"cuda/resident", "cuda/graph"};
    struct workers *workers = cells_crew(1);
    enum { BLOCK = 64, CHANGES = 40, STEPS = 30, TAPS = 3000 };
    for (size_t w = 0; w < 2; w++) {
        struct block x = stream_noise(7, 2, BLOCK * CHANGES * STEPS);
        struct block out = stream_noise(8, 2, BLOCK * CHANGES * STEPS);
        struct mask *mask = truth_noise_mask(0, 2, TAPS);
        struct filter *filter = cells_make(ways[w], mask, BLOCK, TAPS, workers);
        for (size_t c = 0; c < CHANGES; c++) {
            struct mask *next = truth_noise_mask(c, 2, TAPS - c);
            cells_switch(filter, next, 0, 100);
            for (size_t s = 0; s < STEPS; s++) {
                size_t at = (c * STEPS + s) * BLOCK;
                const float *in[] = {x.data[0] + at, x.data[1] + at};
                float *to[] = {out.data[0] + at, out.data[1] + at};
                filter_process(filter, in, to);
            }
            mask = next;
        }
        ck_assert_ptr_null(filter->failure);
        ck_assert_uint_eq(convolver_failures(filter), 0);
        /* The last mask has played alone for 28 blocks. */
        size_t alone = BLOCK * (STEPS - 2), from = out.frames - alone;
        double **truth = truth_render(mask, x.data, x.frames);
        for (size_t o = 0; o < 2; o++) {
            memmove(truth[o], truth[o] + from, alone * sizeof **truth);
            memmove(out.data[o], out.data[o] + from, alone * sizeof(float));
        }
        out.frames = alone;
        cells_expect_within(&out, truth, mask, &x, true, ways[w]);
        filter_destroy(filter);
    }
    workers_destroy(workers);
}

START_TEST(reset_clears_the_history)
{
    static const char *const ways[] = {"cuda", "cuda/resident", "cuda/graph"};
    struct workers *workers = cells_crew(1);
    for (size_t w = 0; w < 3; w++) {
        struct mask *mask = truth_noise_mask(1, 2, 700);
        struct block x = stream_noise(2, 2, 3000);
        struct filter *filter = cells_make(ways[w], mask, 64, 0, workers);
        double **truth = truth_render(mask, x.data, 3000);
        for (int time = 0; time < 2; time++) {
            struct block out = stream_through(filter, x.data, 3000, 3000);
            cells_expect_within(&out, truth, mask, &x, true, ways[w]);
            filter_reset(filter);
        }
        filter_destroy(filter);
    }
    workers_destroy(workers);
}

/* A GPU that fails in any block leaves no trace in the sound. */
START_TEST(failing_gpu_is_replaced_by_the_cpu)
{
    static const char *const ways[] = {"cuda", "cuda/resident", "cuda/graph"};
    static const char *const faults[] = {"0", "1:memory", "7:lost", "40"};
    struct workers *workers = cells_crew(1);
    for (size_t w = 0; w < 3; w++)
        for (size_t f = 0; f < 4; f++) {
            struct mask *mask = truth_noise_mask(1, 2, 1000);
            struct block x = stream_noise(2, 2, 5000);
            setenv("HALO_GPU_FAULT", faults[f], 1);
            struct filter *filter = cells_make(ways[w], mask, 64, 0, workers);
            unsetenv("HALO_GPU_FAULT");
            double **truth = truth_render(mask, x.data, 5000);
            struct block out = stream_through(filter, x.data, 5000, 5999);
            cells_expect_within(&out, truth, mask, &x, true, faults[f]);
            ck_assert_uint_eq(convolver_failures(filter), 1);
            ck_assert_str_eq(convolver_backend(filter), "cpu");
            ck_assert_ptr_null(filter->failure);
            ck_assert_ptr_nonnull(filter->notice);
            filter_destroy(filter);
        }
    workers_destroy(workers);
}

/* Live: the CPU runs in parallel and replaces answers that are late. */
static void check_late(enum gpu_mode mode, size_t taps, const char *fault, size_t late,
                       size_t fails)
{
    struct workers *workers = cells_crew(2);
    struct mask *mask = truth_noise_mask(1, 2, taps), *other = truth_noise_mask(2, 2, taps);
    size_t n = 3 * taps + 100 * 64;
    struct block x = stream_noise(2, 2, n);
    struct convolver_settings settings = {.backend = "cuda",
                                          .rate = 48000,
                                          .block = 64,
                                          .live = true,
                                          .gpu = {.mode = mode},
                                          .workers = workers};
    struct filter *filter;
    setenv("HALO_GPU_FAULT", fault, 1);
    ck_assert_int_eq(convolver_create(&settings, mask, &filter), STATUS_OK);
    unsetenv("HALO_GPU_FAULT");
    cells_switch(filter, other, 18 * 64 + 5, 300);
    double **truth = truth_render(mask, x.data, n), **after = truth_render(other, x.data, n);
    struct block out = stream_through(filter, x.data, n, n);
    uint64_t began;
    ck_assert(convolver_switched(filter, &began));
    cells_crossfade(truth, after, 2, n, (size_t)began, 300);
    cells_expect_within(&out, truth, mask, &x, true, fault);
    ck_assert_uint_ge(convolver_late(filter), late);
    ck_assert_uint_eq(convolver_failures(filter), fails);
    filter_destroy(filter);
    workers_destroy(workers);
}

START_TEST(late_blocks_come_from_the_cpu)
{
    static const enum gpu_mode modes[] = {GPU_MODE_RESIDENT, GPU_MODE_GRAPH};
    for (size_t m = 0; m < 2; m++) {
        check_late(modes[m], 64, "20:late", 5, 0);
        check_late(modes[m], 5000, "20:late", 5, 0); /* during a switch */
        check_late(modes[m], 5000, "200:late", 5, 0);
    }
}

/* The GPU is then given up for the whole process: run this test last. */
START_TEST(silent_gpu_is_replaced_by_the_cpu)
{
    check_late(GPU_MODE_RESIDENT, 5000, "20:never", 10, 1);
}

/* Sound of 16 bits, of 24 and of more is transferred as such, and may change in mid-stream. */
START_TEST(integers_are_transferred_exactly)
{
    struct workers *workers = cells_crew(2);
    struct mask *mask = truth_noise_mask(1, 2, 300);
    struct block x = stream_noise(2, 2, 600000);
    for (size_t c = 0; c < 2; c++)
        for (size_t i = 0; i < 400000; i++) {
            double scale = i < 200000 + 7 * c ? 32768.0 : 8388608.0;
            x.data[c][i] = (float)(rint(x.data[c][i] * scale) / scale);
        }
    x.data[0][3] = -1.0f;
    struct filter *filter = cells_make("cuda", mask, 131072, 0, workers);
    double **truth = truth_render(mask, x.data, 600000);
    struct block out = stream_through(filter, x.data, 600000, 600000);
    cells_expect_within(&out, truth, mask, &x, true, "integers");
    filter_destroy(filter);
    workers_destroy(workers);
}

/* Two convolvers share the constant memory. */
START_TEST(two_convolvers_in_turn)
{
    struct workers *workers = cells_crew(1);
    struct mask *masks[] = {truth_noise_mask(1, 2, 100), truth_noise_mask(2, 2, 700)};
    struct block x = stream_noise(3, 2, 20000);
    struct filter *filters[2];
    struct block out[] = {stream_noise(4, 2, 20000), stream_noise(5, 2, 20000)};
    for (size_t f = 0; f < 2; f++)
        filters[f] = cells_make("cuda", masks[f], 1000, 0, workers);
    for (size_t at = 0; at < 20000; at += 1000)
        for (size_t f = 0; f < 2; f++) {
            const float *in[] = {x.data[0] + at, x.data[1] + at};
            float *to[] = {out[f].data[0] + at, out[f].data[1] + at};
            filter_process(filters[f], in, to);
        }
    for (size_t f = 0; f < 2; f++) {
        double **truth = truth_render(masks[f], x.data, 20000);
        cells_expect_within(&out[f], truth, masks[f], &x, true, "two convolvers");
        ck_assert_ptr_null(filters[f]->failure);
        filter_destroy(filters[f]);
    }
    workers_destroy(workers);
}

START_TEST(too_long_a_mask_is_refused)
{
    struct workers *workers = cells_crew(1);
    struct mask *mask = truth_noise_mask(1, 1, 16385);
    static const char *const kernels[] = {"basic", "constant", "tiled", "cached", "register"};
    for (size_t k = 0; k < 5; k++) {
        struct convolver_settings settings = {
            .backend = "cuda", .block = 64, .gpu = {.kernel = kernels[k]}, .workers = workers};
        struct filter *filter;
        ck_assert_int_eq(convolver_create(&settings, mask, &filter), STATUS_FAILED);
    }
    workers_destroy(workers);
}

/* As many channels as the host's copies of a live block are shared out for. */
START_TEST(many_live_channels_equal_truth)
{
    enum { CHANNELS = 5000, TAPS = 300, FRAMES = 12 * 64 };
    struct workers *workers = cells_crew(8);
    struct convolver_settings settings = {.backend = "cuda",
                                          .rate = 48000,
                                          .block = 64,
                                          .live = true,
                                          .alone = true, /* no answer may come from the CPU */
                                          .gpu = {.mode = GPU_MODE_GRAPH},
                                          .workers = workers};
    struct mask *mask = truth_noise_mask(9, CHANNELS, TAPS);
    struct block x = stream_noise(2, CHANNELS, FRAMES);
    double **truth = truth_render(mask, x.data, x.frames);
    struct filter *filter;
    ck_assert_int_eq(convolver_create(&settings, mask, &filter), STATUS_OK);
    struct block out = stream_through(filter, x.data, x.frames, x.frames);
    cells_expect_within(&out, truth, mask, &x, true, "many channels");
    filter_destroy(filter);
    workers_destroy(workers);
}

/* The device that is named is the one; several are refused in a sentence. */
START_TEST(one_gpu_is_named)
{
    struct workers *workers = cells_crew(1);
    struct mask *mask = truth_noise_mask(1, 2, 3000);
    static const struct gpu_devices several[] = {{.all = true}, {.count = 2, .of = {0, 0}}};
    struct convolver_settings settings = {.backend = "cuda", .block = 4096, .workers = workers};
    struct filter *filter;
    for (size_t live = 0; live < 2; live++) {
        settings.live = live;
        settings.rate = 48000;
        settings.block = live ? 64 : 4096;
        for (size_t s = 0; s < 2; s++) {
            settings.gpu.devices = several[s];
            ck_assert_int_eq(convolver_create(&settings, mask, &filter), STATUS_USAGE);
        }
        settings.gpu.devices = (struct gpu_devices){.count = 1};
        ck_assert_int_eq(convolver_create(&settings, mask, &filter), STATUS_OK);
        filter_destroy(filter);
    }
    workers_destroy(workers);
}

int main(void)
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        puts("no GPU here: its convolver is not tested");
        return 77;
    }
    return suite_run();
}
