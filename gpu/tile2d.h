/* How two-dimensional kernels tile a picture, and the tiles' intensity. Plain arithmetic. */
#ifndef HALO_GPU_TILE2D_H
#define HALO_GPU_TILE2D_H

#include <stdbool.h>
#include <stddef.h>

enum tile2d_way {
    TILE2D_NONE,     /* every thread reads its window from global memory */
    TILE2D_IN,       /* a block has the size of its input tile */
    TILE2D_OUT,      /* a block has the size of its output tile */
    TILE2D_CACHED,   /* as TILE2D_OUT, but halo cells come from the caches */
    TILE2D_REGISTER, /* strips or patches */
};

enum {
    TILE2D_THREADS_MOST = 1024,
    STRIP_SIDE_MOST =
        31,             /* masks up to here may run down strips; 17 where both sides are so long */
    STRIP_THREADS = 32, /* threads of a strip's block, side by side */
    PATCH_ACROSS = 16,  /* threads of a patch's block across, each with 8 x 4 outputs */
    PATCH_DOWN = 8,     /* threads of a patch's block down */
    PATCH_COLUMNS = 8,  /* columns of a thread of a patch */
    PATCH_ROWS = 4,     /* rows of a thread of a patch */
};

#ifdef __cplusplus
#define TILE2D_CONSTANT static constexpr
#else
#define TILE2D_CONSTANT static inline
#endif

/* Neighbouring columns that a thread of a strip computes. For large masks, 2 keep the unrolled loop
 * within the instruction cache and the sums within the registers. */
TILE2D_CONSTANT int strip_outputs(int mask_rows, int mask_columns)
{
    return mask_rows * mask_columns <= 15 * 15 ? 4 : 2;
}

/* Blocks of strips per multiprocessor, by registers. A thread has a sum per mask row and output. */
TILE2D_CONSTANT int strip_blocks(int mask_rows, int mask_columns)
{
    int sums = mask_rows * strip_outputs(mask_rows, mask_columns);
    return sums <= 28 ? 32 : sums <= 36 ? 20 : sums <= 64 ? 16 : 12;
}

/* Threads of a block. Strips always have 32; `rows` is the number of rows that each thread
 * computes. Ignored for patches. */
struct block2d {
    unsigned columns; /* both 0: the kernel chooses */
    unsigned rows;
};

/* A tile of a picture. */
struct tile2d {
    struct block2d block;
    size_t columns; /* columns that a block outputs; 0: the block is too small for the mask */
    size_t rows;    /* rows that a block outputs */
    size_t loaded_columns; /* columns that a block loads, with the halo; TILE2D_NONE: a thread */
    size_t loaded_rows;    /* rows that a block loads */
    size_t shared_cells;   /* cells of shared memory */
};

struct picture2d {
    size_t channels;
    size_t rows;
    size_t columns;
};

/* `block` may be 0 x 0; then the kernel's choice is used. */
struct tile2d tile2d_for(enum tile2d_way way, struct block2d block, const struct picture2d *picture,
                         size_t mask_rows, size_t mask_columns, size_t multiprocessors);

/* The mask size that a strip kernel is made for, with odd sides. Zeros pad smaller masks. */
struct strip_shape {
    unsigned rows; /* 0: there is no strip kernel, so patches are used */
    unsigned columns;
};

/* The strip kernels by coefficients: X(rows, columns, rows of the longest strip). Long strips load
 * fewer halo rows. Short ones read the picture in memory order and balance slower strips at the
 * boundary, which matters less for larger masks. (3 and 5 rows: two and four batches of loads.) */
#define STRIP_KERNELS(X)                                                                           \
    X(3, 3, 10)                                                                                    \
    X(5, 5, 12)                                                                                    \
    X(1, 31, 10)                                                                                   \
    X(31, 1, 96)                                                                                   \
    X(3, 15, 12)                                                                                   \
    X(15, 3, 48)                                                                                   \
    X(7, 7, 24)                                                                                    \
    X(9, 9, 84)                                                                                    \
    X(3, 31, 24)                                                                                   \
    X(31, 3, 128)                                                                                  \
    X(11, 11, 256)                                                                                 \
    X(13, 13, 256)                                                                                 \
    X(15, 15, 256)                                                                                 \
    X(17, 17, 256)

/* The strip kernel for this mask. */
struct strip_shape strip_shape_for(size_t mask_rows, size_t mask_columns);

/* The columns to which patches pad each row of a mask of that size with zeros. */
size_t patch_mask_columns(size_t mask_rows, size_t mask_columns);

/* Arithmetic intensity: a multiplication and an addition for each coefficient and output, divided
 * by the bytes that a tile loads. With `with_stores`, by the bytes that it loads and stores. */
double tile2d_operations_per_byte(const struct tile2d *tile, size_t mask_rows, size_t mask_columns,
                                  bool with_stores);

#endif
