/* Overlap-save: a fused kernel or three passes over device memory, as the plan says. */
#include "gpu/fft_kernels.h"
#include "gpu/gpu.h"

#include <stdlib.h>
#include <string.h>

struct kernel_plan {
    struct fft_plan fft;
    size_t taps;
    float *table; /* device */
    float2 *work; /* device: fft.batch x fft.fft; NULL if fused */
};

static void fft_close(struct kernel_plan *plan)
{
    cudaFree(plan->table);
    cudaFree(plan->work);
    free(plan);
}

cudaError_t fft_table_create(size_t fft, bool fused, float **table)
{
    size_t floats = fused ? fft_fused_table_floats(fft) : fft_long_table_floats(fft);
    float *filled_in = malloc(floats * sizeof *filled_in);
    if (!filled_in)
        return cudaErrorMemoryAllocation;
    if (fused)
        fft_fused_fill_table(fft, filled_in);
    else
        fft_long_fill_table(fft, filled_in);
    cudaError_t error = cudaMalloc((void **)table, floats * sizeof *filled_in);
    if (error == cudaSuccess)
        error = gpu_send(*table, filled_in, floats * sizeof *filled_in);
    free(filled_in);
    return error;
}

static enum status allocate(struct kernel_plan *plan)
{
    const struct fft_plan *fft = &plan->fft;
    cudaError_t error = fft_table_create(fft->fft, fft->fused, &plan->table);
    if (error == cudaSuccess && !fft->fused)
        error = cudaMalloc((void **)&plan->work, fft->batch * fft->fft * sizeof(float2));
    return error == cudaSuccess ? STATUS_OK : gpu_failed(error, "allocate memory for transforms");
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
        status = fail(CAUSE_UNSUPPORTED,
                      "a mask of %zu taps is too long for the GPU; use --backend cpu", shape->taps);
    else
        status = allocate(plan);
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

static cudaError_t fft_form(struct kernel_plan *plan, const float *taps, float *form,
                            cudaStream_t stream)
{
    return (plan->fft.fused ? fft_fused_form : fft_long_form)(plan->fft.fft, plan->table, taps,
                                                              plan->taps, form, stream);
}

static cudaError_t fft_launch(const struct kernel_job *job, cudaStream_t stream)
{
    const struct kernel_plan *plan = job->plan;
    const struct fft_plan *fft = &plan->fft;
    if (fft->fused)
        return fft_fused_launch(job, fft, plan->table, stream);
    size_t pairs = (job->frames + 2 * fft->hop - 1) / (2 * fft->hop);
    for (size_t first = 0; first < pairs; first += fft->batch) {
        size_t left = pairs - first, count = left < fft->batch ? left : fft->batch;
        CUDA_TRY(fft_long_launch(job, fft, first, count, plan->table, plan->work, stream));
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
