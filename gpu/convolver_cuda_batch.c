/* The convolver on the GPU for files: long blocks, with any of the kernels.
 *
 * A block is split into slices. While one is convolved, the next is copied to the device, packed
 * as integers where that is lossless, and the previous one is copied back: three streams, pinned
 * memory on the host. On the device an input's history lies before its block; two such buffers
 * alternate, and each step copies the history from one to the other. Masks pass through constant
 * memory in stream order. */
#include "gpu/convolver_cuda_batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- set up ---- */

static void free_device(const struct gpu_batch *batch)
{
    cudaSetDevice(batch->device);
    kernel_close(batch->kernel, batch->plan);
    cudaFree(batch->history[0]);
    cudaFree(batch->history[1]);
    cudaFree(batch->out);
    cudaFree(batch->packed);
    cudaFree(batch->column);
    cudaFreeHost(batch->staged_in);
    cudaFreeHost(batch->staged_out);
    for (size_t s = 0; s < SLICES_MOST; s++) {
        cudaEvent_t events[] = {batch->arrived[s], batch->computed[s], batch->returned[s]};
        for (size_t e = 0; e < 3; e++)
            if (events[e])
                cudaEventDestroy(events[e]);
    }
    cudaStream_t streams[] = {batch->up, batch->work, batch->down};
    for (size_t s = 0; s < 3; s++)
        if (streams[s])
            cudaStreamDestroy(streams[s]);
}

static void batch_destroy(struct convolution *convolution)
{
    struct gpu_batch *batch = batch_of(convolution);
    convolver_cuda_send_home();
    while (batch->spare) {
        struct gpu_batch_mask *prepared = batch->spare;
        batch->spare = prepared->next;
        if (!gpu_abandoned() && cudaSetDevice(batch->device) == cudaSuccess)
            cudaFree(prepared->forms);
        free(prepared);
    }
    if (!gpu_abandoned())
        free_device(batch);
    free(batch);
}

static cudaError_t make_order(struct gpu_batch *batch)
{
    cudaStream_t *streams[] = {&batch->up, &batch->work, &batch->down};
    for (size_t s = 0; s < 3; s++)
        CUDA_TRY(cudaStreamCreateWithFlags(streams[s], cudaStreamNonBlocking));
    for (size_t s = 0; s < batch->slices; s++) {
        cudaEvent_t *events[] = {&batch->arrived[s], &batch->computed[s], &batch->returned[s]};
        for (size_t e = 0; e < 3; e++)
            CUDA_TRY(cudaEventCreateWithFlags(events[e], cudaEventDisableTiming));
    }
    return cudaSuccess;
}

static cudaError_t clear_history(const struct gpu_batch *batch)
{
    size_t bytes = batch->shape.inputs * batch->stride * sizeof(float);
    CUDA_TRY(cudaSetDevice(batch->device));
    CUDA_TRY(cudaMemsetAsync(batch->history[batch->now], 0, bytes, batch->work));
    return cudaStreamSynchronize(batch->work);
}

static cudaError_t alloc_device(struct gpu_batch *batch)
{
    const struct convolver_shape *shape = &batch->shape;
    size_t in_bytes = shape->inputs * batch->stride * sizeof(float);
    CUDA_TRY(cudaSetDevice(batch->device));
    CUDA_TRY(make_order(batch));
    for (size_t h = 0; h < 2; h++)
        CUDA_TRY(cudaMalloc((void **)&batch->history[h], in_bytes));
    CUDA_TRY(cudaMalloc((void **)&batch->out, shape->outputs * batch->out_stride * sizeof(float)));
    CUDA_TRY(
        cudaMalloc((void **)&batch->packed, shape->inputs * batch->out_stride * pcm_bytes(PCM_24)));
    CUDA_TRY(cudaMalloc((void **)&batch->column, shape->taps * sizeof(float)));
    return clear_history(batch);
}

static enum status stage(struct gpu_batch *batch)
{
    const struct convolver_shape *shape = &batch->shape;
    size_t channel = batch->out_stride * sizeof(float);
    cudaError_t error =
        cudaHostAlloc((void **)&batch->staged_in, shape->inputs * channel, cudaHostAllocDefault);
    if (error == cudaSuccess)
        error = cudaHostAlloc((void **)&batch->staged_out, shape->outputs * channel,
                              cudaHostAllocDefault);
    return error == cudaSuccess ? STATUS_OK : gpu_failed(error, "pin memory");
}

static enum status fill(struct gpu_batch *batch)
{
    const struct kernel_shape shape = {.taps = batch->shape.taps, .frames = batch->slice};
    if (!batch->kernel)
        return fail(CAUSE_USAGE, "there is no kernel '%s'", batch->shape.gpu.kernel);
    TRY(gpu_choose(&batch->shape.gpu.devices, "the file", &batch->device));
    convolver_cuda_send_home();
    cudaError_t error = alloc_device(batch);
    if (error != cudaSuccess)
        return gpu_failed(error, "allocate memory for a block");
    TRY(kernel_open(batch->kernel, &shape, &batch->plan));
    return stage(batch);
}

