#include "gpu/gather_cuda.h"

#include <stdlib.h>
#include <string.h>

enum { MASKS_SHARE = 4 }; /* one of so many parts of the free memory is for masks */

/* ---- how a stretch is convolved ---- */

struct fft_plan gather_cuda_plan(const struct gather_cuda_device *device, size_t taps,
                                 size_t frames, size_t length)
{
    return fft_plan_choose(taps, frames, device->fused_most, length);
}

/* The length depends on the power of two above `frames`: sounds of like length share a form. */
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
    (void)cudaGetLastError(); /* of a device that was lost */
    free(device);
}

/* Memory of masks that were let go is for the next ones, without the system. */
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
    CUDA_TRY(cudaFree(NULL)); /* makes the context */
    for (size_t s = 0; s < 3; s++)
        CUDA_TRY(cudaStreamCreateWithFlags(streams[s], cudaStreamNonBlocking));
    CUDA_TRY(cudaMemGetInfo(&unused, &all));
    CUDA_TRY(keep_memory(device->base.number));
    device->fused_most = fft_fused_most();
    device->base.mask_bytes = unused / MASKS_SHARE;
    return cudaSuccess;
}

/* HALO_GPU_FAULT, on all devices or on that of HALO_GPU_FAULT_DEVICE. */
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
    /* While it waits, the processor is for others. */
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

/* After all work so far, in the order of the stream. */
static void cuda_let_go(struct gather_device *base, struct gather_form *forms)
{
    struct gather_cuda_device *device = (struct gather_cuda_device *)base;
    if (!forms)
        return;
    cudaSetDevice(device->base.number);
    for (; forms; forms = forms->next)
        if (forms->on_device)
            cudaFreeAsync(forms->on_device, device->work);
    (void)cudaGetLastError(); /* a device that is lost frees nothing */
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
