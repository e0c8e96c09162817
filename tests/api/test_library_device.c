/* libhalo on buffers of a GPU, on streams of the caller, whose CUDA runtime is another one than the
 * library's; exit 77 (skipped) where there is no GPU. */
#include "command.h"
#include "library_rig.h"
#include "suite.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Transforms in single precision. */
static const double DEVICE_BOUND = -125;

#define CUDA(call)                                                                                 \
    ck_assert_msg((call) == cudaSuccess, "%s: %s", #call, cudaGetErrorString(cudaGetLastError()))

/* A block in device memory, with a stride that keeps channels aligned. */
struct device_planes {
    float *samples;
    size_t stride;
};

static struct device_planes device_planes_of(const struct block *block)
{
    struct device_planes planes = {.stride = (block->frames + 7) / 4 * 4};
    CUDA(cudaMalloc((void **)&planes.samples,
                    block->channels * planes.stride * sizeof *planes.samples));
    for (size_t c = 0; c < block->channels; c++)
        CUDA(cudaMemcpy(planes.samples + c * planes.stride, block->data[c],
                        block->frames * sizeof *planes.samples, cudaMemcpyHostToDevice));
    return planes;
}

static void device_planes_take(const struct device_planes *planes, struct block *block)
{
    for (size_t c = 0; c < block->channels; c++)
        CUDA(cudaMemcpy(block->data[c], planes->samples + c * planes->stride,
                        block->frames * sizeof *planes->samples, cudaMemcpyDeviceToHost));
}

static struct halo_device_convolver *device_convolver(const struct halo_mask *mask, size_t frames)
{
    struct halo_device_convolver *convolver = NULL;
    struct halo_error error;
    enum halo_status status = halo_device_convolver_create(mask, frames, &convolver, &error);
    ck_assert_msg(status == HALO_OK, "%s", error.text);
    return convolver;
}

/* A sound and its output on the device. */
struct device_sound {
    struct block in, out;
    struct device_planes from, to;
};

static struct device_sound device_sound_of(uint64_t seed, const struct mask *mask, size_t frames,
                                           size_t out_frames)
{
    struct device_sound sound = {.in = stream_noise(seed, mask->inputs, frames),
                                 .out = stream_noise(seed + 1, mask->outputs, out_frames)};
    for (size_t c = 0; c < mask->outputs; c++) /* unwritten frames show */
        for (size_t i = 0; i < out_frames; i++)
            sound.out.data[c][i] = NAN;
    sound.from = device_planes_of(&sound.in);
    sound.to = device_planes_of(&sound.out);
    return sound;
}

static struct halo_job device_job_of(const struct device_sound *sound)
{
    return (struct halo_job){sound->from.samples, sound->from.stride, sound->in.frames,
                             sound->to.samples,   sound->to.stride,   sound->out.frames};
}

/* What is on the device is the truth; frees it. */
static void expect_sound(struct device_sound *sound, const struct mask *mask)
{
    double **truth = truth_render(mask, sound->in.data, sound->in.frames);
    double largest = 0, norm = mask_norm(mask);
    device_planes_take(&sound->to, &sound->out);
    for (size_t c = 0; c < mask->outputs; c++)
        for (size_t i = 0; i < sound->out.frames; i++) {
            bool silent = i + mask->origin >= sound->in.frames + mask->taps - 1;
            double wanted = silent ? 0 : truth[c][i + mask->origin];
            double error = fabs(sound->out.data[c][i] - wanted);
            largest = isnan(error) || (silent && error > 0) ? INFINITY : fmax(largest, error);
        }
    ck_assert_msg(20 * log10(largest / norm) < DEVICE_BOUND,
                  "%zu taps from %zu, %zu channels, %zu frames to %zu: %.1f dB", mask->taps,
                  mask->origin, mask->inputs, sound->in.frames, sound->out.frames,
                  20 * log10(largest / norm));
    CUDA(cudaFree(sound->from.samples));
    CUDA(cudaFree(sound->to.samples));
}

START_TEST(device_buffers_equal_truth)
{
    static const size_t taps[] = {1, 2, 64, 65, 1000, 16385, 70000};
    static const size_t frames[] = {1, 1000, 70001};
    cudaStream_t stream;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (size_t t = 0; t < sizeof taps / sizeof *taps; t++)
        for (size_t channels = 1; channels <= 3; channels += 2) {
            struct mask *mask = truth_noise_mask(t + 1, channels, taps[t]);
            struct halo_mask *own = library_mask(mask);
            struct halo_device_convolver *convolver = device_convolver(own, 150000);
            halo_mask_destroy(own);
            struct device_sound sounds[3];
            struct halo_job jobs[3];
            for (size_t j = 0; j < 3; j++) {
                size_t out_frames = j == 1 ? 333 : frames[j] + taps[t] + 5;
                sounds[j] = device_sound_of(10 * j + 1, mask, frames[j], out_frames);
                jobs[j] = device_job_of(&sounds[j]);
            }
            struct halo_error error;
            enum halo_status status = halo_device_convolver_run(convolver, jobs, 3, stream, &error);
            ck_assert_msg(status == HALO_OK, "%s", error.text);
            CUDA(cudaStreamSynchronize(stream));
            for (size_t j = 0; j < 3; j++)
                expect_sound(&sounds[j], mask);
            halo_device_convolver_destroy(convolver);
        }
    CUDA(cudaStreamDestroy(stream));
}

/* Without a wait between them: the stream orders a copy, the convolution, and a copy back. */
START_TEST(work_is_in_the_order_of_the_stream)
{
    enum { LENGTH = 200000, ROUNDS = 20 };
    struct mask *mask = truth_noise_mask(3, 1, 3000);
    struct halo_mask *own = library_mask(mask);
    struct halo_device_convolver *convolver = device_convolver(own, LENGTH);
    struct device_sound sound = device_sound_of(1, mask, LENGTH, LENGTH);
    const struct halo_job job = device_job_of(&sound);
    float *pinned_in, *pinned_out;
    cudaStream_t stream;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaMallocHost((void **)&pinned_in, ROUNDS * LENGTH * sizeof *pinned_in));
    CUDA(cudaMallocHost((void **)&pinned_out, ROUNDS * LENGTH * sizeof *pinned_out));
    truth_noise(5, pinned_in, ROUNDS * LENGTH);
    for (size_t r = 0; r < ROUNDS; r++) {
        CUDA(cudaMemcpyAsync(sound.from.samples, pinned_in + r * LENGTH, LENGTH * sizeof(float),
                             cudaMemcpyHostToDevice, stream));
        ck_assert_int_eq(halo_device_convolver_run(convolver, &job, 1, stream, NULL), HALO_OK);
        CUDA(cudaMemcpyAsync(pinned_out + r * LENGTH, sound.to.samples, LENGTH * sizeof(float),
                             cudaMemcpyDeviceToHost, stream));
    }
    CUDA(cudaStreamSynchronize(stream));
    for (size_t r = 0; r < ROUNDS; r += ROUNDS - 1) {
        float *row = pinned_in + r * LENGTH;
        double **truth = truth_render(mask, &row, LENGTH), largest = 0;
        for (size_t i = 0; i < LENGTH; i++)
            largest = fmax(largest, fabs(pinned_out[r * LENGTH + i] - truth[0][i]));
        ck_assert_msg(20 * log10(largest / mask_norm(mask)) < DEVICE_BOUND, "round %zu", r);
    }
    CUDA(cudaFreeHost(pinned_in));
    CUDA(cudaFreeHost(pinned_out));
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaFree(sound.from.samples));
    CUDA(cudaFree(sound.to.samples));
    halo_device_convolver_destroy(convolver);
    halo_mask_destroy(own);
}

