/* The file variant of the backend "cuda". */
#include "gpu/block_plan.h"
#include "gpu/convolver_cuda.h"
#include "gpu/gpu.h"
#include "gpu/kernel.h"
#include "gpu/pcm.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Held during a step. A kernel's constant memory has one mask, which all threads share. */
static pthread_mutex_t constant_memory = PTHREAD_MUTEX_INITIALIZER;

struct gpu_batch {
    struct convolver_shape shape;
    int device;
    const struct kernel *kernel;
    struct kernel_plan *plan;
    size_t slice; /* frames, a multiple of 4; the last slice may be shorter */
    size_t slices;
    size_t history_frames;    /* frames before the block, a multiple of 4 */
    size_t stride;            /* floats per input: history and block */
    size_t out_stride;        /* floats per output */
    size_t now;               /* index of the `history` that has the newest block */
    enum pcm pcm;             /* the narrowest format that has held all samples */
    unsigned char *staged_in; /* pinned: inputs x out_stride x 4 bytes */
    float *staged_out;        /* pinned: outputs x out_stride */
    float *history[2];        /* device: inputs x stride */
    float *out;               /* device: outputs x out_stride */
    unsigned char *packed;    /* device: inputs x packed_pitch */
    float *column;            /* device: shape.taps; a mask's column before conversion */
    const float *loaded;      /* form that is in constant memory, valid within a step */
    cudaStream_t up, work, down;
    cudaEvent_t arrived[SLICES_MOST], computed[SLICES_MOST], returned[SLICES_MOST];
    /* masks to use again; freed with the convolver, as freeing synchronises the device */
    struct gpu_batch_mask *spare;
    uint64_t steps;
    struct fault fault;
    cudaError_t error; /* first error in a step */
};

struct gpu_batch_mask {
    struct gpu_batch_mask *next; /* next spare mask */
    size_t taps;
    struct path_table paths;
    size_t form_floats;
    size_t bytes;
    float *forms; /* device, column after column */
};

static inline struct gpu_batch *batch_of(const struct convolution *convolution)
{
    return (struct gpu_batch *)convolution; /* not const, as the control side modifies it, too */
}

/* The step of the GPU's file convolver: packs, sends, convolves and returns a block by slices. */

/* Copies the next block's history from the buffer of the last block. */
static cudaError_t carry_halo(const struct gpu_batch *batch)
{
    size_t pitch = batch->stride * sizeof(float);
    const float *before = batch->history[1 - batch->now] + batch->shape.block;
    if (batch->history_frames == 0)
        return cudaSuccess;
    return cudaMemcpy2DAsync(batch->history[batch->now], pitch, before, pitch,
                             batch->history_frames * sizeof(float), batch->shape.inputs,
                             cudaMemcpyDeviceToDevice, batch->up);
}

static size_t slice_frames(const struct gpu_batch *batch, size_t s)
{
    size_t left = batch->shape.block - s * batch->slice;
    return left < batch->slice ? left : batch->slice;
}

/* A slice being copied between the caller's channels and pinned memory. */
struct staging {
    struct gpu_batch *batch;
    const float *const *in;
    float *const *out;
    size_t start;
    size_t frames;
    atomic_bool inexact; /* a sample does not fit batch->pcm */
};

/* Where an input's slice lies in pinned memory. */
static unsigned char *staged_slice(const struct gpu_batch *batch, size_t input, size_t start)
{
    return batch->staged_in + (input * batch->out_stride + start) * sizeof(float);
}

static void pack_input(void *context, size_t input, size_t worker)
{
    (void)worker;
    struct staging *staging = context;
    const struct gpu_batch *batch = staging->batch;
    if (!pcm_pack(batch->pcm, staging->in[input] + staging->start, staging->frames,
                  staged_slice(batch, input, staging->start)))
        atomic_store(&staging->inexact, true);
}

