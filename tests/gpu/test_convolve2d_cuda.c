/* Pictures on a GPU, a few rows at a time, against double precision; and a failing GPU, which
 * the CPU replaces. Exit 77 (skipped) where there is no GPU. */
#include "bench/truth2d.h"
#include "convolve/convolve2d.h"
#include "suite.h"
#include "truth.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHANNELS = 2, ROWS = 150, COLUMNS = 1025, PITCH = COLUMNS + 3 };

static const double BOUND = 1e-6; /* -120 dB of max|x| sum|m| */

struct pictures {
    float *in[CHANNELS]; /* ROWS, and the rows before and after */
    float *out[CHANNELS];
    size_t before;
    size_t all_rows;
};

static struct pictures pictures_create(const struct mask2d *mask)
{
    struct pictures pictures = {.before = convolve2d_before(mask),
                                .all_rows = ROWS + mask->rows - 1};
    for (size_t c = 0; c < CHANNELS; c++) {
        pictures.in[c] = calloc(pictures.all_rows * PITCH, sizeof(float));
        pictures.out[c] = calloc(ROWS * PITCH, sizeof(float));
        truth_noise(c + 1, pictures.in[c], pictures.all_rows * PITCH);
        for (size_t i = 0; i < (size_t)ROWS * PITCH; i++)
            pictures.out[c][i] = NAN;
    }
    return pictures;
}

static void pictures_destroy(struct pictures *pictures)
{
    for (size_t c = 0; c < CHANNELS; c++) {
        free(pictures->in[c]);
        free(pictures->out[c]);
    }
}

static void convolve(struct convolve2d *convolution, const struct pictures *pictures, size_t first,
                     size_t end, size_t step)
{
    for (size_t r = first; r < end; r += step) {
        const float *in[CHANNELS];
        float *out[CHANNELS];
        for (size_t c = 0; c < CHANNELS; c++) {
            in[c] = pictures->in[c] + (pictures->before + r) * PITCH;
            out[c] = pictures->out[c] + r * PITCH;
        }
        convolve2d_process(convolution, in, PITCH, out, PITCH, end - r < step ? end - r : step);
    }
}

static double worst_error(const struct pictures *pictures, const struct mask2d *mask,
                          enum kernel_boundary boundary, size_t channel)
{
    float *packed = calloc(pictures->all_rows * COLUMNS, sizeof *packed);
    for (size_t r = 0; r < pictures->all_rows; r++)
        memcpy(packed + r * COLUMNS, pictures->in[channel] + r * PITCH, COLUMNS * sizeof *packed);
    struct truth2d truth = {
        .cells = packed,
        .picture = {1, pictures->all_rows, COLUMNS},
        .boundary = boundary,
        .mask = mask->taps,
        .mask_rows = mask->rows,
        .mask_columns = mask->columns,
    };
    double worst = 0;
    for (size_t r = 0; r < ROWS; r += 3)
        for (size_t column = 0; column < COLUMNS; column++) {
            double error = fabs((double)pictures->out[channel][r * PITCH + column] -
                                truth2d_at(&truth, 0, pictures->before + r, column));
            worst = error > worst || isnan(error) ? error : worst;
        }
    free(packed);
    return worst / truth2d_norm(&truth);
}

static struct mask2d *mask_of(size_t rows, size_t columns)
{
    float taps[40 * 40];
    struct mask2d *mask;
    truth_noise(7, taps, rows * columns);
    ck_assert_int_eq(mask2d_create("noise", rows, columns, taps, &mask), STATUS_OK);
    return mask;
}

static struct convolve2d *on_gpu(const struct mask2d *mask, enum convolve2d_boundary boundary,
                                 bool live)
{
    struct convolve2d *convolution;
    struct convolve2d_settings settings = {.backend = "cuda",
                                           .channels = CHANNELS,
                                           .columns = COLUMNS,
                                           .rows_most = ROWS,
                                           .boundary = boundary,
                                           .live = live};
    ck_assert_int_eq(convolve2d_create(&settings, mask, &convolution), STATUS_OK);
    return convolution;
}

