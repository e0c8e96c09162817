/* The step of the GPU's convolver in double precision: sends a block, convolves its chunks and
 * returns it. In a chain of single precision samples travel as they are. */
#include "gpu/convolver_cuda_double.h"

#include "base/laps.h"
#include "gpu/gpu.h"

/* A block of the caller's, in the precision of the chain; the other pointers are NULL. */
struct double_block {
    const float *const *in;
    const double *const *in_in_double;
    float *const *out;
    double *const *out_in_double;
};

/* Copies to pinned memory, from input `first` on. */
static void stage_inputs(const struct gpu_double *gpu, const struct double_block *block,
                         size_t first, size_t count)
{
    const struct convolver_shape *shape = &gpu->shape;
    const struct gpu_rows *to = &gpu->staged_in;
    if (block->in_in_double)
        audio_copy_rows_in_double(to->in_double + first, 0, block->in_in_double + first, count,
                                  shape->block, double_workers(gpu));
    else
        audio_copy_rows(to->single + first, 0, block->in + first, count, shape->block,
                        double_workers(gpu));
}

static void unstage_outputs(const struct gpu_double *gpu, const struct double_block *block,
                            size_t first, size_t count)
{
    const struct convolver_shape *shape = &gpu->shape;
    const struct gpu_rows *from = &gpu->staged_out;
    if (block->out_in_double)
        audio_copy_rows_in_double(block->out_in_double + first, 0,
                                  (const double *const *)from->in_double + first, count,
                                  shape->block, double_workers(gpu));
    else
        audio_copy_rows(block->out + first, 0, (const float *const *)from->single + first, count,
                        shape->block, double_workers(gpu));
}

/* The rows of part `p` of all: at most RETURNS_MOST parts. */
static size_t part_begin(size_t rows, size_t p)
{
    return rows * p / RETURNS_MOST;
}

/* Each part is sent while the next is copied. */
static cudaError_t send_inputs(struct gpu_double *gpu, const struct double_block *block)
{
    size_t inputs = gpu->shape.inputs, row = gpu->shape.block * double_sample(gpu);
    size_t pitch = gpu->stride * sizeof(double);
    for (size_t p = 0; p < RETURNS_MOST; p++) {
        size_t first = part_begin(inputs, p), count = part_begin(inputs, p + 1) - first;
        if (count == 0)
            continue;
        stage_inputs(gpu, block, first, count);
        double *to = gpu->rows[gpu->now] + first * gpu->stride + gpu->plan.keep;
        if (block->in_in_double) {
            CUDA_TRY(cudaMemcpy2DAsync(to, pitch, gpu->staged_in.pinned + first * row, row, row,
                                       count, cudaMemcpyHostToDevice, gpu->work));
            continue;
        }
        float *sent = gpu->sent + first * gpu->shape.block;
        CUDA_TRY(cudaMemcpyAsync(sent, gpu->staged_in.pinned + first * row, count * row,
                                 cudaMemcpyHostToDevice, gpu->work));
        CUDA_TRY(double_widen(sent, gpu->shape.block, to, gpu->stride, count, gpu->work));
    }
    return cudaSuccess;
}

/* The history of the next block from the rows of the last one, and the block after it. */
static cudaError_t send_block(struct gpu_double *gpu, const struct double_block *block)
{
    const struct convolver_shape *shape = &gpu->shape;
    size_t pitch = gpu->stride * sizeof(double);
    const double *before = gpu->rows[gpu->now] + shape->block;
    gpu->now = 1 - gpu->now;
    if (gpu->plan.keep > 0)
        CUDA_TRY(cudaMemcpy2DAsync(gpu->rows[gpu->now], pitch, before, pitch,
                                   gpu->plan.keep * sizeof(double), shape->inputs,
                                   cudaMemcpyDeviceToDevice, gpu->work));
    int64_t lap = lap_begin();
    CUDA_TRY(send_inputs(gpu, block));
    lap_end(LAP_SEND, lap);
    return cudaSuccess;
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
    return double_scatter(&gpu->plan, gpu->samples, shape->outputs, first, gpu->out,
                          shape->precision == PRECISION_SINGLE, shape->block, gpu->work);
}

static cudaError_t convolve(const struct gpu_double *gpu, const struct gpu_double_mask *mask)
{
    int64_t lap = lap_begin();
    for (size_t b = 0; b < gpu->plan.batches; b++)
        CUDA_TRY(convolve_chunks(gpu, mask, b * gpu->plan.batch));
    lap_end(LAP_LAUNCH, lap);
    return cudaSuccess;
}

/* Each part is copied while the next returns. */
static cudaError_t return_outputs(const struct gpu_double *gpu, const struct double_block *block)
{
    size_t outputs = gpu->shape.outputs, row = gpu->shape.block * double_sample(gpu);
    int64_t lap = lap_begin();
    for (size_t p = 0; p < RETURNS_MOST; p++) {
        size_t first = part_begin(outputs, p), count = part_begin(outputs, p + 1) - first;
        if (count > 0)
            CUDA_TRY(cudaMemcpyAsync(gpu->staged_out.pinned + first * row,
                                     (char *)gpu->out + first * row, count * row,
                                     cudaMemcpyDeviceToHost, gpu->work));
        CUDA_TRY(cudaEventRecord(gpu->returned[p], gpu->work));
    }
    for (size_t p = 0; p < RETURNS_MOST; p++) {
        size_t first = part_begin(outputs, p), count = part_begin(outputs, p + 1) - first;
        CUDA_TRY(cudaEventSynchronize(gpu->returned[p]));
        if (p == 0) {
            lap_end(LAP_COMPUTE, lap);
            lap = lap_begin();
        }
        if (count > 0)
            unstage_outputs(gpu, block, first, count);
    }
    lap_end(LAP_RETURN, lap);
    return cudaSuccess;
}

static cudaError_t run_slots(struct gpu_double *gpu, const struct double_block *input,
                             const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    CUDA_TRY(cudaSetDevice(gpu->device));
    CUDA_TRY(fault_at(&gpu->fault, gpu->steps++, gpu->work));
    CUDA_TRY(send_block(gpu, input));
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++) {
        const struct double_block output = {.out = slots[v].out,
                                            .out_in_double = slots[v].out_in_double};
        if (!slots[v].prepared)
            continue;
        CUDA_TRY(convolve(gpu, (const struct gpu_double_mask *)slots[v].prepared));
        CUDA_TRY(return_outputs(gpu, &output));
    }
    return cudaSuccess;
}

void double_step(struct convolution *convolution, const float *const *in,
                 const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    struct gpu_double *gpu = double_of(convolution);
    const struct double_block input = {.in = in};
    if (gpu->error == cudaSuccess)
        gpu_note_error(&gpu->error, run_slots(gpu, &input, slots));
}

void double_step_in_double(struct convolution *convolution, const double *const *in,
                           const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    struct gpu_double *gpu = double_of(convolution);
    const struct double_block input = {.in_in_double = in};
    if (gpu->error == cudaSuccess)
        gpu_note_error(&gpu->error, run_slots(gpu, &input, slots));
}
