#include "lab2d.h"

#include "base/noise.h"
#include "gpu.h"
#include "lab_timer.h"
#include "truth2d.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum {
    PLACES = 64, /* where a result is compared with the truth */
};

static const double ERROR_MOST_DB = -130; /* of max|x| sum|m| */
static const double BYTE_ERROR_MOST = 1e-3;
static const float BYTE_GAIN = 1.3f; /* of masks for bytes, so that some results are clamped */

#define TRY(call, what)                                                                            \
    do {                                                                                           \
        cudaError_t try_error = (call);                                                            \
        if (try_error != cudaSuccess)                                                              \
            return gpu_failed(try_error, what);                                                    \
    } while (0)

/* All that a run holds, for pictures of one size. */
struct bench {
    const struct lab2d_settings *settings;
    const struct lab_device *device;
    struct size2d size;
    bool pitched;
    size_t row_bytes;
    size_t pitch; /* bytes */
    size_t lines; /* rows of all channels */
    size_t sets;
    char *in[LAB_SETS_MOST];
    char *out[LAB_SETS_MOST];
    struct lab_timer timer;
    float *picture;       /* host */
    unsigned char *bytes; /* host: the same, where cells are bytes */
    float *mask;          /* host */
    float *device_mask;
    double copy_seconds;
    uint64_t random;
};

static void bench_close(struct bench *bench)
{
    for (size_t s = 0; s < LAB_SETS_MOST; s++) {
        cudaFree(bench->in[s]);
        cudaFree(bench->out[s]);
    }
    lab_timer_free(&bench->timer);
    cudaFree(bench->device_mask);
    free(bench->picture);
    free(bench->bytes);
    free(bench->mask);
}

static enum status make_picture(struct bench *bench)
{
    size_t cells = bench->lines * bench->size.columns;
    bool is_bytes = bench->settings->cells == KERNEL2D_BYTE;
    bench->picture = malloc(cells * sizeof *bench->picture);
    bench->bytes = is_bytes ? malloc(cells) : NULL;
    bench->mask = malloc(KERNEL_TAPS_CONSTANT * sizeof *bench->mask);
    if (!bench->picture || !bench->mask || (is_bytes && !bench->bytes))
        return fail_memory("the laboratory");
    for (size_t i = 0; i < cells; i++) {
        float value = noise_next(&bench->random);
        bench->picture[i] = is_bytes ? floorf(128 + 127.9f * value) : value;
        if (is_bytes)
            bench->bytes[i] = (unsigned char)bench->picture[i];
    }
    return STATUS_OK;
}

static enum status find_buffer(struct bench *bench, char **buffer)
{
    if (bench->pitched)
        TRY(cudaMallocPitch((void **)buffer, &bench->pitch, bench->row_bytes, bench->lines),
            "find memory");
    else
        TRY(cudaMalloc((void **)buffer, bench->row_bytes * bench->lines), "find memory");
    return STATUS_OK;
}

static enum status bench_open(struct bench *bench)
{
    bench->lines = bench->size.rows * bench->settings->channels;
    bench->row_bytes = bench->size.columns * kernel2d_cell_bytes(bench->settings->cells);
    bench->pitch = bench->row_bytes;
    size_t bytes = bench->row_bytes * bench->lines;
    bench->sets = lab_timer_sets(bytes, bench->device->cache);
    enum status status = make_picture(bench);
    const void *host = bench->bytes ? (const void *)bench->bytes : bench->picture;
    for (size_t s = 0; s < bench->sets && status == STATUS_OK; s++) {
        status = find_buffer(bench, &bench->in[s]);
        if (status == STATUS_OK)
            status = find_buffer(bench, &bench->out[s]);
        if (status == STATUS_OK) /* the gaps between rows too: the copy takes them along */
            TRY(cudaMemset(bench->in[s], 0, bench->pitch * bench->lines), "clear a buffer");
        if (status == STATUS_OK)
            TRY(cudaMemcpy2D(bench->in[s], bench->pitch, host, bench->row_bytes, bench->row_bytes,
                             bench->lines, cudaMemcpyHostToDevice),
                "copy");
    }
    if (status != STATUS_OK)
        return status;
    TRY(cudaMalloc((void **)&bench->device_mask, KERNEL_TAPS_CONSTANT * sizeof(float)),
        "find memory");
    return lab_timer_init(&bench->timer, bench->settings->repeats);
}

