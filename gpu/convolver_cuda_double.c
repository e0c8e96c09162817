/* The double-precision variant of the backend "cuda". */
#include "base/laps.h"
#include "gpu/convolver_cuda.h"
#include "gpu/cufft_library.h"
#include "gpu/double_kernels.h"
#include "gpu/gpu.h"
#include "gpu/upload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RETURNS_MOST = 16 }; /* the most parts of a block; a part is copied while the next returns */

/* Pinned memory for a block, row after row. Only the array of the chain's precision is not NULL. */
struct gpu_rows {
    char *pinned;
    float **single;
    double **in_double;
};

struct gpu_double_mask {
    struct gpu_double_mask *next; /* next spare mask */
    size_t columns, outputs, path_count;
    double2 *forms; /* device: columns x bins */
    unsigned *first;
    uint2 *paths;
};

struct gpu_double {
    struct convolver_shape shape;
    struct double_plan plan;
    int device;
    const struct cufft_library *library;
    cufftHandle forward, inverse; /* plans for a batch of chunks of all inputs, or of all outputs */
    cufftHandle columns;          /* plan for `together` columns of a mask; control thread */
    size_t together;
    struct gpu_upload upload; /* for masks; control thread */
    cudaStream_t work, control;
    size_t stride;               /* frames per input: history and block, up to the last chunk */
    size_t now;                  /* index of the `rows` that have the newest block */
    double *rows[2];             /* device: inputs x stride */
    double *samples;             /* device: the larger of inputs and outputs x batch x fft */
    double2 *in_bins, *out_bins; /* device: inputs and outputs x batch x bins */
    float *sent;                 /* device: inputs x block, in single precision */
    void *out;                   /* device: outputs x block samples */
    double *taps;                /* device: together x taps of a mask; control thread */
    double *padded;              /* device: together x fft; control thread */
    struct gpu_rows staged_in;   /* for the inputs */
    struct gpu_rows staged_out;
    cudaEvent_t returned[RETURNS_MOST];
    /* masks to use again; freed with the convolver, as freeing synchronises the device */
    struct gpu_double_mask *spare;
    uint64_t steps;
    struct fault fault;
    cudaError_t error; /* first error in a step */
};

/* The workers that share a file's copies. NULL in a live stream, where masks are prepared beside
 * the step, which takes no lock. */
static inline struct workers *double_workers(const struct gpu_double *gpu)
{
    return gpu->shape.live ? NULL : gpu->shape.workers;
}

/* Bytes of a sample in the chain's precision. */
static inline size_t double_sample(const struct gpu_double *gpu)
{
    return gpu->shape.precision == PRECISION_DOUBLE ? sizeof(double) : sizeof(float);
}

static inline struct gpu_double *double_of(const struct convolution *convolution)
{
    return (struct gpu_double *)convolution; /* not const, as the control side modifies it, too */
}

/* The step of the GPU's convolver in double precision. Chains of single precision send floats. */

/* A block of the caller. Only the pointers for the chain's precision are not NULL. */
struct double_block {
    const float *const *in;
    const double *const *in_in_double;
    float *const *out;
    double *const *out_in_double;
};

/* Copies `count` inputs from input `first` on to pinned memory. */
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

/* The first row of part `p`. There are at most RETURNS_MOST parts. */
static size_t part_begin(size_t rows, size_t p)
{
    return rows * p / RETURNS_MOST;
}

/* Sends the inputs. Each part is sent while the next is copied to pinned memory. */
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

/* Copies the history from the last block's rows, and sends the block to follow it. */
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

/* Returns the outputs. Each part is copied to the caller while the next returns. */
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

static void double_step(struct convolution *convolution, const float *const *in,
                        const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    struct gpu_double *gpu = double_of(convolution);
    const struct double_block input = {.in = in};
    if (gpu->error == cudaSuccess)
        gpu_note_error(&gpu->error, run_slots(gpu, &input, slots));
}

static void double_step_in_double(struct convolution *convolution, const double *const *in,
                                  const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    struct gpu_double *gpu = double_of(convolution);
    const struct double_block input = {.in_in_double = in};
    if (gpu->error == cudaSuccess)
        gpu_note_error(&gpu->error, run_slots(gpu, &input, slots));
}

