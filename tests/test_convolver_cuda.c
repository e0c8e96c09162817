/* The GPU's convolver against the truth, by the cells of test_convolver; exit 77
 * (skipped) where there is no GPU. */
#include "cells.h"
#include "convolver.h"
#include "suite.h"

#include <cuda_runtime_api.h>
#include <stdio.h>

START_TEST(cuda_equals_truth)
{
    const size_t blocks[] = {1, 16, 64, 100, 1024, 8192};
    const size_t taps[] = {1, 2, 5, 33, 63, 64, 65, 196, 197, 1024, 1025, 16384};
    const size_t channels[] = {1, 2, 6, 32};
    struct workers *workers = cells_crew(1);
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++)
        for (size_t t = 0; t < sizeof taps / sizeof *taps; t++)
            for (size_t c = 0; c < sizeof channels / sizeof *channels; c++) {
                /* A step of one frame costs as much as one of thousands. */
                size_t steps = (taps[t] + blocks[b]) / blocks[b] * channels[c];
                if (steps <= 2000 && taps[t] * channels[c] <= 40000)
                    cells_check_lengths("cuda", taps[t], blocks[b], channels[c], workers);
            }
    workers_destroy(workers);
}
END_TEST

START_TEST(change_of_mask)
{
    static const struct {
        size_t a, b, block, channels, at, fade;
    } cases[] = {
        {30, 20, 64, 2, 1000, 480},     {1000, 3000, 64, 2, 2048, 0},
        {3000, 1000, 64, 1, 2049, 1},   {16384, 16384, 1024, 1, 30011, 960},
        {300, 301, 65536, 2, 65536, 7},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cells_check_change("cuda", cases[i].a, cases[i].b, cases[i].block, cases[i].channels,
                           cases[i].at, cases[i].fade);
}
END_TEST

/* Two convolvers share the one constant memory. */
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
        truth_free(truth, 2);
        filter_destroy(filters[f]);
        mask_destroy(masks[f]);
        block_free(&out[f]);
    }
    block_free(&x);
    workers_destroy(workers);
}
END_TEST

START_TEST(too_long_a_mask_is_refused)
{
    struct workers *workers = cells_crew(1);
    struct mask *mask = truth_noise_mask(1, 1, 16385);
    struct convolver_settings settings = {.backend = "cuda", .block = 64, .workers = workers};
    struct filter *filter;
    ck_assert_int_eq(convolver_create(&settings, mask, &filter), STATUS_FAILED);
    mask_destroy(mask);
    workers_destroy(workers);
}
END_TEST

int main(void)
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        puts("no GPU here: its convolver is not tested");
        return 77;
    }
    const TTest *const tests[] = {cuda_equals_truth, change_of_mask, two_convolvers_in_turn,
                                  too_long_a_mask_is_refused};
    return suite_run("convolver_cuda", tests, sizeof tests / sizeof *tests);
}
