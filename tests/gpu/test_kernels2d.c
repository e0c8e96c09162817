/* Every two-dimensional kernel against the truth, on a GPU; exit 77 (skipped) where there is
 * none. */
#include "bench/truth2d.h"
#include "gpu/kernel2d.h"
#include "suite.h"
#include "truth.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double BOUND_DB = -130; /* relative to max|x| sum|m| */

enum {
    CHANNELS = 2,
    CELLS_MOST = 40 * 517 * CHANNELS,
    BYTES_MOST = 4 * CELLS_MOST + 4096 * 1024,
};

#define CUDA(call)                                                                                 \
    ck_assert_msg((call) == cudaSuccess, "%s: %s", #call, cudaGetErrorString(cudaGetLastError()))

struct data {
    float picture[CELLS_MOST];
    float mask[KERNEL_TAPS_CONSTANT];
    double truth[CELLS_MOST];
    unsigned char out[BYTES_MOST];
    void *device_in;
    void *device_out;
    float *device_mask;
    size_t shared; /* bytes of a block */
};

static void find_truth(struct data *data, const struct kernel2d_job *job)
{
    struct truth2d truth = {
        .cells = data->picture,
        .picture = {CHANNELS, job->rows_in, job->columns},
        .boundary = job->boundary,
        .mask = data->mask,
        .mask_rows = job->mask_rows,
        .mask_columns = job->mask_columns,
    };
    double *at = data->truth;
    for (size_t channel = 0; channel < CHANNELS; channel++)
        for (size_t row = 0; row < job->rows_in; row++)
            for (size_t column = 0; column < job->columns; column++)
                *at++ = truth2d_at(&truth, channel, row, column);
}

static double error_of(const struct data *data, const struct kernel2d_job *job, size_t channel,
                       size_t row, size_t column)
{
    double truth = data->truth[(channel * job->rows_in + row + job->first) * job->columns + column];
    const unsigned char *line = data->out + channel * job->plane_out + row * job->pitch_out;
    float value;
    memcpy(&value, line + column * sizeof value, sizeof value);
    return isnan(value) ? INFINITY : fabs((double)value - truth);
}

/* The padding between the rows stays as it was. */
static bool is_clean(const struct data *data, const struct kernel2d_job *job)
{
    size_t row_bytes = job->columns * sizeof(float);
    for (size_t channel = 0; channel < CHANNELS; channel++)
        for (size_t row = 0; row < job->rows; row++)
            for (size_t b = row_bytes; b < job->pitch_out; b++)
                if (data->out[channel * job->plane_out + row * job->pitch_out + b] != 0xFF)
                    return false;
    size_t end = CHANNELS * job->plane_out;
    for (size_t b = end; b < end + 64; b++)
        if (data->out[b] != 0xFF)
            return false;
    return true;
}

static void compare(const struct kernel2d *kernel, struct kernel2d_job *job, struct data *data,
                    double norm)
{
    if (kernel2d_obstacle(kernel, job, data->shared))
        return;
    size_t bytes = CHANNELS * job->plane_out + 64;
    CUDA(cudaMemset(data->device_out, 0xFF, bytes)); /* NaN: cells that are not written show */
    CUDA(kernel2d_load(kernel, job, NULL));
    CUDA(kernel->launch(job, NULL));
    CUDA(cudaMemcpy(data->out, data->device_out, bytes, cudaMemcpyDeviceToHost));
    double largest = 0;
    for (size_t channel = 0; channel < CHANNELS; channel++)
        for (size_t row = 0; row < job->rows; row++)
            for (size_t column = 0; column < job->columns; column++)
                largest = fmax(largest, error_of(data, job, channel, row, column));
    double most = norm * pow(10, BOUND_DB / 20);
    ck_assert_msg(largest <= most && is_clean(data, job),
                  "%s, mask %zux%zu, %zu rows from %zu of %zux%zu, edge %d, pitch %zu, "
                  "block %ux%u: error %g, at most %g%s",
                  kernel->name, job->mask_rows, job->mask_columns, job->rows, job->first,
                  job->rows_in, job->columns, (int)job->boundary, job->pitch_in, job->block.columns,
                  job->block.rows, largest, most,
                  is_clean(data, job) ? "" : ", and it wrote beside the rows");
}

/* Kernels and blocks on a picture with a pitch; then on a few of its rows. */
static void check_pitch(struct kernel2d_job *job, struct data *data, size_t pitch, double norm)
{
    static const struct block2d blocks[] = {{0, 0}, {32, 8}, {64, 16}, {32, 5}};
    size_t row_bytes = job->columns * sizeof(float);
    job->pitch_in = job->pitch_out = pitch;
    job->plane_in = job->plane_out = pitch * job->rows_in;
    job->in = data->device_in;
    job->out = data->device_out;
    job->mask = data->device_mask;
    CUDA(cudaMemset(data->device_in, 0x7F, job->plane_in * CHANNELS)); /* large: must not be read */
    CUDA(cudaMemcpy2D(data->device_in, pitch, data->picture, row_bytes, row_bytes,
                      job->rows_in * CHANNELS, cudaMemcpyHostToDevice));
    for (size_t k = 0; kernel2d_at(k); k++)
        for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) {
            job->block = blocks[b];
            job->first = 0;
            job->rows = job->rows_in;
            compare(kernel2d_at(k), job, data, norm);
            if (job->rows_in < 4 || b > 0)
                continue;
            job->first = 2;
            job->rows = job->rows_in - 3;
            compare(kernel2d_at(k), job, data, norm);
        }
}

