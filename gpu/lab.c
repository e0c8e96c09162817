#include "lab.h"

#include "base/noise.h"
#include "gpu.h"
#include "lab_timer.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum {
    PLACES = 64, /* where a result is compared with the truth */
};

static const double ERROR_MOST_DB = -130; /* of max|x| sum|h|, the program's first invariant */

#define TRY(call, what)                                                                            \
    do {                                                                                           \
        cudaError_t try_error = (call);                                                            \
        if (try_error != cudaSuccess)                                                              \
            return gpu_failed(try_error, what);                                                    \
    } while (0)

/* All that a run holds on the device, for one number of samples. */
struct bench {
    const struct lab_settings *settings;
    const struct lab_device *device;
    size_t samples;
    size_t sets;
    float *in[LAB_SETS_MOST];
    float *out[LAB_SETS_MOST];
    struct lab_timer timer;
    float *sound;       /* host */
    float *mask;        /* host */
    float *device_taps; /* the mask as it came */
    float *form;        /* and in the form of the kernel at hand */
    double copy_seconds;
};

static uint64_t random_state = 1;

static void bench_close(struct bench *bench)
{
    for (size_t s = 0; s < LAB_SETS_MOST; s++) {
        cudaFree(bench->in[s]);
        cudaFree(bench->out[s]);
    }
    lab_timer_free(&bench->timer);
    cudaFree(bench->device_taps);
    cudaFree(bench->form);
    free(bench->sound);
    free(bench->mask);
}

static size_t longest_mask(const struct lab_settings *settings)
{
    size_t taps = 0;
    for (size_t t = 0; t < settings->taps.count; t++)
        if (settings->taps.values[t] > taps)
            taps = settings->taps.values[t];
    return taps;
}

static enum status bench_open(struct bench *bench)
{
    size_t bytes = bench->samples * sizeof(float);
    bench->sets = lab_timer_sets(bytes, bench->device->cache);
    bench->sound = malloc(bytes);
    size_t taps = longest_mask(bench->settings);
    bench->mask = malloc(taps * sizeof *bench->mask);
    if (!bench->sound || !bench->mask)
        return fail_memory("the laboratory");
    for (size_t i = 0; i < bench->samples; i++)
        bench->sound[i] = noise_next(&random_state);
    for (size_t k = 0; k < taps; k++)
        bench->mask[k] = noise_next(&random_state);
    TRY(cudaMalloc((void **)&bench->device_taps, taps * sizeof(float)), "find memory");
    TRY(cudaMemcpy(bench->device_taps, bench->mask, taps * sizeof(float), cudaMemcpyHostToDevice),
        "copy");
    for (size_t s = 0; s < bench->sets; s++) {
        TRY(cudaMalloc((void **)&bench->in[s], bytes), "find memory");
        TRY(cudaMalloc((void **)&bench->out[s], bytes), "find memory");
        TRY(cudaMemcpy(bench->in[s], bench->sound, bytes, cudaMemcpyHostToDevice), "copy");
    }
    return lab_timer_init(&bench->timer, bench->settings->repeats);
}

static cudaError_t run_once(struct bench *bench, const struct kernel *kernel,
                            struct kernel_job *job, size_t set)
{
    if (!kernel)
        return cudaMemcpyAsync(bench->out[set], bench->in[set], bench->samples * sizeof(float),
                               cudaMemcpyDeviceToDevice, NULL);
    job->in = bench->in[set];
    job->out = bench->out[set];
    return kernel->launch(job, NULL);
}

/* What lab_timer.h runs. */
struct runs {
    struct bench *bench;
    const struct kernel *kernel;
    struct kernel_job *job;
};

static cudaError_t run_again(void *context, size_t set)
{
    const struct runs *runs = context;
    return run_once(runs->bench, runs->kernel, runs->job, set);
}

static enum status time_runs(struct bench *bench, const struct kernel *kernel,
                             struct kernel_job *job, double *seconds)
{
    struct runs runs = {bench, kernel, job};
    return lab_timer_run(&bench->timer, bench->sets, run_again, &runs, seconds);
}

static double true_output(const struct bench *bench, const struct kernel_job *job, size_t i)
{
    double sum = 0;
    long long frames = (long long)job->frames;
    for (size_t k = 0; k < job->taps; k++) {
        long long index = (long long)(i + job->origin) - (long long)k;
        bool inside = index >= 0 && index < frames;
        if (!inside && job->boundary == KERNEL_ZERO)
            continue;
        index = index < 0 ? 0 : index >= frames ? frames - 1 : index;
        sum += (double)bench->sound[index] * (double)bench->mask[k];
    }
    return sum;
}

/* Outputs at both ends and at random places between, against double precision. */
static enum status check_result(struct bench *bench, const struct kernel *kernel,
                                struct kernel_job *job, double *error_db)
{
    double norm = 0, largest = 0;
    TRY(cudaMemset(bench->out[0], 0xFF, bench->samples * sizeof(float)), "poison a buffer");
    TRY(run_once(bench, kernel, job, 0), "run a kernel");
    for (size_t k = 0; k < job->taps; k++)
        norm += fabs((double)bench->mask[k]);
    for (size_t p = 0; p < PLACES; p++) {
        size_t spread = (size_t)((double)(bench->samples - 1) *
                                 (0.5 + 0.5 * (double)noise_next(&random_state)));
        size_t i = p % 4 == 0   ? p % bench->samples
                   : p % 4 == 1 ? bench->samples - 1 - p % bench->samples
                                : spread;
        float value;
        TRY(cudaMemcpy(&value, bench->out[0] + i, sizeof value, cudaMemcpyDeviceToHost), "copy");
        double error = fabs((double)value - true_output(bench, job, i));
        if (isnan(value) || error > largest)
            largest = isnan(value) ? INFINITY : error;
    }
    *error_db = largest > 0 ? 20 * log10(largest / norm) : -INFINITY;
    if (*error_db <= ERROR_MOST_DB)
        return STATUS_OK;
    return fail(STATUS_FAILED, "kernel %s is wrong at %zu taps and %zu samples: %.1f dB",
                kernel->name, job->taps, job->frames, *error_db);
}

