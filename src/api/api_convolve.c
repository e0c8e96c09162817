/* libhalo's convolution of buffers. Each buffer passes through a convolver block by block, as in
 * the rendering of files. Also: convolution of buffers in the memory of a GPU. */
#include "api/api_call.h"
#include "convolve/convolver_backend.h"
#include "convolve/device_convolver.h"
#include "mask/mask_share.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK_LEAST = 64, /* frames */
    BLOCK_LARGEST = 1 << 20,
    THREADS_MOST = 1024,
};

/* A convolver with its input block and output block. */
struct buffer_run {
    const struct mask *mask;
    struct filter *filter;
    struct block in, out;
};

static enum status check_buffers(const struct halo_job *job, size_t inputs, size_t outputs,
                                 size_t number)
{
    bool fits = inputs == 1 || job->in_stride >= job->frames;
    bool has_place = outputs == 1 || job->out_stride >= job->out_frames;
    if ((job->frames && !job->in) || (job->out_frames && !job->out))
        return fail(CAUSE_USAGE, "cannot convolve sound %zu: it has no buffer", number);
    if (!fits || !has_place)
        return fail(CAUSE_USAGE,
                    "cannot convolve sound %zu: the stride of its %s is less than its frames",
                    number, fits ? "output" : "input");
    return STATUS_OK;
}

static enum status check_job(const struct mask *mask, const struct halo_job *job, size_t number)
{
    TRY(check_buffers(job, mask->inputs, mask->outputs, number));
    if (job->frames > INT64_MAX / 2 || job->out_frames > INT64_MAX / 2)
        return fail(CAUSE_USAGE, "cannot convolve sound %zu: it has too many frames", number);
    return STATUS_OK;
}

static size_t longest_of(const struct halo_job *jobs, size_t count)
{
    size_t longest = BLOCK_LEAST;
    for (size_t j = 0; j < count; j++)
        longest = jobs[j].out_frames > longest ? jobs[j].out_frames : longest;
    return longest < BLOCK_LARGEST ? longest : BLOCK_LARGEST;
}

static int64_t frames_of(const struct halo_job *jobs, size_t count)
{
    size_t frames = 0;
    for (size_t j = 0; j < count; j++)
        frames += jobs[j].out_frames < SIZE_MAX / 2 - frames ? jobs[j].out_frames : 0;
    return (int64_t)frames;
}

/* Reads the input's frames from `from` on; beyond its end, silence. */
static void read_block(const struct buffer_run *run, const struct halo_job *job, size_t from)
{
    size_t left = from < job->frames ? job->frames - from : 0;
    size_t count = left < run->in.frames ? left : run->in.frames;
    for (size_t c = 0; c < run->mask->inputs && count > 0; c++)
        memcpy(run->in.data[c], job->in + c * job->in_stride + from, count * sizeof(float));
    for (size_t c = 0; c < run->mask->inputs; c++)
        memset(run->in.data[c] + count, 0, (run->in.frames - count) * sizeof(float));
}

/* Writes the block that begins at frame `from` of the convolver; `frames`: length of the whole
 * output. Output frame 0 is the convolver's frame `origin`. */
static void write_block(const struct buffer_run *run, const struct halo_job *job, size_t from,
                        size_t frames)
{
    size_t origin = run->mask->origin, skip = from < origin ? origin - from : 0;
    if (skip >= run->out.frames)
        return;
    size_t to = from + skip - origin, count = run->out.frames - skip;
    if (count > frames - to)
        count = frames - to;
    for (size_t c = 0; c < run->mask->outputs; c++)
        memcpy(job->out + c * job->out_stride + to, run->out.data[c] + skip, count * sizeof(float));
}

/* Frames of output that may differ from silence. */
static size_t heard(const struct mask *mask, const struct halo_job *job)
{
    size_t all = job->frames ? job->frames + mask->taps - 1 : 0;
    size_t heard = all > mask->origin ? all - mask->origin : 0;
    return heard < job->out_frames ? heard : job->out_frames;
}