/* The convolver on the GPU in double precision, for files and live streams: overlap-save. In a
 * chain of single precision, it serves masks for which single precision is not exact enough
 * (near_bound.h).
 *
 * On the device an input's history lies before its block. Two such buffers alternate, and each step
 * copies the history from one to the other. A block is divided into chunks. The chunks of all
 * inputs are transformed, multiplied and added for each output, and transformed back
 * (double_kernels.h).
 */

enum {
    FFT_LEAST = 1 << 10,
    FFT_MOST = 1 << 26,
    HOP_MULTIPLE = 32,      /* frames; chunks start at multiples of 256 bytes */
    BATCH_POINTS = 1 << 25, /* 512 MB of samples and spectra */
    FORM_POINTS = 1 << 24,  /* 256 MB of columns that are transformed at once */
    COLUMNS_MOST = 1 << 10,
};

static struct double_plan plan_length(const struct convolver_shape *shape, size_t fft)
{
    struct double_plan plan = {.fft = fft, .bins = fft / 2 + 1, .hop = fft - shape->taps + 1};
    if (plan.hop > HOP_MULTIPLE)
        plan.hop = plan.hop / HOP_MULTIPLE * HOP_MULTIPLE;
    plan.keep = fft - plan.hop;
    plan.chunks = (shape->block + plan.hop - 1) / plan.hop;
    size_t most = BATCH_POINTS / fft / (shape->inputs + shape->outputs);
    most = most > 0 ? most : 1;
    plan.batches = (plan.chunks + most - 1) / most;
    plan.batch = (plan.chunks + plan.batches - 1) / plan.batches;
    return plan;
}

/* The plan with the fewest points. A point costs about the same at any length. */
static struct double_plan plan_for(const struct convolver_shape *shape)
{
    struct double_plan best = {0};
    for (size_t fft = FFT_LEAST; fft <= FFT_MOST; fft *= 2) {
        if (fft < shape->taps + HOP_MULTIPLE)
            continue;
        struct double_plan plan = plan_length(shape, fft);
        if (best.fft == 0 || plan.chunks * plan.fft < best.chunks * best.fft)
            best = plan;
        if (plan.chunks == 1)
            break;
    }
    return best;
}

static void mask_free(struct gpu_double_mask *mask)
{
    if (!gpu_abandoned()) {
        cudaFree(mask->forms);
        cudaFree(mask->first);
        cudaFree(mask->paths);
    }
    free(mask);
}

static void free_device(struct gpu_double *gpu)
{
    cufftHandle plans[] = {gpu->forward, gpu->inverse, gpu->columns};
    void *device[] = {gpu->rows[0], gpu->rows[1], gpu->samples, gpu->in_bins, gpu->out_bins,
                      gpu->sent,    gpu->out,     gpu->taps,    gpu->padded};
    cudaSetDevice(gpu->device);
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
        if (plans[i])
            gpu->library->destroy(plans[i]);
    for (size_t i = 0; i < sizeof device / sizeof *device; i++)
        cudaFree(device[i]);
    gpu_upload_close(&gpu->upload);
    cudaFreeHost(gpu->staged_in.pinned);
    cudaFreeHost(gpu->staged_out.pinned);
    for (size_t e = 0; e < RETURNS_MOST; e++)
        if (gpu->returned[e])
            cudaEventDestroy(gpu->returned[e]);
    if (gpu->work)
        cudaStreamDestroy(gpu->work);
    if (gpu->control)
        cudaStreamDestroy(gpu->control);
}

static void rows_clear(struct gpu_rows *rows)
{
    free(rows->single);
    free(rows->in_double);
    *rows = (struct gpu_rows){0};
}

static void double_destroy(struct convolution *convolution)
{
    struct gpu_double *gpu = double_of(convolution);
    convolver_cuda_send_home();
    while (gpu->spare) {
        struct gpu_double_mask *mask = gpu->spare;
        gpu->spare = mask->next;
        mask_free(mask);
    }
    if (!gpu_abandoned())
        free_device(gpu);
    rows_clear(&gpu->staged_in);
    rows_clear(&gpu->staged_out);
    free(gpu);
}

static cudaError_t clear_rows(const struct gpu_double *gpu)
{
    CUDA_TRY(cudaSetDevice(gpu->device));
    for (size_t r = 0; r < 2; r++)
        CUDA_TRY(cudaMemsetAsync(gpu->rows[r], 0, gpu->shape.inputs * gpu->stride * sizeof(double),
                                 gpu->work));
    return cudaStreamSynchronize(gpu->work);
}

