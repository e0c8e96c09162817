/* Every kernel against the truth, on a GPU; exit 77 (skipped) where there is none. */
#include "gpu/fft_plan.h"
#include "gpu/kernel.h"
#include "suite.h"
#include "truth.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double BOUND_DB = -130;
static const double PEAK_DB = -125;
/* A mask of a few taps has little gain, so that the transform's own rounding shows: one reason
 * why such masks are convolved directly by default. */
static const double TRANSFORM_DB = -120;
enum { FEW_TAPS = 64 };

enum { TAPS_MOST = 70000, FORM_FLOATS = 2 * FFT_MOST };

#define CUDA(call)                                                                                 \
    ck_assert_msg((call) == cudaSuccess, "%s: %s", #call, cudaGetErrorString(cudaGetLastError()))

/* x as far as the mask reaches beyond both ends, by the boundary mode. */
static float *extend(const float *x, size_t frames, const struct kernel_job *job)
{
    size_t before = job->taps - 1 - job->origin, length = frames + job->taps - 1;
    float *extended = malloc(length * sizeof *extended);
    ck_assert_ptr_nonnull(extended);
    for (size_t i = 0; i < length; i++) {
        bool inside = i >= before && i < before + frames;
        float ghost = job->boundary == KERNEL_ZERO ? 0 : i < before ? x[0] : x[frames - 1];
        extended[i] = inside ? x[i - before] : ghost;
    }
    return extended;
}

struct data {
    float *x;
    float *h;
    double *truth; /* frames of it, from taps - 1 on */
    float *out;
    float *device_in;
    float *device_out;
    float *device_taps;
    float *form;
};

static void compare(const struct kernel *kernel, size_t fft, double bound, double peak_bound,
                    struct kernel_job *job, struct data *data)
{
    size_t bytes = job->frames * sizeof(float);
    struct kernel_shape shape = {.taps = job->taps, .frames = job->frames, .fft = fft};
    CUDA(cudaMemset(data->device_out, 0xFF, bytes + 64)); /* NaN: unwritten frames show */
    ck_assert_int_eq(kernel_open(kernel, &shape, &job->plan), STATUS_OK);
    ck_assert_uint_le(kernel_form_floats(kernel, job->plan, job->taps), FORM_FLOATS);
    CUDA(kernel_form(kernel, job->plan, data->device_taps, job->taps, data->form, NULL));
    job->mask = data->form;
    CUDA(kernel_load(kernel, job, NULL));
    CUDA(kernel->launch(job, NULL));
    CUDA(cudaMemcpy(data->out, data->device_out, bytes, cudaMemcpyDeviceToHost));
    unsigned beyond;
    CUDA(cudaMemcpy(&beyond, (char *)data->device_out + bytes, sizeof beyond,
                    cudaMemcpyDeviceToHost));
    double largest = 0, peak = 0, norm = 0, input = 0;
    for (size_t k = 0; k < job->taps; k++)
        norm += fabs((double)data->h[k]);
    for (size_t i = 0; i < job->frames; i++) {
        double truth = data->truth[job->taps - 1 + i];
        double error = fabs((double)data->out[i] - truth);
        largest = isnan(error) ? INFINITY : fmax(largest, error);
        peak = fmax(peak, fabs(truth));
        input = fmax(input, fabs((double)data->x[i]));
    }
    double bound_db = largest > 0 ? 20 * log10(largest / (input * norm)) : -INFINITY;
    double peak_db = largest > 0 ? 20 * log10(largest / peak) : -INFINITY;
    bool noise = job->frames > 1000 && (job->boundary == KERNEL_ZERO || job->frames > job->taps);
    ck_assert_msg(bound_db <= bound && (!noise || peak_db <= peak_bound) && beyond == 0xFFFFFFFF,
                  "%s, %zu taps from %zu, %zu frames, boundary %d, %u threads, transforms of %zu: "
                  "%.1f dB of the bound, %.1f dB of the peak",
                  kernel->name, job->taps, job->origin, job->frames, (int)job->boundary,
                  job->threads, fft, bound_db, peak_db);
    kernel_close(kernel, job->plan);
    if (getenv("HALO_TEST_SHOW") && noise)
        printf("%7.1f %7.1f dB  %s, %zu taps, transforms of %zu\n", bound_db, peak_db, kernel->name,
               job->taps, fft);
}

static void compare_noise(const struct kernel *kernel, size_t fft, struct kernel_job *job,
                          struct data *data)
{
    /* Transforms are not used at these lengths either. */
    bool rough = kernel->transforms && (job->taps < FEW_TAPS || fft > 16 * job->taps);
    compare(kernel, fft, rough ? TRANSFORM_DB : BOUND_DB, rough ? TRANSFORM_DB : PEAK_DB, job,
            data);
}

static void check_job(struct kernel_job *job, struct data *data)
{
    float *extended = extend(data->x, job->frames, job);
    size_t length = job->frames + 2 * (job->taps - 1);
    memset(data->truth, 0, (length + 1) * sizeof *data->truth);
    truth_add(extended, job->frames + job->taps - 1, data->h, job->taps, data->truth);
    free(extended);
    job->in = data->device_in;
    job->out = data->device_out;
    CUDA(cudaMemcpy(data->device_in, data->x, job->frames * sizeof(float), cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(data->device_taps, data->h, job->taps * sizeof(float), cudaMemcpyHostToDevice));
    for (size_t k = 0; kernel_at(k); k++) {
        const struct kernel *kernel = kernel_at(k);
        const unsigned threads[] = {0, 32, 128};
        if ((kernel->taps_most && job->taps > kernel->taps_most) || !kernel_is_usable(kernel))
            continue;
        for (size_t t = 0; t < (kernel->transforms || job->taps >= 300 ? 1 : 3); t++) {
            job->threads = threads[t];
            compare_noise(kernel, 0, job, data);
        }
        job->threads = 0;
        bool is_long = job->taps >= 20001 && job->frames > 4096;
        size_t most = is_long ? FFT_MOST : job->taps >= 1000 ? 65536 : 16384;
        for (size_t fft = 1024; kernel->transforms && fft <= most; fft *= 2)
            if (fft > job->taps)
                compare_noise(kernel, fft, job, data);
    }
}

START_TEST(every_kernel_equals_the_truth)
{
    const size_t taps[] = {1,   2,   3,    4,    5,    7,     8,     9,     16,   17,  19,  20,
                           21,  24,  31,   32,   33,   63,    65,    92,    93,   94,  95,  96,
                           97,  131, 132,  133,  145,  161,   255,   257,   259,  260, 261, 511,
                           512, 513, 1000, 1025, 4097, 16383, 16384, 20001, 70000};
    const size_t frames[] = {1, 3, 64, 1001, 4096, 70001};
    size_t most = 70001 + 2 * TAPS_MOST;
    struct data data = {.x = malloc(most * sizeof(float)),
                        .h = malloc(TAPS_MOST * sizeof(float)),
                        .truth = malloc(most * sizeof(double)),
                        .out = malloc(most * sizeof(float))};
    truth_noise(1, data.x, most);
    truth_noise(2, data.h, TAPS_MOST);
    CUDA(cudaMalloc((void **)&data.device_in, most * sizeof(float)));
    CUDA(cudaMalloc((void **)&data.device_out, most * sizeof(float)));
    CUDA(cudaMalloc((void **)&data.device_taps, TAPS_MOST * sizeof(float)));
    CUDA(cudaMalloc((void **)&data.form, FORM_FLOATS * sizeof(float)));
    for (size_t t = 0; t < sizeof taps / sizeof *taps; t++)
        for (size_t f = 0; f < sizeof frames / sizeof *frames; f++)
            for (int centre = 0; centre < 2; centre++)
                for (int boundary = 0; boundary < 2; boundary++) {
                    struct kernel_job job = {.frames_in = frames[f],
                                             .frames = frames[f],
                                             .taps = taps[t],
                                             .origin = centre ? (taps[t] - 1) / 2 : 0,
                                             .boundary = (enum kernel_boundary)boundary};
                    check_job(&job, &data);
                }
    CUDA(cudaFree(data.device_in));
    CUDA(cudaFree(data.device_out));
    CUDA(cudaFree(data.device_taps));
    CUDA(cudaFree(data.form));
    free(data.x);
    free(data.h);
    free(data.truth);
    free(data.out);
}

/* A value that 16 bits leave the most of: half of their last digit, which 11 more bits round. */
static const float WORST = 1 + 4093.0F / 8388608;

enum value { NOISE, CONSTANT, AWKWARD, BASS, SPIKE, STEPS };

static float value_of(enum value value, const float *noise, size_t i)
{
    switch (value) {
    case CONSTANT:
        return 0.9F;
    case AWKWARD:
        return WORST;
    case BASS:
        return 1e-7F * sinf((float)i * 0.0065F);
    case SPIKE:
        return i == 20 ? 1 : 1e-4F * noise[i];
    case STEPS:
        return i / 1000 % 2 ? 1e-6F * noise[i] : noise[i];
    default:
        return noise[i];
    }
}

/* What noise hides: sums whose products have one sign, loud beside soft, small numbers. (Where
 * other kernels do not keep the bound, near_bound.h has the file computed in double precision.) */
START_TEST(pairs_of_halves_keep_the_bound)
{
    if (!kernel_is_usable(&kernel_tensor))
        return;
    static const struct {
        enum value signal, mask;
        double bound_db;
    } cases[] = {{CONSTANT, CONSTANT, -130}, {CONSTANT, NOISE, -130}, {BASS, CONSTANT, -130},
                 {BASS, NOISE, -130},        {CONSTANT, SPIKE, -130}, {STEPS, NOISE, -130},
                 {STEPS, SPIKE, -130},       {NOISE, BASS, -130},     {AWKWARD, AWKWARD, -126}};
    const size_t taps[] = {1, 5, 17, 21, 25, 33, 64, 65, 80, 81, 97, 111, 112};
    enum { FRAMES = 20001, LONGEST = 112 };
    static float noise[FRAMES + LONGEST], x[FRAMES], h[LONGEST], out[FRAMES];
    static double truth[FRAMES + 2 * LONGEST];
    float *device;
    truth_noise(3, noise, FRAMES + LONGEST);
    CUDA(cudaMalloc((void **)&device, (3 * 32768 + FORM_FLOATS) * sizeof *device));
    struct data data = {.x = x, .h = h, .truth = truth, .out = out, .device_in = device};
    data.device_out = device + 32768, data.device_taps = device + 2 * 32768;
    data.form = device + 3 * 32768;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (size_t t = 0; t < sizeof taps / sizeof *taps; t++) {
            struct kernel_job job = {.frames_in = FRAMES, .frames = FRAMES, .taps = taps[t]};
            for (size_t i = 0; i < FRAMES; i++)
                x[i] = value_of(cases[c].signal, noise, i);
            for (size_t k = 0; k < taps[t]; k++)
                h[k] = value_of(cases[c].mask, noise + FRAMES, k);
            memset(truth, 0, sizeof truth);
            truth_add(x, FRAMES, h, taps[t], truth + taps[t] - 1);
            job.in = data.device_in, job.out = data.device_out;
            CUDA(cudaMemcpy(device, x, sizeof x, cudaMemcpyHostToDevice));
            CUDA(cudaMemcpy(data.device_taps, h, sizeof h, cudaMemcpyHostToDevice));
            compare(&kernel_tensor, 0, cases[c].bound_db, INFINITY, &job, &data);
        }
    CUDA(cudaFree(device));
}

START_TEST(kernels_have_names)
{
    ck_assert_ptr_nonnull(kernel_named("register"));
    ck_assert_ptr_null(kernel_named("nonsense"));
    for (size_t k = 0; kernel_at(k); k++)
        ck_assert_ptr_eq(kernel_named(kernel_at(k)->name), kernel_at(k));
}

int main(void)
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        puts("no GPU here: the kernels are not tested");
        return 77;
    }
    return suite_run();
}
