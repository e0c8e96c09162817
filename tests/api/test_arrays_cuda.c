/* Convolution of arrays in a GPU's memory, beside plain sums in double precision; exit 77 (skipped)
 * where there is no GPU. */
#include "suite.h"

#include <cuda_runtime_api.h>
#include <halo/halo.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define CUDA(call)                                                                                 \
    ck_assert_msg((call) == cudaSuccess, "%s: %s", #call, cudaGetErrorString(cudaGetLastError()))

static const double SINGLE_BOUND = -120, DOUBLE_BOUND = -270; /* dB of max|x| sum|h| */

enum { PROBES = 50, GUARD = 3 /* samples around arrays */ };

static uint64_t state = 1;

static uint64_t draw(uint64_t below)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 33) % below;
}

/* ---- samples ---- */

static size_t bytes_of(enum halo_sample sample)
{
    return sample == HALO_FLOAT64 ? 8 : sample == HALO_FLOAT32 ? 4 : 2;
}

/* Bits of the fraction of a half. */
static int fraction_of(enum halo_sample sample)
{
    return sample == HALO_FLOAT16 ? 10 : 7;
}

static double half_value(uint16_t bits, enum halo_sample sample)
{
    int fraction = fraction_of(sample), bias = sample == HALO_FLOAT16 ? 15 : 127;
    int exponent = (bits & 0x7fff) >> fraction;
    double part = bits & ((1 << fraction) - 1);
    if (exponent == 2 * bias + 1)
        return NAN;
    double value = exponent ? ldexp(part + (1 << fraction), exponent - bias - fraction)
                            : ldexp(part, 1 - bias - fraction);
    return bits & 0x8000 ? -value : value;
}

static double value_of(const void *samples, ptrdiff_t i, enum halo_sample sample)
{
    if (sample == HALO_FLOAT32)
        return ((const float *)samples)[i];
    if (sample == HALO_FLOAT64)
        return ((const double *)samples)[i];
    return half_value(((const uint16_t *)samples)[i], sample);
}

/* Random samples of magnitudes up to 1; those of halves are below 1 / 16 of full precision. */
static void fill(void *samples, size_t count, enum halo_sample sample)
{
    for (size_t i = 0; i < count; i++) {
        double value = (double)draw(1 << 24) / (1 << 23) - 1;
        if (sample == HALO_FLOAT32)
            ((float *)samples)[i] = (float)value;
        else if (sample == HALO_FLOAT64)
            ((double *)samples)[i] = value + ldexp((double)draw(1 << 24), -48);
        else
            ((uint16_t *)samples)[i] =
                (uint16_t)(draw(2) << 15 |
                           (sample == HALO_FLOAT16 ? 0x2c00 + draw(0x800) : 0x3e00 + draw(0x100)));
    }
}

/* ---- a group, on the host and on the device ---- */

struct group {
    struct halo_arrays host, device;
    size_t x_samples, h_samples, y_samples;
};

static void *send(const void *samples, size_t count, enum halo_sample sample)
{
    void *on_device;
    CUDA(cudaMalloc(&on_device, (count + 1) * bytes_of(sample)));
    CUDA(cudaMemcpy(on_device, samples, count * bytes_of(sample), cudaMemcpyHostToDevice));
    return on_device;
}

static const void *behind(const void *samples, size_t guard, enum halo_sample sample)
{
    return (const char *)samples + guard * bytes_of(sample);
}

/* Outputs are poisoned with NaN. Arrays begin at odd samples, and gaps are between outputs. */
static struct group group_of(size_t frames, size_t taps, size_t count, enum halo_sample sample)
{
    bool one_x = draw(4) == 0, one_h = draw(2) == 0;
    size_t all = frames && taps ? frames + taps - 1 : 0, out = draw(2) ? all + 2 : draw(all + 3);
    struct group group = {.x_samples = one_x ? frames : frames * count,
                          .h_samples = one_h ? taps : taps * count,
                          .y_samples = (out + GUARD) * count + GUARD};
    size_t bytes = bytes_of(sample);
    char *x = malloc((group.x_samples + 1) * bytes), *h = malloc((group.h_samples + 1) * bytes);
    char *y = malloc(group.y_samples * bytes);
    fill(x, group.x_samples + 1, sample);
    fill(h, group.h_samples + 1, sample);
    memset(y, 0xff, group.y_samples * bytes);
    struct halo_arrays arrays = {.size = sizeof arrays,
                                 .frames = frames,
                                 .x_step = one_x ? 0 : (ptrdiff_t)frames,
                                 .taps = taps,
                                 .h_step = one_h ? 0 : (ptrdiff_t)taps,
                                 .first = draw(2) ? 0 : draw(all + 3),
                                 .out_frames = out,
                                 .y_step = (ptrdiff_t)(out + GUARD),
                                 .count = count};
    group.host = group.device = arrays;
    group.host.x = behind(x, 1, sample), group.host.h = behind(h, 1, sample), group.host.y = y;
    group.device.x = behind(send(x, group.x_samples + 1, sample), 1, sample);
    group.device.h = behind(send(h, group.h_samples + 1, sample), 1, sample);
    group.device.y = (char *)send(y, group.y_samples, sample) + GUARD * bytes;
    return group;
}

