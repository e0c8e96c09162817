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
    STRIP_SIDE_MOST = 15,  /* masks up to here run down strips */
    STRIP_SIDE_ALWAYS = 7, /* up to here whatever their shape: memory-bound anyway */
    STRIP_OUTPUTS = 4,     /* neighbouring columns of a thread */
    STRIP_THREADS = 32,    /* of a block: side by side */
    STRIP_COLUMNS = STRIP_OUTPUTS * STRIP_THREADS,
    PATCH_ACROSS = 16, /* threads, each with 8 x 4 outputs */
    PATCH_DOWN = 8,
    PATCH_COLUMNS = 8,
    PATCH_ROWS = 4,
};

#ifdef __cplusplus
#define TILE2D_CONSTANT static constexpr
#else
#define TILE2D_CONSTANT static inline
#endif

/* Blocks of strips whose registers fit a multiprocessor, for masks of this side. */
TILE2D_CONSTANT int strip_blocks(int side)
{
    return side <= 7 ? 32 : side <= 9 ? 20 : 16;
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

/* The odd side of the strip kernel for this mask; 0: patches. */
size_t strip_side(size_t mask_rows, size_t mask_columns);

/* Arithmetic intensity: a multiplication and an addition for each coefficient and output, over the
 * bytes that a tile loads (with_stores: loads and stores). */
double tile2d_operations_per_byte(const struct tile2d *tile, size_t mask_rows, size_t mask_columns,
                                  size_t cell_bytes, bool with_stores);

#endif
