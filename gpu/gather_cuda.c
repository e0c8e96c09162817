/* The device of gather.h for GPUs.
 *
 * Each stretch is divided into chunks for overlap-save. Two chunks are one complex transform. The
 * pairs of all stretches of one transform length are rows of one launch, even if their masks
 * differ. Transforms of up to 16384 points use fused kernels, longer ones three passes. Copies to
 * and from the device have streams of their own.
 */
#include "convolve/gather.h"
#include "gpu/fft_kernels.h"
#include "gpu/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    GATHER_POWER_LEAST = 10, /* shortest transforms: 2^10 points */
    GATHER_POWERS = 16,
    GATHER_WORK_POINTS = 1 << 23, /* points of long transforms at a time: 64 MB */
};

/* The device's part of a batch. */
struct gather_cuda_batch {
    float *in, *out;                    /* device */
    struct fft_pair *pairs, *filled_in; /* device; pinned, where they are filled in */
    cudaEvent_t arrived, computed, returned;
};

struct gather_cuda_device {
    struct gather_device base;
    size_t fused_most;
    cudaStream_t up, work, down;
    float *tables[GATHER_POWERS]; /* [power] NULL: not needed yet */
    float2 *points;               /* GATHER_WORK_POINTS points; NULL: not needed yet */
    uint64_t begun;
    struct fault fault;
    char problem[256];
};

/* Transforms of pairs of chunks, and of masks. Tables are created when they are first needed. */

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

