/* Arithmetic of the two-dimensional kernels, and their truth by hand: no GPU. */
#include "bench/truth2d.h"
#include "gpu/kernel2d.h"
#include "suite.h"

#include <string.h>

static const struct picture2d LARGE = {1, 8192, 8192};

START_TEST(tiles_and_what_they_load)
{
    struct tile2d in = tile2d_for(TILE2D_IN, (struct block2d){32, 32}, &LARGE, 5, 9, 132);
    ck_assert_uint_eq(in.columns, 24);
    ck_assert_uint_eq(in.rows, 28);
    ck_assert_uint_eq(in.loaded_columns, 32);
    ck_assert_uint_eq(in.loaded_rows, 32);
    ck_assert_uint_eq(in.shared_cells, 1024);
    struct tile2d out = tile2d_for(TILE2D_OUT, (struct block2d){32, 8}, &LARGE, 5, 9, 132);
    ck_assert_uint_eq(out.columns, 32);
    ck_assert_uint_eq(out.rows, 8);
    ck_assert_uint_eq(out.shared_cells, 40 * 12);
    struct tile2d cached = tile2d_for(TILE2D_CACHED, (struct block2d){16, 16}, &LARGE, 3, 3, 132);
    ck_assert_uint_eq(cached.shared_cells, 256);
    ck_assert_uint_eq(cached.loaded_columns, 18);
    struct tile2d none = tile2d_for(TILE2D_NONE, (struct block2d){0, 0}, &LARGE, 3, 7, 132);
    ck_assert_uint_eq(none.loaded_rows * none.loaded_columns, 21);
    ck_assert_uint_gt(none.block.columns * none.block.rows, 31);
}

/* Kirk and Hwu's table: loaded tiles of 8 to 32, masks of 5 and 9; operations per byte loaded. */
START_TEST(operations_per_byte_are_the_textbooks)
{
    static const struct {
        unsigned block;
        size_t mask;
        double ratio;
    } cells[] = {{8, 5, 3.13}, {16, 5, 7.03}, {32, 5, 9.57}, {16, 9, 10.1}, {32, 9, 22.8}};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        size_t mask = cells[i].mask;
        struct tile2d tile = tile2d_for(TILE2D_IN, (struct block2d){cells[i].block, cells[i].block},
                                        &LARGE, mask, mask, 132);
        ck_assert_double_eq_tol(tile2d_operations_per_byte(&tile, mask, mask, false),
                                cells[i].ratio, 0.01 * cells[i].ratio);
    }
    struct tile2d none = tile2d_for(TILE2D_NONE, (struct block2d){16, 16}, &LARGE, 5, 5, 132);
    ck_assert_double_eq_tol(tile2d_operations_per_byte(&none, 5, 5, false), 0.5, 1e-9);
}

static void expect_shape(size_t mask_rows, size_t mask_columns, unsigned rows, unsigned columns)
{
    struct strip_shape shape = strip_shape_for(mask_rows, mask_columns);
    ck_assert_msg(shape.rows == rows && shape.columns == columns, "%zux%zu: strips of %ux%u",
                  mask_rows, mask_columns, shape.rows, shape.columns);
}

START_TEST(strips_are_for_small_masks)
{
    expect_shape(1, 1, 3, 3);
    expect_shape(3, 3, 3, 3);
    expect_shape(4, 2, 5, 5);
    expect_shape(1, 7, 1, 31);
    expect_shape(31, 1, 31, 1);
    expect_shape(2, 9, 3, 15);
    expect_shape(25, 3, 31, 3);
    expect_shape(14, 14, 15, 15);
    expect_shape(15, 8, 15, 15);
    expect_shape(15, 7, 0, 0); /* less than half of the square */
    expect_shape(17, 2, 0, 0);
    expect_shape(16, 16, 17, 17);
    expect_shape(19, 19, 0, 0);
    expect_shape(31, 31, 0, 0);
    expect_shape(32, 31, 0, 0);
    expect_shape(1, 33, 0, 0);
}

/* Each shape is the one for a mask of its size, and strips never cut a mask off. */
START_TEST(strips_hold_their_masks)
{
    for (size_t rows = 1; rows <= 40; rows++)
        for (size_t columns = 1; columns <= 40; columns++) {
            struct strip_shape shape = strip_shape_for(rows, columns);
            if (shape.rows == 0)
                continue;
            ck_assert_uint_ge(shape.rows, rows | 1);
            ck_assert_uint_ge(shape.columns, columns | 1);
            ck_assert_uint_le(shape.rows, STRIP_SIDE_MOST);
            ck_assert_uint_le(shape.columns, STRIP_SIDE_MOST);
            expect_shape(shape.rows, shape.columns, shape.rows, shape.columns);
        }
}

START_TEST(patches_pad_rows_that_fit_almost)
{
    ck_assert_uint_eq(patch_mask_columns(31, 31), 32);
    ck_assert_uint_eq(patch_mask_columns(29, 29), 32);
    ck_assert_uint_eq(patch_mask_columns(28, 28), 28);
    ck_assert_uint_eq(patch_mask_columns(33, 33), 33);
    ck_assert_uint_eq(patch_mask_columns(64, 64), 64);
    ck_assert_uint_eq(patch_mask_columns(16384 / 7, 7), 7); /* no room in constant memory */
    ck_assert_uint_eq(patch_mask_columns(16384 / 8, 7), 8);
}

