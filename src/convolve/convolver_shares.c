/* The shares of a convolver, on the control thread: which processor has which outputs, the sides of
 * each, and the forms of masks for them. */
#include "convolve/convolver_state.h"

#include "base/thread.h"
#include "base/thread_usage.h"
#include "convolve/mask_excerpt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double GPU_SHARE = 0.6;        /* of a live block's time, for the GPU */
static const double AFFORDABLE_SHARE = 0.3; /* for the CPU in parallel with it */

enum {
    AFFORDABLE_BLOCKS = 64, /* measured to decide that */
    INPUTS_FEW = 256,       /* which every share may have: a later mask may need others */
};

/* ---- all shares at once ---- */

/* What is done for one share; the fields that it needs. */
struct share_job {
    enum status (*run)(const struct share_job *job);
    struct convolver_share *share;
    const struct convolver_backend *backend;
    const struct mask *mask; /* the whole one */
    struct convolver_forms *forms;
    bool sides[SIDES]; /* those that prepare the mask */

    enum status status;
    char failure[512]; /* for the control thread to report */
    pthread_t thread;
    bool runs;
};

static void *run_beside(void *argument)
{
    struct share_job *job = argument;
    log_capture(job->failure, sizeof job->failure);
    job->status = job->run(job);
    return NULL;
}

static enum status join(struct share_job *job)
{
    pthread_join(job->thread, NULL);
    return job->status;
}

/* The first failure is reported. `at_once`: each in a thread, but for the first. */
static enum status run_jobs(struct share_job *jobs, size_t count, bool at_once)
{
    enum status status = STATUS_OK;
    for (size_t p = 1; p < count && at_once; p++)
        jobs[p].runs =
            thread_start(&jobs[p].thread, "halo share", THREAD_ORDINARY, run_beside, &jobs[p]) == 0;
    for (size_t p = 0; p < count; p++)
        if (!jobs[p].runs && status == STATUS_OK)
            status = jobs[p].run(&jobs[p]);
    for (size_t p = 1; p < count; p++)
        if (jobs[p].runs && join(&jobs[p]) != STATUS_OK && status == STATUS_OK)
            status = fail(jobs[p].status, "%s", jobs[p].failure);
    return status;
}

/* ---- sides ---- */

static const struct convolver_backend *variant_of(const struct convolver_backend *backend,
                                                  const struct convolver_shape *shape,
                                                  const struct mask *mask)
{
    if (shape->precision == PRECISION_DOUBLE)
        backend = backend->in_double;
    return backend && backend->variant ? backend->variant(shape, mask) : backend;
}

/* `backend`: the variant. */
static void enter_place(const struct convolver_backend *backend,
                        const struct convolver_shape *shape, struct numa_before *before)
{
    *before = (struct numa_before){0};
    if (backend && backend->enter)
        backend->enter(shape, before);
}

enum status convolver_create_side(struct convolver_share *share, enum side side,
                                  const struct convolver_backend *backend,
                                  const struct convolver_shape *shape)
{
    struct numa_before before;
    if (!backend || !backend->create)
        return fail_no_cuda();
    enter_place(backend, shape, &before);
    enum status status = backend->create(shape, &share->convolution[side]);
    numa_leave(&before);
    TRY(status);
    share->backend[side] = backend;
    backend->describe(share->convolution[side], share->algorithm[side],
                      sizeof share->algorithm[side]);
    return STATUS_OK;
}

static enum status create_main(const struct share_job *job)
{
    return convolver_create_side(job->share, MAIN, job->backend, &job->share->shape);
}

static enum status create_standby(struct convolver_share *share, const struct mask *mask)
{
    const struct convolver_shape *shape = &share->shape;
    return convolver_create_side(share, STANDBY, variant_of(&convolver_cpu, shape, mask), shape);
}

/* ---- which share has what ---- */

static struct channel_span inputs_of(const struct convolver_share *share)
{
    return (struct channel_span){share->first_input, share->shape.inputs};
}

static struct channel_span outputs_of(const struct convolver_share *share)
{
    return (struct channel_span){share->first_output, share->shape.outputs};
}

/* The processors. With more than one, `gpu` of each share names its own. */
static enum status choose_devices(struct convolver *convolver,
                                  const struct convolver_backend *backend, const struct mask *mask,
                                  struct gpu_devices *devices)
{
    const struct convolver_shape *shape = &convolver->shape;
    *devices = (struct gpu_devices){.count = 1};
    if (backend && backend->share_out && shape->precision == PRECISION_SINGLE)
        TRY(backend->share_out(shape, mask, devices, convolver->share_reason));
    if (*convolver->share_reason)
        note_detail("%s", convolver->share_reason);
    if (devices->count > shape->outputs)
        devices->count = shape->outputs; /* the others would be idle */
    return STATUS_OK;
}

