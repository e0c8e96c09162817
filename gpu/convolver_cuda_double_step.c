/* The step of the GPU's convolver in double precision: sends a block, convolves its chunks and
 * returns it. */
#include "gpu/convolver_cuda_double.h"
#include "gpu/gpu.h"

#include <string.h>

/* Channels copied between the caller and pinned memory, in the caller's precision. */
struct double_staging {
    const struct gpu_double *gpu;
    const float *const *in;
    const double *const *in_in_double;
    float *const *out;
    double *const *out_in_double;
};

static void stage_input(void *context, size_t input, size_t worker)
{
    (void)worker;
    const struct double_staging *staging = context;
    size_t block = staging->gpu->shape.block;
    double *to = staging->gpu->staged_in + input * block;
    if (staging->in_in_double)
        memcpy(to, staging->in_in_double[input], block * sizeof *to);
    for (size_t i = 0; staging->in && i < block; i++)
        to[i] = (double)staging->in[input][i];
}

static void unstage_output(void *context, size_t output, size_t worker)
{
    (void)worker;
    const struct double_staging *staging = context;
    size_t block = staging->gpu->shape.block;
    const double *from = staging->gpu->staged_out + output * block;
    if (staging->out_in_double)
        memcpy(staging->out_in_double[output], from, block * sizeof *from);
    for (size_t i = 0; staging->out && i < block; i++)
        staging->out[output][i] = (float)from[i];
}

/* The history of the next block from the rows of the last one, and the block after it. */
static cudaError_t send_block(struct gpu_double *gpu, struct double_staging *staging)
{
    const struct convolver_shape *shape = &gpu->shape;
    size_t pitch = gpu->stride * sizeof(double), block = shape->block * sizeof(double);
    workers_run(shape->workers, shape->inputs, stage_input, staging);
    const double *before = gpu->rows[gpu->now] + shape->block;
    gpu->now = 1 - gpu->now;
    if (gpu->plan.keep > 0)
        CUDA_TRY(cudaMemcpy2DAsync(gpu->rows[gpu->now], pitch, before, pitch,
                                   gpu->plan.keep * sizeof(double), shape->inputs,
                                   cudaMemcpyDeviceToDevice, gpu->work));
    return cudaMemcpy2DAsync(gpu->rows[gpu->now] + gpu->plan.keep, pitch, gpu->staged_in, block,
                             block, shape->inputs, cudaMemcpyHostToDevice, gpu->work);
}

static cudaError_t convolve_chunks(const struct gpu_double *gpu, const struct gpu_double_mask *mask,
                                   size_t first)
{
    const struct convolver_shape *shape = &gpu->shape;
    const struct double_paths paths = {mask->first, mask->paths};
    CUDA_TRY(double_gather(&gpu->plan, gpu->rows[gpu->now], gpu->stride, shape->inputs, first,
                           gpu->samples, gpu->work));
    CUDA_TRY(cufft_library_error(
        gpu->library->forward_double(gpu->forward, gpu->samples, gpu->in_bins)));
    CUDA_TRY(double_multiply(&gpu->plan, &paths, shape->outputs, gpu->in_bins, mask->forms,
                             gpu->out_bins, gpu->work));
    CUDA_TRY(cufft_library_error(
        gpu->library->inverse_double(gpu->inverse, gpu->out_bins, gpu->samples)));
    return double_scatter(&gpu->plan, gpu->samples, shape->outputs, first, gpu->out, shape->block,
                          gpu->work);
}

static cudaError_t run_slot(struct gpu_double *gpu, const struct convolver_slot *slot)
{
    const struct convolver_shape *shape = &gpu->shape;
    const struct gpu_double_mask *mask = (const struct gpu_double_mask *)slot->prepared;
    struct double_staging staging = {
        .gpu = gpu, .out = slot->out, .out_in_double = slot->out_in_double};
    for (size_t b = 0; b < gpu->plan.batches; b++)
        CUDA_TRY(convolve_chunks(gpu, mask, b * gpu->plan.batch));
    CUDA_TRY(cudaMemcpyAsync(gpu->staged_out, gpu->out,
                             shape->outputs * shape->block * sizeof(double), cudaMemcpyDeviceToHost,
                             gpu->work));
    CUDA_TRY(cudaStreamSynchronize(gpu->work));
    workers_run(shape->workers, shape->outputs, unstage_output, &staging);
    return cudaSuccess;
}

static cudaError_t run_slots(struct gpu_double *gpu, struct double_staging *input,
                             const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    CUDA_TRY(cudaSetDevice(gpu->device));
    CUDA_TRY(fault_at(&gpu->fault, gpu->steps++, gpu->work));
    CUDA_TRY(send_block(gpu, input));
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++)
        if (slots[v].prepared)
            CUDA_TRY(run_slot(gpu, &slots[v]));
    return cudaSuccess;
}

void double_step(struct convolution *convolution, const float *const *in,
                 const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    struct gpu_double *gpu = double_of(convolution);
    struct double_staging input = {.gpu = gpu, .in = in};
    if (gpu->error == cudaSuccess)
        gpu_note_error(&gpu->error, run_slots(gpu, &input, slots));
}

void double_step_in_double(struct convolution *convolution, const double *const *in,
                           const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    struct gpu_double *gpu = double_of(convolution);
    struct double_staging input = {.gpu = gpu, .in_in_double = in};
    if (gpu->error == cudaSuccess)
        gpu_note_error(&gpu->error, run_slots(gpu, &input, slots));
}
