/* How the two-dimensional kernels tile a picture, and the arithmetic intensity of the tiles: plain
 * arithmetic, no buffers. */
#ifndef HALO_GPU_TILE2D_H
#define HALO_GPU_TILE2D_H

#include <stdbool.h>
#include <stddef.h>

enum tile2d_way {
    TILE2D_NONE,     /* every thread reads its window from global memory */
    TILE2D_IN,       /* a block has the size of its input tile */
    TILE2D_OUT,      /* a block has the size of its output tile */
    TILE2D_CACHED,   /* the same, halo cells from the caches */
    TILE2D_REGISTER, /* strips or patches */
};

enum {
    TILE2D_THREADS_MOST = 1024,
    STRIP_SIDE_MOST =
        31,             /* masks up to here may run down strips; 17 where both sides are so long */
    STRIP_THREADS = 32, /* of a block: side by side */
    PATCH_ACROSS = 16,  /* threads, each with 8 x 4 outputs */
    PATCH_DOWN = 8,
    PATCH_COLUMNS = 8,
    PATCH_ROWS = 4,
};

#ifdef __cplusplus
#define TILE2D_CONSTANT static constexpr
#else
#define TILE2D_CONSTANT static inline
#endif

/* Neighbouring columns of a thread: with 2 the unrolled loop of large masks stays within the
 * instruction cache, and their sums within the registers. */
TILE2D_CONSTANT int strip_outputs(int mask_rows, int mask_columns)
{
    return mask_rows * mask_columns <= 15 * 15 ? 4 : 2;
}

/* Blocks of strips whose registers fit a multiprocessor: a thread has a sum for each mask row and
 * output. */
TILE2D_CONSTANT int strip_blocks(int mask_rows, int mask_columns)
{
    int sums = mask_rows * strip_outputs(mask_rows, mask_columns);
    return sums <= 28 ? 32 : sums <= 36 ? 20 : sums <= 64 ? 16 : 12;
}

/* Threads of a block across and down; strips: 32, and the rows of a strip; patches: ignored. */
struct block2d {
    unsigned columns; /* both 0: the kernel's choice */
    unsigned rows;
};

struct tile2d {
    struct block2d block;
    size_t columns; /* output of a block; 0: the block is too small for the mask */
    size_t rows;
    size_t loaded_columns; /* with the halo; TILE2D_NONE: by one thread */
    size_t loaded_rows;
    size_t shared_cells; /* of shared memory, in cells */
};

struct picture2d {
    size_t channels;
    size_t rows;
    size_t columns;
};

/* `block` may be 0 x 0. */
struct tile2d tile2d_for(enum tile2d_way way, struct block2d block, const struct picture2d *picture,
                         size_t mask_rows, size_t mask_columns, size_t multiprocessors);

/* The mask that a strip kernel is made for, both sides odd; smaller ones are padded with zeros. */
struct strip_shape {
    unsigned rows; /* 0: none, patches */
    unsigned columns;
};

/* The strip kernels by coefficients: X(rows, columns, rows of the longest strip). Long strips load
 * fewer halo rows; short ones read the picture in memory order, and balance the slower strips at
 * the boundary, which matters less the larger the mask. (3 and 5: two and four batches of loads.)
 */
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

/* The columns that patches take a mask of so many for: the rest are zeros after each row's own. */
size_t patch_mask_columns(size_t mask_rows, size_t mask_columns);

/* Arithmetic intensity: a multiplication and an addition for each coefficient and output, over the
 * bytes that a tile loads (with_stores: loads and stores). */
double tile2d_operations_per_byte(const struct tile2d *tile, size_t mask_rows, size_t mask_columns,
                                  bool with_stores);

#endif
