/* libhalo's convolution of arrays: checks the caller's structs, and passes them on. */
#include "api/api_call.h"
#include "convolve/arrays.h"
#include "convolve/arrays_device.h"
#include "convolve/convolver.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    GROUPS_FEW = 16, /* groups for which no memory is allocated */
    THREADS_MOST = 1024,
};

/* Whole convolutions and steps of arrays stay far from the limits of ptrdiff_t. */
static const size_t SAMPLES_MOST = (size_t)1 << 48;

struct arrays_call {
    struct halo_arrays_options options;
    struct arrays_group few[GROUPS_FEW];
    struct arrays_group *groups; /* `few`, or allocated memory */
    struct arrays_job job;
};

#ifdef HALO_NO_CUDA
enum status arrays_scratch_device(const struct arrays_job *job, size_t *bytes)
{
    (void)job, (void)bytes;
    return fail_no_cuda();
}

enum status arrays_convolve_device(const struct arrays_job *job, void *stream, void *scratch,
                                   size_t scratch_bytes)
{
    (void)job, (void)stream, (void)scratch, (void)scratch_bytes;
    return fail_no_cuda();
}
#endif

static bool is_aligned(const void *samples, enum halo_sample sample)
{
    size_t bytes = sample == HALO_FLOAT64   ? sizeof(double)
                   : sample == HALO_FLOAT32 ? sizeof(float)
                                            : sizeof(uint16_t);
    return (uintptr_t)samples % bytes == 0;
}

static enum status check_array(const struct halo_arrays_options *options, const char *name,
                               const void *samples, size_t length, size_t group)
{
    if (length > SAMPLES_MOST)
        return fail(CAUSE_USAGE, "cannot convolve group %zu: %s has too many samples", group, name);
    if (length && !samples)
        return fail(CAUSE_USAGE, "cannot convolve group %zu: %s is NULL", group, name);
    if (!is_aligned(samples, options->sample))
        return fail(CAUSE_USAGE, "cannot convolve group %zu: %s is not aligned to its samples",
                    group, name);
    return STATUS_OK;
}

static enum status check_group(const struct halo_arrays_options *options,
                               const struct halo_arrays *arrays, size_t group)
{
    if (arrays->count == 0)
        return STATUS_OK;
    TRY(check_array(options, "x", arrays->x, arrays->frames, group));
    TRY(check_array(options, "h", arrays->h, arrays->taps, group));
    TRY(check_array(options, "y", arrays->y, arrays->out_frames, group));
    size_t step = arrays->y_step < 0 ? -(size_t)arrays->y_step : (size_t)arrays->y_step;
    if (arrays->count > 1 && step < arrays->out_frames)
        return fail(CAUSE_USAGE,
                    "cannot convolve group %zu: y_step is less than its %zu samples of output",
                    group, arrays->out_frames);
    return STATUS_OK;
}

static enum status read_groups(const struct halo_arrays *arrays, size_t count,
                               struct arrays_call *call)
{
    const char *at = (const char *)arrays;
    for (size_t g = 0; g < count; g++) {
        struct halo_arrays own;
        TRY(api_read_struct(at, &own, sizeof own, "struct halo_arrays"));
        TRY(check_group(&call->options, &own, g));
        call->groups[g] = (struct arrays_group){own.x,          own.frames, own.x_step, own.h,
                                                own.taps,       own.h_step, own.y,      own.first,
                                                own.out_frames, own.y_step, own.count};
        at += ((const struct halo_arrays *)at)->size;
    }
    return STATUS_OK;
}

static enum status read_call(const struct halo_arrays *arrays, size_t groups,
                             const struct halo_arrays_options *options, struct arrays_call *call)
{
    TRY(api_read_struct(options, &call->options, sizeof call->options,
                        "struct halo_arrays_options"));
    if (groups && !arrays)
        return fail(CAUSE_USAGE, "cannot convolve %zu groups of arrays: arrays is NULL", groups);
    if ((unsigned)call->options.sample > HALO_BFLOAT16)
        return fail(CAUSE_USAGE, "cannot convolve samples of type %d: none is known",
                    (int)call->options.sample);
    if (call->options.threads > THREADS_MOST)
        return fail(CAUSE_USAGE, "cannot convolve on %zu threads: %d are possible",
                    call->options.threads, THREADS_MOST);
    call->groups = groups > GROUPS_FEW ? calloc(groups, sizeof *call->groups) : call->few;
    if (!call->groups)
        return fail_memory("arrays");
    call->job = (struct arrays_job){call->groups, groups, (enum arrays_sample)call->options.sample,
                                    call->options.correlate};
    return read_groups(arrays, groups, call);
}

static enum status convolve(const struct arrays_call *call)
{
    const struct halo_arrays_options *options = &call->options;
    if (options->on_device)
        return arrays_convolve_device(&call->job, options->stream, options->scratch,
                                      options->scratch_bytes);
    return arrays_convolve_host(&call->job, options->threads);
}

static void free_call(struct arrays_call *call)
{
    if (call->groups != call->few)
        free(call->groups);
}

enum halo_status halo_arrays_scratch(const struct halo_arrays *arrays, size_t groups,
                                     const struct halo_arrays_options *options, size_t *bytes,
                                     struct halo_error *error)
{
    struct api_call call;
    struct arrays_call own = {.groups = NULL};
    api_begin_alone(&call);
    *bytes = 0;
    enum status status = read_call(arrays, groups, options, &own);
    if (status == STATUS_OK && own.options.on_device)
        status = arrays_scratch_device(&own.job, bytes);
    free_call(&own);
    return api_end(&call, status, error);
}

enum halo_status halo_arrays_convolve(const struct halo_arrays *arrays, size_t groups,
                                      const struct halo_arrays_options *options,
                                      struct halo_error *error)
{
    struct api_call call;
    struct arrays_call own = {.groups = NULL};
    api_begin_alone(&call);
    enum status status = read_call(arrays, groups, options, &own);
    if (status == STATUS_OK)
        status = convolve(&own);
    free_call(&own);
    return api_end(&call, status, error);
}
