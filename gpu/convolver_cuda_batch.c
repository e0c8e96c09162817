/* The convolver on the GPU for files: long blocks, with any of the kernels.
 *
 * A block is split into slices. While one is convolved, the next is copied to the device, packed
 * as integers where that is lossless, and the previous one is copied back: three streams, pinned
 * memory on the host. On the device an input's history lies before its block; two such buffers
 * alternate, and each step copies the history from one to the other. Masks pass through constant
 * memory in stream order.
 *
 * Several devices share the outputs; each has all inputs. */
#include "gpu/convolver_cuda_batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- set up ---- */

static void share_free(const struct gpu_batch *batch, struct gpu_share *share)
{
    cudaSetDevice(share->device);
    kernel_close(batch->kernel, share->plan);
    cudaFree(share->history[0]);
    cudaFree(share->history[1]);
    cudaFree(share->out);
    cudaFree(share->packed);
    cudaFree(share->column);
    for (size_t s = 0; s < SLICES_MOST; s++) {
        cudaEvent_t events[] = {share->arrived[s], share->computed[s], share->returned[s]};
        for (size_t e = 0; e < 3; e++)
            if (events[e])
                cudaEventDestroy(events[e]);
    }
    cudaStream_t streams[] = {share->up, share->work, share->down};
    for (size_t s = 0; s < 3; s++)
        if (streams[s])
            cudaStreamDestroy(streams[s]);
}

static void prepared_free(const struct gpu_batch *batch, struct gpu_batch_mask *prepared)
{
    for (size_t s = 0; s < prepared->share_count && !gpu_abandoned(); s++) {
        cudaSetDevice(batch->shares[s].device);
        cudaFree(prepared->forms[s]);
    }
    free(prepared);
}

static void batch_destroy(struct convolution *convolution)
{
    struct gpu_batch *batch = batch_of(convolution);
    convolver_cuda_send_home();
    while (batch->spare) {
        struct gpu_batch_mask *prepared = batch->spare;
        batch->spare = prepared->next;
        prepared_free(batch, prepared);
    }
    for (size_t s = 0; s < batch->share_count && !gpu_abandoned(); s++)
        share_free(batch, &batch->shares[s]);
    if (!gpu_abandoned()) {
        cudaFreeHost(batch->staged_in);
        cudaFreeHost(batch->staged_out);
    }
    free(batch);
}

static cudaError_t share_make_order(struct gpu_share *share, size_t slices)
{
    cudaStream_t *streams[] = {&share->up, &share->work, &share->down};
    for (size_t s = 0; s < 3; s++)
        CUDA_TRY(cudaStreamCreateWithFlags(streams[s], cudaStreamNonBlocking));
    for (size_t s = 0; s < slices; s++) {
        cudaEvent_t *events[] = {&share->arrived[s], &share->computed[s], &share->returned[s]};
        for (size_t e = 0; e < 3; e++)
            CUDA_TRY(cudaEventCreateWithFlags(events[e], cudaEventDisableTiming));
    }
    return cudaSuccess;
}

static cudaError_t clear_history(const struct gpu_batch *batch, const struct gpu_share *share)
{
    size_t bytes = batch->shape.inputs * batch->stride * sizeof(float);
    CUDA_TRY(cudaSetDevice(share->device));
    CUDA_TRY(cudaMemsetAsync(share->history[batch->now], 0, bytes, share->work));
    return cudaStreamSynchronize(share->work);
}

static cudaError_t share_alloc(const struct gpu_batch *batch, struct gpu_share *share)
{
    const struct convolver_shape *shape = &batch->shape;
    size_t in_bytes = shape->inputs * batch->stride * sizeof(float);
    CUDA_TRY(cudaSetDevice(share->device));
    CUDA_TRY(share_make_order(share, batch->slices));
    for (size_t h = 0; h < 2; h++)
        CUDA_TRY(cudaMalloc((void **)&share->history[h], in_bytes));
    CUDA_TRY(cudaMalloc((void **)&share->out, share->outputs * batch->out_stride * sizeof(float)));
    CUDA_TRY(
        cudaMalloc((void **)&share->packed, shape->inputs * batch->out_stride * pcm_bytes(PCM_24)));
    CUDA_TRY(cudaMalloc((void **)&share->column, shape->taps * sizeof(float)));
    return clear_history(batch, share);
}

static enum status share_init(const struct gpu_batch *batch, struct gpu_share *share)
{
    struct kernel_shape shape = {.taps = batch->shape.taps, .frames = batch->slice};
    cudaError_t error = share_alloc(batch, share);
    if (error != cudaSuccess)
        return gpu_failed(error, "allocate memory for a block");
    return kernel_open(batch->kernel, &shape, &share->plan);
}

static enum status share_out(struct gpu_batch *batch)
{
    const struct convolver_shape *shape = &batch->shape;
    int devices[GPU_MOST];
    size_t count, first = 0;
    enum status status = STATUS_OK;
    TRY(gpu_choose(&shape->gpu.devices, devices, &count));
    count = gpu_distinct(devices, count);
    if (count > shape->outputs)
        count = shape->outputs; /* the others would be idle */
    for (size_t s = 0; s < count && status == STATUS_OK; s++) {
        size_t end = shape->outputs * (s + 1) / count;
        batch->shares[s] =
            (struct gpu_share){.device = devices[s], .first_output = first, .outputs = end - first};
        batch->share_count++;
        status = share_init(batch, &batch->shares[s]);
        first = end;
    }
    return status;
}