static void lay_out(struct convolver *convolver, const struct gpu_devices *devices,
                    const struct mask *mask)
{
    const struct convolver_shape *shape = &convolver->shape;
    size_t count = convolver->share_count;
    for (size_t p = 0; p < count; p++) {
        struct convolver_share *share = &convolver->shares[p];
        struct channel_span outputs = {.first = shape->outputs * p / count};
        outputs.count = shape->outputs * (p + 1) / count - outputs.first;
        struct channel_span inputs = {0, shape->inputs};
        bool all = count == 1 || (shape->has_choices && shape->inputs <= INPUTS_FEW);
        if (!all)
            inputs = mask_excerpt_inputs(mask, outputs);
        share->shape = *shape;
        share->shape.share = p;
        share->shape.shares = count;
        share->shape.inputs = inputs.count;
        share->shape.outputs = outputs.count;
        share->shape.paths = shape->paths / count ? shape->paths / count : 1;
        share->first_input = inputs.first;
        share->first_output = outputs.first;
        if (count > 1)
            share->shape.gpu.devices = (struct gpu_devices){.count = 1, .of = {devices->of[p]}};
    }
}

static void describe(struct convolver *convolver)
{
    const char *algorithm = convolver->shares[0].algorithm[MAIN];
    if (convolver->share_count == 1)
        snprintf(convolver->algorithm, sizeof convolver->algorithm, "%s", algorithm);
    else
        snprintf(convolver->algorithm, sizeof convolver->algorithm, "%s, on %zu GPUs", algorithm,
                 convolver->share_count);
}

/* Threads that send and receive the shares at once, of those that the stream may use. */
static enum status create_crew(struct convolver *convolver)
{
    const struct workers *workers = convolver->shape.workers;
    const struct convolver_backend *backend = convolver->shares[0].backend[MAIN];
    size_t threads = workers ? workers_count(workers) - 1 : 0, most = convolver->share_count - 1;
    threads = threads < most && !backend->steps_at_once ? threads : most;
    return threads && (backend->post || backend->steps_at_once)
               ? step_crew_create(threads, &convolver->crew)
               : STATUS_OK;
}

/* Threads of its own for each share, where they step at once: the stream's serve one caller. */
static enum status divide_workers(struct convolver *convolver,
                                  const struct convolver_backend *backend)
{
    const struct workers *all = convolver->shape.workers;
    size_t count = convolver->share_count;
    size_t each = all ? workers_count(all) / count : 1;
    for (size_t p = 0; p < count; p++) {
        struct convolver_share *share = &convolver->shares[p];
        struct numa_before before;
        enter_place(backend, &share->shape, &before);
        enum status status = workers_create(each ? each : 1, &share->workers);
        numa_leave(&before);
        TRY(status);
        share->shape.workers = share->workers;
    }
    return STATUS_OK;
}

enum status convolver_shares_create(struct convolver *convolver,
                                    const struct convolver_backend *backend,
                                    const struct mask *mask)
{
    struct gpu_devices devices;
    struct share_job jobs[GPU_MOST] = {0};
    backend = variant_of(backend, &convolver->shape, mask);
    TRY(choose_devices(convolver, backend, mask, &devices));
    convolver->shares = calloc(devices.count, sizeof *convolver->shares);
    if (!convolver->shares)
        return fail_memory("a convolver");
    convolver->share_count = devices.count;
    lay_out(convolver, &devices, mask);
    bool at_once = backend && backend->steps_at_once && devices.count > 1;
    if (at_once)
        TRY(divide_workers(convolver, backend));
    for (size_t p = 0; p < devices.count; p++)
        jobs[p] = (struct share_job){
            .run = create_main, .share = &convolver->shares[p], .backend = backend};
    TRY(run_jobs(jobs, devices.count, at_once));
    describe(convolver);
    return create_crew(convolver);
}

enum status convolver_shares_add_standby(struct convolver *convolver, const struct mask *mask)
{
    for (size_t p = 0; p < convolver->share_count; p++)
        TRY(create_standby(&convolver->shares[p], mask));
    return STATUS_OK;
}

void convolver_shares_destroy(struct convolver *convolver)
{
    step_crew_destroy(convolver->crew);
    for (size_t p = 0; p < convolver->share_count; p++)
        for (size_t s = 0; s < SIDES; s++) {
            const struct convolver_share *share = &convolver->shares[p];
            if (share->convolution[s])
                share->backend[s]->destroy(share->convolution[s]);
        }
    for (size_t p = 0; p < convolver->share_count; p++)
        workers_destroy(convolver->shares[p].workers);
    free(convolver->shares);
}

/* ---- masks ---- */

static enum status prepare_sides(const struct share_job *job, const struct mask *mask)
{
    struct convolver_share *share = job->share;
    for (enum side s = convolver_side_of(share); s < SIDES; s++) {
        struct prepared *form = NULL;
        if (!share->backend[s] || !job->sides[s])
            continue;
        if (s == SPARE) {
            TRY(convolver_spare_prepare(share, mask, &job->forms->of[s]));
            continue;
        }
        enum status status = share->backend[s]->prepare(share->convolution[s], mask, &form);
        job->forms->of[s] = form;
        TRY(status);
    }
    return STATUS_OK;
}

