/* The convolver on the GPU for files: long blocks, through any of the kernels.
 *
 * A block is cut into slices. While one is convolved the next is on its way to the
 * device, packed as integers where that loses nothing, and the one before on its way
 * back: three streams, pinned memory on the host. An input's history lies before its
 * block on the device, so that a launch reads both; two such buffers take turns, each
 * step copying the past from one to the other. Constant memory takes one mask after the
 * other, in stream order.
 *
 * Several devices share out the outputs; each has all inputs. */
#include "gpu/convolver_cuda_batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- set up ---- */

static void share_free(const struct convolution *convolution, struct share *share)
{
    cudaSetDevice(share->device);
    kernel_close(convolution->kernel, share->plan);
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

static void prepared_free(const struct convolution *convolution, struct prepared *prepared)
{
    for (size_t s = 0; s < prepared->share_count && !gpu_abandoned(); s++) {
        cudaSetDevice(convolution->shares[s].device);
        cudaFree(prepared->forms[s]);
    }
    free(prepared);
}

static void batch_destroy(struct convolution *convolution)
{
    convolver_cuda_send_home();
    while (convolution->spare) {
        struct prepared *prepared = convolution->spare;
        convolution->spare = prepared->next;
        prepared_free(convolution, prepared);
    }
    for (size_t s = 0; s < convolution->share_count && !gpu_abandoned(); s++)
        share_free(convolution, &convolution->shares[s]);
    if (!gpu_abandoned()) {
        cudaFreeHost(convolution->staged_in);
        cudaFreeHost(convolution->staged_out);
    }
    free(convolution);
}

static cudaError_t share_make_order(struct share *share, size_t slices)
{
    cudaStream_t *streams[] = {&share->up, &share->work, &share->down};
    cudaError_t error = cudaSuccess;
    for (size_t s = 0; s < 3 && error == cudaSuccess; s++)
        error = cudaStreamCreateWithFlags(streams[s], cudaStreamNonBlocking);
    for (size_t s = 0; s < slices; s++) {
        cudaEvent_t *events[] = {&share->arrived[s], &share->computed[s], &share->returned[s]};
        for (size_t e = 0; e < 3 && error == cudaSuccess; e++)
            error = cudaEventCreateWithFlags(events[e], cudaEventDisableTiming);
    }
    return error;
}

static cudaError_t clear_history(const struct convolution *convolution, const struct share *share)
{
    size_t bytes = convolution->shape.inputs * convolution->stride * sizeof(float);
    cudaError_t error = cudaSetDevice(share->device);
    if (error == cudaSuccess)
        error = cudaMemsetAsync(share->history[convolution->now], 0, bytes, share->work);
    return error == cudaSuccess ? cudaStreamSynchronize(share->work) : error;
}

static enum status share_init(const struct convolution *convolution, struct share *share)
{
    const struct convolver_shape *shape = &convolution->shape;
    size_t in_bytes = shape->inputs * convolution->stride * sizeof(float);
    struct kernel_shape kernel_shape = {.taps = shape->taps, .frames = convolution->slice};
    cudaError_t error = cudaSetDevice(share->device);
    if (error == cudaSuccess)
        error = share_make_order(share, convolution->slices);
    for (size_t h = 0; h < 2 && error == cudaSuccess; h++)
        error = cudaMalloc((void **)&share->history[h], in_bytes);
    if (error == cudaSuccess)
        error = cudaMalloc((void **)&share->out,
                           share->outputs * convolution->out_stride * sizeof(float));
    if (error == cudaSuccess)
        error = cudaMalloc((void **)&share->packed,
                           shape->inputs * convolution->out_stride * pcm_bytes(PCM_24));
    if (error == cudaSuccess)
        error = cudaMalloc((void **)&share->column, shape->taps * sizeof(float));
    if (error == cudaSuccess)
        error = clear_history(convolution, share);
    if (error != cudaSuccess)
        return gpu_failed(error, "make room for the sound");
    return kernel_open(convolution->kernel, &kernel_shape, &share->plan);
}

static enum status share_out(struct convolution *convolution)
{
    const struct convolver_shape *shape = &convolution->shape;
    int devices[GPU_MOST];
    size_t count, first = 0;
    enum status status = gpu_choose(shape->gpu.devices, devices, &count);
    if (status != STATUS_OK)
        return status;
    if (count > shape->outputs)
        count = shape->outputs; /* the others would have nothing to do */
    for (size_t s = 0; s < count && status == STATUS_OK; s++) {
        size_t end = shape->outputs * (s + 1) / count;
        convolution->shares[s] =
            (struct share){.device = devices[s], .first_output = first, .outputs = end - first};
        convolution->share_count++;
        status = share_init(convolution, &convolution->shares[s]);
        first = end;
    }
    return status;
}

static enum status stage(struct convolution *convolution)
{
    const struct convolver_shape *shape = &convolution->shape;
    size_t channel = convolution->out_stride * sizeof(float);
    cudaError_t error = cudaHostAlloc((void **)&convolution->staged_in, shape->inputs * channel,
                                      cudaHostAllocPortable);
    if (error == cudaSuccess)
        error = cudaHostAlloc((void **)&convolution->staged_out, shape->outputs * channel,
                              cudaHostAllocPortable);
    return error == cudaSuccess ? STATUS_OK : gpu_failed(error, "pin memory");
}

static enum status batch_create(const struct convolver_shape *shape, struct convolution **result)
{
    struct convolution *convolution = calloc(1, sizeof *convolution);
    if (!convolution)
        return fail_memory("a convolver");
    convolution->shape = *shape;
    convolution->kernel =
        shape->gpu.kernel ? kernel_named(shape->gpu.kernel) : kernel_for(shape->taps);
    if (!convolution->kernel) {
        free(convolution);
        return fail(STATUS_USAGE, "there is no kernel '%s'", shape->gpu.kernel);
    }
    convolution->history_frames = (shape->taps - 1 + 3) / 4 * 4;
    convolution->stride = (convolution->history_frames + shape->block + 3) / 4 * 4;
    convolution->out_stride = (shape->block + 3) / 4 * 4;
    convolution->fault = fault_wanted();
    struct slice_plan plan = slice_plan_for(shape->block, shape->taps);
    convolution->slice = plan.slice;
    convolution->slices = plan.slices;
    convolver_cuda_send_home();
    enum status status = share_out(convolution);
    if (status == STATUS_OK)
        status = stage(convolution);
    if (status != STATUS_OK) {
        batch_destroy(convolution);
        return status;
    }
    *result = convolution;
    return STATUS_OK;
}

static void batch_reset(struct convolution *convolution)
{
    for (size_t s = 0; s < convolution->share_count; s++)
        batch_note_error(convolution, clear_history(convolution, &convolution->shares[s]));
}

static void batch_describe(const struct convolution *convolution, char *text, size_t size)
{
    int length = snprintf(text, size, "%s, kernel %s", convolution->kernel->technique,
                          convolution->kernel->name);
    if (convolution->share_count > 1 && length > 0 && (size_t)length < size)
        snprintf(text + length, size - (size_t)length, ", on %zu GPUs", convolution->share_count);
}

static const char *batch_failure(const struct convolution *convolution)
{
    return convolution->error == cudaSuccess ? NULL : cudaGetErrorString(convolution->error);
}

/* ---- masks ---- */

static void batch_release(const struct convolution *constant, struct prepared *prepared)
{
    struct convolution *convolution = (struct convolution *)constant; /* the control part of it */
    path_table_free(&prepared->paths);
    prepared->next = convolution->spare;
    convolution->spare = prepared;
}

/* With memory for `bytes` on each device: a spare one, or new. */
static enum status take_prepared(struct convolution *convolution, size_t bytes,
                                 struct prepared **result)
{
    cudaError_t error = cudaSuccess;
    for (struct prepared **at = &convolution->spare; *at; at = &(*at)->next)
        if ((*at)->bytes >= bytes) {
            *result = *at;
            *at = (*at)->next;
            return STATUS_OK;
        }
    struct prepared *prepared = calloc(1, sizeof *prepared);
    if (!prepared)
        return fail_memory("a mask");
    prepared->bytes = bytes;
    while (prepared->share_count < convolution->share_count && error == cudaSuccess) {
        size_t s = prepared->share_count++;
        error = cudaSetDevice(convolution->shares[s].device);
        if (error == cudaSuccess)
            error = cudaMalloc((void **)&prepared->forms[s], bytes);
    }
    if (error != cudaSuccess) {
        batch_release(convolution, prepared);
        prepared->bytes = 0; /* not all of it is there */
        return gpu_failed(error, "take the mask");
    }
    *result = prepared;
    return STATUS_OK;
}

/* All columns, in the kernel's form, on one device. */
static cudaError_t form_columns(const struct convolution *convolution, size_t s,
                                const struct mask *mask, const struct prepared *prepared)
{
    const struct share *share = &convolution->shares[s];
    size_t taps = prepared->taps;
    cudaError_t error = cudaSetDevice(share->device);
    if (error == cudaSuccess)
        error = cudaMemsetAsync(share->column, 0, taps * sizeof(float), share->work);
    for (size_t c = 0; c < mask->columns && error == cudaSuccess; c++) {
        error = cudaMemcpyAsync(share->column, mask_column(mask, c), mask->taps * sizeof(float),
                                cudaMemcpyHostToDevice, share->work);
        if (error == cudaSuccess)
            error = kernel_form(convolution->kernel, share->plan, share->column, taps,
                                prepared->forms[s] + c * prepared->form_floats, share->work);
    }
    return error == cudaSuccess ? cudaStreamSynchronize(share->work) : error;
}

static enum status batch_prepare(const struct convolution *constant, const struct mask *mask,
                                 struct prepared **result)
{
    struct convolution *convolution = (struct convolution *)constant; /* the control part of it */
    const struct kernel *kernel = convolution->kernel;
    struct prepared *prepared = NULL;
    /* Transforms were planned for the longest mask; the direct form takes what there is. */
    size_t taps = kernel->transforms ? convolution->shape.taps : mask->taps;
    size_t floats = kernel_form_floats(kernel, convolution->shares[0].plan, taps);
    floats = (floats + 3) / 4 * 4;
    enum status status =
        take_prepared(convolution, mask->columns * floats * sizeof(float), &prepared);
    if (status != STATUS_OK)
        return status;
    prepared->taps = taps;
    prepared->form_floats = floats;
    status = path_table_init(&prepared->paths, mask);
    for (size_t s = 0; s < convolution->share_count && status == STATUS_OK; s++) {
        cudaError_t error = form_columns(convolution, s, mask, prepared);
        if (error != cudaSuccess)
            status = gpu_failed(error, "take the mask");
    }
    if (status != STATUS_OK) {
        batch_release(convolution, prepared);
        return status;
    }
    *result = prepared;
    return STATUS_OK;
}

const struct convolver_backend convolver_cuda_batch = {
    .name = "cuda",
    .create = batch_create,
    .destroy = batch_destroy,
    .reset = batch_reset,
    .describe = batch_describe,
    .failure = batch_failure,
    .prepare = batch_prepare,
    .release = batch_release,
    .step = batch_step,
};