/* One convolution serves all that are named. */
static enum status batch_share_out(const struct convolver_shape *shape, const struct mask *mask,
                                   struct gpu_devices *devices, char why[CONVOLVER_WHY])
{
    int available;
    (void)mask;
    *devices = (struct gpu_devices){.count = 1};
    if (gpu_devices_are_given(&shape->gpu.devices))
        return STATUS_OK;
    TRY(gpu_count(&available));
    if (available > 1)
        snprintf(why, CONVOLVER_WHY,
                 "one GPU of %d: with this kernel only --devices shares the outputs out",
                 available);
    return STATUS_OK;
}

static enum status stage(struct gpu_batch *batch)
{
    const struct convolver_shape *shape = &batch->shape;
    size_t channel = batch->out_stride * sizeof(float);
    cudaError_t error =
        cudaHostAlloc((void **)&batch->staged_in, shape->inputs * channel, cudaHostAllocPortable);
    if (error == cudaSuccess)
        error = cudaHostAlloc((void **)&batch->staged_out, shape->outputs * channel,
                              cudaHostAllocPortable);
    return error == cudaSuccess ? STATUS_OK : gpu_failed(error, "pin memory");
}

static enum status batch_create(const struct convolver_shape *shape, struct convolution **result)
{
    enum status status;
    struct gpu_batch *batch = calloc(1, sizeof *batch);
    if (!batch)
        return fail_memory("a convolver");
    batch->shape = *shape;
    batch->kernel = shape->gpu.kernel ? kernel_named(shape->gpu.kernel) : kernel_for(shape->taps);
    batch->history_frames = (shape->taps - 1 + 3) / 4 * 4;
    batch->stride = (batch->history_frames + shape->block + 3) / 4 * 4;
    batch->out_stride = (shape->block + 3) / 4 * 4;
    batch->fault = fault_wanted(0);
    struct slice_plan plan = slice_plan_for(shape->block, shape->taps);
    batch->slice = plan.slice;
    batch->slices = plan.slices;
    *result = (struct convolution *)batch;
    if (!batch->kernel) {
        status = fail(STATUS_USAGE, "there is no kernel '%s'", shape->gpu.kernel);
        goto fail;
    }
    convolver_cuda_send_home();
    if ((status = share_out(batch)) || (status = stage(batch)))
        goto fail;
    return STATUS_OK;
fail:
    batch_destroy(*result);
    *result = NULL;
    return status;
}

static void batch_reset(struct convolution *convolution)
{
    struct gpu_batch *batch = batch_of(convolution);
    for (size_t s = 0; s < batch->share_count; s++)
        gpu_note_error(&batch->error, clear_history(batch, &batch->shares[s]));
}

static void batch_describe(const struct convolution *convolution, char *text, size_t size)
{
    const struct gpu_batch *batch = batch_of(convolution);
    int length =
        snprintf(text, size, "%s, kernel %s", batch->kernel->technique, batch->kernel->name);
    if (batch->share_count > 1 && length > 0 && (size_t)length < size)
        snprintf(text + length, size - (size_t)length, ", on %zu GPUs", batch->share_count);
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

static cudaError_t mask_alloc(const struct gpu_batch *batch, struct gpu_batch_mask *mask)
{
    while (mask->share_count < batch->share_count) {
        size_t s = mask->share_count++;
        CUDA_TRY(cudaSetDevice(batch->shares[s].device));
        CUDA_TRY(cudaMalloc((void **)&mask->forms[s], mask->bytes));
    }
    return cudaSuccess;
}

/* A spare mask with `bytes` of memory on each device, or a new one. */
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
    cudaError_t error = mask_alloc(batch, mask);
    if (error != cudaSuccess) {
        mask->bytes = 0; /* not to be reused: incomplete */
        mask_retire(batch, mask);
        return gpu_failed(error, "load the mask");
    }
    *result = mask;
    return STATUS_OK;
}

/* All columns, in the kernel's form, on one device. */
static cudaError_t form_columns(const struct gpu_batch *batch, size_t s, const struct mask *mask,
                                const float *rounded, const struct gpu_batch_mask *prepared)
{
    const struct gpu_share *share = &batch->shares[s];
    size_t taps = prepared->taps;
    CUDA_TRY(cudaSetDevice(share->device));
    CUDA_TRY(cudaMemsetAsync(share->column, 0, taps * sizeof(float), share->work));
    for (size_t c = 0; c < mask->columns; c++) {
        CUDA_TRY(cudaMemcpyAsync(share->column, rounded + c * mask->taps,
                                 mask->taps * sizeof(float), cudaMemcpyHostToDevice, share->work));
        CUDA_TRY(kernel_form(batch->kernel, share->plan, share->column, taps,
                             prepared->forms[s] + c * prepared->form_floats, share->work));
    }
    return cudaStreamSynchronize(share->work);
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
    size_t floats = kernel_form_floats(kernel, batch->shares[0].plan, taps);
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
    for (size_t s = 0; s < batch->share_count; s++) {
        cudaError_t error = form_columns(batch, s, mask, rounded, prepared);
        if (error != cudaSuccess) {
            status = gpu_failed(error, "load the mask");
            goto fail;
        }
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
    .share_out = batch_share_out,
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
