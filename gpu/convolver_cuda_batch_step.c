/* The GPU's convolver of files at work: a step packs, sends, convolves and takes back a
 * block, slice by slice. */
#include "gpu/convolver_cuda_batch.h"

#include <stdatomic.h>
#include <string.h>

void batch_note_error(struct convolution *convolution, cudaError_t error)
{
    if (error != cudaSuccess)
        (void)cudaGetLastError(); /* it is noted here, and not another call's */
    if (convolution->error == cudaSuccess)
        convolution->error = error;
}

/* The past of the coming block, from the history that held the last one. */
static cudaError_t carry_halo(const struct convolution *convolution, const struct share *share)
{
    size_t pitch = convolution->stride * sizeof(float);
    const float *before = share->history[1 - convolution->now] + convolution->shape.block;
    if (convolution->history_frames == 0)
        return cudaSuccess;
    return cudaMemcpy2DAsync(share->history[convolution->now], pitch, before, pitch,
                             convolution->history_frames * sizeof(float), convolution->shape.inputs,
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
    float *history = share->history[convolution->now] + convolution->history_frames + start;
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
        .frames_in = convolution->history_frames + slice_frames(convolution, s),
        .frames = slice_frames(convolution, s),
        .taps = prepared->taps,
        .origin = convolution->history_frames,
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
static cudaError_t run_slot(struct convolution *convolution, const float *const *in,
                             const struct convolver_slot *slot)
{
    cudaError_t error = cudaSuccess;
    for (size_t s = 0; s < convolution->slices && error == cudaSuccess; s++) {
        if (in)
            pack_slice(convolution, in, s);
        error = launch_slice(convolution, slot->prepared, s, in != NULL);
    }
    for (size_t s = 0; s < convolution->slices && error == cudaSuccess; s++)
        error = take_slice(convolution, s, slot->out);
    return error;
}

void batch_step(struct convolution *convolution, const float *const *in,
                const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    cudaError_t error = convolution->error;
    for (size_t d = 0; d < convolution->share_count; d++)
        convolution->shares[d].loaded = NULL; /* other convolvers use constant memory too */
    convolution->now = 1 - convolution->now;
    if (error == cudaSuccess)
        error = cudaSetDevice(convolution->shares[0].device);
    if (error == cudaSuccess)
        error = fault_at(&convolution->fault, convolution->steps++, convolution->shares[0].work);
    for (size_t v = 0; v < CONVOLVER_SLOTS && error == cudaSuccess; v++)
        if (slots[v].prepared) {
            error = run_slot(convolution, in, &slots[v]);
            in = NULL;
        }
    batch_note_error(convolution, error);
}