/* Packs a slice in the narrowest format that has held all samples so far. */
static void pack_slice(struct gpu_batch *batch, const float *const *in, size_t s)
{
    const struct convolver_shape *shape = &batch->shape;
    struct staging staging = {
        .batch = batch, .in = in, .start = s * batch->slice, .frames = slice_frames(batch, s)};
    for (;;) {
        atomic_store(&staging.inexact, false);
        workers_run(shape->workers, shape->inputs, pack_input, &staging);
        if (!atomic_load(&staging.inexact))
            return;
        batch->pcm++;
    }
}

static cudaError_t send_slice(const struct gpu_batch *batch, size_t s)
{
    size_t start = s * batch->slice, frames = slice_frames(batch, s);
    size_t inputs = batch->shape.inputs, bytes = pcm_bytes(batch->pcm);
    size_t staged_pitch = batch->out_stride * sizeof(float);
    size_t packed_pitch = batch->out_stride * pcm_bytes(PCM_24);
    float *history = batch->history[batch->now] + batch->history_frames + start;
    unsigned char *packed = batch->packed + start * pcm_bytes(PCM_24);
    bool whole = batch->pcm == PCM_FLOAT;
    CUDA_TRY(cudaMemcpy2DAsync(whole ? (void *)history : packed,
                               whole ? batch->stride * sizeof(float) : packed_pitch,
                               staged_slice(batch, 0, start), staged_pitch, frames * bytes, inputs,
                               cudaMemcpyHostToDevice, batch->up));
    if (!whole)
        CUDA_TRY(pcm_unpack(batch->pcm, packed, packed_pitch, history, batch->stride, frames,
                            inputs, batch->up));
    return cudaEventRecord(batch->arrived[s], batch->up);
}

static cudaError_t add_path(struct gpu_batch *batch, const struct gpu_batch_mask *prepared,
                            const struct mask_path *path, size_t s, bool first)
{
    size_t start = s * batch->slice;
    struct kernel_job job = {
        .in = batch->history[batch->now] + path->input * batch->stride + start,
        .out = batch->out + path->output * batch->out_stride + start,
        .mask = prepared->forms + path->column * prepared->form_floats,
        .plan = batch->plan,
        .frames_in = batch->history_frames + slice_frames(batch, s),
        .frames = slice_frames(batch, s),
        .taps = prepared->taps,
        .origin = batch->history_frames,
        .add = !first,
    };
    if (batch->loaded != job.mask)
        CUDA_TRY(kernel_load(batch->kernel, &job, batch->work));
    batch->loaded = job.mask;
    return batch->kernel->launch(&job, batch->work);
}

static cudaError_t convolve_slice(struct gpu_batch *batch, const struct gpu_batch_mask *prepared,
                                  size_t s)
{
    const struct path_table *table = &prepared->paths;
    CUDA_TRY(cudaStreamWaitEvent(batch->work, batch->arrived[s], 0));
    for (size_t o = 0; o < batch->shape.outputs; o++) {
        if (table->first[o] == table->first[o + 1])
            CUDA_TRY(cudaMemsetAsync(batch->out + o * batch->out_stride + s * batch->slice, 0,
                                     slice_frames(batch, s) * sizeof(float), batch->work));
        for (size_t p = table->first[o]; p < table->first[o + 1]; p++)
            CUDA_TRY(add_path(batch, prepared, &table->paths[p], s, p == table->first[o]));
    }
    return cudaEventRecord(batch->computed[s], batch->work);
}

static cudaError_t return_slice(const struct gpu_batch *batch, size_t s)
{
    size_t start = s * batch->slice, pitch = batch->out_stride * sizeof(float);
    CUDA_TRY(cudaStreamWaitEvent(batch->down, batch->computed[s], 0));
    CUDA_TRY(cudaMemcpy2DAsync(batch->staged_out + start, pitch, batch->out + start, pitch,
                               slice_frames(batch, s) * sizeof(float), batch->shape.outputs,
                               cudaMemcpyDeviceToHost, batch->down));
    return cudaEventRecord(batch->returned[s], batch->down);
}

