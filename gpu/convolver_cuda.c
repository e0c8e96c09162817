/* The convolver on the GPU: direct form by the register kernel, the mask in constant
 * memory, the halo carried on the device from block to block.
 *
 * An input's history lies before its block, so that one launch reads both; two such
 * buffers take turns, each step copying the past from one to the other. Paths are
 * loaded into constant memory one after the other, in stream order. */
#include "convolver.h"

#include "kernel.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

struct convolution {
    struct convolver_shape shape;
    size_t past;       /* frames before the block: a multiple of 4, for 16-byte loads */
    size_t stride;     /* floats of an input: past and block, a multiple of 4 */
    size_t out_stride; /* floats of an output */
    float *history[2]; /* device: inputs x stride */
    size_t now;        /* which of the two holds the newest block */
    float *out;        /* device: outputs x out_stride */
    float *staging;    /* pinned host memory: channels x block, either way */
    cudaStream_t stream;
    cudaError_t error; /* the first that a step met */
};

struct prepared {
    size_t taps;
    size_t columns;
    float *device; /* column after column */
    struct path_table paths;
};

/* What the register kernel's constant memory holds: there is one for the program. */
static struct {
    const struct prepared *prepared;
    size_t column;
} loaded;

static enum status cuda_failed(cudaError_t error, const char *what)
{
    if (error == cudaErrorInsufficientDriver || error == cudaErrorNoDevice)
        return fail(STATUS_FAILED,
                    "cannot use the GPU: there is no NVIDIA %s here; use "
                    "--backend cpu",
                    error == cudaErrorNoDevice ? "GPU" : "driver");
    return fail(STATUS_FAILED, "the GPU failed to %s: %s; use --backend cpu", what,
                cudaGetErrorString(error));
}

static void cuda_destroy(struct convolution *convolution)
{
    cudaFree(convolution->history[0]);
    cudaFree(convolution->history[1]);
    cudaFree(convolution->out);
    cudaFreeHost(convolution->staging);
    if (convolution->stream)
        cudaStreamDestroy(convolution->stream);
    free(convolution);
}

static cudaError_t clear_history(struct convolution *convolution)
{
    size_t bytes = convolution->shape.inputs * convolution->stride * sizeof(float);
    return cudaMemset(convolution->history[convolution->now], 0, bytes);
}

static cudaError_t allocate(struct convolution *convolution)
{
    const struct convolver_shape *shape = &convolution->shape;
    size_t in_bytes = shape->inputs * convolution->stride * sizeof(float);
    size_t out_bytes = shape->outputs * convolution->out_stride * sizeof(float);
    size_t channels = shape->inputs > shape->outputs ? shape->inputs : shape->outputs;
    cudaError_t error = cudaStreamCreate(&convolution->stream);
    for (size_t h = 0; h < 2 && error == cudaSuccess; h++)
        error = cudaMalloc((void **)&convolution->history[h], in_bytes);
    if (error == cudaSuccess)
        error = cudaMalloc((void **)&convolution->out, out_bytes);
    if (error == cudaSuccess)
        error =
            cudaMallocHost((void **)&convolution->staging, channels * shape->block * sizeof(float));
    return error == cudaSuccess ? clear_history(convolution) : error;
}

static enum status cuda_create(const struct convolver_shape *shape, struct convolution **result)
{
    if (shape->taps > KERNEL_TAPS_CONSTANT)
        return fail(STATUS_FAILED,
                    "the cuda backend takes masks of up to %d taps in this version, "
                    "and this one has %zu; use --backend cpu",
                    KERNEL_TAPS_CONSTANT, shape->taps);
    struct convolution *convolution = calloc(1, sizeof *convolution);
    if (!convolution)
        return fail_memory("a convolver");
    convolution->shape = *shape;
    convolution->past = (shape->taps - 1 + 3) / 4 * 4;
    convolution->stride = (convolution->past + shape->block + 3) / 4 * 4;
    convolution->out_stride = (shape->block + 3) / 4 * 4;
    cudaError_t error = allocate(convolution);
    if (error != cudaSuccess) {
        cuda_destroy(convolution);
        return cuda_failed(error, "make room for the sound");
    }
    *result = convolution;
    return STATUS_OK;
}

static void cuda_reset(struct convolution *convolution)
{
    cudaError_t error = clear_history(convolution);
    if (convolution->error == cudaSuccess)
        convolution->error = error;
}

static const char *cuda_algorithm(const struct convolution *convolution)
{
    (void)convolution;
    return "direct (register kernel)";
}

static const char *cuda_failure(const struct convolution *convolution)
{
    return convolution->error == cudaSuccess ? NULL : cudaGetErrorString(convolution->error);
}

static void cuda_release(struct prepared *prepared)
{
    if (loaded.prepared == prepared)
        loaded.prepared = NULL;
    path_table_free(&prepared->paths);
    cudaFree(prepared->device);
    free(prepared);
}

