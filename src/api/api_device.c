/* libhalo's convolution of buffers in the memory of a GPU. */
#include "api/api_call.h"
#include "convolve/convolver.h"
#include "convolve/device_convolver.h"

#include <stdint.h>
#include <stdlib.h>

enum { ALIGNMENT = 16, FLOATS_ALIGNED = ALIGNMENT / sizeof(float) };

struct halo_device_convolver {
    struct device_convolver *convolver;
    size_t inputs, outputs;
    size_t frames; /* of outputs, at most */
};

#ifdef HALO_NO_CUDA
static enum status create(const struct halo_mask *mask, struct halo_device_convolver *own)
{
    (void)mask, (void)own;
    return fail_no_cuda();
}

static enum status run(const struct halo_device_convolver *own, const struct device_job *job,
                       void *stream)
{
    (void)own, (void)job, (void)stream;
    return fail_no_cuda();
}

static void destroy(struct halo_device_convolver *own)
{
    (void)own;
}
#else
static enum status create(const struct halo_mask *mask, struct halo_device_convolver *own)
{
    return device_convolver_create(mask->mask, own->frames, &own->convolver);
}

static enum status run(const struct halo_device_convolver *own, const struct device_job *job,
                       void *stream)
{
    return device_convolver_run(own->convolver, job, stream);
}

static void destroy(struct halo_device_convolver *own)
{
    device_convolver_destroy(own->convolver);
}
#endif

static enum status make(const struct halo_mask *mask, size_t frames,
                        struct halo_device_convolver **result)
{
    if (!mask || frames < 1)
        return fail(CAUSE_USAGE, "cannot make a convolver %s",
                    mask ? "for outputs of no frames" : "without a mask");
    struct halo_device_convolver *own = calloc(1, sizeof *own);
    if (!own)
        return fail_memory("a convolver");
    own->inputs = mask->mask->inputs;
    own->outputs = mask->mask->outputs;
    own->frames = frames;
    enum status status = create(mask, own);
    if (status == STATUS_OK)
        *result = own;
    else
        free(own);
    return status;
}

enum halo_status halo_device_convolver_create(const struct halo_mask *mask, size_t frames,
                                              struct halo_device_convolver **convolver,
                                              struct halo_error *error)
{
    struct api_call call;
    api_begin(&call);
    return api_end(&call, make(mask, frames, convolver), error);
}

void halo_device_convolver_destroy(struct halo_device_convolver *convolver)
{
    struct api_call call;
    if (!convolver)
        return;
    api_begin(&call);
    destroy(convolver);
    free(convolver);
    (void)api_end(&call, STATUS_OK, NULL);
}

static bool is_aligned(const float *samples, size_t channels, size_t stride)
{
    return (uintptr_t)samples % ALIGNMENT == 0 && (channels == 1 || stride % FLOATS_ALIGNED == 0);
}

static enum status check_job(const struct halo_device_convolver *own, const struct halo_job *job,
                             size_t number)
{
    bool fits = own->inputs == 1 || job->in_stride >= job->frames;
    bool has_place = own->outputs == 1 || job->out_stride >= job->out_frames;
    if ((job->frames && !job->in) || (job->out_frames && !job->out))
        return fail(CAUSE_USAGE, "cannot convolve sound %zu: it has no buffer", number);
    if (!fits || !has_place)
        return fail(CAUSE_USAGE,
                    "cannot convolve sound %zu: the stride of its %s is less than its frames",
                    number, fits ? "output" : "input");
    if (!is_aligned(job->in, own->inputs, job->in_stride) ||
        !is_aligned(job->out, own->outputs, job->out_stride))
        return fail(CAUSE_USAGE,
                    "cannot convolve sound %zu: its channels do not begin at multiples of %d bytes",
                    number, ALIGNMENT);
    if (job->out_frames > own->frames || job->frames > SIZE_MAX / 4)
        return fail(CAUSE_USAGE,
                    "cannot convolve sound %zu: its output has %zu frames, and the convolver is "
                    "made for %zu",
                    number, job->out_frames, own->frames);
    return STATUS_OK;
}

enum halo_status halo_device_convolver_run(struct halo_device_convolver *convolver,
                                           const struct halo_job *jobs, size_t count, void *stream,
                                           struct halo_error *error)
{
    struct api_call call;
    api_begin(&call);
    enum status status =
        count > 0 && !jobs ? fail(CAUSE_USAGE, "cannot convolve without a sound") : STATUS_OK;
    for (size_t j = 0; j < count && status == STATUS_OK; j++)
        status = check_job(convolver, &jobs[j], j);
    for (size_t j = 0; j < count && status == STATUS_OK; j++) {
        const struct device_job job = {jobs[j].in,  jobs[j].in_stride,  jobs[j].frames,
                                       jobs[j].out, jobs[j].out_stride, jobs[j].out_frames};
        status = run(convolver, &job, stream);
    }
    return api_end(&call, status, error);
}