static enum status rows_init(const struct gpu_double *gpu, size_t count, struct gpu_rows *rows)
{
    if (gpu->shape.precision == PRECISION_DOUBLE)
        rows->in_double = calloc(count, sizeof *rows->in_double);
    else
        rows->single = calloc(count, sizeof *rows->single);
    return rows->in_double || rows->single ? STATUS_OK : fail_memory("a convolver");
}

static cudaError_t rows_pin(const struct gpu_double *gpu, size_t count, struct gpu_rows *rows)
{
    size_t block = gpu->shape.block, bytes = count * block * double_sample(gpu);
    CUDA_TRY(cudaHostAlloc((void **)&rows->pinned, bytes, cudaHostAllocDefault));
    for (size_t r = 0; r < count && rows->single; r++)
        rows->single[r] = (float *)rows->pinned + r * block;
    for (size_t r = 0; r < count && rows->in_double; r++)
        rows->in_double[r] = (double *)rows->pinned + r * block;
    return cudaSuccess;
}

static cudaError_t alloc_device(struct gpu_double *gpu)
{
    const struct convolver_shape *shape = &gpu->shape;
    const struct double_plan *plan = &gpu->plan;
    size_t channels = shape->inputs > shape->outputs ? shape->inputs : shape->outputs;
    size_t single = shape->precision == PRECISION_DOUBLE ? 1 : shape->inputs * shape->block;
    size_t in_bins = shape->inputs * plan->batch * plan->bins;
    size_t out_bins = shape->outputs * plan->batch * plan->bins;
    CUDA_TRY(cudaSetDevice(gpu->device));
    CUDA_TRY(cudaStreamCreateWithFlags(&gpu->work, cudaStreamNonBlocking));
    CUDA_TRY(cudaStreamCreateWithFlags(&gpu->control, cudaStreamNonBlocking));
    for (size_t r = 0; r < 2; r++)
        CUDA_TRY(cudaMalloc((void **)&gpu->rows[r], shape->inputs * gpu->stride * sizeof(double)));
    CUDA_TRY(
        cudaMalloc((void **)&gpu->samples, channels * plan->batch * plan->fft * sizeof(double)));
    CUDA_TRY(cudaMalloc((void **)&gpu->in_bins, in_bins * sizeof(double2)));
    CUDA_TRY(cudaMalloc((void **)&gpu->out_bins, out_bins * sizeof(double2)));
    CUDA_TRY(cudaMalloc((void **)&gpu->sent, single * sizeof(float)));
    CUDA_TRY(cudaMalloc(&gpu->out, shape->outputs * shape->block * double_sample(gpu)));
    CUDA_TRY(cudaMalloc((void **)&gpu->taps, gpu->together * shape->taps * sizeof(double)));
    CUDA_TRY(cudaMalloc((void **)&gpu->padded, gpu->together * plan->fft * sizeof(double)));
    for (size_t e = 0; e < RETURNS_MOST; e++)
        CUDA_TRY(cudaEventCreateWithFlags(&gpu->returned[e], cudaEventDisableTiming));
    CUDA_TRY(gpu_upload_open(&gpu->upload));
    CUDA_TRY(rows_pin(gpu, shape->inputs, &gpu->staged_in));
    CUDA_TRY(rows_pin(gpu, shape->outputs, &gpu->staged_out));
    return clear_rows(gpu);
}

static enum status plan_transform(struct gpu_double *gpu, cufftType type, size_t batch,
                                  cudaStream_t stream, cufftHandle *plan)
{
    TRY(cufft_library_plan(gpu->library, (int)gpu->plan.fft, type, (int)batch, plan));
    if (gpu->library->set_stream(*plan, stream) == CUFFT_SUCCESS)
        return STATUS_OK;
    return fail(CAUSE_DEVICE, "cuFFT failed to use a stream; use --backend cpu");
}

static enum status plan_transforms(struct gpu_double *gpu)
{
    const struct convolver_shape *shape = &gpu->shape;
    size_t batch = gpu->plan.batch;
    TRY(plan_transform(gpu, CUFFT_D2Z, shape->inputs * batch, gpu->work, &gpu->forward));
    TRY(plan_transform(gpu, CUFFT_Z2D, shape->outputs * batch, gpu->work, &gpu->inverse));
    return plan_transform(gpu, CUFFT_D2Z, gpu->together, gpu->control, &gpu->columns);
}