/* Computes the spectra of the columns at `taps` into form->on_device, on the stream `work`. */
static cudaError_t gather_cuda_form(struct gather_cuda_device *device, struct gather_form *form,
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

/* Convolves pairs of one length. The pairs of one launch write to different places. */
static cudaError_t gather_cuda_convolve(struct gather_cuda_device *device, size_t length,
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

static void gather_cuda_free_transforms(struct gather_cuda_device *device)
{
    for (size_t p = 0; p < GATHER_POWERS; p++)
        cudaFree(device->tables[p]);
    cudaFree(device->points);
}

/* ---- a batch on a GPU: copied there, convolved, copied back ---- */

struct filling {
    const struct gather_cuda_device *device;
    const struct gather_batch *batch;
    struct gather_cuda_batch *mine;
    size_t count; /* pairs filled in so far */
};

static struct fft_plan gather_cuda_plan(const struct gather_cuda_device *device, size_t taps,
                                        size_t frames, size_t length)
{
    return fft_plan_choose(taps, frames, device->fused_most, length);
}

/* Fills in the pairs of one path of an item. */
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

/* Fills in the pairs of one transform length. Of each output, only path number `round` is used. */
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

/* Convolves round by round, since the paths of an output add up. */
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

/* The outcome of a CUDA call. NULL, or why the device is lost. */
static const char *outcome(struct gather_cuda_device *device, cudaError_t error)
{
    if (error == cudaSuccess)
        return NULL;
    (void)cudaGetLastError(); /* clears the error, which is reported from here */
    snprintf(device->problem, sizeof device->problem, "%s", cudaGetErrorString(error));
    return device->problem;
}

static const char *gather_cuda_begin(struct gather_device *base, struct gather_batch *batch)
{
    struct gather_cuda_device *device = (struct gather_cuda_device *)base;
    return outcome(device, begin(device, batch));
}

static const char *gather_cuda_end(struct gather_device *base, struct gather_batch *batch)
{
    struct gather_cuda_device *device = (struct gather_cuda_device *)base;
    const struct gather_cuda_batch *mine = batch->on_device;
    return outcome(device, cudaEventSynchronize(mine->returned));
}

enum { MASKS_SHARE = 4 }; /* divides the free memory: so much is for masks */

/* ---- how a stretch is convolved ---- */

/* Only the power of two above `frames` matters, so that sounds of similar length share a form. */
static struct gather_cost cuda_cost(const struct gather_device *base, size_t taps, size_t frames)
{
    const struct gather_cuda_device *device = (const struct gather_cuda_device *)base;
    size_t like = 1;
    while (like < frames)
        like *= 2;
    size_t length = fft_plan_length_among_many(taps, like, device->fused_most);
    length = length < GATHER_WORK_POINTS ? length : GATHER_WORK_POINTS;
    struct fft_plan plan = gather_cuda_plan(device, taps, frames, length);
    return (struct gather_cost){.length = length, .rows = plan.pairs};
}

static size_t cuda_form_bytes(size_t length)
{
    return 2 * length * sizeof(float);
}

/* ---- set-up ---- */

static enum status cuda_count(size_t *count)
{
    int there = 0;
    TRY(gpu_count(&there));
    *count = (size_t)there;
    return STATUS_OK;
}

static void cuda_close(struct gather_device *base)
{
    struct gather_cuda_device *device = (struct gather_cuda_device *)base;
    cudaSetDevice(device->base.number);
    gather_cuda_free_transforms(device);
    cudaStream_t streams[] = {device->up, device->work, device->down};
    for (size_t s = 0; s < 3; s++)
        if (streams[s])
            cudaStreamDestroy(streams[s]);
    (void)cudaGetLastError(); /* clears errors of a lost device */
    free(device);
}

/* Keeps the memory of freed masks for the next ones, so that the system is not asked again. */
static cudaError_t keep_memory(int number)
{
    cudaMemPool_t pool;
    uint64_t all = UINT64_MAX;
    CUDA_TRY(cudaDeviceGetDefaultMemPool(&pool, number));
    return cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all);
}

static cudaError_t set_up(struct gather_cuda_device *device)
{
    size_t unused = 0, all = 0;
    cudaStream_t *streams[] = {&device->up, &device->work, &device->down};
    CUDA_TRY(cudaSetDevice(device->base.number));
    CUDA_TRY(cudaFree(NULL)); /* creates the context */
    for (size_t s = 0; s < 3; s++)
        CUDA_TRY(cudaStreamCreateWithFlags(streams[s], cudaStreamNonBlocking));
    CUDA_TRY(cudaMemGetInfo(&unused, &all));
    CUDA_TRY(keep_memory(device->base.number));
    device->fused_most = fft_fused_most();
    device->base.mask_bytes = unused / MASKS_SHARE;
    return cudaSuccess;
}

/* The fault of HALO_GPU_FAULT. If HALO_GPU_FAULT_DEVICE is set, only that device has it. */
static struct fault find_fault(int number)
{
    const char *only = getenv("HALO_GPU_FAULT_DEVICE");
    struct fault fault = fault_wanted();
    if (only && atoi(only) != number)
        fault.step = UINT64_MAX;
    return fault;
}

static enum status cuda_open(int number, struct gather_device **result)
{
    struct gather_cuda_device *device = calloc(1, sizeof *device);
    if (!device)
        return fail_memory("a GPU");
    device->base = (struct gather_device){.kind = &gather_cuda, .number = number};
    device->fault = find_fault(number);
    cudaError_t error = set_up(device);
    if (error != cudaSuccess) {
        cuda_close(&device->base);
        return gpu_failed(error, "begin");
    }
    gpu_note_place(number, "batches");
    *result = &device->base;
    return STATUS_OK;
}

/* ---- batches ---- */

static void cuda_batch_close(struct gather_device *device, struct gather_batch *batch)
{
    struct gather_cuda_batch *mine = batch->on_device;
    cudaSetDevice(device->number);
    cudaFreeHost(batch->in);
    cudaFreeHost(batch->out);
    if (mine) {
        cudaFree(mine->in);
        cudaFree(mine->out);
        cudaFree(mine->pairs);
        cudaFreeHost(mine->filled_in);
        cudaEvent_t events[] = {mine->arrived, mine->computed, mine->returned};
        for (size_t e = 0; e < 3; e++)
            if (events[e])
                cudaEventDestroy(events[e]);
    }
    (void)cudaGetLastError();
    free(mine);
    *batch = (struct gather_batch){0};
}

static cudaError_t allocate(const struct gather_device *device, struct gather_batch *batch,
                            struct gather_cuda_batch *mine)
{
    /* A waiting thread leaves its processor to others. */
    const unsigned events = cudaEventDisableTiming | cudaEventBlockingSync;
    size_t bytes = GATHER_FLOATS_MOST * sizeof(float);
    size_t pairs = GATHER_ROWS_MOST * sizeof(struct fft_pair);
    CUDA_TRY(cudaSetDevice(device->number));
    CUDA_TRY(cudaHostAlloc((void **)&batch->in, bytes, cudaHostAllocPortable));
    CUDA_TRY(cudaHostAlloc((void **)&batch->out, bytes, cudaHostAllocPortable));
    CUDA_TRY(cudaHostAlloc((void **)&mine->filled_in, pairs, cudaHostAllocPortable));
    CUDA_TRY(cudaMalloc((void **)&mine->in, bytes));
    CUDA_TRY(cudaMalloc((void **)&mine->out, bytes));
    CUDA_TRY(cudaMalloc((void **)&mine->pairs, pairs));
    CUDA_TRY(cudaEventCreateWithFlags(&mine->arrived, events));
    CUDA_TRY(cudaEventCreateWithFlags(&mine->computed, events));
    return cudaEventCreateWithFlags(&mine->returned, events);
}

static enum status cuda_batch_open(struct gather_device *device, struct gather_batch *batch)
{
    struct gather_cuda_batch *mine = calloc(1, sizeof *mine);
    if (!mine)
        return fail_memory("a GPU");
    batch->on_device = mine;
    cudaError_t error = allocate(device, batch, mine);
    if (error == cudaSuccess)
        return STATUS_OK;
    cuda_batch_close(device, batch);
    return gpu_failed(error, "allocate memory for batches");
}

/* Frees forms after all work so far, in the stream's order. */
static void cuda_let_go(struct gather_device *base, struct gather_form *forms)
{
    struct gather_cuda_device *device = (struct gather_cuda_device *)base;
    if (!forms)
        return;
    cudaSetDevice(device->base.number);
    for (; forms; forms = forms->next)
        if (forms->on_device)
            cudaFreeAsync(forms->on_device, device->work);
    (void)cudaGetLastError(); /* clears the error, as a lost device frees nothing */
}

const struct gather_device_kind gather_cuda = {.name = "cuda",
                                               .count = cuda_count,
                                               .enter = gpu_enter,
                                               .open = cuda_open,
                                               .close = cuda_close,
                                               .cost = cuda_cost,
                                               .form_bytes = cuda_form_bytes,
                                               .batch_open = cuda_batch_open,
                                               .batch_close = cuda_batch_close,
                                               .let_go = cuda_let_go,
                                               .begin = gather_cuda_begin,
                                               .end = gather_cuda_end};