static enum status prepare_share(const struct share_job *job)
{
    const struct convolver_share *share = job->share;
    struct mask *own;
    if (share->shape.shares == 1)
        return prepare_sides(job, job->mask);
    TRY(mask_excerpt_create(job->mask, inputs_of(share), outputs_of(share), &own));
    enum status status = prepare_sides(job, own);
    mask_excerpt_destroy(own);
    return status;
}

static enum status prepare_on(const struct convolver *convolver, const struct mask *mask,
                              struct convolver_mask *prepared, bool on_gpus)
{
    struct share_job jobs[GPU_MOST];
    size_t count = convolver->share_count;
    const struct convolver_backend *backend = convolver->shares[0].backend[MAIN];
    for (size_t p = 0; p < count; p++)
        jobs[p] = (struct share_job){.run = prepare_share,
                                     .share = &convolver->shares[p],
                                     .mask = mask,
                                     .forms = &prepared->forms[p],
                                     .sides = {on_gpus, on_gpus, !on_gpus}};
    return run_jobs(jobs, count, on_gpus && (backend->post || backend->steps_at_once));
}

enum status convolver_shares_prepare(const struct convolver *convolver, const struct mask *mask,
                                     struct convolver_mask *prepared)
{
    TRY(prepare_on(convolver, mask, prepared, true));
    return prepare_on(convolver, mask, prepared, false);
}

enum status convolver_shares_prepare_spare(const struct convolver *convolver,
                                           struct convolver_share *share, const struct mask *mask)
{
    const struct share_job job = {.share = share,
                                  .mask = mask,
                                  .forms = &convolver->first->forms[share->shape.share],
                                  .sides = {[SPARE] = true}};
    return prepare_share(&job);
}

void convolver_shares_release(const struct convolver *convolver,
                              const struct convolver_mask *prepared)
{
    for (size_t p = 0; p < convolver->share_count; p++)
        for (size_t s = 0; s < SIDES; s++) {
            const struct convolver_share *share = &convolver->shares[p];
            if (prepared->forms[p].of[s])
                share->backend[s]->release(share->convolution[s],
                                           (struct prepared *)prepared->forms[p].of[s]);
        }
}

bool convolver_make_standby(struct convolver *convolver, struct convolver_share *share)
{
    const struct mask *mask = convolver->kept_mask;
    struct share_job job = {.share = share,
                            .mask = mask,
                            .forms = &convolver->first->forms[share->shape.share],
                            .sides = {[STANDBY] = true}};
    if (share->backend[STANDBY] || !mask)
        return share->backend[STANDBY] != NULL;
    log_as_notes(true); /* the failure is reported */
    enum status status = create_standby(share, mask);
    if (status == STATUS_OK)
        status = prepare_share(&job);
    log_as_notes(false);
    return status == STATUS_OK;
}

/* ---- standbys that run along ---- */

/* What the standby of a share takes of a block's time, in ns, measured on silence: of processor
 * time, since a busy machine may take the processor from this thread meanwhile. */
static double standby_time(const struct convolver *convolver, const struct convolver_share *share)
{
    struct block silence = {0};
    struct convolution *convolution = share->convolution[STANDBY];
    const struct convolver_backend *backend = share->backend[STANDBY];
    struct convolver_slot slots[CONVOLVER_SLOTS] = {
        {.prepared = convolver->first->forms[share->shape.share].of[STANDBY],
         .out = convolver->spare[0].data + share->first_output}};
    if (block_init(&silence, share->shape.inputs, share->shape.block, "a convolver") != STATUS_OK)
        return (double)INT64_MAX;
    if (backend->arm)
        (void)backend->arm(convolution, 0, slots[0].prepared, true);
    const struct thread_usage before = thread_usage_now();
    for (size_t i = 0; i < AFFORDABLE_BLOCKS; i++)
        backend->step(convolution, (const float *const *)silence.data, slots);
    const struct thread_usage after = thread_usage_now();
    backend->reset(convolution);
    block_free(&silence);
    return (double)(after.cpu_ns - before.cpu_ns) / AFFORDABLE_BLOCKS;
}

enum status convolver_shares_run_standbys(struct convolver *convolver)
{
    const struct convolver_shape *shape = &convolver->shape;
    double period = (double)convolver_period(shape);
    double left = AFFORDABLE_SHARE * period;
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++)
        TRY(block_init(&convolver->spare[v], shape->outputs, shape->block, "a convolver"));
    convolver->patience = (int64_t)(GPU_SHARE * period);
    if (convolver->share_count > 1)
        convolver->patience_alone = (int64_t)period;
    for (size_t p = 0; p < convolver->share_count; p++) {
        struct convolver_share *share = &convolver->shares[p];
        double time = standby_time(convolver, share);
        share->along = time < left;
        left -= share->along ? time : 0;
    }
    return STATUS_OK;
}
