/* Running medians: the same bits as sorting every window. */
#include "convolve/median2d.h"
#include "signal/median.h"
#include "suite.h"
#include "truth.h"

#include <math.h>
#include <string.h>

enum { CHANNELS = 2, ROWS = 70 };

/* Not negative; every fifth repeats the one before, and every seventh is 0. */
static void fill(float *values, size_t count, unsigned seed)
{
    truth_noise(seed, values, count);
    for (size_t i = 0; i < count; i++)
        values[i] = i % 7 == 0 ? 0 : i % 5 == 0 ? values[i - 1] : fabsf(values[i]);
}

static float naive(const float *values, size_t count, ptrdiff_t step)
{
    double sorted[1023];
    for (size_t i = 0; i < count; i++)
        sorted[i] = (double)values[(ptrdiff_t)i * step];
    return (float)median_of(sorted, count);
}

START_TEST(lanes_give_the_median_of_each_window)
{
    static const size_t extents[] = {1, 3, 5, 17, 31, 255, 511};
    enum { STEPS = 600, MOST = 511 };
    static float values[(STEPS + MOST) * MEDIAN_LANES], median[MEDIAN_LANES];
    static int32_t window[MOST * MEDIAN_LANES];
    fill(values, sizeof values / sizeof *values, 3);
    for (size_t e = 0; e < sizeof extents / sizeof *extents; e++) {
        size_t extent = extents[e];
        median_lanes_fill(window, extent, values, MEDIAN_LANES);
        for (size_t i = 0; i < STEPS; i++) {
            const float *oldest = values + i * MEDIAN_LANES;
            median_lanes_step(window, extent, oldest + (extent - 1) * MEDIAN_LANES, oldest, median);
            for (size_t l = 0; l < MEDIAN_LANES; l++)
                ck_assert_float_eq(median[l], naive(oldest + l, extent, MEDIAN_LANES));
        }
    }
}

struct median2d_case {
    size_t columns, over_rows, over_columns;
    enum convolve2d_boundary boundary;
};

static const struct median2d_case cases[] = {
    {1, 3, 3, CONVOLVE2D_ZERO},      {16, 5, 7, CONVOLVE2D_ZERO},
    {33, 7, 5, CONVOLVE2D_REFLECT},  {100, 1, 31, CONVOLVE2D_REPLICATE},
    {257, 31, 1, CONVOLVE2D_ZERO},   {20, 17, 99, CONVOLVE2D_REFLECT},
    {90, 9, 17, CONVOLVE2D_REFLECT},
};

struct picture_of_noise {
    size_t pitch, half;
    float *in[CHANNELS], *out[CHANNELS];
};

static void make_picture(const struct median2d_case *one, struct picture_of_noise *picture)
{
    picture->pitch = (one->columns + MEDIAN_LANES - 1) / MEDIAN_LANES * MEDIAN_LANES;
    picture->half = one->over_rows / 2;
    size_t rows = ROWS + 2 * picture->half;
    for (unsigned c = 0; c < CHANNELS; c++) {
        picture->in[c] = calloc(rows * picture->pitch, sizeof(float));
        picture->out[c] = calloc(rows * picture->pitch, sizeof(float));
        ck_assert(picture->in[c] && picture->out[c]);
        fill(picture->in[c], rows * picture->pitch, 40 + c);
    }
}

static void check_time(const struct median2d_case *one, const struct picture_of_noise *picture)
{
    for (size_t c = 0; c < CHANNELS; c++)
        for (size_t r = 0; r < ROWS; r++)
            for (size_t j = 0; j < one->columns; j++)
                ck_assert_float_eq(picture->out[c][r * picture->pitch + j],
                                   naive(picture->in[c] + r * picture->pitch + j, one->over_rows,
                                         (ptrdiff_t)picture->pitch));
}

static float column_at(const struct median2d_case *one, const float *row, ptrdiff_t at)
{
    ptrdiff_t from = convolve2d_column(one->boundary, at, one->columns);
    return from < 0 ? 0 : row[from];
}

static void check_frequency(const struct median2d_case *one, const struct picture_of_noise *picture)
{
    float around[1023];
    ptrdiff_t half = (ptrdiff_t)one->over_columns / 2;
    for (size_t c = 0; c < CHANNELS; c++)
        for (size_t r = 0; r < ROWS; r++)
            for (size_t j = 0; j < one->columns; j++) {
                const float *row = picture->in[c] + (r + picture->half) * picture->pitch;
                for (ptrdiff_t k = -half; k <= half; k++)
                    around[k + half] = column_at(one, row, (ptrdiff_t)j + k);
                ck_assert_float_eq(picture->out[c][r * picture->pitch + j],
                                   naive(around, one->over_columns, 1));
            }
}

typedef void run_rows(struct median2d *median, const float *const *in, float *const *out,
                      size_t pitch, size_t rows, size_t first);

static void run_time(struct median2d *median, const float *const *in, float *const *out,
                     size_t pitch, size_t rows, size_t first)
{
    median2d_along_time(median, in, out, pitch, rows, first == 0 ? 0 : rows);
}

static void run_frequency(struct median2d *median, const float *const *in, float *const *out,
                          size_t pitch, size_t rows, size_t first)
{
    (void)first;
    median2d_along_frequency(median, in, out, pitch, rows);
}

/* In batches of 1, 2, 3 ... rows. */
static void in_batches(struct median2d *median, const struct picture_of_noise *picture,
                       run_rows *run)
{
    for (size_t first = 0, rows = 1; first < ROWS; first += rows, rows++) {
        if (rows > ROWS - first)
            rows = ROWS - first;
        const float *in[CHANNELS];
        float *out[CHANNELS];
        for (size_t c = 0; c < CHANNELS; c++) {
            in[c] = picture->in[c] + (picture->half + first) * picture->pitch;
            out[c] = picture->out[c] + first * picture->pitch;
        }
        run(median, in, out, picture->pitch, rows, first);
    }
}

static void check_case(const struct median2d_case *one, struct workers *workers)
{
    const struct median2d_settings settings = {CHANNELS,          one->columns,  one->over_rows,
                                               one->over_columns, one->boundary, workers};
    struct picture_of_noise picture;
    struct median2d *median;
    make_picture(one, &picture);
    ck_assert_int_eq(median2d_create(&settings, &median), STATUS_OK);
    in_batches(median, &picture, run_time);
    check_time(one, &picture);
    in_batches(median, &picture, run_frequency);
    check_frequency(one, &picture);
    median2d_destroy(median);
    for (size_t c = 0; c < CHANNELS; c++) {
        free(picture.in[c]);
        free(picture.out[c]);
    }
}

START_TEST(medians_of_pictures_are_exact)
{
    struct workers *workers;
    ck_assert_int_eq(workers_create(3, &workers), STATUS_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_case(&cases[i], NULL);
        check_case(&cases[i], workers);
    }
    workers_destroy(workers);
}