static enum status batch_create(const struct convolver_shape *shape, struct convolution **result)
{
    struct gpu_batch *batch = calloc(1, sizeof *batch);
    if (!batch)
        return fail_memory("a convolver");
    batch->shape = *shape;
    batch->kernel = shape->gpu.kernel ? kernel_named(shape->gpu.kernel) : kernel_for(shape->taps);
    batch->history_frames = (shape->taps - 1 + 3) / 4 * 4;
    batch->stride = (batch->history_frames + shape->block + 3) / 4 * 4;
    batch->out_stride = (shape->block + 3) / 4 * 4;
    batch->fault = fault_wanted();
    struct slice_plan plan = slice_plan_for(shape->block, shape->taps);
    batch->slice = plan.slice;
    batch->slices = plan.slices;
    enum status status = fill(batch);
    if (status == STATUS_OK)
        *result = (struct convolution *)batch;
    else
        batch_destroy((struct convolution *)batch);
    return status;
}

static void batch_reset(struct convolution *convolution)
{
    struct gpu_batch *batch = batch_of(convolution);
    gpu_note_error(&batch->error, clear_history(batch));
}

static void batch_describe(const struct convolution *convolution, char *text, size_t size)
{
    const struct gpu_batch *batch = batch_of(convolution);
    snprintf(text, size, "%s, kernel %s", batch->kernel->technique, batch->kernel->name);
}

static const char *batch_failure(const struct convolution *convolution)
{
    const struct gpu_batch *batch = batch_of(convolution);
    return batch->error == cudaSuccess ? NULL : cudaGetErrorString(batch->error);
}

/* ---- masks ---- */

/* Keep its memory for later masks. */
static void mask_retire(struct gpu_batch *batch, struct gpu_batch_mask *mask)
{
    path_table_free(&mask->paths);
    mask->next = batch->spare;
    batch->spare = mask;
}

static void batch_release(const struct convolution *convolution, struct prepared *prepared)
{
    mask_retire(batch_of(convolution), (struct gpu_batch_mask *)prepared);
}

/* A spare mask with `bytes` of memory on the device, or a new one. */
static enum status batch_mask_create(struct gpu_batch *batch, size_t bytes,
                                     struct gpu_batch_mask **result)
{
    for (struct gpu_batch_mask **at = &batch->spare; *at; at = &(*at)->next)
        if ((*at)->bytes >= bytes) {
            *result = *at;
            *at = (*at)->next;
            return STATUS_OK;
        }
    struct gpu_batch_mask *mask = calloc(1, sizeof *mask);
    if (!mask)
        return fail_memory("a mask");
    mask->bytes = bytes;
    cudaError_t error = cudaSetDevice(batch->device);
    if (error == cudaSuccess)
        error = cudaMalloc((void **)&mask->forms, bytes);
    if (error != cudaSuccess) {
        mask->bytes = 0; /* not to be reused: incomplete */
        mask_retire(batch, mask);
        return gpu_failed(error, "load the mask");
    }
    *result = mask;
    return STATUS_OK;
}

/* All columns, in the kernel's form. */
static cudaError_t form_columns(const struct gpu_batch *batch, const struct mask *mask,
                                const float *rounded, const struct gpu_batch_mask *prepared)
{
    size_t taps = prepared->taps;
    CUDA_TRY(cudaSetDevice(batch->device));
    CUDA_TRY(cudaMemsetAsync(batch->column, 0, taps * sizeof(float), batch->work));
    for (size_t c = 0; c < mask->columns; c++) {
        CUDA_TRY(cudaMemcpyAsync(batch->column, rounded + c * mask->taps,
                                 mask->taps * sizeof(float), cudaMemcpyHostToDevice, batch->work));
        CUDA_TRY(kernel_form(batch->kernel, batch->plan, batch->column, taps,
                             prepared->forms + c * prepared->form_floats, batch->work));
    }
    return cudaStreamSynchronize(batch->work);
}

static enum status batch_prepare(const struct convolution *convolution, const struct mask *mask,
                                 struct prepared **result)
{
    struct gpu_batch *batch = batch_of(convolution);
    const struct kernel *kernel = batch->kernel;
    struct gpu_batch_mask *prepared = NULL;
    float *rounded = NULL;
    /* Transforms are planned for the longest mask. */
    size_t taps = kernel->transforms ? batch->shape.taps : mask->taps;
    size_t floats = kernel_form_floats(kernel, batch->plan, taps);
    floats = (floats + 3) / 4 * 4;
    TRY(batch_mask_create(batch, mask->columns * floats * sizeof(float), &prepared));
    prepared->taps = taps;
    prepared->form_floats = floats;
    enum status status = path_table_init(&prepared->paths, mask);
    if (status != STATUS_OK)
        goto fail;
    rounded = mask_round(mask);
    if (!rounded) {
        status = fail_memory("a mask");
        goto fail;
    }
    cudaError_t error = form_columns(batch, mask, rounded, prepared);
    if (error != cudaSuccess) {
        status = gpu_failed(error, "load the mask");
        goto fail;
    }
    free(rounded);
    *result = (struct prepared *)prepared;
    return STATUS_OK;
fail:
    free(rounded);
    mask_retire(batch, prepared);
    return status;
}

const struct convolver_backend convolver_cuda_batch = {
    .name = "cuda",
    .enter = convolver_cuda_enter,
    .create = batch_create,
    .destroy = batch_destroy,
    .reset = batch_reset,
    .describe = batch_describe,
    .failure = batch_failure,
    .prepare = batch_prepare,
    .release = batch_release,
    .step = batch_step,
};
