/* Transforms of pairs of chunks, and of masks. Tables are made when they are first needed. */
#include "gpu/gather_cuda.h"

static cudaError_t find_table(struct gather_cuda_device *device, size_t length, float **table)
{
    size_t power = 0;
    while ((size_t)1 << (GATHER_POWER_LEAST + power) < length)
        power++;
    float **kept = &device->tables[power];
    if (!*kept)
        CUDA_TRY(fft_table_create(length, length <= device->fused_most, kept));
    *table = *kept;
    return cudaSuccess;
}

cudaError_t gather_cuda_form(struct gather_cuda_device *device, struct gather_form *form,
                             const float *taps)
{
    size_t floats = 2 * form->length;
    float *to, *table;
    CUDA_TRY(find_table(device, form->length, &table));
    CUDA_TRY(cudaMallocAsync((void **)&to, form->columns * floats * sizeof *to, device->work));
    form->on_device = to;
    for (size_t c = 0; c < form->columns; c++)
        CUDA_TRY((form->length <= device->fused_most ? fft_fused_form : fft_long_form)(
            form->length, table, taps + c * form->taps, form->taps, to + c * floats, device->work));
    return cudaSuccess;
}

cudaError_t gather_cuda_convolve(struct gather_cuda_device *device, size_t length,
                                 const struct fft_pair *pairs, size_t count)
{
    float *table;
    CUDA_TRY(find_table(device, length, &table));
    if (length <= device->fused_most)
        return fft_fused_pairs(length, pairs, count, table, device->work);
    if (length > GATHER_WORK_POINTS)
        return cudaErrorInvalidValue;
    if (!device->points)
        CUDA_TRY(cudaMalloc((void **)&device->points, GATHER_WORK_POINTS * sizeof(float2)));
    size_t most = GATHER_WORK_POINTS / length;
    for (size_t at = 0; at < count; at += most) {
        size_t left = count - at;
        CUDA_TRY(fft_long_pairs(length, pairs + at, left < most ? left : most, table,
                                device->points, device->work));
    }
    return cudaSuccess;
}

void gather_cuda_free_transforms(struct gather_cuda_device *device)
{
    for (size_t p = 0; p < GATHER_POWERS; p++)
        cudaFree(device->tables[p]);
    cudaFree(device->points);
}
