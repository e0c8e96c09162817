/* Transforms of pairs of chunks, and of masks. Tables and plans are made when they are first
 * needed. */
#include "gpu/gather_cuda.h"

#include <pthread.h>
#include <stdlib.h>

static size_t power_of(size_t length)
{
    size_t power = 0;
    while ((size_t)1 << (GATHER_POWER_LEAST + power) < length)
        power++;
    return power;
}

static cudaError_t find_table(struct gather_cuda_device *device, size_t length, float **table)
{
    float **kept = &device->tables[power_of(length)];
    if (!*kept) {
        size_t bytes = fft_fused_table_floats(length) * sizeof(float);
        float *filled_in = malloc(bytes);
        if (!filled_in)
            return cudaErrorMemoryAllocation;
        fft_fused_fill_table(length, filled_in);
        cudaError_t error = cudaMalloc((void **)kept, bytes);
        if (error == cudaSuccess)
            error = gpu_send(*kept, filled_in, bytes);
        free(filled_in);
        CUDA_TRY(error);
    }
    *table = *kept;
    return cudaSuccess;
}

/* Opening it is for one thread at a time. */
static cudaError_t open_library(struct gather_cuda_device *device)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (device->library)
        return cudaSuccess;
    pthread_mutex_lock(&lock);
    enum status status = cufft_library_open(&device->library);
    pthread_mutex_unlock(&lock);
    if (status == STATUS_OK)
        return cudaMalloc((void **)&device->points, GATHER_WORK_POINTS * sizeof(float2));
    device->library = NULL;
    return cudaErrorSharedObjectInitFailed;
}

/* For 2^number transforms at once. */
static cudaError_t find_plan(struct gather_cuda_device *device, size_t length, size_t number,
                             cufftHandle *plan)
{
    cufftHandle *kept = &device->plans[power_of(length)][number];
    if (!*kept) {
        if (cufft_library_plan(device->library, (int)length, CUFFT_C2C, 1 << number, kept) !=
            STATUS_OK)
            return cudaErrorMemoryAllocation;
        CUDA_TRY(cufft_library_error(device->library->set_stream(*kept, device->work)));
    }
    *plan = *kept;
    return cudaSuccess;
}

static cudaError_t transform(const struct gather_cuda_device *device, cufftHandle plan,
                             float2 *points, int direction)
{
    return cufft_library_error(device->library->complex(plan, points, points, direction));
}

static cudaError_t form_column(struct gather_cuda_device *device, const struct gather_form *form,
                               const float *taps, float *to)
{
    if (form->length <= device->fused_most) {
        float *table;
        CUDA_TRY(find_table(device, form->length, &table));
        return fft_fused_form(form->length, table, taps, form->taps, to, device->work);
    }
    cufftHandle plan;
    float2 *points = (float2 *)(void *)to;
    CUDA_TRY(open_library(device));
    CUDA_TRY(find_plan(device, form->length, 0, &plan));
    CUDA_TRY(fft_pass_pad(taps, form->taps, form->length, points, device->work));
    return transform(device, plan, points, CUFFT_FORWARD);
}

cudaError_t gather_cuda_form(struct gather_cuda_device *device, struct gather_form *form,
                             const float *taps)
{
    size_t floats = 2 * form->length;
    float *to;
    CUDA_TRY(cudaMallocAsync((void **)&to, form->columns * floats * sizeof *to, device->work));
    form->on_device = to;
    for (size_t c = 0; c < form->columns; c++)
        CUDA_TRY(form_column(device, form, taps + c * form->taps, to + c * floats));
    return cudaSuccess;
}

/* By a plan for at least `count` transforms; the results of the others are not used. */
static cudaError_t convolve_some(struct gather_cuda_device *device, size_t length,
                                 const struct fft_pair *pairs, size_t count, size_t number)
{
    cufftHandle plan;
    CUDA_TRY(find_plan(device, length, number, &plan));
    CUDA_TRY(fft_pairs_gather(length, pairs, count, device->points, device->work));
    CUDA_TRY(transform(device, plan, device->points, CUFFT_FORWARD));
    CUDA_TRY(fft_pairs_multiply(length, pairs, count, device->points, device->work));
    CUDA_TRY(transform(device, plan, device->points, CUFFT_INVERSE));
    return fft_pairs_scatter(length, pairs, count, device->points, device->work);
}

/* The power of two for `count` transforms or the most there is room for: the next one, where less
 * than a quarter of it would be unused, otherwise the one below. */
static size_t number_for(size_t count, size_t most)
{
    size_t number = 0;
    while ((size_t)2 << number <= count && (size_t)2 << number <= most)
        number++;
    bool fits = (size_t)2 << number <= most;
    return fits && count > (size_t)3 << number >> 1 ? number + 1 : number;
}

cudaError_t gather_cuda_convolve(struct gather_cuda_device *device, size_t length,
                                 const struct fft_pair *pairs, size_t count)
{
    if (length <= device->fused_most) {
        float *table;
        CUDA_TRY(find_table(device, length, &table));
        return fft_fused_pairs(length, pairs, count, table, device->work);
    }
    if (length > GATHER_WORK_POINTS)
        return cudaErrorInvalidValue;
    CUDA_TRY(open_library(device));
    for (size_t at = 0; at < count;) {
        size_t left = count - at, number = number_for(left, GATHER_WORK_POINTS / length);
        size_t some = left < (size_t)1 << number ? left : (size_t)1 << number;
        CUDA_TRY(convolve_some(device, length, pairs + at, some, number));
        at += some;
    }
    return cudaSuccess;
}

void gather_cuda_free_transforms(struct gather_cuda_device *device)
{
    for (size_t p = 0; p < GATHER_POWERS; p++) {
        cudaFree(device->tables[p]);
        for (size_t n = 0; n < GATHER_WORK_POWERS; n++)
            if (device->plans[p][n])
                device->library->destroy(device->plans[p][n]);
    }
    cudaFree(device->points);
}
