/* The step of the GPU's file convolver: packs, sends, convolves and returns a block, slice by
 * slice. */
#include "gpu/convolver_cuda_batch.h"

#include <stdatomic.h>
#include <string.h>

/* The history of the next block, from the buffer of the last one. */
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
    atomic_bool inexact; /* a sample did not fit batch->pcm */
};

/* A slice of an input in pinned memory. */
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

/* In the narrowest format that has held all samples so far. */
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

/* Queue all work of the device for one slice. */
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

/* `in` NULL: the block is on the device already. */
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

void batch_step(struct convolution *convolution, const float *const *in,
                const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    struct gpu_batch *batch = batch_of(convolution);
    batch->loaded = NULL; /* other convolvers may have replaced it */
    batch->now = 1 - batch->now;
    if (batch->error == cudaSuccess)
        gpu_note_error(&batch->error, run_slots(batch, in, slots));
}