static void check_job(struct kernel2d_job *job, struct data *data)
{
    double norm = 0;
    size_t taps = job->mask_rows * job->mask_columns;
    truth_noise(3 + taps, data->mask, taps);
    for (size_t k = 0; k < taps; k++)
        norm += fabs((double)data->mask[k]);
    CUDA(cudaMemcpy(data->device_mask, data->mask, taps * sizeof(float), cudaMemcpyHostToDevice));
    job->rows = job->rows_in;
    job->channels = CHANNELS;
    find_truth(data, job);
    size_t row_bytes = job->columns * sizeof(float);
    check_pitch(job, data, row_bytes, norm);
    check_pitch(job, data, (row_bytes + 127) / 64 * 64, norm);
    check_pitch(job, data, row_bytes + sizeof(float), norm);
}

static const size_t small_masks[][2] = {
    {1, 1},  {1, 3},   {3, 1},   {2, 2},   {3, 3},   {3, 5},   {4, 4},   {5, 2},   {5, 5},
    {1, 7},  {7, 7},   {6, 7},   {8, 8},   {9, 9},   {10, 10}, {11, 8},  {11, 11}, {12, 13},
    {1, 9},  {13, 13}, {14, 14}, {15, 15}, {8, 15},  {15, 9},  {16, 16}, {17, 17}, {1, 31},
    {31, 1}, {24, 25}, {31, 31}, {33, 3},  {2, 40},  {31, 30}, {2, 13},  {13, 2},  {3, 29},
    {29, 3}, {19, 19}, {20, 21}, {25, 23}, {27, 27}, {1, 30},  {30, 1},  {17, 3},
};
static const size_t large_masks[][2] = {{100, 100}, {1, 16384}, {16384, 1}, {128, 128}, {3, 333}};
static const size_t sizes[][2] = {{1, 1}, {3, 5}, {17, 33}, {5, 140}, {29, 260}, {40, 517}};

static struct data *data_create(void)
{
    int shared;
    struct data *data = calloc(1, sizeof *data);
    ck_assert_ptr_nonnull(data);
    truth_noise(1, data->picture, CELLS_MOST);
    CUDA(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    data->shared = (size_t)shared;
    CUDA(cudaMalloc(&data->device_in, BYTES_MOST));
    CUDA(cudaMalloc(&data->device_out, BYTES_MOST));
    CUDA(cudaMalloc((void **)&data->device_mask, sizeof data->mask));
    return data;
}

static void data_destroy(struct data *data)
{
    CUDA(cudaFree(data->device_in));
    CUDA(cudaFree(data->device_out));
    CUDA(cudaFree(data->device_mask));
    free(data);
}

static void check_masks(struct data *data, const size_t (*masks)[2], size_t count, size_t pictures)
{
    for (size_t m = 0; m < count; m++)
        for (size_t s = 0; s < pictures; s++)
            for (int boundary = 0; boundary < 3; boundary++) {
                struct kernel2d_job job = {.rows_in = sizes[s][0],
                                           .columns = sizes[s][1],
                                           .mask_rows = masks[m][0],
                                           .mask_columns = masks[m][1],
                                           .boundary = (enum kernel_boundary)boundary};
                /* On the larger pictures every other boundary. */
                if (s + 2 >= sizeof sizes / sizeof *sizes && (boundary + (int)m) % 2)
                    continue;
                check_job(&job, data);
            }
}

START_TEST(every_kernel_equals_the_truth)
{
    struct data *data = data_create();
    check_masks(data, small_masks, sizeof small_masks / sizeof *small_masks,
                sizeof sizes / sizeof *sizes);
    data_destroy(data);
}

START_TEST(masks_may_be_as_large_as_constant_memory)
{
    struct data *data = data_create();
    check_masks(data, large_masks, sizeof large_masks / sizeof *large_masks, 3);
    data_destroy(data);
}

START_TEST(larger_masks_are_refused)
{
    char text[256];
    struct kernel2d_job job = {.rows_in = 9, .rows = 9, .columns = 9, .channels = 1};
    job.mask_rows = job.mask_columns = 129;
    log_capture(text, sizeof text);
    for (size_t k = 0; kernel2d_at(k); k++) {
        ck_assert_int_eq(kernel2d_check(kernel2d_at(k), &job), STATUS_FAILED);
        ck_assert_ptr_nonnull(strstr(text, "16384"));
    }
    log_capture(NULL, 0);
}

int main(void)
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        puts("no GPU here: the kernels of two dimensions are not tested");
        return 77;
    }
    return suite_run();
}
