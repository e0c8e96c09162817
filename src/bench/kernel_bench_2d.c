/* The kernel bench for pictures. */
#include "base/plural.h"
#include "bench/kernel_bench.h"
#include "bench/kernel_bench_report.h"
#include "gpu/gpu.h"

#include <stdio.h>

static const char *const boundary_names[] = {
    [KERNEL_ZERO] = "zero", [KERNEL_REPLICATE] = "replicate", [KERNEL_REFLECT] = "reflect"};

static const char *kernel_name(size_t kernel)
{
    return kernel2d_at(kernel) ? kernel2d_at(kernel)->name : NULL;
}

static const struct size2d_list *blocks(const struct kernel_bench_settings *settings, size_t kernel)
{
    (void)kernel;
    return &settings->blocks;
}

/* ---- measuring ---- */

static struct kernel2d_job job_of(const struct kernel_bench *bench, struct size2d mask,
                                  struct size2d block)
{
    const struct size2d *size = &bench->size;
    return (struct kernel2d_job){
        .mask = bench->device_mask,
        .boundary = bench->settings->boundary,
        .channels = bench->settings->channels,
        .rows_in = size->rows,
        .rows = size->rows,
        .columns = size->columns,
        .pitch_in = bench->pitch,
        .pitch_out = bench->pitch,
        .plane_in = bench->pitch * size->rows,
        .plane_out = bench->pitch * size->rows,
        .mask_rows = mask.rows,
        .mask_columns = mask.columns,
        .block = {(unsigned)block.columns, (unsigned)block.rows},
    };
}

static bool can_run(const struct kernel_bench *bench, size_t kernel, struct size2d mask,
                    struct size2d block)
{
    struct kernel2d_job job = job_of(bench, mask, block);
    return !kernel2d_obstacle(kernel2d_at(kernel), &job, bench->device->shared);
}

static enum status prepare(struct kernel_bench *bench, struct kernel_bench_row *row)
{
    const struct kernel2d *kernel = kernel2d_at(bench->kernel);
    bench->job2d = job_of(bench, row->mask, row->block);
    row->tile = kernel2d_tile(kernel, &bench->job2d);
    row->launched = (struct size2d){row->tile.block.rows, row->tile.block.columns};
    TRY_GPU(kernel2d_load(kernel, &bench->job2d, NULL), "load a mask");
    return STATUS_OK;
}

static cudaError_t launch(struct kernel_bench *bench, size_t set)
{
    bench->job2d.in = bench->in[set];
    bench->job2d.out = bench->out[set];
    return kernel2d_at(bench->kernel)->launch(&bench->job2d, NULL);
}

/* ---- reporting ---- */

/* --csv has the requested block and the tile, --json has the launched block. */
static const struct bench_column columns[] = {
    {"kernel", ROW(kernel), COLUMN_TEXT, IN_BOTH},
    {"rows", ROW(size.rows), COLUMN_COUNT, IN_BOTH},
    {"columns", ROW(size.columns), COLUMN_COUNT, IN_BOTH},
    {"pitched", ROW(pitched), COLUMN_FLAG, IN_BOTH},
    {"mask_rows", ROW(mask.rows), COLUMN_COUNT, IN_BOTH},
    {"mask_columns", ROW(mask.columns), COLUMN_COUNT, IN_BOTH},
    {"block_columns", ROW(block.columns), COLUMN_COUNT, IN_CSV},
    {"block_rows", ROW(block.rows), COLUMN_COUNT, IN_CSV},
    {"block_columns", ROW(launched.columns), COLUMN_COUNT, IN_JSON},
    {"block_rows", ROW(launched.rows), COLUMN_COUNT, IN_JSON},
    {"tile_columns", ROW(tile.columns), COLUMN_COUNT, IN_CSV},
    {"tile_rows", ROW(tile.rows), COLUMN_COUNT, IN_CSV},
    {"seconds", ROW(seconds), 9, IN_BOTH},
    KERNEL_BENCH_RATES,
};

static void print_head(const struct kernel_bench_settings *settings, bool csv)
{
    if (csv)
        printf("# channels,%zu\n", settings->channels);
    else
        printf("random floats, %zu channel%s, %s boundary, median of %zu runs\n\n",
               settings->channels, plural_s(settings->channels), boundary_names[settings->boundary],
               settings->repeats);
}

static void print_cells(const struct kernel_bench_row *row)
{
    char mask[48] = "", block[48] = "";
    if (row->mask.rows) {
        snprintf(mask, sizeof mask, "%zux%zu", row->mask.rows, row->mask.columns);
        snprintf(block, sizeof block, "%zux%zu", row->launched.columns, row->launched.rows);
    }
    printf("%zux%zu | %s | %s | %s | %.4f", row->size.rows, row->size.columns,
           row->pitched ? "pitched" : "packed", mask, block, 1e3 * row->seconds);
}

static void print_tile(const struct kernel_bench_report *report, const struct kernel_bench_row *row)
{
    const struct tile2d *tile = &row->tile;
    size_t rows = row->mask.rows, across = row->mask.columns;
    double loads = tile2d_operations_per_byte(tile, rows, across, false);
    double both = tile2d_operations_per_byte(tile, rows, across, true);
    double copy = kernel_bench_copy_of(report, row)->bytes_rate, peak = report->device->flops_peak;
    double bound = both * copy < peak ? both * copy : peak;
    printf("| %s | %zux%zu | %zux%zu | %zux%zu | %.2f | %.2f | %.2f | %s | %.2f | %.0f %% |\n",
           row->kernel, rows, across, tile->columns, tile->rows, tile->loaded_columns,
           tile->loaded_rows, loads, both, 1e-12 * bound,
           both * copy < peak ? "memory" : "arithmetic", 1e-12 * row->flops,
           100 * row->flops / bound);
}

static void print_tiles(const struct kernel_bench_report *report)
{
    puts(
        "\nOperations per byte that a tile (basic and constant: a thread) loads, and per byte that "
        "it loads or\nstores; the bound without caches, at the copy's bandwidth; and the measured "
        "rate, which caches can\nraise above the bound:\n\n"
        "| kernel | mask | output | loads | op/B loaded | op/B | bound, TFLOP/s | by | "
        "measured | of bound |\n|---|---|---|---|---|---|---|---|---|---|");
    for (size_t i = 0; i < report->count; i++)
        if (report->rows[i].mask.rows > 0)
            print_tile(report, &report->rows[i]);
}

static json_t *describe(const struct kernel_bench_settings *settings)
{
    return json_pack("{s:s, s:I}", "edge", boundary_names[settings->boundary], "channels",
                     (json_int_t)settings->channels);
}

const struct kernel_bench_kind kernel_bench_2d = {
    .kernel_name = kernel_name,
    .blocks = blocks,
    .can_run = can_run,
    .prepare = prepare,
    .launch = launch,
    .columns = columns,
    .table_head = "picture | rows | mask | block | ms",
    .print_head = print_head,
    .print_cells = print_cells,
    .print_tiles = print_tiles,
    .describe = describe,
};
