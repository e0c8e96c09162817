#include "gpu/kernel.h"

#include "base/status.h"

#include <string.h>

/* A new kernel needs one file, and one entry here. */
static const struct kernel *const kernels[] = {
    &kernel_basic,    &kernel_constant, &kernel_tiled, &kernel_cached,
    &kernel_register, &kernel_tensor,   &kernel_fft,
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

enum {
    TENSOR_LEAST = 25,   /* taps; from here on the fastest of all, on an H200 */
    TENSOR_MOST = 96,    /* taps; up to here the fastest, though it can take more */
    FFT_TAPS_LEAST = 65, /* taps; from here on faster than "register" and exact enough */
};

const struct kernel *kernel_at(size_t index)
{
    return index < KERNELS ? kernels[index] : NULL;
}

const struct kernel *kernel_named(const char *name)
{
    for (size_t i = 0; i < KERNELS; i++)
        if (strcmp(kernels[i]->name, name) == 0)
            return kernels[i];
    return NULL;
}

const struct kernel *kernel_for(size_t taps)
{
    if (taps >= TENSOR_LEAST && taps <= TENSOR_MOST && kernel_is_usable(&kernel_tensor))
        return &kernel_tensor;
    return taps < FFT_TAPS_LEAST ? &kernel_register : &kernel_fft;
}

bool kernel_is_usable(const struct kernel *kernel)
{
    return !kernel->is_usable || kernel->is_usable();
}

enum status kernel_open(const struct kernel *kernel, const struct kernel_shape *shape,
                        struct kernel_plan **plan)
{
    *plan = NULL;
    if (kernel->taps_most && shape->taps > kernel->taps_most)
        return fail(CAUSE_UNSUPPORTED,
                    "the %s kernel takes masks of up to %zu taps, and this one has %zu; use "
                    "--kernel fft or auto",
                    kernel->name, kernel->taps_most, shape->taps);
    if (!kernel_is_usable(kernel))
        return fail(
            CAUSE_UNSUPPORTED,
            "the %s kernel needs a GPU of compute capability 8.0, and a halo built for one; "
            "use --kernel register or auto",
            kernel->name);
    return kernel->open ? kernel->open(shape, plan) : STATUS_OK;
}

void kernel_close(const struct kernel *kernel, struct kernel_plan *plan)
{
    if (plan)
        kernel->close(plan);
}

size_t kernel_form_floats(const struct kernel *kernel, const struct kernel_plan *plan, size_t taps)
{
    return kernel->form_floats ? kernel->form_floats(plan) : taps;
}

cudaError_t kernel_form(const struct kernel *kernel, struct kernel_plan *plan, const float *taps,
                        size_t count, float *form, cudaStream_t stream)
{
    if (kernel->form)
        return kernel->form(plan, taps, form, stream);
    return cudaMemcpyAsync(form, taps, count * sizeof(float), cudaMemcpyDeviceToDevice, stream);
}

cudaError_t kernel_load(const struct kernel *kernel, const struct kernel_job *job,
                        cudaStream_t stream)
{
    return kernel->load ? kernel->load(job, stream) : cudaSuccess;
}