START_TEST(rows_at_a_time_equal_the_truth)
{
    static const size_t masks[][2] = {{3, 3}, {4, 2}, {1, 9}, {15, 15}, {31, 3}, {40, 33}};
    static const enum kernel_boundary boundaries[] = {[CONVOLVE2D_ZERO] = KERNEL_ZERO,
                                                      [CONVOLVE2D_REPLICATE] = KERNEL_REPLICATE,
                                                      [CONVOLVE2D_REFLECT] = KERNEL_REFLECT};
    for (size_t m = 0; m < sizeof masks / sizeof *masks; m++)
        for (size_t boundary = 0; boundary < 3; boundary++) {
            struct mask2d *mask = mask_of(masks[m][0], masks[m][1]);
            struct pictures whole = pictures_create(mask), parts = pictures_create(mask);
            struct convolve2d *convolution =
                on_gpu(mask, (enum convolve2d_boundary)boundary, m % 2);
            convolve(convolution, &whole, 0, ROWS, ROWS);
            convolve(convolution, &parts, 0, ROWS, 7);
            ck_assert_ptr_null(convolution->notice);
            for (size_t c = 0; c < CHANNELS; c++) {
                double worst = worst_error(&whole, mask, boundaries[boundary], c);
                ck_assert_msg(worst <= BOUND, "%zux%zu, edge %zu: %g", mask->rows, mask->columns,
                              boundary, worst);
                for (size_t r = 0; r < ROWS; r++)
                    ck_assert_mem_eq(whole.out[c] + r * PITCH, parts.out[c] + r * PITCH,
                                     COLUMNS * sizeof(float));
            }
            convolve2d_destroy(convolution);
            pictures_destroy(&whole);
            pictures_destroy(&parts);
            mask2d_destroy(mask);
        }
}

/* Two masks alternate: each owns the constant memory while it runs. */
START_TEST(masks_take_turns)
{
    struct mask2d *first = mask_of(5, 5), *second = mask_of(5, 4);
    struct pictures a = pictures_create(first), b = pictures_create(second);
    struct convolve2d *one = on_gpu(first, CONVOLVE2D_ZERO, false);
    struct convolve2d *two = on_gpu(second, CONVOLVE2D_ZERO, false);
    for (size_t r = 0; r < ROWS; r += 50) {
        convolve(one, &a, r, r + 50, 25);
        convolve(two, &b, r, r + 50, 50);
    }
    ck_assert_double_le(worst_error(&a, first, KERNEL_ZERO, 0), BOUND);
    ck_assert_double_le(worst_error(&b, second, KERNEL_ZERO, 1), BOUND);
    convolve2d_destroy(one);
    convolve2d_destroy(two);
    pictures_destroy(&a);
    pictures_destroy(&b);
    mask2d_destroy(first);
    mask2d_destroy(second);
}

START_TEST(the_cpu_continues_where_the_gpu_fails)
{
    static const char *const faults[] = {"3:memory", "0:lost"};
    for (size_t f = 0; f < 2; f++) {
        struct mask2d *mask = mask_of(7, 6);
        struct pictures pictures = pictures_create(mask);
        setenv("HALO_GPU_FAULT", faults[f], 1);
        struct convolve2d *convolution = on_gpu(mask, CONVOLVE2D_REFLECT, f);
        unsetenv("HALO_GPU_FAULT");
        convolve(convolution, &pictures, 0, ROWS, 10);
        ck_assert_ptr_nonnull(strstr(convolution->notice, "CPU"));
        for (size_t c = 0; c < CHANNELS; c++)
            ck_assert_double_le(worst_error(&pictures, mask, KERNEL_REFLECT, c), BOUND);
        convolve2d_destroy(convolution);
        pictures_destroy(&pictures);
        mask2d_destroy(mask);
    }
}

int main(void)
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        puts("no GPU here: pictures on one are not tested");
        return 77;
    }
    return suite_run();
}