static enum status choose_device(struct gpu_double *gpu)
{
    const struct gpu_settings *settings = &gpu->shape.gpu;
    if (settings->kernel || settings->mode != GPU_MODE_AUTO)
        return fail(CAUSE_USAGE, "--kernel and --gpu-mode are for --precision single");
    return gpu_choose(&settings->devices, gpu->shape.live ? "the stream" : "the file",
                      &gpu->device);
}

static enum status fill(struct gpu_double *gpu)
{
    TRY(choose_device(gpu));
    if (gpu->plan.fft == 0)
        return fail(CAUSE_UNSUPPORTED,
                    "a mask of %zu taps is too long for the GPU; use --backend cpu",
                    gpu->shape.taps);
    TRY(rows_init(gpu, gpu->shape.inputs, &gpu->staged_in));
    TRY(rows_init(gpu, gpu->shape.outputs, &gpu->staged_out));
    TRY(cufft_library_open(&gpu->library));
    convolver_cuda_send_home();
    int64_t lap = lap_begin();
    cudaError_t error = alloc_device(gpu);
    lap_end(LAP_PIN, lap);
    if (error != cudaSuccess)
        return gpu_failed(error, "allocate memory for a block");
    lap = lap_begin();
    TRY(plan_transforms(gpu));
    lap_end(LAP_PLAN, lap);
    return STATUS_OK;
}

/* Columns that are transformed at once: as many as a mask may have, within FORM_POINTS. */
static size_t columns_together(const struct gpu_double *gpu)
{
    size_t most = gpu->plan.fft ? FORM_POINTS / gpu->plan.fft : 0;
    most = most < COLUMNS_MOST ? most : COLUMNS_MOST;
    most = most < gpu->shape.paths ? most : gpu->shape.paths;
    return most > 0 ? most : 1;
}

static enum status double_create(const struct convolver_shape *shape, struct convolution **result)
{
    struct gpu_double *gpu = calloc(1, sizeof *gpu);
    if (!gpu)
        return fail_memory("a convolver");
    gpu->shape = *shape;
    gpu->plan = plan_for(shape);
    gpu->stride = gpu->plan.batches * gpu->plan.batch * gpu->plan.hop + gpu->plan.keep;
    gpu->together = columns_together(gpu);
    gpu->fault = fault_wanted();
    enum status status = fill(gpu);
    if (status != STATUS_OK) {
        double_destroy((struct convolution *)gpu);
        return status;
    }
    *result = (struct convolution *)gpu;
    return STATUS_OK;
}

static void double_reset(struct convolution *convolution)
{
    struct gpu_double *gpu = double_of(convolution);
    gpu_note_error(&gpu->error, clear_rows(gpu));
}

static void double_describe(const struct convolution *convolution, char *text, size_t size)
{
    snprintf(text, size, "overlap-save in double precision, transforms of %zu",
             double_of(convolution)->plan.fft);
}

static const char *double_failure(const struct convolution *convolution)
{
    const struct gpu_double *gpu = double_of(convolution);
    return gpu->error == cudaSuccess ? NULL : cudaGetErrorString(gpu->error);
}

/* ---- masks ---- */

static void double_release(const struct convolution *convolution, struct prepared *prepared)
{
    struct gpu_double_mask *mask = (struct gpu_double_mask *)prepared;
    struct gpu_double *gpu = double_of(convolution);
    mask->next = gpu->spare;
    gpu->spare = mask;
}

/* Allocates whole groups of columns, since transforms write whole groups. */
static cudaError_t alloc_mask(const struct gpu_double *gpu, struct gpu_double_mask *mask)
{
    size_t columns = (mask->columns + gpu->together - 1) / gpu->together * gpu->together;
    CUDA_TRY(cudaSetDevice(gpu->device));
    CUDA_TRY(cudaMalloc((void **)&mask->forms, columns * gpu->plan.bins * sizeof(double2)));
    CUDA_TRY(cudaMalloc((void **)&mask->first, (mask->outputs + 1) * sizeof *mask->first));
    return cudaMalloc((void **)&mask->paths, (mask->path_count + 1) * sizeof *mask->paths);
}

