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
#include "convolver_cuda.h"
#include "fault.h"
#include "gpu.h"
#include "kernel.h"
#include "pcm.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLICES_MOST = 8,
    SLICE_LEAST = 1 << 15, /* frames: below, launches cost more than the overlap gains */
    SLICE_MASKS = 4,       /* masks' lengths: below, transforms overlap too much */
};

/* One device's part: some of the outputs. */
struct share {
    int device;
    size_t first_output;
    size_t outputs;
    struct kernel_plan *plan;
    float *history[2];     /* inputs x stride */
    float *out;            /* outputs x out_stride */
    unsigned char *packed; /* inputs x packed_pitch */
    float *column;         /* shape.taps: a mask's, on its way into its form */
    const float *loaded;   /* the form in constant memory, known within a step only */
    cudaStream_t up, work, down;
    cudaEvent_t arrived[SLICES_MOST], computed[SLICES_MOST], returned[SLICES_MOST];
};

struct convolution {
    struct convolver_shape shape;
    const struct kernel *kernel;
    size_t slice; /* frames, a multiple of 4; the last one is perhaps shorter */
    size_t slices;
    size_t past;              /* frames before the block, a multiple of 4 */
    size_t stride;            /* floats of an input: past and block */
    size_t out_stride;        /* floats of an output */
    size_t now;               /* which history holds the newest block */
    enum pcm pcm;             /* what the sound has fitted so far */
    unsigned char *staged_in; /* pinned: inputs x out_stride x 4 bytes */
    float *staged_out;        /* pinned: outputs x out_stride */
    size_t share_count;
    struct share shares[GPU_MOST];
    struct prepared *spare; /* freed at the end: freeing waits for what runs on the device */
    uint64_t steps;
    struct fault fault;
    cudaError_t error; /* the first that a step met */
};

struct prepared {
    struct prepared *next; /* of those whose memory another may have */
    size_t taps;
    struct path_table paths;
    size_t form_floats;
    size_t bytes; /* on each device */
    size_t share_count;
    float *forms[GPU_MOST]; /* device, column after column */
};

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

