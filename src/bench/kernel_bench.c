#include "bench/kernel_bench.h"

#include "base/noise.h"
#include "bench/kernel_bench_report.h"
#include "bench/truth2d.h"
#include "gpu/gpu.h"
#include "signal/median.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    PLACES = 64, /* places where a result is compared with the reference */
    WARM_UPS = 2,
    CACHE_FACTOR = 4, /* size of all sets of buffers together, as a multiple of the L2 cache */
};

static const double ERROR_MOST_DB = -130; /* dB of max|x| sum|h| */

/* ---- the device ---- */

/* Number of float32 cores of a multiprocessor, by compute capability. */
static int cores_of(int major, int minor)
{
    return major == 7 || (major == 8 && minor == 0) ? 64 : 128;
}

enum status kernel_bench_device_open(struct kernel_bench_device *device)
{
    int count, clock;
    struct cudaDeviceProp properties;
    TRY(gpu_count(&count));
    cudaError_t error = cudaGetDeviceProperties(&properties, 0);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, 0);
    if (error == cudaSuccess)
        error = cudaDriverGetVersion(&device->driver);
    if (error == cudaSuccess)
        error = cudaRuntimeGetVersion(&device->runtime);
    if (error != cudaSuccess)
        return gpu_failed(error, "report its properties");
    device->multiprocessors = properties.multiProcessorCount;
    device->clock = 1e3 * clock;
    device->flops_peak =
        2 * device->clock * cores_of(properties.major, properties.minor) * device->multiprocessors;
    device->cache = (size_t)properties.l2CacheSize;
    device->shared = properties.sharedMemPerBlockOptin;
    snprintf(device->name, sizeof device->name, "%s", properties.name);
    return STATUS_OK;
}

/* ---- input and masks ---- */

static void bench_free(struct kernel_bench *bench)
{
    for (size_t s = 0; s < KERNEL_BENCH_SETS_MOST; s++) {
        cudaFree(bench->in[s]);
        cudaFree(bench->out[s]);
    }
    cudaFree(bench->device_mask);
    if (bench->begin)
        cudaEventDestroy(bench->begin);
    if (bench->end)
        cudaEventDestroy(bench->end);
    free(bench->times);
    free(bench->cells);
    free(bench->mask);
}

static size_t mask_cells_most(const struct kernel_bench_settings *settings)
{
    size_t most = 0;
    for (size_t m = 0; m < settings->masks.count; m++) {
        size_t cells = settings->masks.values[m].rows * settings->masks.values[m].columns;
        most = cells > most ? cells : most;
    }
    return most;
}

static enum status alloc_host(struct kernel_bench *bench)
{
    size_t cells = bench->lines * bench->size.columns;
    bench->cells = malloc(cells * sizeof *bench->cells);
    bench->mask = malloc(mask_cells_most(bench->settings) * sizeof *bench->mask);
    bench->times = calloc(bench->settings->repeats, sizeof *bench->times);
    if (!bench->cells || !bench->mask || !bench->times)
        return fail_memory("the bench");
    for (size_t i = 0; i < cells; i++)
        bench->cells[i] = noise_next(&bench->random);
    return STATUS_OK;
}

static enum status alloc_buffer(struct kernel_bench *bench, char **buffer)
{
    TRY_GPU(bench->pitched
                ? cudaMallocPitch((void **)buffer, &bench->pitch, bench->row_bytes, bench->lines)
                : cudaMalloc((void **)buffer, bench->row_bytes * bench->lines),
            "allocate memory");
    return STATUS_OK;
}

static enum status fill_buffer(const struct kernel_bench *bench, char *buffer)
{
    /* including the gaps between rows, which the copy reads too */
    TRY_GPU(cudaMemset(buffer, 0, bench->pitch * bench->lines), "clear a buffer");
    TRY_GPU(cudaMemcpy2D(buffer, bench->pitch, bench->cells, bench->row_bytes, bench->row_bytes,
                         bench->lines, cudaMemcpyHostToDevice),
            "copy");
    return STATUS_OK;
}