/* Convolvers of short and long masks beside one another. */
START_TEST(convolvers_on_two_streams_do_not_meet)
{
    static const size_t taps[] = {33, 40, 5000, 6000};
    struct mask *masks[4];
    struct halo_device_convolver *convolvers[4];
    struct device_sound sounds[4];
    cudaStream_t streams[4];
    for (size_t m = 0; m < 4; m++) {
        masks[m] = truth_noise_mask(m + 1, 2, taps[m]);
        struct halo_mask *own = library_mask(masks[m]);
        convolvers[m] = device_convolver(own, 300000);
        halo_mask_destroy(own);
        sounds[m] = device_sound_of(m + 20, masks[m], 300000, 300000);
        CUDA(cudaStreamCreateWithFlags(&streams[m], cudaStreamNonBlocking));
    }
    for (size_t round = 0; round < 20; round++)
        for (size_t m = 0; m < 4; m++) {
            const struct halo_job job = device_job_of(&sounds[m]);
            ck_assert_int_eq(halo_device_convolver_run(convolvers[m], &job, 1, streams[m], NULL),
                             HALO_OK);
        }
    CUDA(cudaDeviceSynchronize());
    for (size_t m = 0; m < 4; m++) {
        expect_sound(&sounds[m], masks[m]);
        halo_device_convolver_destroy(convolvers[m]);
        CUDA(cudaStreamDestroy(streams[m]));
    }
}

START_TEST(symmetric_masks_begin_at_time_zero)
{
    struct halo_mask *own;
    struct halo_error error;
    ck_assert_int_eq(halo_mask_load("lowpass:3000,taps=1001", LIBRARY_RATE, 1, &own, &error),
                     HALO_OK);
    struct block in = stream_noise(1, 1, 5000), out = stream_noise(2, 1, 5000);
    struct planes expected = planes_of(&out);
    ck_assert_int_eq(halo_convolve(own, in.data[0], 0, 5000, expected.samples, 0, 5000, &error),
                     HALO_OK);
    struct device_planes from = device_planes_of(&in), to = device_planes_of(&out);
    const struct halo_job job = {from.samples, 0, 5000, to.samples, 0, 5000};
    struct halo_device_convolver *convolver = device_convolver(own, 5000);
    ck_assert_int_eq(halo_device_convolver_run(convolver, &job, 1, NULL, &error), HALO_OK);
    CUDA(cudaStreamSynchronize(NULL));
    device_planes_take(&to, &out);
    for (size_t i = 0; i < 5000; i++)
        ck_assert_float_eq_tol(out.data[0][i], expected.samples[i], 2e-6f);
    CUDA(cudaFree(from.samples));
    CUDA(cudaFree(to.samples));
    free(expected.samples);
    halo_device_convolver_destroy(convolver);
    halo_mask_destroy(own);
}