static void run_job(const struct buffer_run *run, const struct halo_job *job)
{
    size_t frames = heard(run->mask, job), end = frames ? frames + run->mask->origin : 0;
    for (size_t from = 0; from < end; from += run->in.frames) {
        read_block(run, job, from);
        filter_process(run->filter, (const float *const *)run->in.data, run->out.data);
        write_block(run, job, from, frames);
    }
    for (size_t c = 0; c < run->mask->outputs && frames < job->out_frames; c++)
        memset(job->out + c * job->out_stride + frames, 0,
               (job->out_frames - frames) * sizeof(float));
    filter_reset(run->filter);
}

/* Sounds that one convolver processes one after the other, or several convolvers at once. */
struct buffer_batch {
    struct mask mask; /* copy of the caller's mask, with its own prepared forms (mask_share.h) */
    const struct halo_job *jobs;
    size_t count;
    struct buffer_run *runs;
    size_t run_count;
};

static enum status open_run(const struct convolver_settings *settings, const struct mask *mask,
                            struct buffer_run *run)
{
    run->mask = mask;
    TRY(convolver_create(settings, mask, &run->filter));
    TRY(block_init(&run->in, mask->inputs, settings->block, "a sound"));
    return block_init(&run->out, mask->outputs, settings->block, "a sound");
}

static void close_run(struct buffer_run *run)
{
    filter_destroy(run->filter);
    block_free(&run->in);
    block_free(&run->out);
}

static bool is_on_gpu(const struct buffer_run *run)
{
    return strcmp(convolver_backend(run->filter), convolver_cuda.name) == 0;
}

static void take_job(void *context, size_t job, size_t worker)
{
    const struct buffer_batch *batch = context;
    run_job(&batch->runs[worker], &batch->jobs[job]);
}

/* If there are many sounds, each thread has a convolver and processes whole sounds. Otherwise, and
 * on a GPU, all threads share the work on one sound. */
static enum status run_batch(struct buffer_batch *batch, const struct convolver_settings *request)
{
    struct convolver_settings settings = *request;
    const struct mask *mask = &batch->mask;
    size_t threads = workers_count(request->workers), most = longest_of(batch->jobs, batch->count);
    bool has_many = threads > 1 && batch->count >= 2 * threads;
    settings.frames = frames_of(batch->jobs, batch->count);
    settings.workers = has_many ? NULL : request->workers;
    settings.block = convolver_preferred_block(&settings, mask, most);
    batch->runs = calloc(has_many ? threads : 1, sizeof *batch->runs);
    if (!batch->runs)
        return fail_memory("a sound");
    do
        TRY(open_run(&settings, mask, &batch->runs[batch->run_count++]));
    while (has_many && batch->run_count < threads && !is_on_gpu(&batch->runs[0]));
    workers_run(batch->run_count > 1 ? request->workers : NULL, batch->count, take_job, batch);
    for (size_t r = 0; r < batch->run_count; r++)
        if (batch->runs[r].filter->failure)
            return fail(CAUSE_OTHER, "cannot convolve: %s", batch->runs[r].filter->failure);
    return STATUS_OK;
}

static void keep(void *owner, struct mask *mask)
{
    (void)owner, (void)mask;
}

static bool may_use_gpu(const struct convolver_settings *settings)
{
    bool is_named = strcmp(settings->backend, convolver_cuda.name) == 0;
    return (is_named || strcmp(settings->backend, "auto") == 0) && convolver_cuda.is_usable &&
           convolver_cuda.is_usable();
}

static enum status run_jobs(const struct convolver_settings *settings, const struct mask *mask,
                            const struct halo_job *jobs, size_t count)
{
    struct buffer_batch batch = {.mask = *mask, .jobs = jobs, .count = count};
    bool is_alone = may_use_gpu(settings);
    TRY(mask_share_begin(&batch.mask, keep, NULL));
    if (is_alone)
        pthread_mutex_lock(&api_gpu_lock);
    enum status status = run_batch(&batch, settings);
    for (size_t r = 0; r < batch.run_count; r++)
        close_run(&batch.runs[r]);
    if (is_alone)
        pthread_mutex_unlock(&api_gpu_lock);
    free(batch.runs);
    mask_share_end(&batch.mask);
    return status;
}

