#include "gpu/tile2d.h"

#include "gpu/kernel.h"

#define ROW(ROWS, COLUMNS, ROWS_MOST) {{ROWS, COLUMNS}, ROWS_MOST},
static const struct strip_kernel {
    struct strip_shape shape;
    unsigned rows_most;
} strips[] = {STRIP_KERNELS(ROW)};
#undef ROW
static const size_t STRIP_ROWS_LEAST = 8;
static const size_t STRIP_ROUNDS = 11 * 11; /* coefficients; larger masks take whole rounds */

/* When padding a mask pays, by the padded coefficients. Up to STRIP_ALWAYS always: memory is the
 * limit. Up to STRIP_HALF, half of the products may be padding, since strips are so much faster
 * than patches. Beyond, the padded mask may be STRIP_BEYOND times the mask. */
static const size_t STRIP_ALWAYS = 7 * 7;
static const size_t STRIP_HALF = 15 * 15;
static const double STRIP_BEYOND = 1.3;

/* Zeros that may pad a mask's row for patches, to save comparisons for its last coefficients. */
static const size_t PATCH_PADDING_MOST = 3;

static struct block2d own_block(enum tile2d_way way)
{
    return way == TILE2D_NONE ? (struct block2d){32, 8} : (struct block2d){32, 32};
}

static bool pays(const struct strip_shape *shape, size_t mask_rows, size_t mask_columns)
{
    size_t area = (size_t)shape->rows * shape->columns, own = mask_rows * mask_columns;
    return area <= STRIP_ALWAYS || (area <= STRIP_HALF && area <= 2 * own) ||
           (double)area <= STRIP_BEYOND * (double)own;
}

/* The kernel with the fewest coefficients that holds the mask, origin on origin. NULL: none. */
static const struct strip_kernel *strip_for(size_t mask_rows, size_t mask_columns)
{
    size_t i = 0, count = sizeof strips / sizeof *strips;
    while (i < count &&
           ((mask_rows | 1) > strips[i].shape.rows || (mask_columns | 1) > strips[i].shape.columns))
        i++;
    return i < count && pays(&strips[i].shape, mask_rows, mask_columns) ? &strips[i] : NULL;
}

struct strip_shape strip_shape_for(size_t mask_rows, size_t mask_columns)
{
    const struct strip_kernel *strip = strip_for(mask_rows, mask_columns);
    return strip ? strip->shape : (struct strip_shape){0, 0};
}

size_t patch_mask_columns(size_t mask_rows, size_t mask_columns)
{
    size_t padded = (mask_columns + PATCH_COLUMNS - 1) / PATCH_COLUMNS * PATCH_COLUMNS;
    bool pays = padded - mask_columns <= PATCH_PADDING_MOST;
    return pays && mask_rows * padded <= KERNEL_TAPS_CONSTANT ? padded : mask_columns;
}

static size_t divide_up(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

/* A strip's rows. A round is the set of strips that multiprocessors hold at a time. Pictures take
 * one round if they can. The largest masks, with few and long strips, take whole rounds. */
static size_t strip_rows(const struct picture2d *picture, const struct strip_kernel *strip,
                         size_t strip_columns, size_t multiprocessors)
{
    int mask_rows = (int)strip->shape.rows, mask_columns = (int)strip->shape.columns;
    size_t wide = divide_up(picture->columns, strip_columns) * picture->channels;
    size_t capacity = multiprocessors * (size_t)strip_blocks(mask_rows, mask_columns);
    size_t most = strip->rows_most;
    size_t rounds = 1;
    if ((size_t)mask_rows * (size_t)mask_columns >= STRIP_ROUNDS)
        rounds = divide_up(divide_up(picture->rows, most) * wide, capacity);
    size_t rows = divide_up(picture->rows, rounds * capacity < wide ? 1 : rounds * capacity / wide);
    rows = rows < STRIP_ROWS_LEAST ? STRIP_ROWS_LEAST : rows;
    return rows < most ? rows : most;
}

static struct tile2d register_tile(struct block2d block, const struct picture2d *picture,
                                   size_t mask_rows, size_t mask_columns, size_t multiprocessors)
{
    const struct strip_kernel *strip = strip_for(mask_rows, mask_columns);
    if (strip) {
        int outputs = strip_outputs((int)strip->shape.rows, (int)strip->shape.columns);
        size_t columns = STRIP_THREADS * (size_t)outputs;
        if (block.columns == 0)
            block = (struct block2d){
                STRIP_THREADS, (unsigned)strip_rows(picture, strip, columns, multiprocessors)};
        return (struct tile2d){.block = block, .columns = columns, .rows = block.rows};
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
                                  bool with_stores)
{
    double outputs = (double)tile->columns * (double)tile->rows;
    double loaded = (double)tile->loaded_columns * (double)tile->loaded_rows;
    if (loaded == (double)mask_rows * (double)mask_columns)
        outputs = 1; /* in TILE2D_NONE a thread has one output */
    double cells = loaded + (with_stores ? outputs : 0);
    return 2 * outputs * (double)mask_rows * (double)mask_columns / (cells * (double)sizeof(float));
}