static cudaError_t run_once(struct bench *bench, const struct kernel2d *kernel,
                            struct kernel2d_job *job, size_t set)
{
    if (!kernel)
        return cudaMemcpyAsync(bench->out[set], bench->in[set], bench->row_bytes * bench->lines,
                               cudaMemcpyDeviceToDevice, NULL);
    job->in = bench->in[set];
    job->out = bench->out[set];
    return kernel->launch(job, NULL);
}

/* What lab_timer.h runs. */
struct runs {
    struct bench *bench;
    const struct kernel2d *kernel;
    struct kernel2d_job *job;
};

static cudaError_t run_again(void *context, size_t set)
{
    const struct runs *runs = context;
    return run_once(runs->bench, runs->kernel, runs->job, set);
}

static enum status time_runs(struct bench *bench, const struct kernel2d *kernel,
                             struct kernel2d_job *job, double *seconds)
{
    struct runs runs = {bench, kernel, job};
    return lab_timer_run(&bench->timer, bench->sets, run_again, &runs, seconds);
}

/* A random number of 0..count-1, often one of the ends, where edges are. */
static size_t random_place(struct bench *bench, size_t count)
{
    double value = 0.5 + 0.5 * (double)noise_next(&bench->random);
    size_t near = (size_t)(value * 20), any = (size_t)(value * (double)(count - 1));
    double turn = (double)noise_next(&bench->random);
    if (turn > 0.3)
        return any;
    near = near < count ? near : count - 1;
    return turn > -0.3 ? near : count - 1 - near;
}

static enum status error_at(struct bench *bench, const struct kernel2d_job *job, size_t channel,
                            size_t row, size_t column, double *error)
{
    struct truth2d truth = {
        .cells = bench->picture,
        .picture = {job->channels, job->rows, job->columns},
        .boundary = job->boundary,
        .mask = bench->mask,
        .mask_rows = job->mask_rows,
        .mask_columns = job->mask_columns,
    };
    double expected = truth2d_at(&truth, channel, row, column);
    float value;
    unsigned char byte;
    bool is_bytes = job->cells == KERNEL2D_BYTE;
    const char *at = bench->out[0] + (channel * job->rows + row) * bench->pitch +
                     column * kernel2d_cell_bytes(job->cells);
    TRY(cudaMemcpy(is_bytes ? (void *)&byte : &value, at, kernel2d_cell_bytes(job->cells),
                   cudaMemcpyDeviceToHost),
        "copy");
    if (is_bytes) {
        double excess = truth2d_byte_error(expected, byte);
        *error = excess > BYTE_ERROR_MOST ? excess / 255 : 0;
    } else {
        *error = isnan(value) ? INFINITY : fabs((double)value - expected) / truth2d_norm(&truth);
    }
    return STATUS_OK;
}

/* Outputs at random places, many near the edges, against double precision. */
static enum status check_result(struct bench *bench, const struct kernel2d *kernel,
                                struct kernel2d_job *job, double *error_db)
{
    double largest = 0;
    TRY(cudaMemset(bench->out[0], 0xFF, bench->pitch * bench->lines), "poison a buffer");
    TRY(run_once(bench, kernel, job, 0), "run a kernel");
    for (size_t p = 0; p < PLACES; p++) {
        double error = 0;
        size_t channel = random_place(bench, job->channels);
        size_t row = random_place(bench, job->rows), column = random_place(bench, job->columns);
        enum status status = error_at(bench, job, channel, row, column, &error);
        if (status != STATUS_OK)
            return status;
        largest = error > largest ? error : largest;
    }
    *error_db = largest > 0 ? 20 * log10(largest) : -INFINITY;
    if (*error_db <= ERROR_MOST_DB)
        return STATUS_OK;
    return fail(STATUS_FAILED, "kernel %s is wrong at a mask of %zux%zu on %zux%zu: %.1f dB",
                kernel->name, job->mask_rows, job->mask_columns, job->rows, job->columns,
                *error_db);
}

static void fill_rates(const struct bench *bench, struct lab2d_row *row)
{
    double cells = (double)bench->lines * (double)bench->size.columns;
    row->bytes_rate = 2 * (double)bench->row_bytes * (double)bench->lines / row->seconds;
    row->copy_share = bench->copy_seconds / row->seconds;
    row->flops = 2 * (double)(row->mask.rows * row->mask.columns) * cells / row->seconds;
    row->peak_share = row->flops / bench->device->flops_peak;
}