static struct tile2d strips_of(size_t rows, size_t columns, size_t mask)
{
    return tile2d_for(TILE2D_REGISTER, (struct block2d){0, 0},
                      &(struct picture2d){1, rows, columns}, mask, mask, 132);
}

START_TEST(strips_fill_the_gpu)
{
    /* 15x15: 16 blocks of 128 columns on each of 132 multiprocessors, 64 of them across: 33
     * strips down per round. */
    struct tile2d large = strips_of(8192, 8192, 15);
    ck_assert_uint_eq(large.columns, 128);
    ck_assert_uint_eq(large.rows, 249);
    ck_assert_uint_eq(large.loaded_columns, 142);
    ck_assert_uint_eq(strips_of(100, 1025, 15).rows, 8);
    /* 512 across: strips of 256 would be 62.06 rounds; 63 hold 259 strips. */
    ck_assert_uint_eq(strips_of(65536, 65536, 15).rows, 254);
    ck_assert_uint_eq(strips_of(8192, 8192, 3).rows, 10);
    ck_assert_uint_eq(strips_of(8192, 8192, 5).rows, 12);
    ck_assert_uint_eq(strips_of(8192, 8192, 9).rows, 84);
    /* 9x9: 20 blocks on each of 132, 9 of them across: 293 strips, of 14 rows. */
    ck_assert_uint_eq(strips_of(4000, 1025, 9).rows, 14);
}

static struct kernel2d_job job_of(size_t mask_rows, size_t mask_columns, unsigned columns,
                                  unsigned rows)
{
    return (struct kernel2d_job){.channels = 1,
                                 .rows_in = 100,
                                 .rows = 100,
                                 .columns = 100,
                                 .mask_rows = mask_rows,
                                 .mask_columns = mask_columns,
                                 .block = {columns, rows}};
}

START_TEST(unsupported_sizes_are_reported)
{
    enum { SHARED = 227 * 1024 };
    struct kernel2d_job job = job_of(128, 128, 0, 0);
    for (size_t k = 0; kernel2d_at(k); k++) {
        bool fits = kernel2d_at(k) != &kernel2d_tiled_in;
        ck_assert_int_eq(kernel2d_obstacle(kernel2d_at(k), &job, SHARED) == NULL, fits);
    }
    job = job_of(16385, 1, 0, 0);
    for (size_t k = 0; kernel2d_at(k); k++)
        ck_assert_ptr_nonnull(strstr(kernel2d_obstacle(kernel2d_at(k), &job, SHARED), "64 KB"));
    job = job_of(32, 32, 32, 32);
    ck_assert_ptr_null(kernel2d_obstacle(&kernel2d_tiled_in, &job, SHARED));
    job = job_of(33, 32, 32, 32);
    ck_assert_ptr_nonnull(strstr(kernel2d_obstacle(&kernel2d_tiled_in, &job, SHARED), "larger"));
    job = job_of(3, 3, 64, 32);
    ck_assert_ptr_nonnull(strstr(kernel2d_obstacle(&kernel2d_basic, &job, SHARED), "1024"));
    job = job_of(3, 3, 48, 32);
    ck_assert_ptr_nonnull(strstr(kernel2d_obstacle(&kernel2d_register, &job, SHARED), "threads"));
    job = job_of(16384, 1, 0, 0);
    ck_assert_ptr_nonnull(
        strstr(kernel2d_obstacle(&kernel2d_tiled_out, &job, SHARED), "too little"));
}

/* 1 2 3 / 4 5 6 under a mask of 2x3, whose origin is row 1, column 1. */
START_TEST(truth_by_hand)
{
    static const float cells[] = {1, 2, 3, 4, 5, 6}, mask[] = {1, 10, 100, 1000, 10000, 100000};
    struct truth2d truth = {
        .cells = cells,
        .picture = {1, 2, 3},
        .mask = mask,
        .mask_rows = 2,
        .mask_columns = 3,
    };
    /* x[2-i][2-j] m[i][j]: row 1 under m's last row, columns 2, 1, 0. */
    ck_assert_double_eq(truth2d_at(&truth, 0, 1, 1), 1000 * 6 + 10000 * 5 + 100000 * 4);
    ck_assert_double_eq(truth2d_at(&truth, 0, 0, 1),
                        1 * 6 + 10 * 5 + 100 * 4 + 1000 * 3 + 10000 * 2 + 100000 * 1);
    truth.boundary = KERNEL_REPLICATE;
    ck_assert_double_eq(truth2d_at(&truth, 0, 1, 2),
                        1 * 6 + 10 * 6 + 100 * 5 + 1000 * 6 + 10000 * 6 + 100000 * 5);
    truth.boundary = KERNEL_REFLECT;
    ck_assert_double_eq(truth2d_at(&truth, 0, 1, 2),
                        1 * 2 + 10 * 3 + 100 * 2 + 1000 * 5 + 10000 * 6 + 100000 * 5);
    ck_assert_double_eq(truth2d_norm(&truth), 111111);
}