/* A spare mask of the same size or, if there is none, a new one. */
static enum status mask_for(struct gpu_double *gpu, const struct mask *mask,
                            struct gpu_double_mask **result)
{
    for (struct gpu_double_mask **at = &gpu->spare; *at; at = &(*at)->next)
        if ((*at)->columns == mask->columns && (*at)->path_count == mask->path_count) {
            *result = *at;
            *at = (*at)->next;
            return STATUS_OK;
        }
    struct gpu_double_mask *made = calloc(1, sizeof *made);
    if (!made)
        return fail_memory("a mask");
    made->columns = mask->columns;
    made->outputs = mask->outputs;
    made->path_count = mask->path_count;
    cudaError_t error = alloc_mask(gpu, made);
    if (error != cudaSuccess) {
        mask_free(made);
        return gpu_failed(error, "load the mask");
    }
    *result = made;
    return STATUS_OK;
}

/* Sends the paths. `first` and `paths` are host memory of the sizes in `to`. */
static cudaError_t send_paths(const struct gpu_double *gpu, const struct path_table *table,
                              unsigned *first, uint2 *paths, const struct gpu_double_mask *to)
{
    for (size_t o = 0; o <= to->outputs; o++)
        first[o] = (unsigned)table->first[o];
    for (size_t p = 0; p < to->path_count; p++)
        paths[p] = (uint2){(unsigned)table->paths[p].input, (unsigned)table->paths[p].column};
    CUDA_TRY(cudaMemcpyAsync(to->first, first, (to->outputs + 1) * sizeof *first,
                             cudaMemcpyHostToDevice, gpu->control));
    CUDA_TRY(cudaMemcpyAsync(to->paths, paths, to->path_count * sizeof *paths,
                             cudaMemcpyHostToDevice, gpu->control));
    return cudaStreamSynchronize(gpu->control);
}

static enum status load_paths(const struct gpu_double *gpu, const struct mask *mask,
                              const struct gpu_double_mask *to)
{
    struct path_table table = {0};
    TRY(path_table_init(&table, mask));
    unsigned *first = malloc((to->outputs + 1) * sizeof *first);
    uint2 *paths = malloc((to->path_count + 1) * sizeof *paths);
    enum status status = STATUS_OK;
    cudaError_t error = cudaSuccess;
    if (!first || !paths)
        status = fail_memory("a mask");
    else
        error = send_paths(gpu, &table, first, paths, to);
    free(first);
    free(paths);
    path_table_free(&table);
    return error == cudaSuccess ? status : gpu_failed(error, "load the mask");
}

/* Computes the spectra of all columns. The last group may have more, which nothing reads. Taps are
 * sent as the mask's doubles, not as floats or integers of its file. In a render of 0.47 s, 491 MB
 * of taps take 26 ms (docs/measurements.md). */
static cudaError_t form_columns(struct gpu_double *gpu, const struct mask *mask,
                                const struct gpu_double_mask *to)
{
    const struct double_plan *plan = &gpu->plan;
    for (size_t c = 0; c < mask->columns; c += gpu->together) {
        size_t left = mask->columns - c, count = left < gpu->together ? left : gpu->together;
        CUDA_TRY(gpu_upload(&gpu->upload, gpu->taps, mask_column(mask, c),
                            count * mask->taps * sizeof(double), double_workers(gpu),
                            gpu->control));
        CUDA_TRY(double_pad(plan, gpu->taps, mask->taps, count, gpu->padded, gpu->control));
        CUDA_TRY(cufft_library_error(
            gpu->library->forward_double(gpu->columns, gpu->padded, to->forms + c * plan->bins)));
    }
    return cudaStreamSynchronize(gpu->control);
}

static enum status double_prepare(const struct convolution *convolution, const struct mask *mask,
                                  struct prepared **result)
{
    struct gpu_double *gpu = double_of(convolution);
    struct gpu_double_mask *prepared = NULL;
    (void)cudaSetDevice(gpu->device); /* the thread may be new; an error here appears again below */
    TRY(mask_for(gpu, mask, &prepared));
    *result = (struct prepared *)prepared;
    enum status status = load_paths(gpu, mask, prepared);
    cudaError_t error = status == STATUS_OK ? form_columns(gpu, mask, prepared) : cudaSuccess;
    if (error != cudaSuccess)
        status = gpu_failed(error, "load the mask");
    if (status != STATUS_OK) {
        double_release(convolution, *result);
        *result = NULL;
    }
    return status;
}

const struct convolver_backend convolver_cuda_in_double = {
    .name = "cuda",
    .enter = convolver_cuda_enter,
    .create = double_create,
    .destroy = double_destroy,
    .reset = double_reset,
    .describe = double_describe,
    .failure = double_failure,
    .prepare = double_prepare,
    .release = double_release,
    .step = double_step,
    .step_in_double = double_step_in_double,
};