static enum status parse_mask(struct bench *bench, const struct kernel2d *kernel,
                             struct kernel2d_job *job)
{
    size_t taps = job->mask_rows * job->mask_columns;
    float norm = 0;
    for (size_t k = 0; k < taps; k++) {
        bench->mask[k] = noise_next(&bench->random);
        norm += fabsf(bench->mask[k]);
    }
    for (size_t k = 0; bench->bytes && k < taps; k++)
        bench->mask[k] = fabsf(bench->mask[k]) * BYTE_GAIN / norm;
    TRY(cudaMemcpy(bench->device_mask, bench->mask, taps * sizeof(float), cudaMemcpyHostToDevice),
        "copy");
    job->mask = bench->device_mask;
    TRY(kernel2d_load(kernel, job, NULL), "load a mask");
    return STATUS_OK;
}

static struct kernel2d_job job_of(const struct bench *bench, struct size2d mask,
                                  struct size2d block)
{
    const struct size2d *size = &bench->size;
    return (struct kernel2d_job){
        .cells = bench->settings->cells,
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

static enum status measure_kernel(struct bench *bench, const struct kernel2d *kernel,
                                  struct kernel2d_job *job, struct size2d block,
                                  struct lab2d_row *row)
{
    *row = (struct lab2d_row){
        .kernel = kernel->name,
        .size = bench->size,
        .mask = {job->mask_rows, job->mask_columns},
        .block = block,
        .pitched = bench->pitched,
        .tile = kernel2d_tile(kernel, job),
    };
    enum status status = parse_mask(bench, kernel, job);
    if (status == STATUS_OK)
        status = check_result(bench, kernel, job, &row->error_db);
    if (status == STATUS_OK)
        status = time_runs(bench, kernel, job, &row->seconds);
    if (status == STATUS_OK)
        fill_rates(bench, row);
    return status;
}

static enum status measure_copy(struct bench *bench, struct lab2d_row *row)
{
    *row = (struct lab2d_row){
        .kernel = "copy", .size = bench->size, .pitched = bench->pitched, .error_db = -INFINITY};
    enum status status = time_runs(bench, NULL, NULL, &row->seconds);
    bench->copy_seconds = row->seconds;
    if (status == STATUS_OK)
        fill_rates(bench, row);
    return status;
}

static enum status run_cells(struct bench *bench,
                             enum status (*take)(void *context, const struct lab2d_row *row),
                             void *context)
{
    const struct lab2d_settings *settings = bench->settings;
    struct lab2d_row row;
    int shared;
    TRY(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0),
        "tell its shared memory");
    enum status status = measure_copy(bench, &row);
    if (status == STATUS_OK)
        status = take(context, &row);
    for (size_t k = 0; k < settings->kernel_count; k++)
        for (size_t m = 0; m < settings->masks.count; m++)
            for (size_t b = 0; b < settings->blocks.count && status == STATUS_OK; b++) {
                const struct kernel2d *kernel = settings->kernels[k];
                struct size2d block = settings->blocks.values[b];
                struct kernel2d_job job = job_of(bench, settings->masks.values[m], block);
                if (kernel2d_obstacle(kernel, &job, (size_t)shared))
                    continue;
                status = measure_kernel(bench, kernel, &job, block, &row);
                if (status == STATUS_OK)
                    status = take(context, &row);
            }
    return status;
}

enum status lab2d_run(const struct lab2d_settings *settings, const struct lab_device *device,
                      enum status (*row)(void *context, const struct lab2d_row *row), void *context)
{
    enum status status = STATUS_OK;
    struct bench *bench = calloc(1, sizeof *bench);
    if (!bench)
        return fail_memory("the laboratory");
    for (size_t s = 0; s < settings->sizes.count; s++)
        for (size_t p = 0; p < settings->pitched.count && status == STATUS_OK; p++) {
            *bench = (struct bench){
                .settings = settings,
                .device = device,
                .size = settings->sizes.values[s],
                .pitched = settings->pitched.values[p] != 0,
                .random = 1,
            };
            status = bench_open(bench);
            if (status == STATUS_OK)
                status = run_cells(bench, row, context);
            bench_close(bench);
        }
    free(bench);
    return status;
}
