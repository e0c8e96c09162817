#include "convolve/device_convolver.h"

#include "convolve/path_table.h"
#include "gpu/gpu.h"
#include "gpu/kernel.h"

#include <stdlib.h>

enum { DIRECT_TAPS_MOST = 64, FLOATS_PER_FORM = 64 /* a multiple: forms are aligned */ };

struct device_convolver {
    int device;
    size_t outputs, taps, origin;
    struct path_table paths;
    const struct kernel *kernel;
    struct kernel_plan *plan;
    float *forms; /* device memory: forms of the columns, `floats` each */
    size_t floats;
};

static cudaError_t form_columns(struct device_convolver *convolver, const float *columns,
                                size_t count, float *taps)
{
    for (size_t c = 0; c < count; c++) {
        CUDA_TRY(gpu_send(taps, columns + c * convolver->taps, convolver->taps * sizeof *taps));
        CUDA_TRY(kernel_form(convolver->kernel, convolver->plan, taps, convolver->taps,
                             convolver->forms + c * convolver->floats, NULL));
        CUDA_TRY(cudaStreamSynchronize(NULL));
    }
    return cudaSuccess;
}

static enum status upload(struct device_convolver *convolver, const struct mask *mask)
{
    float *taps = NULL, *columns = mask_round(mask);
    if (!columns)
        return fail_memory("a mask");
    cudaError_t error = cudaMalloc((void **)&taps, mask->taps * sizeof *taps);
    if (error == cudaSuccess)
        error = cudaMalloc((void **)&convolver->forms,
                           mask->columns * convolver->floats * sizeof *convolver->forms);
    if (error == cudaSuccess)
        error = form_columns(convolver, columns, mask->columns, taps);
    cudaFree(taps);
    free(columns);
    return error == cudaSuccess ? STATUS_OK : gpu_failed(error, "prepare a mask");
}

static enum status fill(struct device_convolver *convolver, const struct mask *mask, size_t frames)
{
    cudaError_t error = cudaGetDevice(&convolver->device);
    if (error != cudaSuccess)
        return gpu_failed(error, "be found");
    convolver->outputs = mask->outputs;
    convolver->taps = mask->taps;
    convolver->origin = mask->origin;
    convolver->kernel = mask->taps <= DIRECT_TAPS_MOST ? &kernel_basic : &kernel_fft;
    TRY(path_table_init(&convolver->paths, mask));
    const struct kernel_shape shape = {.taps = mask->taps, .frames = frames};
    TRY(kernel_open(convolver->kernel, &shape, &convolver->plan));
    size_t floats = kernel_form_floats(convolver->kernel, convolver->plan, mask->taps);
    convolver->floats = (floats + FLOATS_PER_FORM - 1) / FLOATS_PER_FORM * FLOATS_PER_FORM;
    return upload(convolver, mask);
}

enum status device_convolver_create(const struct mask *mask, size_t frames,
                                    struct device_convolver **result)
{
    if (!gpu_is_there())
        return fail(CAUSE_NO_GPU, "cannot use a GPU: there is none; use halo_convolve_many");
    struct device_convolver *convolver = calloc(1, sizeof *convolver);
    if (!convolver)
        return fail_memory("a convolver");
    enum status status = fill(convolver, mask, frames);
    if (status == STATUS_OK)
        *result = convolver;
    else
        device_convolver_destroy(convolver);
    return status;
}

/* Makes the convolver's device the current one. *before: the caller's device. */
static cudaError_t enter(const struct device_convolver *convolver, int *before)
{
    CUDA_TRY(cudaGetDevice(before));
    return *before == convolver->device ? cudaSuccess : cudaSetDevice(convolver->device);
}

static void leave(const struct device_convolver *convolver, int before)
{
    if (before != convolver->device)
        (void)cudaSetDevice(before);
}

void device_convolver_destroy(struct device_convolver *convolver)
{
    int before;
    if (!convolver)
        return;
    bool entered = enter(convolver, &before) == cudaSuccess;
    cudaFree(convolver->forms);
    kernel_close(convolver->kernel, convolver->plan);
    path_table_free(&convolver->paths);
    if (entered)
        leave(convolver, before);
    free(convolver);
}

/* Number of output frames that can be other than silence. */
static size_t heard(const struct device_convolver *convolver, const struct device_job *job)
{
    size_t all = job->frames ? job->frames + convolver->taps - 1 : 0;
    all = all > convolver->origin ? all - convolver->origin : 0;
    return all < job->out_frames ? all : job->out_frames;
}

static cudaError_t run_output(const struct device_convolver *convolver,
                              const struct device_job *job, size_t output, cudaStream_t stream)
{
    const struct path_table *table = &convolver->paths;
    float *out = job->out + output * job->out_stride;
    size_t frames = heard(convolver, job), first = table->first[output];
    if (first == table->first[output + 1])
        frames = 0;
    if (job->out_frames > frames)
        CUDA_TRY(
            cudaMemsetAsync(out + frames, 0, (job->out_frames - frames) * sizeof *out, stream));
    for (size_t p = first; p < table->first[output + 1] && frames > 0; p++) {
        const struct kernel_job one = {
            .in = job->in + table->paths[p].input * job->in_stride,
            .out = out,
            .mask = convolver->forms + table->paths[p].column * convolver->floats,
            .plan = convolver->plan,
            .frames_in = job->frames,
            .frames = frames,
            .taps = convolver->taps,
            .origin = convolver->origin,
            .add = p > first,
            .boundary = KERNEL_ZERO,
        };
        CUDA_TRY(convolver->kernel->launch(&one, stream));
    }
    return cudaSuccess;
}

static cudaError_t run(const struct device_convolver *convolver, const struct device_job *job,
                       cudaStream_t stream)
{
    int before;
    CUDA_TRY(enter(convolver, &before));
    cudaError_t error = cudaSuccess;
    for (size_t o = 0; o < convolver->outputs && error == cudaSuccess; o++)
        error = run_output(convolver, job, o, stream);
    leave(convolver, before);
    return error;
}

enum status device_convolver_run(struct device_convolver *convolver, const struct device_job *job,
                                 void *stream)
{
    cudaError_t error = run(convolver, job, stream);
    return error == cudaSuccess ? STATUS_OK : gpu_failed(error, "convolve a buffer");
}