static void group_free(struct group *group, enum halo_sample sample)
{
    size_t bytes = bytes_of(sample);
    CUDA(cudaFree((char *)group->device.x - bytes));
    CUDA(cudaFree((char *)group->device.h - bytes));
    CUDA(cudaFree((char *)group->device.y - GUARD * bytes));
    free((char *)group->host.x - bytes);
    free((char *)group->host.h - bytes);
    free(group->host.y);
}

/* ---- truth ---- */

struct row {
    const void *x, *h;
    double norm;
};

static struct row row_of(const struct halo_arrays *arrays, size_t c, enum halo_sample sample)
{
    struct row row = {behind(arrays->x, (size_t)arrays->x_step * c, sample),
                      behind(arrays->h, (size_t)arrays->h_step * c, sample), 0};
    double largest = 0, sum = 0;
    for (size_t i = 0; i < arrays->frames; i++)
        largest = fmax(largest, fabs(value_of(row.x, (ptrdiff_t)i, sample)));
    for (size_t k = 0; k < arrays->taps; k++)
        sum += fabs(value_of(row.h, (ptrdiff_t)k, sample));
    row.norm = largest * sum;
    return row;
}

static double truth_at(const struct halo_arrays *arrays, const struct row *row, size_t n,
                       enum halo_sample sample, bool correlate)
{
    long double sum = 0;
    size_t first = n >= arrays->frames ? n - arrays->frames + 1 : 0;
    for (size_t k = first; k < arrays->taps && k <= n; k++)
        sum += (long double)value_of(row->x, (ptrdiff_t)(n - k), sample) *
               value_of(row->h, (ptrdiff_t)(correlate ? arrays->taps - 1 - k : k), sample);
    return (double)sum;
}

static double bound_of(double truth, double norm, enum halo_sample sample)
{
    double single = norm * pow(10, SINGLE_BOUND / 20);
    if (sample == HALO_FLOAT64)
        return norm * pow(10, DOUBLE_BOUND / 20);
    if (sample == HALO_FLOAT32)
        return single;
    return ldexp(1, ilogb(truth ? truth : 1e-9) - fraction_of(sample)) + single;
}

static void expect_row(const struct group *group, const char *y, size_t c, enum halo_sample sample,
                       bool correlate)
{
    const struct halo_arrays *arrays = &group->host;
    size_t all = arrays->frames && arrays->taps ? arrays->frames + arrays->taps - 1 : 0;
    struct row row = row_of(arrays, c, sample);
    const void *got = behind(y, GUARD + c * (size_t)arrays->y_step, sample);
    for (size_t i = arrays->out_frames; i < (size_t)arrays->y_step; i++)
        ck_assert_msg(isnan(value_of(got, (ptrdiff_t)i, sample)), "written beyond the output");
    for (size_t p = 0; p < PROBES && arrays->out_frames; p++) {
        size_t i = p == 0 ? 0 : p == 1 ? arrays->out_frames - 1 : draw(arrays->out_frames);
        size_t n = arrays->first + i;
        double truth = n < all ? truth_at(arrays, &row, n, sample, correlate) : 0;
        double bound = n < all ? bound_of(truth, row.norm, sample) : 0;
        double value = value_of(got, (ptrdiff_t)i, sample);
        ck_assert_msg(fabs(value - truth) <= bound,
                      "%zu frames, %zu taps, %zu of %zu from %zu, samples %d, correlate %d: output "
                      "%zu is %.9g, not %.9g",
                      arrays->frames, arrays->taps, arrays->out_frames, all, arrays->first,
                      (int)sample, correlate, i, value, truth);
    }
}

static void expect_group(const struct group *group, enum halo_sample sample, bool correlate)
{
    size_t bytes = bytes_of(sample);
    char *y = malloc(group->y_samples * bytes);
    CUDA(cudaMemcpy(y, (char *)group->device.y - GUARD * bytes, group->y_samples * bytes,
                    cudaMemcpyDeviceToHost));
    for (size_t c = 0; c < group->host.count; c++)
        expect_row(group, y, c, sample, correlate);
    free(y);
}

/* ---- calls ---- */

static void convolve(const struct halo_arrays *arrays, size_t groups,
                     const struct halo_arrays_options *options)
{
    struct halo_error error;
    enum halo_status status = halo_arrays_convolve(arrays, groups, options, &error);
    ck_assert_msg(status == HALO_OK, "%s", error.text);
}

/* Allocates the scratch that the arrays need. */
static void give_scratch(const struct halo_arrays *arrays, size_t groups,
                         struct halo_arrays_options *options)
{
    struct halo_error error;
    enum halo_status status =
        halo_arrays_scratch(arrays, groups, options, &options->scratch_bytes, &error);
    ck_assert_msg(status == HALO_OK, "%s", error.text);
    CUDA(cudaMalloc(&options->scratch, options->scratch_bytes + 1));
    CUDA(cudaMemset(options->scratch, 0xff, options->scratch_bytes));
}

