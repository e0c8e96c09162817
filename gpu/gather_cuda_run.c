/* A batch on a GPU: there, convolved, and back. */
#include "gpu/gather_cuda.h"

#include <stdio.h>
#include <string.h>

/* ---- pairs of chunks ---- */

struct filling {
    const struct gather_cuda_device *device;
    const struct gather_batch *batch;
    struct gather_cuda_batch *mine;
    size_t count; /* so far */
};

/* One path of an item. */
static void fill_path(struct filling *filling, const struct gather_item *item, size_t output,
                      const struct mask_path *path, bool add)
{
    const struct gather_cuda_batch *mine = filling->mine;
    size_t length = item->form->length;
    struct fft_plan plan = gather_cuda_plan(filling->device, item->taps, item->frames, length);
    const float *form = (const float *)item->form->on_device + path->column * 2 * length;
    const float *in =
        mine->in + item->in_at + path->input * gather_row(item->before + item->frames);
    float *out = mine->out + item->out_at + output * gather_row(item->frames);
    for (size_t start = 0; start < item->frames; start += 2 * plan.hop) {
        size_t left = item->frames - start;
        mine->filled_in[filling->count++] =
            (struct fft_pair){.job = {.in = in,
                                      .out = out + start,
                                      .mask = form,
                                      .frames_in = item->before + item->frames,
                                      .frames = left < 2 * plan.hop ? left : 2 * plan.hop,
                                      .taps = item->taps,
                                      .origin = item->before + start,
                                      .add = add},
                              .history_frames = plan.history_frames};
    }
}

/* The paths of all items of that length which are the `round`-th of their output. */
static void fill_round(struct filling *filling, size_t length, size_t round)
{
    for (size_t i = 0; i < filling->batch->item_count; i++) {
        const struct gather_item *item = &filling->batch->items[i];
        const struct path_table *table = item->paths;
        if (item->form->length != length)
            continue;
        for (size_t o = 0; o < item->outputs; o++)
            if (table->first[o] + round < table->first[o + 1])
                fill_path(filling, item, o, &table->paths[table->first[o] + round], round > 0);
    }
}

/* ---- the order of work ---- */

static cudaError_t send(const struct gather_cuda_device *device, const struct gather_batch *batch)
{
    const struct gather_cuda_batch *mine = batch->on_device;
    if (!batch->stays)
        CUDA_TRY(cudaMemcpyAsync(mine->in, batch->in, batch->in_used * sizeof(float),
                                 cudaMemcpyHostToDevice, device->up));
    CUDA_TRY(cudaEventRecord(mine->arrived, device->up));
    return cudaStreamWaitEvent(device->work, mine->arrived, 0);
}

static cudaError_t form_masks(struct gather_cuda_device *device, const struct gather_batch *batch)
{
    const struct gather_cuda_batch *mine = batch->on_device;
    for (size_t i = 0; i < batch->item_count; i++) {
        const struct gather_item *item = &batch->items[i];
        if (item->taps_at != SIZE_MAX && !item->form->on_device)
            CUDA_TRY(gather_cuda_form(device, item->form, mine->in + item->taps_at));
    }
    return cudaSuccess;
}

/* Round after round: those of one output add up. */
static cudaError_t convolve_length(struct gather_cuda_device *device, struct filling *filling,
                                   size_t length)
{
    struct gather_cuda_batch *mine = filling->mine;
    for (size_t round = 0;; round++) {
        size_t first = filling->count;
        fill_round(filling, length, round);
        size_t count = filling->count - first;
        if (count == 0)
            return cudaSuccess;
        CUDA_TRY(cudaMemcpyAsync(mine->pairs + first, mine->filled_in + first,
                                 count * sizeof *mine->pairs, cudaMemcpyHostToDevice,
                                 device->work));
        CUDA_TRY(gather_cuda_convolve(device, length, mine->pairs + first, count));
    }
}

static cudaError_t convolve(struct gather_cuda_device *device, const struct gather_batch *batch)
{
    struct filling filling = {device, batch, batch->on_device, 0};
    CUDA_TRY(form_masks(device, batch));
    for (size_t p = 0; p < GATHER_POWERS; p++)
        CUDA_TRY(convolve_length(device, &filling, (size_t)1 << (GATHER_POWER_LEAST + p)));
    return cudaSuccess;
}

static cudaError_t fetch(const struct gather_cuda_device *device, const struct gather_batch *batch)
{
    const struct gather_cuda_batch *mine = batch->on_device;
    CUDA_TRY(cudaEventRecord(mine->computed, device->work));
    CUDA_TRY(cudaStreamWaitEvent(device->down, mine->computed, 0));
    if (!batch->stays)
        CUDA_TRY(cudaMemcpyAsync(batch->out, mine->out, batch->out_used * sizeof(float),
                                 cudaMemcpyDeviceToHost, device->down));
    return cudaEventRecord(mine->returned, device->down);
}

static cudaError_t begin(struct gather_cuda_device *device, const struct gather_batch *batch)
{
    CUDA_TRY(cudaSetDevice(device->base.number));
    CUDA_TRY(fault_at(&device->fault, device->begun++, device->work));
    CUDA_TRY(send(device, batch));
    if (!batch->only_copies)
        CUDA_TRY(convolve(device, batch));
    return fetch(device, batch);
}

/* NULL, or why the device is lost. */
static const char *outcome(struct gather_cuda_device *device, cudaError_t error)
{
    if (error == cudaSuccess)
        return NULL;
    (void)cudaGetLastError(); /* reported from here, not by the next call */
    snprintf(device->problem, sizeof device->problem, "%s", cudaGetErrorString(error));
    return device->problem;
}

const char *gather_cuda_begin(struct gather_device *base, struct gather_batch *batch)
{
    struct gather_cuda_device *device = (struct gather_cuda_device *)base;
    return outcome(device, begin(device, batch));
}

const char *gather_cuda_end(struct gather_device *base, struct gather_batch *batch)
{
    struct gather_cuda_device *device = (struct gather_cuda_device *)base;
    const struct gather_cuda_batch *mine = batch->on_device;
    return outcome(device, cudaEventSynchronize(mine->returned));
}
