/* Overlap-save: one fused kernel where a transform fits a multiprocessor, otherwise cuFFT between
 * passes of our own. The plan says which. */
#include "gpu/cufft_library.h"
#include "gpu/fft_kernels.h"
#include "gpu/gpu.h"

#include <stdlib.h>
#include <string.h>

struct kernel_plan {
    struct fft_plan fft;
    size_t taps;
    float *table;                        /* device; fused */
    const struct cufft_library *library; /* this and the following: cuFFT only */
    cufftHandle batch;
    cufftHandle one; /* for masks */
    float2 *work;    /* device: fft.batch x fft.fft */
};

static void fft_close(struct kernel_plan *plan)
{
    cudaFree(plan->table);
    cudaFree(plan->work);
    if (plan->batch)
        plan->library->destroy(plan->batch);
    if (plan->one)
        plan->library->destroy(plan->one);
    free(plan);
}

static enum status open_fused(struct kernel_plan *plan)
{
    size_t floats = fft_fused_table_floats(plan->fft.fft);
    float *table = malloc(floats * sizeof *table);
    if (!table)
        return fail_memory("a transform");
    fft_fused_fill_table(plan->fft.fft, table);
    cudaError_t error = cudaMalloc((void **)&plan->table, floats * sizeof *table);
    if (error == cudaSuccess)
        error = gpu_send(plan->table, table, floats * sizeof *table);
    free(table);
    return error == cudaSuccess ? STATUS_OK : gpu_failed(error, "allocate memory for transforms");
}

static enum status open_passes(struct kernel_plan *plan)
{
    const struct fft_plan *fft = &plan->fft;
    TRY(cufft_library_open(&plan->library));
    cudaError_t error = cudaMalloc((void **)&plan->work, fft->batch * fft->fft * sizeof(float2));
    if (error != cudaSuccess)
        return gpu_failed(error, "allocate memory for transforms");
    int length = (int)fft->fft;
    TRY(cufft_library_plan(plan->library, length, CUFFT_C2C, (int)fft->batch, &plan->batch));
    return cufft_library_plan(plan->library, length, CUFFT_C2C, 1, &plan->one);
}

size_t fft_fused_most(void)
{
    int shared;
    size_t most = FFT_FUSED_MOST;
    if (gpu_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, &shared) != cudaSuccess)
        return FFT_FUSED_LEAST;
    while (most > FFT_FUSED_LEAST && fft_fused_shared(most) > (size_t)shared)
        most /= 2;
    return most;
}

static enum status fft_open(const struct kernel_shape *shape, struct kernel_plan **result)
{
    struct kernel_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return fail_memory("a transform");
    plan->taps = shape->taps;
    plan->fft = fft_plan_choose(shape->taps, shape->frames, fft_fused_most(), shape->fft);
    enum status status;
    if (plan->fft.fft <= shape->taps)
        status = fail(STATUS_FAILED,
                      "a mask of %zu taps is too long for the GPU; use --backend cpu", shape->taps);
    else
        status = plan->fft.fused ? open_fused(plan) : open_passes(plan);
    if (status != STATUS_OK) {
        fft_close(plan);
        return status;
    }
    *result = plan;
    return STATUS_OK;
}

static size_t fft_form_floats(const struct kernel_plan *plan)
{
    return 2 * plan->fft.fft;
}

static cudaError_t transform(const struct kernel_plan *plan, cufftHandle handle, float2 *work,
                             int direction, cudaStream_t stream)
{
    cufftResult result = plan->library->set_stream(handle, stream);
    if (result == CUFFT_SUCCESS)
        result = plan->library->complex(handle, work, work, direction);
    return cufft_library_error(result);
}

static cudaError_t fft_form(struct kernel_plan *plan, const float *taps, float *form,
                            cudaStream_t stream)
{
    if (plan->fft.fused)
        return fft_fused_form(plan->fft.fft, plan->table, taps, plan->taps, form, stream);
    float2 *work = (float2 *)(void *)form;
    CUDA_TRY(fft_pass_pad(taps, plan->taps, plan->fft.fft, work, stream));
    return transform(plan, plan->one, work, CUFFT_FORWARD, stream);
}

static cudaError_t run_batch(const struct kernel_job *job, size_t first, size_t pairs,
                             cudaStream_t stream)
{
    const struct kernel_plan *plan = job->plan;
    CUDA_TRY(fft_pass_gather(job, &plan->fft, first, pairs, plan->work, stream));
    CUDA_TRY(transform(plan, plan->batch, plan->work, CUFFT_FORWARD, stream));
    CUDA_TRY(fft_pass_multiply(&plan->fft, pairs, job->mask, plan->work, stream));
    CUDA_TRY(transform(plan, plan->batch, plan->work, CUFFT_INVERSE, stream));
    return fft_pass_scatter(job, &plan->fft, first, pairs, plan->work, stream);
}

static cudaError_t fft_launch(const struct kernel_job *job, cudaStream_t stream)
{
    const struct kernel_plan *plan = job->plan;
    if (plan->fft.fused)
        return fft_fused_launch(job, &plan->fft, plan->table, stream);
    size_t pairs = (job->frames + 2 * plan->fft.hop - 1) / (2 * plan->fft.hop);
    for (size_t first = 0; first < pairs; first += plan->fft.batch) {
        size_t left = pairs - first;
        CUDA_TRY(run_batch(job, first, left < plan->fft.batch ? left : plan->fft.batch, stream));
    }
    return cudaSuccess;
}

const struct kernel kernel_fft = {
    .name = "fft",
    .technique = "overlap-save",
    .transforms = true,
    .open = fft_open,
    .close = fft_close,
    .form_floats = fft_form_floats,
    .form = fft_form,
    .launch = fft_launch,
};