static enum status convolve(const struct halo_mask *mask, const struct halo_job *jobs, size_t count,
                            const struct halo_convolve_options *options)
{
    struct convolver_settings settings = {
        .backend = options->backend ? options->backend : "auto",
        .mask_stays = true,
    };
    if (!mask || (count > 0 && !jobs))
        return fail(CAUSE_USAGE, "cannot convolve without a %s", mask ? "sound" : "mask");
    if (options->threads > THREADS_MOST)
        return fail(CAUSE_USAGE, "cannot convolve on %zu threads: %d are possible",
                    options->threads, THREADS_MOST);
    settings.rate = mask->rate;
    for (size_t j = 0; j < count; j++)
        TRY(check_job(mask->mask, &jobs[j], j));
    if (count == 0)
        return STATUS_OK;
    TRY(workers_create(options->threads, &settings.workers));
    enum status status = run_jobs(&settings, mask->mask, jobs, count);
    workers_destroy(settings.workers);
    return status;
}

enum halo_status halo_convolve_many(const struct halo_mask *mask, const struct halo_job *jobs,
                                    size_t count, const struct halo_convolve_options *given,
                                    struct halo_error *error)
{
    struct api_call call;
    struct halo_convolve_options options;
    api_begin(&call);
    enum status status =
        api_read_struct(given, &options, sizeof options, "struct halo_convolve_options");
    if (status == STATUS_OK)
        status = convolve(mask, jobs, count, &options);
    return api_end(&call, status, error);
}

enum halo_status halo_convolve(const struct halo_mask *mask, const float *in, size_t in_stride,
                               size_t frames, float *out, size_t out_stride, size_t out_frames,
                               struct halo_error *error)
{
    const struct halo_job job = {in, in_stride, frames, out, out_stride, out_frames};
    return halo_convolve_many(mask, &job, 1, NULL, error);
}

/* ---- buffers in the memory of a GPU ---- */

enum { ALIGNMENT = 16, FLOATS_ALIGNED = ALIGNMENT / sizeof(float) };

struct halo_device_convolver {
    struct device_convolver *convolver;
    size_t inputs, outputs;
    size_t frames; /* most frames of an output */
};

#ifdef HALO_NO_CUDA
static enum status create_own(const struct halo_mask *mask, struct halo_device_convolver *own)
{
    (void)mask, (void)own;
    return fail_no_cuda();
}

static enum status run_device_job(const struct halo_device_convolver *own,
                                  const struct device_job *job, void *stream)
{
    (void)own, (void)job, (void)stream;
    return fail_no_cuda();
}

static void destroy_own(struct halo_device_convolver *own)
{
    (void)own;
}
#else
static enum status create_own(const struct halo_mask *mask, struct halo_device_convolver *own)
{
    return device_convolver_create(mask->mask, own->frames, &own->convolver);
}

static enum status run_device_job(const struct halo_device_convolver *own,
                                  const struct device_job *job, void *stream)
{
    return device_convolver_run(own->convolver, job, stream);
}

static void destroy_own(struct halo_device_convolver *own)
{
    device_convolver_destroy(own->convolver);
}
#endif

static enum status make_own(const struct halo_mask *mask, size_t frames,
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
    enum status status = create_own(mask, own);
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
    return api_end(&call, make_own(mask, frames, convolver), error);
}

void halo_device_convolver_destroy(struct halo_device_convolver *convolver)
{
    struct api_call call;
    if (!convolver)
        return;
    api_begin(&call);
    destroy_own(convolver);
    free(convolver);
    (void)api_end(&call, STATUS_OK, NULL);
}

static bool is_aligned(const float *samples, size_t channels, size_t stride)
{
    return (uintptr_t)samples % ALIGNMENT == 0 && (channels == 1 || stride % FLOATS_ALIGNED == 0);
}

static enum status check_device_job(const struct halo_device_convolver *own,
                                    const struct halo_job *job, size_t number)
{
    TRY(check_buffers(job, own->inputs, own->outputs, number));
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
        status = check_device_job(convolver, &jobs[j], j);
    for (size_t j = 0; j < count && status == STATUS_OK; j++) {
        const struct device_job job = {jobs[j].in,  jobs[j].in_stride,  jobs[j].frames,
                                       jobs[j].out, jobs[j].out_stride, jobs[j].out_frames};
        status = run_device_job(convolver, &job, stream);
    }
    return api_end(&call, status, error);
}
