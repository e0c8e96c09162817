#include "gpu/tile2d.h"

/* The longest strips, by the mask's side. Long strips load fewer halo rows; short strips read the
 * picture in memory order, and balance the slower strips at the boundary, which matters less the
 * larger the mask. (3 and 5: two and four batches of loads.) */
static const unsigned STRIP_ROWS_MOST[] = {
    [3] = 10, [5] = 12, [7] = 24, [9] = 84, [11] = 256, [13] = 256, [15] = 256,
};
static const size_t STRIP_ROWS_LEAST = 8;
static const size_t STRIP_SIDE_ROUNDS = 11;

static struct block2d own_block(enum tile2d_way way)
{
    return way == TILE2D_NONE ? (struct block2d){32, 8} : (struct block2d){32, 32};
}

size_t strip_side(size_t mask_rows, size_t mask_columns)
{
    size_t side = mask_rows > mask_columns ? mask_rows : mask_columns;
    side = side < 3 ? 3 : side | 1;
    if (side > STRIP_SIDE_MOST)
        return 0;
    return side <= STRIP_SIDE_ALWAYS || side * side <= 2 * mask_rows * mask_columns ? side : 0;
}

static size_t divide_up(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

/* A round is what the multiprocessors hold at a time. Small pictures take one; the largest masks,
 * whose strips are few and long, take whole rounds. */
static size_t strip_rows(const struct picture2d *picture, size_t side, size_t multiprocessors)
{
    size_t wide = divide_up(picture->columns, STRIP_COLUMNS) * picture->channels;
    size_t capacity = multiprocessors * (size_t)strip_blocks((int)side);
    size_t most = STRIP_ROWS_MOST[side];
    size_t rounds = 1;
    if (side >= STRIP_SIDE_ROUNDS)
        rounds = divide_up(divide_up(picture->rows, most) * wide, capacity);
    size_t rows = divide_up(picture->rows, rounds * capacity < wide ? 1 : rounds * capacity / wide);
    rows = rows < STRIP_ROWS_LEAST ? STRIP_ROWS_LEAST : rows;
    return rows < most ? rows : most;
}

static struct tile2d register_tile(struct block2d block, const struct picture2d *picture,
                                   size_t mask_rows, size_t mask_columns, size_t multiprocessors)
{
    size_t side = strip_side(mask_rows, mask_columns);
    if (side > 0) {
        if (block.columns == 0)
            block = (struct block2d){STRIP_THREADS,
                                     (unsigned)strip_rows(picture, side, multiprocessors)};
        return (struct tile2d){.block = block, .columns = STRIP_COLUMNS, .rows = block.rows};
    }
    return (struct tile2d){.block = {PATCH_ACROSS, PATCH_DOWN},
                           .columns = PATCH_ACROSS * PATCH_COLUMNS,
                           .rows = PATCH_DOWN * PATCH_ROWS};
}

struct tile2d tile2d_for(enum tile2d_way way, struct block2d block, const struct picture2d *picture,
                         size_t mask_rows, size_t mask_columns, size_t multiprocessors)
{
    size_t halo_columns = mask_columns - 1, halo_rows = mask_rows - 1;
    struct tile2d tile = {.block = block.columns ? block : own_block(way)};
    tile.columns = tile.block.columns;
    tile.rows = tile.block.rows;
    if (way == TILE2D_IN) {
        tile.columns -= halo_columns < tile.columns ? halo_columns : tile.columns;
        tile.rows -= halo_rows < tile.rows ? halo_rows : tile.rows;
        tile.shared_cells = (size_t)tile.block.columns * tile.block.rows;
        if (tile.columns == 0 || tile.rows == 0)
            tile.columns = tile.rows = 0;
    } else if (way == TILE2D_REGISTER) {
        tile = register_tile(block, picture, mask_rows, mask_columns, multiprocessors);
    } else if (way == TILE2D_CACHED) {
        tile.shared_cells = tile.columns * tile.rows;
    }
    tile.loaded_columns = tile.columns + halo_columns;
    tile.loaded_rows = tile.rows + halo_rows;
    if (way == TILE2D_OUT)
        tile.shared_cells = tile.loaded_columns * tile.loaded_rows;
    if (way == TILE2D_NONE) {
        tile.loaded_columns = mask_columns;
        tile.loaded_rows = mask_rows;
    }
    return tile;
}

double tile2d_operations_per_byte(const struct tile2d *tile, size_t mask_rows, size_t mask_columns,
                                  size_t cell_bytes, bool with_stores)
{
    double outputs = (double)tile->columns * (double)tile->rows;
    double loaded = (double)tile->loaded_columns * (double)tile->loaded_rows;
    if (loaded == (double)mask_rows * (double)mask_columns)
        outputs = 1; /* TILE2D_NONE */
    double cells = loaded + (with_stores ? outputs : 0);
    return 2 * outputs * (double)mask_rows * (double)mask_columns / (cells * (double)cell_bytes);
}