static enum status bench_init(struct kernel_bench *bench)
{
    const struct kernel_bench_settings *settings = bench->settings;
    bench->lines = bench->size.rows * settings->channels;
    bench->row_bytes = bench->size.columns * sizeof(float);
    bench->pitch = bench->row_bytes;
    size_t sets = CACHE_FACTOR * bench->device->cache / (2 * bench->row_bytes * bench->lines) + 2;
    bench->sets = sets < KERNEL_BENCH_SETS_MOST ? sets : KERNEL_BENCH_SETS_MOST;
    TRY(alloc_host(bench));
    for (size_t s = 0; s < bench->sets; s++) {
        TRY(alloc_buffer(bench, &bench->in[s]));
        TRY(alloc_buffer(bench, &bench->out[s]));
        TRY(fill_buffer(bench, bench->in[s]));
    }
    TRY_GPU(cudaMalloc((void **)&bench->device_mask, mask_cells_most(settings) * sizeof(float)),
            "allocate memory");
    TRY_GPU(cudaEventCreate(&bench->begin), "create an event");
    TRY_GPU(cudaEventCreate(&bench->end), "create an event");
    return STATUS_OK;
}

static enum status make_mask(struct kernel_bench *bench, size_t taps)
{
    for (size_t k = 0; k < taps; k++)
        bench->mask[k] = noise_next(&bench->random);
    TRY_GPU(
        cudaMemcpy(bench->device_mask, bench->mask, taps * sizeof(float), cudaMemcpyHostToDevice),
        "copy");
    return STATUS_OK;
}

/* ---- checking results ---- */

/* A random index from 0 to count-1, often near an end. */
static size_t random_place(struct kernel_bench *bench, size_t count)
{
    double value = 0.5 + 0.5 * (double)noise_next(&bench->random);
    size_t near = (size_t)(value * 20), any = (size_t)(value * (double)(count - 1));
    double turn = (double)noise_next(&bench->random);
    if (turn > 0.3)
        return any;
    near = near < count ? near : count - 1;
    return turn > -0.3 ? near : count - 1 - near;
}

static enum status error_at(const struct kernel_bench *bench, const struct truth2d *truth,
                            size_t channel, size_t row, size_t column, double *error)
{
    double expected = truth2d_at(truth, channel, row, column);
    float value;
    const char *at =
        bench->out[0] + (channel * bench->size.rows + row) * bench->pitch + column * sizeof value;
    TRY_GPU(cudaMemcpy(&value, at, sizeof value, cudaMemcpyDeviceToHost), "copy");
    *error = isnan(value) ? INFINITY : fabs((double)value - expected) / truth2d_norm(truth);
    return STATUS_OK;
}

/* Compares outputs at random places, many near boundaries, with a sum in double precision. */
static enum status check_result(struct kernel_bench *bench, struct kernel_bench_row *row)
{
    const struct truth2d truth = {
        .cells = bench->cells,
        .picture = {bench->settings->channels, row->size.rows, row->size.columns},
        .boundary = bench->settings->boundary,
        .mask = bench->mask,
        .mask_rows = row->mask.rows,
        .mask_columns = row->mask.columns,
    };
    double largest = 0;
    TRY_GPU(cudaMemset(bench->out[0], 0xFF, bench->pitch * bench->lines), "fill a buffer");
    TRY_GPU(bench->settings->kind->launch(bench, 0), "run a kernel");
    for (size_t p = 0; p < PLACES; p++) {
        double error = 0;
        size_t channel = random_place(bench, truth.picture.channels);
        size_t r = random_place(bench, row->size.rows);
        size_t column = random_place(bench, row->size.columns);
        TRY(error_at(bench, &truth, channel, r, column, &error));
        largest = error > largest ? error : largest;
    }
    row->error_db = largest > 0 ? 20 * log10(largest) : -INFINITY;
    if (row->error_db <= ERROR_MOST_DB)
        return STATUS_OK;
    return fail(CAUSE_OTHER, "kernel %s is wrong with a mask of %zux%zu on %zux%zu: error %.1f dB",
                row->kernel, row->mask.rows, row->mask.columns, row->size.rows, row->size.columns,
                row->error_db);
}

/* ---- measuring ---- */

static cudaError_t launch_copy(struct kernel_bench *bench, size_t set)
{
    return cudaMemcpyAsync(bench->out[set], bench->in[set], bench->row_bytes * bench->lines,
                           cudaMemcpyDeviceToDevice, NULL);
}