static void fill_rates(const struct bench *bench, struct lab_row *row)
{
    double samples = (double)row->samples;
    row->samples_rate = samples / row->seconds;
    row->bytes_rate = 2 * sizeof(float) * samples / row->seconds;
    row->copy_share = bench->copy_seconds / row->seconds;
    row->flops = 2 * (double)row->taps * samples / row->seconds;
    row->peak_share = row->flops / bench->device->flops_peak;
}

/* The mask in the kernel's form, and current. */
static enum status parse_mask(struct bench *bench, const struct kernel *kernel,
                             struct kernel_job *job)
{
    size_t bytes = kernel_form_floats(kernel, job->plan, job->taps) * sizeof(float);
    cudaFree(bench->form);
    bench->form = NULL;
    TRY(cudaMalloc((void **)&bench->form, bytes), "find memory");
    TRY(kernel_form(kernel, job->plan, bench->device_taps, job->taps, bench->form, NULL),
        "take a mask");
    job->mask = bench->form;
    TRY(kernel_load(kernel, job, NULL), "load a mask");
    return STATUS_OK;
}

static enum status measure_kernel(struct bench *bench, const struct kernel *kernel, size_t taps,
                                  size_t setting, struct lab_row *row)
{
    struct kernel_shape shape = {
        .taps = taps, .frames = bench->samples, .fft = kernel->transforms ? setting : 0};
    struct kernel_job job = {
        .frames_in = bench->samples,
        .frames = bench->samples,
        .taps = taps,
        .origin = (taps - 1) / 2,
        .boundary = bench->settings->boundary,
        .threads = kernel->transforms ? 0 : (unsigned)setting,
    };
    *row = (struct lab_row){
        .kernel = kernel->name, .taps = taps, .samples = bench->samples, .setting = setting};
    enum status status = kernel_open(kernel, &shape, &job.plan);
    if (status == STATUS_OK)
        status = parse_mask(bench, kernel, &job);
    if (status == STATUS_OK)
        status = check_result(bench, kernel, &job, &row->error_db);
    if (status == STATUS_OK)
        status = time_runs(bench, kernel, &job, &row->seconds);
    if (status == STATUS_OK)
        fill_rates(bench, row);
    kernel_close(kernel, job.plan);
    return status;
}

static enum status measure_copy(struct bench *bench, struct lab_row *row)
{
    *row = (struct lab_row){.kernel = "copy", .samples = bench->samples, .error_db = -INFINITY};
    enum status status = time_runs(bench, NULL, NULL, &row->seconds);
    bench->copy_seconds = row->seconds;
    if (status == STATUS_OK)
        fill_rates(bench, row);
    return status;
}

/* What a kernel cannot do is left out: masks beyond constant memory, transforms that do
 * not hold the mask. */
static bool is_cell(const struct kernel *kernel, size_t taps, size_t setting)
{
    if (kernel->transforms)
        return setting == 0 || setting > taps;
    return kernel->taps_most == 0 || taps <= kernel->taps_most;
}

static enum status run_cells(struct bench *bench,
                             enum status (*take)(void *context, const struct lab_row *row),
                             void *context)
{
    const struct lab_settings *settings = bench->settings;
    struct lab_row row;
    enum status status = measure_copy(bench, &row);
    if (status == STATUS_OK)
        status = take(context, &row);
    for (size_t k = 0; k < settings->kernel_count; k++) {
        const struct kernel *kernel = settings->kernels[k];
        const struct number_list *axis = kernel->transforms ? &settings->fft : &settings->threads;
        for (size_t t = 0; t < settings->taps.count; t++)
            for (size_t h = 0; h < axis->count && status == STATUS_OK; h++) {
                size_t taps = settings->taps.values[t], setting = axis->values[h];
                if (!is_cell(kernel, taps, setting))
                    continue;
                status = measure_kernel(bench, kernel, taps, setting, &row);
                if (status == STATUS_OK)
                    status = take(context, &row);
            }
    }
    return status;
}

enum status lab_run(const struct lab_settings *settings, const struct lab_device *device,
                    enum status (*row)(void *context, const struct lab_row *row), void *context)
{
    enum status status = STATUS_OK;
    struct bench *bench = calloc(1, sizeof *bench);
    if (!bench)
        return fail_memory("the laboratory");
    for (size_t s = 0; s < settings->samples.count && status == STATUS_OK; s++) {
        *bench = (struct bench){
            .settings = settings, .device = device, .samples = settings->samples.values[s]};
        status = bench_open(bench);
        if (status == STATUS_OK)
            status = run_cells(bench, row, context);
        bench_close(bench);
    }
    free(bench);
    return status;
}
