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

/* ---- sides ---- */

static const struct convolver_backend *variant_of(const struct convolver_backend *backend,
                                                  const struct convolver_shape *shape,
                                                  const struct mask *mask)
{
    if (shape->precision == PRECISION_DOUBLE)
        backend = backend->in_double;
    return backend && backend->variant ? backend->variant(shape, mask) : backend;
}

static enum status create_side(struct convolver_share *share, enum side side,
                               const struct convolver_backend *backend, const struct mask *mask)
{
    backend = variant_of(backend, &share->shape, mask);
    if (!backend || !backend->create)
        return fail_no_cuda();
    TRY(backend->create(&share->shape, &share->convolution[side]));
    share->backend[side] = backend;
    backend->describe(share->convolution[side], share->algorithm[side],
                      sizeof share->algorithm[side]);
    return STATUS_OK;
}

bool convolver_make_standby(struct convolver *convolver, struct convolver_share *share)
{
    const struct mask *mask = convolver->kept_mask;
    struct prepared *form = NULL;
    if (!mask)
        return share->backend[STANDBY] != NULL;
    log_as_notes(true); /* the failure is reported */
    enum status status = create_side(share, STANDBY, &convolver_cpu, mask);
    if (status == STATUS_OK)
        status = share->backend[STANDBY]->prepare(share->convolution[STANDBY], mask, &form);
    log_as_notes(false);
    convolver->first->share[share->shape.share].of[STANDBY] = form;
    convolver->kept_mask = NULL;
    return status == STATUS_OK;
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
        TRY(backend->share_out(shape, mask, devices));
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
    size_t threads = workers ? workers_count(workers) - 1 : 0, most = convolver->share_count - 1;
    threads = threads < most ? threads : most;
    return threads && convolver->shares[0].backend[MAIN]->post
               ? step_crew_create(threads, &convolver->crew)
               : STATUS_OK;
}

enum status convolver_shares_create(struct convolver *convolver,
                                    const struct convolver_backend *backend,
                                    const struct mask *mask)
{
    struct gpu_devices devices;
    TRY(choose_devices(convolver, variant_of(backend, &convolver->shape, mask), mask, &devices));
    convolver->shares = calloc(devices.count, sizeof *convolver->shares);
    if (!convolver->shares)
        return fail_memory("a convolver");
    convolver->share_count = devices.count;
    lay_out(convolver, &devices, mask);
    for (size_t p = 0; p < convolver->share_count; p++)
        TRY(create_side(&convolver->shares[p], MAIN, backend, mask));
    describe(convolver);
    return create_crew(convolver);
}

enum status convolver_shares_add_standby(struct convolver *convolver, const struct mask *mask)
{
    for (size_t p = 0; p < convolver->share_count; p++)
        TRY(create_side(&convolver->shares[p], STANDBY, &convolver_cpu, mask));
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
    free(convolver->shares);
}

/* ---- masks ---- */

/* Of one share. */
struct preparation {
    const struct convolver_share *share;
    const struct mask *mask; /* the whole one */
    struct convolver_forms *forms;
    bool is_whole; /* there is one share */
    bool on_main;  /* or on the standby */
    enum status status;
    pthread_t thread;
    bool runs;
};

static enum status prepare_sides(const struct preparation *preparation, const struct mask *mask)
{
    const struct convolver_share *share = preparation->share;
    for (enum side s = convolver_side_of(share); s < SIDES; s++) {
        struct prepared *form = NULL;
        if (!share->backend[s] || (s == MAIN) != preparation->on_main)
            continue;
        enum status status = share->backend[s]->prepare(share->convolution[s], mask, &form);
        preparation->forms->of[s] = form;
        TRY(status);
    }
    return STATUS_OK;
}

static enum status prepare_share(const struct preparation *preparation)
{
    if (preparation->is_whole)
        return prepare_sides(preparation, preparation->mask);
    struct mask *own;
    const struct convolver_share *share = preparation->share;
    TRY(mask_excerpt_create(preparation->mask, inputs_of(share), outputs_of(share), &own));
    enum status status = prepare_sides(preparation, own);
    mask_excerpt_destroy(own);
    return status;
}

static void *prepare_beside(void *argument)
{
    struct preparation *preparation = argument;
    preparation->status = prepare_share(preparation);
    return NULL;
}

/* All shares at once where their processors are others than this one. */
static enum status prepare_shares(struct preparation *of, size_t count, bool at_once)
{
    enum status status = STATUS_OK;
    for (size_t p = 1; p < count && at_once; p++)
        of[p].runs =
            thread_start(&of[p].thread, "halo mask", THREAD_ORDINARY, prepare_beside, &of[p]) == 0;
    for (size_t p = 0; p < count; p++)
        if (!of[p].runs && status == STATUS_OK)
            status = of[p].status = prepare_share(&of[p]);
    for (size_t p = 1; p < count; p++)
        if (of[p].runs) {
            pthread_join(of[p].thread, NULL);
            status = status == STATUS_OK ? of[p].status : status;
        }
    return status;
}

static enum status prepare_on(const struct convolver *convolver, const struct mask *mask,
                              struct convolver_mask *prepared, bool on_main)
{
    struct preparation of[GPU_MOST];
    size_t count = convolver->share_count;
    for (size_t p = 0; p < count; p++)
        of[p] = (struct preparation){.share = &convolver->shares[p],
                                     .mask = mask,
                                     .forms = &prepared->share[p],
                                     .is_whole = count == 1,
                                     .on_main = on_main};
    return prepare_shares(of, count, on_main && convolver->shares[0].backend[MAIN]->post);
}

enum status convolver_shares_prepare(const struct convolver *convolver, const struct mask *mask,
                                     struct convolver_mask *prepared)
{
    TRY(prepare_on(convolver, mask, prepared, true));
    return prepare_on(convolver, mask, prepared, false);
}

void convolver_shares_release(const struct convolver *convolver,
                              const struct convolver_mask *prepared)
{
    for (size_t p = 0; p < convolver->share_count; p++)
        for (size_t s = 0; s < SIDES; s++) {
            const struct convolver_share *share = &convolver->shares[p];
            if (prepared->share[p].of[s])
                share->backend[s]->release(share->convolution[s],
                                           (struct prepared *)prepared->share[p].of[s]);
        }
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
        {.prepared = convolver->first->share[share->shape.share].of[STANDBY],
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
    double period = 1e9 * (double)shape->block / (double)(shape->rate ? shape->rate : 48000);
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
