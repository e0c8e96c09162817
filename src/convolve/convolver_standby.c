/* The sides of a convolver, on the control thread: the backend that was asked for, the CPU that
 * stands by for it, and the forms of masks for both. */
#include "convolve/convolver_state.h"

#include "base/thread_usage.h"

static const double GPU_SHARE = 0.6;        /* of a live block's time, for the GPU */
static const double AFFORDABLE_SHARE = 0.3; /* for the CPU in parallel with it */

enum { AFFORDABLE_BLOCKS = 64 /* measured to decide that */ };

/* ---- sides ---- */

static const struct convolver_backend *variant_of(const struct convolver_backend *backend,
                                                  const struct convolver_shape *shape,
                                                  const struct mask *mask)
{
    if (shape->precision == PRECISION_DOUBLE)
        backend = backend->in_double;
    return backend && backend->variant ? backend->variant(shape, mask) : backend;
}

static enum status create_side(struct convolver *convolver, enum side side,
                               const struct convolver_backend *backend, const struct mask *mask)
{
    const struct convolver_shape *shape = &convolver->shape;
    struct numa_before before = {0};
    backend = variant_of(backend, shape, mask);
    if (!backend || !backend->create)
        return fail_no_cuda();
    if (backend->enter)
        backend->enter(shape, &before);
    enum status status = backend->create(shape, &convolver->convolution[side]);
    numa_leave(&before);
    TRY(status);
    convolver->backend[side] = backend;
    backend->describe(convolver->convolution[side], convolver->algorithm[side],
                      sizeof convolver->algorithm[side]);
    return STATUS_OK;
}

enum status convolver_create_main(struct convolver *convolver,
                                  const struct convolver_backend *backend, const struct mask *mask)
{
    return create_side(convolver, MAIN, backend, mask);
}

enum status convolver_create_standby(struct convolver *convolver, const struct mask *mask)
{
    return create_side(convolver, STANDBY, &convolver_cpu, mask);
}

void convolver_destroy_sides(struct convolver *convolver)
{
    for (size_t s = 0; s < SIDES; s++)
        if (convolver->convolution[s])
            convolver->backend[s]->destroy(convolver->convolution[s]);
}

/* ---- masks ---- */

static enum status prepare_side(const struct convolver *convolver, enum side side,
                                const struct mask *mask, struct convolver_mask *prepared)
{
    struct prepared *form = NULL;
    enum status status =
        convolver->backend[side]->prepare(convolver->convolution[side], mask, &form);
    prepared->forms[side] = form;
    return status;
}

enum status convolver_prepare_sides(const struct convolver *convolver, const struct mask *mask,
                                    struct convolver_mask *prepared)
{
    for (enum side s = convolver_side_of(convolver); s < SIDES; s++)
        if (convolver->backend[s])
            TRY(prepare_side(convolver, s, mask, prepared));
    return STATUS_OK;
}

void convolver_release_sides(const struct convolver *convolver,
                             const struct convolver_mask *prepared)
{
    for (size_t s = 0; s < SIDES; s++)
        if (prepared->forms[s])
            convolver->backend[s]->release(convolver->convolution[s],
                                           (struct prepared *)prepared->forms[s]);
}

bool convolver_make_standby(struct convolver *convolver)
{
    const struct mask *mask = convolver->kept_mask;
    if (convolver->backend[STANDBY] || !mask)
        return convolver->backend[STANDBY] != NULL;
    log_as_notes(true); /* the failure is reported */
    enum status status = convolver_create_standby(convolver, mask);
    if (status == STATUS_OK)
        status = prepare_side(convolver, STANDBY, mask, convolver->first);
    log_as_notes(false);
    return status == STATUS_OK;
}

/* ---- a standby that runs along ---- */

/* What the standby takes of a block's time, in ns, measured on silence: of processor time, since a
 * busy machine may take the processor from this thread meanwhile. */
static double standby_time(const struct convolver *convolver)
{
    struct block silence = {0};
    struct convolution *convolution = convolver->convolution[STANDBY];
    const struct convolver_backend *backend = convolver->backend[STANDBY];
    struct convolver_slot slots[CONVOLVER_SLOTS] = {
        {.prepared = convolver->first->forms[STANDBY], .out = convolver->beside[0].data}};
    if (block_init(&silence, convolver->shape.inputs, convolver->shape.block, "a convolver") !=
        STATUS_OK)
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

enum status convolver_try_along(struct convolver *convolver)
{
    const struct convolver_shape *shape = &convolver->shape;
    double period = (double)convolver_period(shape);
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++)
        TRY(block_init(&convolver->beside[v], shape->outputs, shape->block, "a convolver"));
    convolver->patience = (int64_t)(GPU_SHARE * period);
    convolver->along = standby_time(convolver) < AFFORDABLE_SHARE * period;
    return STATUS_OK;
}
