/* Two-dimensional convolution against sums in double precision, from the formula in mask2d.h. */
#include "base/workers.h"
#include "convolve/convolve2d.h"
#include "suite.h"
#include "truth.h"

#include <math.h>
#include <string.h>

enum { CHANNELS = 2, SPARE = 5 };

static const double BOUND = 1e-6; /* -120 dB */

struct shape {
    size_t rows, columns; /* relative to the mask's sum of magnitudes */
    size_t picture_rows, picture_columns;
};

static const struct shape shapes[] = {
    {1, 1, 7, 40}, {3, 3, 20, 64}, {3, 3, 17, 65},   {5, 5, 33, 129},
    {7, 2, 9, 31}, {2, 6, 12, 5},  {1, 31, 5, 200},  {31, 1, 40, 70},
    {4, 4, 1, 1},  {9, 40, 6, 3},  {16, 33, 21, 90}, {31, 31, 8, 150},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

struct picture {
    float *all; /* with the rows before and after, and padding that is not part of the picture */
    size_t pitch;
    const float *first;
};

/* Column boundaries as defined in convolve2d.h, one step at a time; false: outside the picture. */
static bool column_of(enum convolve2d_boundary boundary, ptrdiff_t *at, ptrdiff_t count)
{
    if (boundary == CONVOLVE2D_ZERO)
        return *at >= 0 && *at < count;
    while (*at < 0 || *at >= count) {
        if (boundary == CONVOLVE2D_REPLICATE || count == 1)
            *at = *at < 0 ? 0 : count - 1;
        else
            *at = *at < 0 ? -*at : 2 * (count - 1) - *at;
    }
    return true;
}

static double truth_at(const struct picture *picture, const float *taps, const struct shape *shape,
                       enum convolve2d_boundary boundary, ptrdiff_t r, ptrdiff_t c)
{
    double sum = 0;
    for (size_t i = 0; i < shape->rows; i++)
        for (size_t j = 0; j < shape->columns; j++) {
            ptrdiff_t row = r - (ptrdiff_t)i + (ptrdiff_t)(shape->rows / 2);
            ptrdiff_t column = c - (ptrdiff_t)j + (ptrdiff_t)(shape->columns / 2);
            if (column_of(boundary, &column, (ptrdiff_t)shape->picture_columns))
                sum += (double)picture->first[row * (ptrdiff_t)picture->pitch + column] *
                       (double)taps[i * shape->columns + j];
        }
    return sum;
}

static struct picture make_picture(const struct shape *shape, uint64_t seed)
{
    struct picture picture = {.pitch = shape->picture_columns + SPARE};
    size_t rows = shape->picture_rows + shape->rows - 1;
    picture.all = calloc(rows * picture.pitch, sizeof *picture.all);
    ck_assert_ptr_nonnull(picture.all);
    truth_noise(seed, picture.all, rows * picture.pitch);
    for (size_t r = 0; r < rows; r++) /* must not be read */
        for (size_t k = 0; k < SPARE; k++)
            picture.all[r * picture.pitch + shape->picture_columns + k] = NAN;
    picture.first = picture.all + (shape->rows - 1 - shape->rows / 2) * picture.pitch;
    return picture;
}

/* A few rows at a time. */
static void convolve(struct convolve2d *convolution, const struct shape *shape,
                     const struct picture *pictures, size_t at_a_time, float *const *out,
                     size_t out_pitch)
{
    for (size_t r = 0, rows; r < shape->picture_rows; r += rows) {
        rows = shape->picture_rows - r < at_a_time ? shape->picture_rows - r : at_a_time;
        const float *in[CHANNELS];
        float *to[CHANNELS];
        for (size_t c = 0; c < CHANNELS; c++) {
            in[c] = pictures[c].first + r * pictures[c].pitch;
            to[c] = out[c] + r * out_pitch;
        }
        convolve2d_process(convolution, in, pictures[0].pitch, to, out_pitch, rows);
    }
}

static void compare(const struct shape *shape, const struct picture *picture, const float *taps,
                    enum convolve2d_boundary boundary, const float *out, size_t pitch)
{
    double norm = 0, worst = 0;
    for (size_t i = 0; i < shape->rows * shape->columns; i++)
        norm += fabs((double)taps[i]);
    for (size_t r = 0; r < shape->picture_rows; r++) {
        for (size_t c = 0; c < shape->picture_columns; c++)
            worst = fmax(worst,
                         fabs((double)out[r * pitch + c] - truth_at(picture, taps, shape, boundary,
                                                                    (ptrdiff_t)r, (ptrdiff_t)c)));
        ck_assert_float_eq(out[r * pitch + shape->picture_columns], 77); /* no rows around it */
    }
    ck_assert_msg(worst <= BOUND * norm, "%zux%zu on %zux%zu, edge %d: %g dB", shape->rows,
                  shape->columns, shape->picture_rows, shape->picture_columns, (int)boundary,
                  20 * log10(worst / norm));
}

static void fill(float *const *out, size_t count)
{
    for (size_t c = 0; c < CHANNELS; c++)
        for (size_t i = 0; i < count; i++)
            out[c][i] = 77;
}

static void check_one(const struct shape *shape, enum convolve2d_boundary boundary,
                      const struct mask2d *mask, struct workers *workers)
{
    struct convolve2d_settings settings = {
        .backend = "cpu",
        .channels = CHANNELS,
        .columns = shape->picture_columns,
        .rows_most = shape->picture_rows,
        .boundary = boundary,
        .workers = workers,
    };
    struct convolve2d *convolution;
    ck_assert_int_eq(convolve2d_create(&settings, mask, &convolution), STATUS_OK);
    ck_assert_uint_eq(convolution->before + convolution->after + 1, shape->rows);
    size_t pitch = shape->picture_columns + 1, count = shape->picture_rows * pitch;
    struct picture pictures[CHANNELS];
    float *out[CHANNELS], *again[CHANNELS];
    for (size_t c = 0; c < CHANNELS; c++) {
        pictures[c] = make_picture(shape, 10 + c);
        out[c] = calloc(count, sizeof **out);
        again[c] = calloc(count, sizeof **again);
    }
    fill(out, count);
    fill(again, count);
    convolve(convolution, shape, pictures, shape->picture_rows, out, pitch);
    convolve(convolution, shape, pictures, 3, again, pitch);
    for (size_t c = 0; c < CHANNELS; c++) {
        compare(shape, &pictures[c], mask->taps, boundary, out[c], pitch);
        ck_assert_mem_eq(out[c], again[c], count * sizeof **out);
        free(pictures[c].all);
        free(again[c]);
        free(out[c]);
    }
    convolve2d_destroy(convolution);
}

static struct mask2d *make_mask(const struct shape *shape, bool is_separable)
{
    float taps[31 * 40], down[40], across[40];
    truth_noise(1, taps, sizeof taps / sizeof *taps);
    truth_noise(2, down, 40);
    truth_noise(3, across, 40);
    for (size_t i = 0; is_separable && i < shape->rows; i++)
        for (size_t j = 0; j < shape->columns; j++)
            taps[i * shape->columns + j] = down[i] * across[j];
    struct mask2d *mask;
    ck_assert_int_eq(mask2d_create("made", shape->rows, shape->columns, taps, &mask), STATUS_OK);
    ck_assert_int_eq(mask->is_separable, is_separable || shape->rows == 1 || shape->columns == 1);
    return mask;
}

static void check_all(struct workers *workers)
{
    for (size_t s = 0; s < SHAPES; s++)
        for (int separable = 0; separable < 2; separable++) {
            struct mask2d *mask = make_mask(&shapes[s], separable);
            for (int boundary = CONVOLVE2D_ZERO; boundary <= CONVOLVE2D_REFLECT; boundary++)
                check_one(&shapes[s], (enum convolve2d_boundary)boundary, mask, workers);
            mask2d_destroy(mask);
        }
}

START_TEST(cpu_agrees_with_the_truth)
{
    check_all(NULL);
}

START_TEST(workers_make_no_difference)
{
    struct workers *workers;
    ck_assert_int_eq(workers_create(3, &workers), STATUS_OK);
    check_all(workers);
    workers_destroy(workers);
}

/* The largest mask supported, with long sums. */
START_TEST(long_sums_keep_their_accuracy)
{
    const struct shape shape = {128, 128, 2, 20};
    float *taps = malloc(128 * 128 * sizeof *taps);
    struct mask2d *mask;
    truth_noise(4, taps, 128 * 128);
    ck_assert_int_eq(mask2d_create("long", 128, 128, taps, &mask), STATUS_OK);
    check_one(&shape, CONVOLVE2D_REFLECT, mask, NULL);
    mask2d_destroy(mask);
    free(taps);
}

/* Rows that are filled up to whole vectors carry what is no number no further than the mask
 * reaches. */
static void spread(const struct shape *shape, const struct mask2d *mask, float bad)
{
    struct convolve2d *convolution;
    struct convolve2d_settings settings = {.backend = "cpu",
                                           .channels = CHANNELS,
                                           .columns = shape->picture_columns,
                                           .rows_most = shape->picture_rows};
    ck_assert_int_eq(convolve2d_create(&settings, mask, &convolution), STATUS_OK);
    size_t pitch = shape->picture_columns + 1, before = shape->rows - 1 - shape->rows / 2;
    size_t row = shape->picture_rows / 2, column = shape->picture_columns / 2;
    struct picture pictures[CHANNELS];
    float *out[CHANNELS];
    for (size_t c = 0; c < CHANNELS; c++) {
        pictures[c] = make_picture(shape, 10 + c);
        pictures[c].all[(before + row) * pictures[c].pitch + column] = bad;
        out[c] = calloc(shape->picture_rows * pitch, sizeof **out);
    }
    convolve(convolution, shape, pictures, 3, out, pitch);
    for (size_t c = 0; c < CHANNELS; c++) {
        for (size_t r = 0; r < shape->picture_rows; r++)
            for (size_t k = 0; k < shape->picture_columns; k++) {
                size_t down = r + shape->rows / 2 - row, across = k + shape->columns / 2 - column;
                bool is_reached = down < shape->rows && across < shape->columns; /* wraps */
                ck_assert_msg(isfinite(out[c][r * pitch + k]) == !is_reached,
                              "%zux%zu: %g at row %zu, column %zu", shape->rows, shape->columns,
                              (double)out[c][r * pitch + k], r, k);
            }
        free(pictures[c].all);
        free(out[c]);
    }
    convolve2d_destroy(convolution);
}

START_TEST(what_is_no_number_stays_within_the_mask)
{
    static const float bad[] = {INFINITY, -INFINITY, NAN};
    for (size_t s = 0; s < SHAPES; s++)
        for (int separable = 0; separable < 2; separable++) {
            struct mask2d *mask = make_mask(&shapes[s], separable);
            for (size_t b = 0; b < 3; b++)
                spread(&shapes[s], mask, bad[b]);
            mask2d_destroy(mask);
        }
}

/* An impulse reproduces the mask as written: the definition of convolution. */
START_TEST(an_impulse_becomes_the_mask)
{
    static const float taps[] = {1, 2, 3, 4, 5, 6};
    struct mask2d *mask;
    struct convolve2d *convolution;
    ck_assert_int_eq(mask2d_create("made", 2, 3, taps, &mask), STATUS_OK);
    struct convolve2d_settings settings = {
        .backend = "cpu", .channels = 1, .columns = 5, .rows_most = 4};
    ck_assert_int_eq(convolve2d_create(&settings, mask, &convolution), STATUS_OK);
    float picture[6][5] = {{0}}, out[4][5];
    picture[2][2] = 1; /* of six rows, 0 to 3 are convolved; 4 and 5 follow them */
    const float *in = picture[0];
    float *to = out[0];
    convolve2d_process(convolution, &in, 5, &to, 5, 4);
    static const float expected[4][5] = {{0}, {0, 1, 2, 3, 0}, {0, 4, 5, 6, 0}, {0}};
    ck_assert_mem_eq(out, expected, sizeof out);
    convolve2d_destroy(convolution);
    mask2d_destroy(mask);
}

START_TEST(an_unknown_backend_is_refused)
{
    static const float tap = 1;
    struct mask2d *mask;
    struct convolve2d *convolution;
    ck_assert_int_eq(mask2d_create("made", 1, 1, &tap, &mask), STATUS_OK);
    struct convolve2d_settings settings = {
        .backend = "abacus", .channels = 1, .columns = 5, .rows_most = 4};
    ck_assert_int_eq(convolve2d_create(&settings, mask, &convolution), STATUS_USAGE);
    mask2d_destroy(mask);
}