static struct halo_arrays_options options_of(enum halo_sample sample, bool correlate)
{
    return (struct halo_arrays_options){
        .size = sizeof(struct halo_arrays_options),
        .sample = sample,
        .correlate = correlate,
        .on_device = true,
    };
}

static size_t some_length(void)
{
    static const size_t most[] = {3, 70, 2000, 40000, 300000};
    return draw(most[draw(sizeof most / sizeof *most)]);
}

static void check_groups(size_t count, enum halo_sample sample, bool own_scratch)
{
    struct group *groups = calloc(count, sizeof *groups);
    struct halo_arrays *arrays = calloc(count, sizeof *arrays);
    struct halo_arrays_options options = options_of(sample, draw(2));
    for (size_t g = 0; g < count; g++) {
        groups[g] = group_of(some_length(), some_length(), 1 + draw(4), sample);
        arrays[g] = groups[g].device;
    }
    if (own_scratch)
        give_scratch(arrays, count, &options);
    convolve(arrays, count, &options);
    CUDA(cudaStreamSynchronize(NULL));
    for (size_t g = 0; g < count; g++) {
        expect_group(&groups[g], sample, options.correlate);
        group_free(&groups[g], sample);
    }
    CUDA(cudaFree(options.scratch));
    free(groups);
    free(arrays);
}

START_TEST(arrays_equal_sums)
{
    for (size_t round = 0; round < 100; round++)
        check_groups(1, (enum halo_sample)(round % 4), round % 3);
}

START_TEST(groups_of_different_lengths)
{
    for (enum halo_sample sample = HALO_FLOAT32; sample <= HALO_BFLOAT16; sample++)
        check_groups(70, sample, true);
}

/* Two streams at once, each with its own scratch, and a graph of each call. */
START_TEST(streams_and_graphs)
{
    enum { STREAMS = 2, ROUNDS = 20 };
    struct group groups[STREAMS];
    struct halo_arrays_options options[STREAMS];
    cudaStream_t streams[STREAMS];
    cudaGraphExec_t graphs[STREAMS];
    for (size_t s = 0; s < STREAMS; s++) {
        cudaGraph_t graph;
        groups[s] = group_of(200000, s ? 70000 : 5000, 3, HALO_FLOAT32);
        options[s] = options_of(HALO_FLOAT32, false);
        CUDA(cudaStreamCreateWithFlags(&streams[s], cudaStreamNonBlocking));
        options[s].stream = streams[s];
        give_scratch(&groups[s].device, 1, &options[s]);
        convolve(&groups[s].device, 1, &options[s]); /* creates tables */
        CUDA(cudaDeviceSynchronize());
        CUDA(cudaStreamBeginCapture(streams[s], cudaStreamCaptureModeGlobal));
        convolve(&groups[s].device, 1, &options[s]);
        CUDA(cudaStreamEndCapture(streams[s], &graph));
        CUDA(cudaGraphInstantiate(&graphs[s], graph, 0));
        CUDA(cudaGraphDestroy(graph));
    }
    for (size_t round = 0; round < ROUNDS; round++)
        for (size_t s = 0; s < STREAMS; s++) {
            CUDA(cudaMemsetAsync((char *)groups[s].device.y, 0xff, sizeof(float), streams[s]));
            CUDA(cudaGraphLaunch(graphs[s], streams[s]));
            convolve(&groups[s].device, 1, &options[s]);
        }
    CUDA(cudaDeviceSynchronize());
    for (size_t s = 0; s < STREAMS; s++) {
        expect_group(&groups[s], HALO_FLOAT32, false);
        group_free(&groups[s], HALO_FLOAT32);
        CUDA(cudaGraphExecDestroy(graphs[s]));
        CUDA(cudaStreamDestroy(streams[s]));
        CUDA(cudaFree(options[s].scratch));
    }
}

/* 32 sounds of ten seconds with masks of their own need half of what padded transforms take. */
START_TEST(scratch_is_bounded)
{
    const size_t most = 4 * (size_t)32 * 960000 * sizeof(float) / 2;
    struct halo_arrays arrays = {.size = sizeof arrays,
                                 .x = &state,
                                 .frames = 480000,
                                 .x_step = 480000,
                                 .h = &state,
                                 .y = &state,
                                 .count = 32};
    struct halo_arrays_options options = options_of(HALO_FLOAT32, false);
    for (size_t taps = 4800; taps <= 480000; taps *= 10) {
        size_t bytes;
        arrays.taps = taps;
        arrays.h_step = (ptrdiff_t)taps;
        arrays.out_frames = 480000 + taps - 1;
        arrays.y_step = (ptrdiff_t)arrays.out_frames;
        ck_assert_int_eq(halo_arrays_scratch(&arrays, 1, &options, &bytes, NULL), HALO_OK);
        ck_assert_uint_le(bytes, most);
    }
    struct halo_error error;
    options.scratch = &state, options.scratch_bytes = 256;
    ck_assert_int_eq(halo_arrays_convolve(&arrays, 1, &options, &error), HALO_USAGE);
    ck_assert_ptr_nonnull(strstr(error.text, "scratch has 256 bytes"));
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