static void cut_slices(struct convolution *convolution)
{
    size_t block = convolution->shape.block, least = SLICE_MASKS * convolution->shape.taps;
    size_t slice = (block + SLICES_MOST - 1) / SLICES_MOST;
    slice = slice < least ? least : slice;
    slice = slice < SLICE_LEAST ? SLICE_LEAST : slice;
    slice = slice > block ? block : slice;
    convolution->slice = (slice + 3) / 4 * 4;
    convolution->slices = (block + convolution->slice - 1) / convolution->slice;
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
    convolution->past = (shape->taps - 1 + 3) / 4 * 4;
    convolution->stride = (convolution->past + shape->block + 3) / 4 * 4;
    convolution->out_stride = (shape->block + 3) / 4 * 4;
    convolution->fault = fault_wanted();
    cut_slices(convolution);
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

static void note_error(struct convolution *convolution, cudaError_t error)
{
    if (error != cudaSuccess)
        (void)cudaGetLastError(); /* it is noted here, and not another call's */
    if (convolution->error == cudaSuccess)
        convolution->error = error;
}

static void batch_reset(struct convolution *convolution)
{
    for (size_t s = 0; s < convolution->share_count; s++)
        note_error(convolution, clear_history(convolution, &convolution->shares[s]));
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

/* ---- the step: real-time but for the GPU's own waiting ---- */

/* The past of the coming block, from the history that held the last one. */
static cudaError_t carry_halo(const struct convolution *convolution, const struct share *share)
{
    size_t pitch = convolution->stride * sizeof(float);
    const float *before = share->history[1 - convolution->now] + convolution->shape.block;
    if (convolution->past == 0)
        return cudaSuccess;
    return cudaMemcpy2DAsync(share->history[convolution->now], pitch, before, pitch,
                             convolution->past * sizeof(float), convolution->shape.inputs,
                             cudaMemcpyDeviceToDevice, share->up);
}

static size_t slice_frames(const struct convolution *convolution, size_t s)
{
    size_t left = convolution->shape.block - s * convolution->slice;
    return left < convolution->slice ? left : convolution->slice;
}

/* One slice between the caller's channels and pinned memory. */
struct staging {
    struct convolution *convolution;
    const float *const *in;
    float *const *out;
    size_t start;
    size_t frames;
    atomic_bool inexact; /* a sample did not fit convolution->pcm */
};

/* Where a slice of an input waits for its copy. */
static unsigned char *staged_slice(const struct convolution *convolution, size_t input,
                                   size_t start)
{
    return convolution->staged_in + (input * convolution->out_stride + start) * sizeof(float);
}

static void pack_input(void *context, size_t input, size_t worker)
{
    (void)worker;
    struct staging *staging = context;
    const struct convolution *convolution = staging->convolution;
    if (!pcm_pack(convolution->pcm, staging->in[input] + staging->start, staging->frames,
                  staged_slice(convolution, input, staging->start)))
        atomic_store(&staging->inexact, true);
}

/* The narrowest form that held the sound so far; once too narrow, it stays wider. */
static void pack_slice(struct convolution *convolution, const float *const *in, size_t s)
{
    const struct convolver_shape *shape = &convolution->shape;
    struct staging staging = {.convolution = convolution,
                              .in = in,
                              .start = s * convolution->slice,
                              .frames = slice_frames(convolution, s)};
    for (;;) {
        atomic_store(&staging.inexact, false);
        workers_run(shape->workers, shape->inputs, pack_input, &staging);
        if (!atomic_load(&staging.inexact))
            return;
        convolution->pcm++;
    }
}

static cudaError_t send_slice(const struct convolution *convolution, const struct share *share,
                              size_t s)
{
    size_t start = s * convolution->slice, frames = slice_frames(convolution, s);
    size_t inputs = convolution->shape.inputs, bytes = pcm_bytes(convolution->pcm);
    size_t staged_pitch = convolution->out_stride * sizeof(float);
    size_t packed_pitch = convolution->out_stride * pcm_bytes(PCM_24);
    float *history = share->history[convolution->now] + convolution->past + start;
    unsigned char *packed = share->packed + start * pcm_bytes(PCM_24);
    bool whole = convolution->pcm == PCM_FLOAT;
    cudaError_t error =
        cudaMemcpy2DAsync(whole ? (void *)history : packed,
                          whole ? convolution->stride * sizeof(float) : packed_pitch,
                          staged_slice(convolution, 0, start), staged_pitch, frames * bytes, inputs,
                          cudaMemcpyHostToDevice, share->up);
    if (error == cudaSuccess && !whole)
        error = pcm_unpack(convolution->pcm, packed, packed_pitch, history, convolution->stride,
                           frames, inputs, share->up);
    return error == cudaSuccess ? cudaEventRecord(share->arrived[s], share->up) : error;
}

static cudaError_t add_path(const struct convolution *convolution, struct share *share,
                            const struct prepared *prepared, const struct mask_path *path, size_t s,
                            bool first)
{
    size_t start = s * convolution->slice;
    const float *forms = prepared->forms[share - convolution->shares];
    struct kernel_job job = {
        .in = share->history[convolution->now] + path->input * convolution->stride + start,
        .out = share->out + (path->output - share->first_output) * convolution->out_stride + start,
        .mask = forms + path->column * prepared->form_floats,
        .plan = share->plan,
        .frames_in = convolution->past + slice_frames(convolution, s),
        .frames = slice_frames(convolution, s),
        .taps = prepared->taps,
        .origin = convolution->past,
        .add = !first,
    };
    cudaError_t error = cudaSuccess;
    if (share->loaded != job.mask)
        error = kernel_load(convolution->kernel, &job, share->work);
    share->loaded = job.mask;
    return error == cudaSuccess ? convolution->kernel->launch(&job, share->work) : error;
}

static cudaError_t convolve_slice(const struct convolution *convolution, struct share *share,
                                  const struct prepared *prepared, size_t s)
{
    const struct path_table *table = &prepared->paths;
    cudaError_t error = cudaStreamWaitEvent(share->work, share->arrived[s], 0);
    for (size_t i = 0; i < share->outputs && error == cudaSuccess; i++) {
        size_t o = share->first_output + i;
        if (table->first[o] == table->first[o + 1])
            error =
                cudaMemsetAsync(share->out + i * convolution->out_stride + s * convolution->slice,
                                0, slice_frames(convolution, s) * sizeof(float), share->work);
        for (size_t p = table->first[o]; p < table->first[o + 1] && error == cudaSuccess; p++)
            error =
                add_path(convolution, share, prepared, &table->paths[p], s, p == table->first[o]);
    }
    return error == cudaSuccess ? cudaEventRecord(share->computed[s], share->work) : error;
}

static cudaError_t return_slice(const struct convolution *convolution, const struct share *share,
                                size_t s)
{
    size_t start = s * convolution->slice, pitch = convolution->out_stride * sizeof(float);
    float *staged = convolution->staged_out + share->first_output * convolution->out_stride + start;
    cudaError_t error = cudaStreamWaitEvent(share->down, share->computed[s], 0);
    if (error == cudaSuccess)
        error = cudaMemcpy2DAsync(staged, pitch, share->out + start, pitch,
                                  slice_frames(convolution, s) * sizeof(float), share->outputs,
                                  cudaMemcpyDeviceToHost, share->down);
    return error == cudaSuccess ? cudaEventRecord(share->returned[s], share->down) : error;
}

/* Everything that the devices have to do for one slice, in their own time. */
static cudaError_t launch_slice(struct convolution *convolution, const struct prepared *prepared,
                                size_t s, bool send)
{
    cudaError_t error = cudaSuccess;
    for (size_t d = 0; d < convolution->share_count && error == cudaSuccess; d++) {
        struct share *share = &convolution->shares[d];
        error = cudaSetDevice(share->device);
        if (error == cudaSuccess && send && s == 0)
            error = carry_halo(convolution, share);
        if (error == cudaSuccess && send)
            error = send_slice(convolution, share, s);
        if (error == cudaSuccess)
            error = convolve_slice(convolution, share, prepared, s);
        if (error == cudaSuccess)
            error = return_slice(convolution, share, s);
    }
    return error;
}

static void unstage_output(void *context, size_t output, size_t worker)
{
    (void)worker;
    const struct staging *staging = context;
    const float *from =
        staging->convolution->staged_out + output * staging->convolution->out_stride;
    memcpy(staging->out[output] + staging->start, from + staging->start,
           staging->frames * sizeof(float));
}

static cudaError_t take_slice(struct convolution *convolution, size_t s, float *const *out)
{
    struct staging staging = {.convolution = convolution,
                              .out = out,
                              .start = s * convolution->slice,
                              .frames = slice_frames(convolution, s)};
    for (size_t d = 0; d < convolution->share_count; d++) {
        cudaError_t error = cudaEventSynchronize(convolution->shares[d].returned[s]);
        if (error != cudaSuccess)
            return error;
    }
    workers_run(convolution->shape.workers, convolution->shape.outputs, unstage_output, &staging);
    return cudaSuccess;
}

/* `in` NULL: the block is on the devices already. */
static cudaError_t run_voice(struct convolution *convolution, const float *const *in,
                             const struct convolver_voice *voice)
{
    cudaError_t error = cudaSuccess;
    for (size_t s = 0; s < convolution->slices && error == cudaSuccess; s++) {
        if (in)
            pack_slice(convolution, in, s);
        error = launch_slice(convolution, voice->prepared, s, in != NULL);
    }
    for (size_t s = 0; s < convolution->slices && error == cudaSuccess; s++)
        error = take_slice(convolution, s, voice->out);
    return error;
}

static void batch_step(struct convolution *convolution, const float *const *in,
                       const struct convolver_voice voices[CONVOLVER_VOICES])
{
    cudaError_t error = convolution->error;
    for (size_t d = 0; d < convolution->share_count; d++)
        convolution->shares[d].loaded = NULL; /* other convolvers use constant memory too */
    convolution->now = 1 - convolution->now;
    if (error == cudaSuccess)
        error = cudaSetDevice(convolution->shares[0].device);
    if (error == cudaSuccess)
        error = fault_at(&convolution->fault, convolution->steps++, convolution->shares[0].work);
    for (size_t v = 0; v < CONVOLVER_VOICES && error == cudaSuccess; v++)
        if (voices[v].prepared) {
            error = run_voice(convolution, in, &voices[v]);
            in = NULL;
        }
    note_error(convolution, error);
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