/* The backend of a GPU for sounds of the host: in calls of any length and of one, with a switch,
 * and in buffers. */
static void check_backend(size_t taps, size_t block)
{
    size_t frames = block ? 60000 / block * block : 60000,
           lead = block ? (9000 / block + 1) * block : 9999;
    uint64_t at = 0;
    struct mask *masks[] = {truth_noise_mask(1, 2, taps), truth_noise_mask(2, 2, taps)};
    struct halo_mask *own[] = {library_mask(masks[0]), library_mask(masks[1])};
    const struct halo_convolver_options options = {
        .size = sizeof options, .backend = "cuda", .block = block};
    struct halo_convolver *convolver = library_convolver(own[0], &options);
    struct block in = stream_noise(1, 2, frames), out = stream_noise(2, 2, frames);
    ck_assert_str_eq(halo_convolver_backend(convolver), "cuda");
    library_run(convolver, &in, &out, 0, lead, block, false, taps);
    ck_assert_int_eq(halo_convolver_switch(convolver, own[1], 0, 500, NULL), HALO_OK);
    library_run(convolver, &in, &out, lead, frames - lead, block, false, taps);
    ck_assert(halo_convolver_switched(convolver, &at));
    double **old = truth_render(masks[0], in.data, frames);
    double **new = truth_render(masks[1], in.data, frames);
    for (size_t c = 0; c < 2; c++)
        for (size_t i = (size_t)at; i < frames; i++)
            old[c][i] += fmin(1, (double)(i - at) / 500) * (new[c][i] - old[c][i]);
    library_expect_faded(&out, old, fmax(mask_norm(masks[0]), mask_norm(masks[1])), "a GPU");
    struct planes from = planes_of(&in), to = planes_of(&out);
    const struct halo_job job = {from.samples, from.stride, frames, to.samples, to.stride, frames};
    const struct halo_convolve_options whole = {.size = sizeof whole, .backend = "cuda"};
    struct halo_error error;
    enum halo_status status = halo_convolve_many(own[1], &job, 1, &whole, &error);
    ck_assert_msg(status == HALO_OK, "%s", error.text);
    planes_take(&to, &out);
    library_expect(&out, new, masks[1], &in, "buffers by a GPU");
    free(from.samples);
    free(to.samples);
    halo_convolver_destroy(convolver);
    for (size_t m = 0; m < 2; m++)
        halo_mask_destroy(own[m]);
}

START_TEST(the_backend_equals_truth)
{
    check_backend(100, 0);
    check_backend(20000, 0);
    check_backend(20000, 64);
    check_backend(20000, 256);
    check_backend(5000, 3000);
}

static void refused(struct halo_device_convolver *convolver, struct halo_job job, const char *text)
{
    struct halo_error error;
    ck_assert_int_eq(halo_device_convolver_run(convolver, &job, 1, NULL, &error), HALO_USAGE);
    command_expect(error.text, text);
}

START_TEST(device_buffers_that_do_not_fit_are_refused)
{
    struct mask *mask = truth_noise_mask(1, 2, 100);
    struct halo_mask *own = library_mask(mask);
    struct halo_device_convolver *convolver = device_convolver(own, 1000);
    struct device_sound sound = device_sound_of(1, mask, 1000, 1000);
    const struct halo_job good = device_job_of(&sound);
    struct halo_job bad = good;
    bad.in++;
    refused(convolver, bad, "multiples of 16 bytes");
    bad = good, bad.out_stride++;
    refused(convolver, bad, "multiples of 16 bytes");
    bad = good, bad.in_stride = 8;
    refused(convolver, bad, "stride of its input");
    bad = good, bad.out_frames = 1001;
    refused(convolver, bad, "made for 1000");
    bad = good, bad.out = NULL;
    refused(convolver, bad, "no buffer");
    ck_assert_int_eq(halo_device_convolver_run(convolver, NULL, 1, NULL, NULL), HALO_USAGE);
    ck_assert_int_eq(halo_device_convolver_run(convolver, &good, 1, NULL, NULL), HALO_OK);
    CUDA(cudaStreamSynchronize(NULL));
    expect_sound(&sound, mask);
    halo_device_convolver_destroy(convolver);
    halo_mask_destroy(own);
}

int main(void)
{
    int devices;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        printf("skipped: no GPU\n");
        return 77;
    }
    return suite_run();
}