/* Median time of the runs, after a warm-up. */
static enum status time_runs(struct kernel_bench *bench,
                             cudaError_t (*launch)(struct kernel_bench *bench, size_t set),
                             double *seconds)
{
    for (size_t r = 0; r < WARM_UPS + bench->settings->repeats; r++) {
        float milliseconds;
        TRY_GPU(cudaEventRecord(bench->begin, NULL), "record an event");
        TRY_GPU(launch(bench, r % bench->sets), "run a kernel");
        TRY_GPU(cudaEventRecord(bench->end, NULL), "record an event");
        TRY_GPU(cudaEventSynchronize(bench->end), "run a kernel");
        TRY_GPU(cudaEventElapsedTime(&milliseconds, bench->begin, bench->end), "read the time");
        if (r >= WARM_UPS)
            bench->times[r - WARM_UPS] = 1e-3 * (double)milliseconds;
    }
    *seconds = median_of(bench->times, bench->settings->repeats);
    return STATUS_OK;
}

static void fill_rates(const struct kernel_bench *bench, struct kernel_bench_row *row)
{
    double cells = (double)bench->lines * (double)row->size.columns;
    row->samples_rate = cells / row->seconds;
    row->bytes_rate = 2 * (double)bench->row_bytes * (double)bench->lines / row->seconds;
    row->copy_share = bench->copy_seconds / row->seconds;
    row->flops = 2 * (double)(row->mask.rows * row->mask.columns) * cells / row->seconds;
    row->peak_share = row->flops / bench->device->flops_peak;
}

static enum status measure_kernel(struct kernel_bench *bench, struct size2d mask,
                                  struct size2d block, struct kernel_bench_row *row)
{
    const struct kernel_bench_kind *kind = bench->settings->kind;
    *row = (struct kernel_bench_row){.kernel = kind->kernel_name(bench->kernel),
                                     .size = bench->size,
                                     .mask = mask,
                                     .block = block,
                                     .pitched = bench->pitched};
    enum status status;
    if (!(status = make_mask(bench, mask.rows * mask.columns)) &&
        !(status = kind->prepare(bench, row)) && !(status = check_result(bench, row)))
        status = time_runs(bench, kind->launch, &row->seconds);
    if (kind->release)
        kind->release(bench);
    fill_rates(bench, row);
    return status;
}

static enum status measure_copy(struct kernel_bench *bench, struct kernel_bench_report *report)
{
    struct kernel_bench_row row = {
        .kernel = "copy", .size = bench->size, .pitched = bench->pitched, .error_db = -INFINITY};
    TRY(time_runs(bench, launch_copy, &row.seconds));
    bench->copy_seconds = row.seconds;
    fill_rates(bench, &row);
    return kernel_bench_report_add(report, &row);
}

static enum status run_kernels(struct kernel_bench *bench, struct kernel_bench_report *report)
{
    const struct kernel_bench_settings *settings = bench->settings;
    for (size_t k = 0; k < settings->kernels.count; k++) {
        bench->kernel = settings->kernels.values[k];
        const struct size2d_list *blocks = settings->kind->blocks(settings, bench->kernel);
        for (size_t m = 0; m < settings->masks.count; m++)
            for (size_t b = 0; b < blocks->count; b++) {
                struct size2d mask = settings->masks.values[m], block = blocks->values[b];
                struct kernel_bench_row row;
                if (!settings->kind->can_run(bench, bench->kernel, mask, block))
                    continue;
                TRY(measure_kernel(bench, mask, block, &row));
                TRY(kernel_bench_report_add(report, &row));
            }
    }
    return STATUS_OK;
}

enum status kernel_bench_run(const struct kernel_bench_settings *settings,
                             const struct kernel_bench_device *device,
                             struct kernel_bench_report *report)
{
    enum status status = STATUS_OK;
    for (size_t s = 0; s < settings->sizes.count; s++)
        for (size_t p = 0; p < settings->pitched.count && status == STATUS_OK; p++) {
            struct kernel_bench bench = {
                .settings = settings,
                .device = device,
                .size = settings->sizes.values[s],
                .pitched = settings->pitched.values[p] != 0,
                .random = 1,
            };
            if (!(status = bench_init(&bench)) && !(status = measure_copy(&bench, report)))
                status = run_kernels(&bench, report);
            bench_free(&bench);
        }
    return status;
}
