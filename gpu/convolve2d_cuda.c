/* Pictures on a GPU. The rows of all channels are copied in one piece, through pinned memory. If
 * the GPU fails, the CPU takes over for good. Live, the CPU also takes a call that finds the GPU
 * busy with another picture, since constant memory holds one mask. */
#include "convolve/convolve2d.h"
#include "convolve/convolver_choice.h"
#include "gpu/convolver_cuda.h"
#include "gpu/gpu.h"
#include "gpu/kernel2d.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 128 }; /* bytes; rows on the device begin at multiples */

/* Held from loading a mask to the result, since constant memory holds one mask. */
static pthread_mutex_t kernel_lock = PTHREAD_MUTEX_INITIALIZER;

struct convolve2d_on_gpu {
    struct convolve2d convolve;
    struct convolve2d *standby; /* a convolution on the CPU */
    int device;
    bool failed;
    bool live;
    struct kernel2d_job job; /* each call sets its rows */
    cudaStream_t stream;
    char *staged_in;  /* pinned input, laid out as on the device */
    char *staged_out; /* pinned output, laid out as on the device */
    char *in;         /* device memory */
    char *out;
    float *mask;
    struct fault fault;
    uint64_t calls;
};

static size_t rows_in(const struct kernel2d_job *job, size_t rows)
{
    return rows + job->mask_rows - 1;
}

/* ---- the step ---- */

static void stage_in(const struct convolve2d_on_gpu *gpu, const float *const *in, size_t in_pitch)
{
    const struct kernel2d_job *job = &gpu->job;
    char *to = gpu->staged_in;
    for (size_t channel = 0; channel < job->channels; channel++) {
        const float *from = in[channel] - job->first * in_pitch;
        for (size_t r = 0; r < job->rows_in; r++, from += in_pitch, to += job->pitch_in)
            memcpy(to, from, job->columns * sizeof(float));
    }
}

static void stage_out(const struct convolve2d_on_gpu *gpu, float *const *out, size_t out_pitch)
{
    const struct kernel2d_job *job = &gpu->job;
    const char *from = gpu->staged_out;
    for (size_t channel = 0; channel < job->channels; channel++) {
        float *to = out[channel];
        for (size_t r = 0; r < job->rows; r++, to += out_pitch, from += job->pitch_out)
            memcpy(to, from, job->columns * sizeof(float));
    }
}

static cudaError_t convolve_on_gpu(struct convolve2d_on_gpu *gpu)
{
    struct kernel2d_job *job = &gpu->job;
    CUDA_TRY(cudaSetDevice(gpu->device));
    CUDA_TRY(fault_at(&gpu->fault, gpu->calls++, gpu->stream));
    CUDA_TRY(cudaMemcpyAsync(gpu->in, gpu->staged_in, job->plane_in * job->channels,
                             cudaMemcpyHostToDevice, gpu->stream));
    CUDA_TRY(kernel2d_load(&kernel2d_register, job, gpu->stream));
    CUDA_TRY(kernel2d_register.launch(job, gpu->stream));
    CUDA_TRY(cudaMemcpyAsync(gpu->staged_out, gpu->out, job->plane_out * job->channels,
                             cudaMemcpyDeviceToHost, gpu->stream));
    return cudaStreamSynchronize(gpu->stream);
}

/* Convolves on the GPU. False: the GPU is busy or failed. */
static bool try_gpu(struct convolve2d_on_gpu *gpu)
{
    if (gpu->live ? pthread_mutex_trylock(&kernel_lock) != 0
                  : pthread_mutex_lock(&kernel_lock) != 0)
        return false;
    cudaError_t error = convolve_on_gpu(gpu);
    pthread_mutex_unlock(&kernel_lock);
    if (error == cudaSuccess)
        return true;
    (void)cudaGetLastError(); /* clears the error, which is reported here */
    gpu->failed = true;
    gpu->convolve.notice = "the GPU failed to convolve a picture: continuing on the CPU";
    return false;
}

static void gpu_process(struct convolve2d *convolve, const float *const *in, size_t in_pitch,
                        float *const *out, size_t out_pitch, size_t rows)
{
    struct convolve2d_on_gpu *gpu = (struct convolve2d_on_gpu *)convolve;
    struct kernel2d_job *job = &gpu->job;
    job->rows = rows;
    job->rows_in = rows_in(job, rows);
    job->plane_in = job->rows_in * job->pitch_in;
    job->plane_out = job->rows * job->pitch_out;
    if (rows == 0)
        return;
    if (!gpu->failed) {
        stage_in(gpu, in, in_pitch);
        if (try_gpu(gpu)) {
            stage_out(gpu, out, out_pitch);
            return;
        }
    }
    convolve2d_process(gpu->standby, in, in_pitch, out, out_pitch, rows);
}

/* ---- set-up ---- */