static enum status cuda_prepare(const struct convolution *convolution, const struct mask *mask,
                                struct prepared **result)
{
    (void)convolution;
    struct prepared *prepared = calloc(1, sizeof *prepared);
    if (!prepared)
        return fail_memory("a mask");
    size_t bytes = mask->columns * mask->taps * sizeof(float);
    prepared->taps = mask->taps;
    prepared->columns = mask->columns;
    enum status status = path_table_init(&prepared->paths, mask);
    cudaError_t error = cudaSuccess;
    if (status == STATUS_OK)
        error = cudaMalloc((void **)&prepared->device, bytes);
    if (status == STATUS_OK && error == cudaSuccess)
        error = cudaMemcpy(prepared->device, mask->coefficients, bytes, cudaMemcpyHostToDevice);
    if (error != cudaSuccess)
        status = cuda_failed(error, "take the mask");
    if (status != STATUS_OK) {
        cuda_release(prepared);
        return status;
    }
    *result = prepared;
    return STATUS_OK;
}

/* ---- the step ---- */

static cudaError_t take_block(struct convolution *convolution, const float *const *in)
{
    const struct convolver_shape *shape = &convolution->shape;
    size_t pitch = convolution->stride * sizeof(float), block = shape->block * sizeof(float);
    const float *before = convolution->history[convolution->now] + shape->block;
    convolution->now = 1 - convolution->now;
    float *after = convolution->history[convolution->now];
    for (size_t c = 0; c < shape->inputs; c++)
        memcpy(convolution->staging + c * shape->block, in[c], block);
    cudaError_t error = cudaSuccess;
    if (convolution->past > 0)
        error = cudaMemcpy2DAsync(after, pitch, before, pitch, convolution->past * sizeof(float),
                                  shape->inputs, cudaMemcpyDeviceToDevice, convolution->stream);
    if (error != cudaSuccess)
        return error;
    return cudaMemcpy2DAsync(after + convolution->past, pitch, convolution->staging, block, block,
                             shape->inputs, cudaMemcpyHostToDevice, convolution->stream);
}

static void cuda_advance(struct convolution *convolution, const float *const *in)
{
    if (convolution->error == cudaSuccess)
        convolution->error = take_block(convolution, in);
}

static cudaError_t add_path(const struct convolution *convolution, const struct prepared *prepared,
                            const struct mask_path *path, bool first)
{
    struct kernel_job job = {
        .in = convolution->history[convolution->now] + path->input * convolution->stride,
        .out = convolution->out + path->output * convolution->out_stride,
        .frames_in = convolution->past + convolution->shape.block,
        .frames = convolution->shape.block,
        .taps = prepared->taps,
        .origin = convolution->past,
        .add = !first,
    };
    if (loaded.prepared != prepared || loaded.column != path->column) {
        loaded.prepared = NULL;
        const float *taps = prepared->device + path->column * prepared->taps;
        job.mask = taps;
        cudaError_t error = kernel_register.load(&job, convolution->stream);
        if (error != cudaSuccess)
            return error;
        loaded.prepared = prepared;
        loaded.column = path->column;
    }
    return kernel_register.launch(&job, convolution->stream);
}

static cudaError_t run_paths(struct convolution *convolution, const struct prepared *prepared)
{
    const struct path_table *table = &prepared->paths;
    size_t bytes = convolution->shape.outputs * convolution->out_stride * sizeof(float);
    cudaError_t error = cudaMemsetAsync(convolution->out, 0, bytes, convolution->stream);
    for (size_t o = 0; o < convolution->shape.outputs; o++)
        for (size_t p = table->first[o]; p < table->first[o + 1] && error == cudaSuccess; p++)
            error = add_path(convolution, prepared, &table->paths[p], p == table->first[o]);
    return error;
}

static cudaError_t give_block(struct convolution *convolution, float *const *out)
{
    const struct convolver_shape *shape = &convolution->shape;
    size_t block = shape->block * sizeof(float);
    cudaError_t error = cudaMemcpy2DAsync(
        convolution->staging, block, convolution->out, convolution->out_stride * sizeof(float),
        block, shape->outputs, cudaMemcpyDeviceToHost, convolution->stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(convolution->stream);
    for (size_t c = 0; c < shape->outputs && error == cudaSuccess; c++)
        memcpy(out[c], convolution->staging + c * shape->block, block);
    return error;
}

static void cuda_run(struct convolution *convolution, const struct prepared *prepared,
                     float *const *out)
{
    if (convolution->error == cudaSuccess)
        convolution->error = run_paths(convolution, prepared);
    if (convolution->error == cudaSuccess)
        convolution->error = give_block(convolution, out);
    for (size_t c = 0; c < convolution->shape.outputs && convolution->error != cudaSuccess; c++)
        memset(out[c], 0, convolution->shape.block * sizeof(float));
}

static void cuda_step(struct convolution *convolution, const float *const *in,
                      const struct convolver_voice voices[CONVOLVER_VOICES])
{
    cuda_advance(convolution, in);
    for (size_t v = 0; v < CONVOLVER_VOICES; v++)
        if (voices[v].prepared)
            cuda_run(convolution, voices[v].prepared, voices[v].out);
}

const struct convolver_backend convolver_cuda = {
    .name = "cuda",
    .create = cuda_create,
    .destroy = cuda_destroy,
    .reset = cuda_reset,
    .algorithm = cuda_algorithm,
    .failure = cuda_failure,
    .prepare = cuda_prepare,
    .release = cuda_release,
    .step = cuda_step,
};