/* Queues all of the device's work for one slice. */
static cudaError_t launch_slice(struct gpu_batch *batch, const struct gpu_batch_mask *prepared,
                                size_t s, bool send)
{
    if (send && s == 0)
        CUDA_TRY(carry_halo(batch));
    if (send)
        CUDA_TRY(send_slice(batch, s));
    CUDA_TRY(convolve_slice(batch, prepared, s));
    return return_slice(batch, s);
}

static void unstage_output(void *context, size_t output, size_t worker)
{
    (void)worker;
    const struct staging *staging = context;
    const float *from = staging->batch->staged_out + output * staging->batch->out_stride;
    memcpy(staging->out[output] + staging->start, from + staging->start,
           staging->frames * sizeof(float));
}

static cudaError_t unstage_slice(struct gpu_batch *batch, size_t s, float *const *out)
{
    struct staging staging = {
        .batch = batch, .out = out, .start = s * batch->slice, .frames = slice_frames(batch, s)};
    CUDA_TRY(cudaEventSynchronize(batch->returned[s]));
    workers_run(batch->shape.workers, batch->shape.outputs, unstage_output, &staging);
    return cudaSuccess;
}

/* Convolves one slot. `in` is NULL if the block is on the device already. */
static cudaError_t run_slot(struct gpu_batch *batch, const float *const *in,
                            const struct convolver_slot *slot)
{
    const struct gpu_batch_mask *mask = (const struct gpu_batch_mask *)slot->prepared;
    for (size_t s = 0; s < batch->slices; s++) {
        if (in)
            pack_slice(batch, in, s);
        CUDA_TRY(launch_slice(batch, mask, s, in != NULL));
    }
    for (size_t s = 0; s < batch->slices; s++)
        CUDA_TRY(unstage_slice(batch, s, slot->out));
    return cudaSuccess;
}

static cudaError_t run_slots(struct gpu_batch *batch, const float *const *in,
                             const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    CUDA_TRY(cudaSetDevice(batch->device));
    CUDA_TRY(fault_at(&batch->fault, batch->steps++, batch->work));
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++)
        if (slots[v].prepared) {
            CUDA_TRY(run_slot(batch, in, &slots[v]));
            in = NULL;
        }
    return cudaSuccess;
}

static void batch_step(struct convolution *convolution, const float *const *in,
                       const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    struct gpu_batch *batch = batch_of(convolution);
    bool in_constant_memory = batch->kernel->load;
    batch->now = 1 - batch->now;
    if (in_constant_memory)
        pthread_mutex_lock(&constant_memory);
    batch->loaded = NULL; /* other convolvers may have loaded theirs */
    if (batch->error == cudaSuccess)
        gpu_note_error(&batch->error, run_slots(batch, in, slots));
    if (in_constant_memory)
        pthread_mutex_unlock(&constant_memory);
}

/* The convolver on the GPU for files: long blocks, with any of the kernels.
 *
 * A block is divided into slices. While one slice is convolved, the next is copied to the device
 * and the previous one is copied back. This takes three streams, and pinned memory on the host.
 * Samples are sent as integers if that is lossless. On the device an input's history lies before
 * its block. Two such buffers alternate, and each step copies the history from one to the other.
 * Masks are loaded into constant memory in stream order.
 */

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

/* Keeps the mask's memory for later masks. */
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

/* A spare mask with `bytes` of memory on the device or, if there is none, a new one. */
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
        mask->bytes = 0; /* incomplete, so not to be used again */
        mask_retire(batch, mask);
        return gpu_failed(error, "load the mask");
    }
    *result = mask;
    return STATUS_OK;
}

/* Converts all columns to the kernel's form. */
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
    /* Transforms have the length that the longest mask needs. */
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
