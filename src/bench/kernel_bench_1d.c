/* The kernel bench for sound: sound and masks have one row. */
#include "bench/kernel_bench.h"
#include "bench/kernel_bench_report.h"
#include "gpu/gpu.h"

#include <stdio.h>

static const char *kernel_name(size_t kernel)
{
    return kernel_at(kernel) ? kernel_at(kernel)->name : NULL;
}

static const struct size2d_list *blocks(const struct kernel_bench_settings *settings, size_t kernel)
{
    return kernel_at(kernel)->transforms ? &settings->transforms : &settings->blocks;
}

/* ---- measuring ---- */

static bool can_run(const struct kernel_bench *bench, size_t index, struct size2d mask,
                    struct size2d block)
{
    const struct kernel *kernel = kernel_at(index);
    (void)bench;
    if (kernel->transforms)
        return block.columns == 0 || block.columns > mask.columns;
    return (kernel->taps_most == 0 || mask.columns <= kernel->taps_most) &&
           kernel_is_usable(kernel);
}

static enum status prepare(struct kernel_bench *bench, struct kernel_bench_row *row)
{
    const struct kernel *kernel = kernel_at(bench->kernel);
    struct kernel_job *job = &bench->job;
    size_t taps = row->mask.columns, frames = row->size.columns, setting = row->block.columns;
    struct kernel_shape shape = {
        .taps = taps, .frames = frames, .fft = kernel->transforms ? setting : 0};
    *job = (struct kernel_job){
        .frames_in = frames,
        .frames = frames,
        .taps = taps,
        .origin = taps / 2,
        .boundary = bench->settings->boundary,
        .threads = kernel->transforms ? 0 : (unsigned)setting,
    };
    TRY(kernel_open(kernel, &shape, &job->plan));
    TRY_GPU(cudaMalloc((void **)&bench->form,
                       kernel_form_floats(kernel, job->plan, taps) * sizeof(float)),
            "allocate memory");
    TRY_GPU(kernel_form(kernel, job->plan, bench->device_mask, taps, bench->form, NULL),
            "convert a mask");
    job->mask = bench->form;
    TRY_GPU(kernel_load(kernel, job, NULL), "load a mask");
    return STATUS_OK;
}

static cudaError_t launch(struct kernel_bench *bench, size_t set)
{
    bench->job.in = (const float *)(const void *)bench->in[set];
    bench->job.out = (float *)(void *)bench->out[set];
    return kernel_at(bench->kernel)->launch(&bench->job, NULL);
}

static void release(struct kernel_bench *bench)
{
    cudaFree(bench->form);
    bench->form = NULL;
    kernel_close(kernel_at(bench->kernel), bench->job.plan);
    bench->job.plan = NULL;
}

/* ---- reporting ---- */

static const struct bench_column columns[] = {
    {"kernel", ROW(kernel), COLUMN_TEXT, IN_BOTH},
    {"taps", ROW(mask.columns), COLUMN_COUNT, IN_BOTH},
    {"samples", ROW(size.columns), COLUMN_COUNT, IN_BOTH},
    {"setting", ROW(block.columns), COLUMN_COUNT, IN_BOTH},
    {"seconds", ROW(seconds), 9, IN_BOTH},
    {"samples_per_second", ROW(samples_rate), 9, IN_BOTH},
    KERNEL_BENCH_RATES,
};

static const char *boundary_name(const struct kernel_bench_settings *settings)
{
    return settings->boundary == KERNEL_ZERO ? "zero" : "replicate";
}

static void print_head(const struct kernel_bench_settings *settings, bool csv)
{
    if (!csv)
        printf("random float32 data, %s boundary, median of %zu runs\n\n", boundary_name(settings),
               settings->repeats);
}

static void print_cells(const struct kernel_bench_row *row)
{
    char setting[24] = "";
    if (row->block.columns)
        snprintf(setting, sizeof setting, "%zu", row->block.columns);
    printf("%zu | %zu | %s | %.4f | %.2f", row->mask.columns, row->size.columns, setting,
           1e3 * row->seconds, 1e-9 * row->samples_rate);
}

/* Prints how often each loaded frame is used, and the resulting bound. */
static void print_tiles(const struct kernel_bench_report *report)
{
    static const size_t tiles[] = {256, 4096};
    const struct size2d_list *masks = &report->settings->masks;
    double copy = report->rows[0].bytes_rate, peak = report->device->flops_peak;
    puts("\n| tile | taps | frames loaded a tile | uses of each | operations a byte | bound, "
         "TFLOP/s | by |\n|---|---|---|---|---|---|---|");
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++)
        for (size_t m = 0; m < masks->count; m++) {
            double tile = (double)tiles[i], taps = (double)masks->values[m].columns;
            double loaded = tile + taps - 1;
            double intensity = 2 * tile * taps / (sizeof(float) * (loaded + tile));
            bool memory = intensity * copy < peak;
            printf("| %zu | %zu | %.0f | %.1f | %.1f | %.2f | %s |\n", tiles[i],
                   masks->values[m].columns, loaded, tile * taps / loaded, intensity,
                   1e-12 * (memory ? intensity * copy : peak), memory ? "memory" : "arithmetic");
        }
}

static json_t *describe(const struct kernel_bench_settings *settings)
{
    return json_pack("{s:s}", "boundary", boundary_name(settings));
}

const struct kernel_bench_kind kernel_bench_1d = {
    .kernel_name = kernel_name,
    .blocks = blocks,
    .can_run = can_run,
    .prepare = prepare,
    .launch = launch,
    .release = release,
    .columns = columns,
    .table_head = "taps | samples | setting | ms | Gsamples/s",
    .print_head = print_head,
    .print_cells = print_cells,
    .print_tiles = print_tiles,
    .describe = describe,
};