static void gpu_destroy(struct convolve2d *convolve)
{
    struct convolve2d_on_gpu *gpu = (struct convolve2d_on_gpu *)convolve;
    convolver_cuda_send_home();
    if (!gpu_abandoned() && cudaSetDevice(gpu->device) == cudaSuccess) {
        if (gpu->stream)
            cudaStreamDestroy(gpu->stream);
        cudaFreeHost(gpu->staged_in);
        cudaFreeHost(gpu->staged_out);
        cudaFree(gpu->in);
        cudaFree(gpu->out);
        cudaFree(gpu->mask);
        (void)cudaGetLastError(); /* clears the error, as cudaFree fails on a failed GPU */
    }
    convolve2d_destroy(gpu->standby);
    free(gpu);
}

static enum kernel_boundary boundary_of(enum convolve2d_boundary boundary)
{
    return boundary == CONVOLVE2D_ZERO        ? KERNEL_ZERO
           : boundary == CONVOLVE2D_REPLICATE ? KERNEL_REPLICATE
                                              : KERNEL_REFLECT;
}

static void plan_job(struct convolve2d_on_gpu *gpu, const struct convolve2d_settings *settings,
                     const struct mask2d *mask)
{
    size_t pitch = (settings->columns * sizeof(float) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    gpu->job = (struct kernel2d_job){
        .boundary = boundary_of(settings->boundary),
        .channels = settings->channels,
        .rows = settings->rows_most,
        .first = convolve2d_before(mask),
        .columns = settings->columns,
        .pitch_in = pitch,
        .pitch_out = pitch,
        .mask_rows = mask->rows,
        .mask_columns = mask->columns,
    };
    gpu->job.rows_in = rows_in(&gpu->job, settings->rows_most);
}

static cudaError_t allocate(struct convolve2d_on_gpu *gpu, const struct mask2d *mask)
{
    struct kernel2d_job *job = &gpu->job;
    size_t in = job->rows_in * job->pitch_in * job->channels;
    size_t out = job->rows * job->pitch_out * job->channels;
    size_t taps = mask->rows * mask->columns * sizeof(float);
    CUDA_TRY(cudaSetDevice(gpu->device));
    CUDA_TRY(cudaStreamCreateWithFlags(&gpu->stream, cudaStreamNonBlocking));
    CUDA_TRY(cudaMallocHost((void **)&gpu->staged_in, in));
    CUDA_TRY(cudaMallocHost((void **)&gpu->staged_out, out));
    CUDA_TRY(cudaMalloc((void **)&gpu->in, in));
    CUDA_TRY(cudaMalloc((void **)&gpu->out, out));
    CUDA_TRY(cudaMalloc((void **)&gpu->mask, taps));
    CUDA_TRY(gpu_send(gpu->mask, mask->taps, taps));
    job->in = gpu->in;
    job->out = gpu->out;
    job->mask = gpu->mask;
    return cudaSuccess;
}

static enum status make_ready(struct convolve2d_on_gpu *gpu,
                              const struct convolve2d_settings *settings, const struct mask2d *mask)
{
    struct convolve2d_settings on_cpu = *settings;
    on_cpu.backend = "cpu";
    TRY(gpu_choose(&(struct gpu_devices){0}, "the spectral filter", &gpu->device));
    convolver_cuda_send_home();
    plan_job(gpu, settings, mask);
    TRY(kernel2d_check(&kernel2d_register, &gpu->job));
    cudaError_t error = allocate(gpu, mask);
    if (error != cudaSuccess)
        return gpu_failed(error, "allocate memory for a picture");
    return convolve2d_create(&on_cpu, mask, &gpu->standby);
}

static enum status gpu_create(const struct convolve2d_settings *settings, const struct mask2d *mask,
                              struct convolve2d **result)
{
    struct convolve2d_on_gpu *gpu = calloc(1, sizeof *gpu);
    if (!gpu)
        return fail_memory("a mask");
    gpu->live = settings->live;
    gpu->fault = fault_wanted();
    enum status status = make_ready(gpu, settings, mask);
    if (status != STATUS_OK) {
        gpu_destroy(&gpu->convolve);
        return status;
    }
    *result = &gpu->convolve;
    return STATUS_OK;
}

static bool gpu_suits(const struct convolve2d_settings *settings, const struct mask2d *mask)
{
    struct backend_picture picture = {
        .rows = settings->rows,
        .columns = settings->columns,
        .channels = settings->channels,
        .taps = mask->rows * mask->columns,
        .threads = settings->workers ? workers_count(settings->workers) : 1,
    };
    double cpu = backend_cost_picture_cpu(&picture);
    return !settings->live && !mask->is_separable &&
           backend_cost_clearly_gpu(cpu, backend_cost_picture_gpu(&picture, 0)) && gpu_is_there() &&
           backend_cost_clearly_gpu(cpu, backend_cost_picture_gpu(&picture, gpu_bandwidth()));
}

const struct convolve2d_kind convolve2d_cuda = {
    .name = "cuda",
    .suits = gpu_suits,
    .create = gpu_create,
    .destroy = gpu_destroy,
    .process = gpu_process,
};
