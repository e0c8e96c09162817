#include "base/laps.h"
#include "base/monotonic.h"
#include "base/plural.h"
#include "base/thread.h"
#include "convolve/convolver_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The convolver on the control thread: its sides (the requested backend, and the CPU as its
 * standby) and the masks prepared for both. */

static const double GPU_SHARE = 0.6; /* part of a live block's time after which the GPU is late */
static const double AFFORDABLE_SHARE = 0.3; /* part of a block's time that a parallel CPU may use */

enum { AFFORDABLE_BLOCKS = 64 /* for measuring the CPU's time */ };

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

/* Creates the main side. Errors: memory, no such backend, a first mask that it cannot take. */
static enum status convolver_create_main(struct convolver *convolver,
                                         const struct convolver_backend *backend,
                                         const struct mask *mask)
{
    return create_side(convolver, MAIN, backend, mask);
}

static enum status convolver_create_standby(struct convolver *convolver, const struct mask *mask)
{
    return create_side(convolver, STANDBY, &convolver_cpu, mask);
}

static void convolver_destroy_sides(struct convolver *convolver)
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

/* Prepares a mask for both sides. If one fails, the other's is released. */
static enum status convolver_prepare_sides(const struct convolver *convolver,
                                           const struct mask *mask, struct convolver_mask *prepared)
{
    for (enum side s = convolver_side_of(convolver); s < SIDES; s++)
        if (convolver->backend[s])
            TRY(prepare_side(convolver, s, mask, prepared));
    return STATUS_OK;
}

static void convolver_release_sides(const struct convolver *convolver,
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
    log_as_notes(true); /* the GPU's failure is reported instead */
    enum status status = convolver_create_standby(convolver, mask);
    if (status == STATUS_OK)
        status = prepare_side(convolver, STANDBY, mask, convolver->first);
    log_as_notes(false);
    return status == STATUS_OK;
}

/* ---- a standby in parallel with the GPU ---- */

/* The time that the standby takes for a block, in ns, measured on silence. This is processor time,
 * since other programs may get this thread's processor meanwhile. */
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

/* Decides whether the CPU is fast enough for the standby to run in parallel with the GPU. Live,
 * after the first mask is prepared. Errors: memory. */
static enum status convolver_try_along(struct convolver *convolver)
{
    const struct convolver_shape *shape = &convolver->shape;
    double period = (double)convolver_period(shape);
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++)
        TRY(block_init(&convolver->beside[v], shape->outputs, shape->block, "a convolver"));
    convolver->patience = (int64_t)(GPU_SHARE * period);
    convolver->along = standby_time(convolver) < AFFORDABLE_SHARE * period;
    return STATUS_OK;
}

/* The step: what both precisions share, and a GPU with a CPU in parallel. All real-time. */

HALO_REALTIME static bool runs(const struct convolver *convolver, enum side side)
{
    return side == convolver_side_of(convolver) || (side == STANDBY && convolver->along);
}

/* Whether the new mask is armed on all active sides. Then it can enter them in one block. */
HALO_REALTIME static bool is_armed(const struct convolver *convolver)
{
    bool armed = true;
    for (enum side side = MAIN; side < SIDES; side++) {
        const struct convolver_backend *backend = convolver->backend[side];
        if (backend && backend->arm && runs(convolver, side))
            armed = backend->arm(convolver->convolution[side], 1 - convolver->slot,
                                 convolver->change.to->forms[side], !convolver->shape.live) &&
                    armed;
    }
    return armed;
}

/* Whether the new mask takes part in this block. It does so from the switch's frame on, but not
 * before it is armed. Live, arming begins when the switch is requested. */
HALO_REALTIME static bool enter(struct convolver *convolver)
{
    struct convolver_switch *change = &convolver->change;
    uint64_t end = convolver->position + convolver->filter.block;
    if (convolver->begun)
        return true;
    if (change->at < convolver->position)
        change->at = convolver->position;
    bool due = change->at < end;
    if ((due || convolver->shape.live) && !is_armed(convolver)) {
        if (due)
            change->at = end;
        return false;
    }
    convolver->begun = due;
    convolver->switches += due;
    return due;
}

HALO_REALTIME void convolver_begin_switch(struct filter *filter, uint64_t frames)
{
    struct convolver *convolver = (struct convolver *)filter;
    if (atomic_load(&convolver->switching) && convolver->change.at == CONVOLVER_HELD)
        convolver->change.at = convolver->position + frames;
}

/* Reads `change.at` only after the switch has begun. Before, the control thread may write it. */
HALO_REALTIME bool convolver_has_begun(const struct filter *filter, uint64_t number, uint64_t *at)
{
    const struct convolver *convolver = (const struct convolver *)filter;
    if (convolver->switches < number)
        return false;
    *at = convolver->change.at;
    return true;
}

/* Make the new mask the current one. */
static HALO_REALTIME void convolver_finish_switch(struct convolver *convolver)
{
    convolver->current = convolver->change.to;
    convolver->slot = 1 - convolver->slot;
    convolver->switches += !convolver->begun; /* a reset came before the switch began */
    convolver->begun = convolver->entered = false;
    atomic_store(&convolver->switching, false);
}

HALO_REALTIME void convolver_set_masks(const struct convolver *convolver, enum side side,
                                       bool entering, bool all_fresh,
                                       struct convolver_slot slots[CONVOLVER_SLOTS])
{
    const struct convolver_backend *backend = convolver->backend[side];
    slots[convolver->slot] =
        (struct convolver_slot){.prepared = convolver->current->forms[side], .fresh = all_fresh};
    slots[1 - convolver->slot] = (struct convolver_slot){0};
    if (entering)
        slots[1 - convolver->slot] =
            (struct convolver_slot){.prepared = convolver->change.to->forms[side],
                                    .fresh = !convolver->entered || all_fresh};
    for (size_t v = 0; v < CONVOLVER_SLOTS && backend->arm; v++)
        if (slots[v].prepared) /* the first mask, or both masks when the standby takes over */
            (void)backend->arm(convolver->convolution[side], v, slots[v].prepared, true);
}

/* What held up the last step. If a GPU is in use, a long step counts as the GPU's. */
HALO_REALTIME static unsigned find_held_up(const struct convolver *convolver)
{
    unsigned held_up =
        convolver->backend[convolver_side_of(convolver)]->failure ? FILTER_GPU_LATE : 0;
    for (enum side side = MAIN; side < SIDES; side++) {
        const struct convolver_backend *backend = convolver->backend[side];
        if (backend && runs(convolver, side) && backend->is_worker_late &&
            backend->is_worker_late(convolver->convolution[side]))
            held_up |= FILTER_WORKER_LATE;
    }
    return held_up;
}

HALO_REALTIME const char *convolver_failure_of(const struct convolver *convolver, enum side side)
{
    const struct convolver_backend *backend = convolver->backend[side];
    return backend->failure ? backend->failure(convolver->convolution[side]) : NULL;
}

HALO_REALTIME void convolver_leave_main(struct convolver *convolver, const char *failure)
{
    snprintf(convolver->notice, sizeof convolver->notice,
             "the GPU failed (%s): continuing on the CPU from frame %llu, nothing is lost", failure,
             (unsigned long long)convolver->position);
    if (!convolver->shape.service) /* a service reports the failure once for all convolvers */
        convolver->filter.notice = convolver->notice;
    convolver->along = false;
    atomic_store(&convolver->side, STANDBY);
}

/* ---- a GPU with the CPU in parallel ---- */

HALO_REALTIME static void copy_outputs(const struct convolver *convolver, const struct block *from,
                                       float *const *out)
{
    for (size_t c = 0; c < convolver->filter.outputs; c++)
        memcpy(out[c], from->data[c], convolver->filter.block * sizeof(float));
}

/* Sends the block to the GPU, computes it on the CPU, then waits for the GPU. If the GPU is late or
 * fails, the outputs are those of the CPU. */
HALO_REALTIME static void run_beside(struct convolver *convolver, const float *const *in,
                                     float *const *out, bool entering)
{
    const struct convolver_backend *backend = convolver->backend[MAIN];
    struct convolution *convolution = convolver->convolution[MAIN];
    struct convolver_slot of_gpu[CONVOLVER_SLOTS], of_cpu[CONVOLVER_SLOTS];
    int64_t until = monotonic_ns() + convolver->patience;
    convolver_set_slots(convolver, MAIN, entering, false, out, &convolver->coming, of_gpu);
    backend->post(convolution, in, of_gpu);
    convolver_set_slots(convolver, STANDBY, entering, false, convolver->beside[0].data,
                        &convolver->beside[1], of_cpu);
    convolver->backend[STANDBY]->step(convolver->convolution[STANDBY], in, of_cpu);
    if (backend->collect(convolution, of_gpu, until))
        return;
    copy_outputs(convolver, &convolver->beside[0], out);
    if (entering)
        copy_outputs(convolver, &convolver->beside[1], convolver->coming.data);
    const char *failure = convolver_failure_of(convolver, MAIN);
    if (failure)
        convolver_leave_main(convolver, failure);
    else
        atomic_fetch_add(&convolver->late, 1);
}

/* ---- the block ---- */

HALO_REALTIME static void end_block(struct convolver *convolver, bool entering)
{
    convolver->filter.held_up = find_held_up(convolver);
    uint64_t end = convolver->position + convolver->filter.block;
    convolver->entered = entering || convolver->entered;
    if (entering && end - convolver->change.at >= convolver->change.frames)
        convolver_finish_switch(convolver);
    convolver->position = end;
}

/* The filter's process. Real-time. */
static HALO_REALTIME void convolver_process(struct filter *filter, const float *const *in,
                                            float *const *out)
{
    struct convolver *convolver = (struct convolver *)filter;
    bool entering = atomic_load(&convolver->switching) && enter(convolver);
    if (convolver->along)
        run_beside(convolver, in, out, entering);
    else
        convolver_run(convolver, in, out, entering);
    convolver_remember(convolver, in);
    if (convolver->prover)
        prover_step(convolver->prover, in, (const float *const *)out,
                    entering ? NULL : convolver->current->proved);
    if (entering)
        convolver_fade(convolver, out);
    end_block(convolver, entering);
}

static HALO_REALTIME void convolver_process_in_double(struct filter *filter,
                                                      const double *const *in, double *const *out)
{
    struct convolver *convolver = (struct convolver *)filter;
    bool entering = atomic_load(&convolver->switching) && enter(convolver);
    convolver_run_in_double(convolver, in, out, entering);
    convolver_remember_in_double(convolver, in);
    if (convolver->prover)
        prover_step_in_double(convolver->prover, in, (const double *const *)out,
                              entering ? NULL : convolver->current->proved);
    if (entering)
        convolver_fade_in_double(convolver, out);
    end_block(convolver, entering);
}

static void convolver_reset(struct filter *filter)
{
    struct convolver *convolver = (struct convolver *)filter;
    if (atomic_load(&convolver->switching))
        convolver_finish_switch(convolver);
    for (enum side s = convolver_side_of(convolver); s < SIDES; s++)
        if (convolver->backend[s])
            convolver->backend[s]->reset(convolver->convolution[s]);
    if (convolver->backend[STANDBY] || convolver->kept_mask)
        (convolver_is_in_double(convolver) ? convolver_reset_history_in_double
                                           : convolver_reset_history)(convolver);
    if (convolver->prover)
        prover_reset(convolver->prover);
    convolver->position = 0;
}

static void mask_release(const struct convolver *convolver, struct convolver_mask *mask)
{
    convolver_release_sides(convolver, mask);
    proved_mask_release(mask->proved);
    free(mask);
}

static void convolver_destroy(struct filter *filter)
{
    struct convolver *convolver = (struct convolver *)filter;
    while (convolver->masks)
        convolver_release(filter, convolver->masks);
    convolver_destroy_sides(convolver);
    prover_destroy(convolver->prover);
    (convolver_is_in_double(convolver) ? convolver_free_history_in_double
                                       : convolver_free_history)(convolver);
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++)
        block_free(&convolver->beside[v]);
    block_free(&convolver->coming);
    block_free_in_double(&convolver->coming_in_double);
    free(convolver);
}

static const struct filter_kind convolver_kind = {.name = "convolver",
                                                  .process = convolver_process,
                                                  .reset = convolver_reset,
                                                  .destroy = convolver_destroy};

static const struct filter_kind kind_in_double = {.name = "convolver",
                                                  .process_in_double = convolver_process_in_double,
                                                  .reset = convolver_reset,
                                                  .destroy = convolver_destroy};

static enum status prepare(struct convolver *convolver, const struct mask *mask,
                           struct convolver_mask **result)
{
    struct convolver_mask *prepared = calloc(1, sizeof *prepared);
    if (!prepared)
        return fail_memory("a mask");
    int64_t lap = lap_begin();
    enum status status = convolver_prepare_sides(convolver, mask, prepared);
    if (status == STATUS_OK && convolver->prover)
        status = prover_add(convolver->prover, mask, &prepared->proved);
    lap_end(LAP_FORM, lap);
    if (status != STATUS_OK) {
        mask_release(convolver, prepared);
        return status;
    }
    prepared->next = convolver->masks;
    convolver->masks = prepared;
    *result = prepared;
    return STATUS_OK;
}

enum status fail_no_cuda(void)
{
    return fail(CAUSE_NO_GPU, "this build has no CUDA (halo --version says why); install the CUDA "
                              "Toolkit and build again, or use --backend cpu");
}

static enum status keep_history(struct convolver *convolver)
{
    return (convolver_is_in_double(convolver) ? convolver_keep_history_in_double
                                              : convolver_keep_history)(convolver);
}

bool convolver_needs_mask(const struct filter *filter)
{
    const struct convolver *convolver = (const struct convolver *)filter;
    return convolver->kept_mask && !convolver->backend[STANDBY];
}

static enum status create_prover(struct convolver *convolver,
                                 const struct convolver_settings *settings)
{
    const struct convolver_shape *shape = &convolver->shape;
    const struct prover_settings prover = {.inputs = shape->inputs,
                                           .outputs = shape->outputs,
                                           .taps = shape->taps,
                                           .block = shape->block,
                                           .rate = shape->rate,
                                           .frames = settings->proof.frames,
                                           .live = settings->live};
    return settings->proof.wanted ? prover_create(&prover, &convolver->prover) : STATUS_OK;
}

static enum status fill(struct convolver *convolver, const struct convolver_backend *backend,
                        const struct convolver_settings *settings, const struct mask *mask)
{
    TRY(create_prover(convolver, settings));
    TRY(convolver_create_main(convolver, backend, mask));
    backend = convolver->backend[MAIN];
    bool stands_by = backend->failure && !settings->alone;
    bool in_files = settings->mask_stays && !convolver->shape.live && settings->taps == 0;
    if (stands_by)
        TRY(keep_history(convolver));
    if (stands_by && in_files)
        convolver->kept_mask = mask;
    else if (stands_by)
        TRY(convolver_create_standby(convolver, mask));
    TRY(prepare(convolver, mask, &convolver->first));
    convolver->current = convolver->first;
    if (stands_by && settings->live && backend->collect)
        TRY(convolver_try_along(convolver));
    return STATUS_OK;
}

static struct convolver_shape shape_for(const struct convolver_settings *settings,
                                        const struct mask *mask)
{
    return (struct convolver_shape){.precision = settings->precision,
                                    .inputs = mask->inputs,
                                    .outputs = mask->outputs,
                                    .taps =
                                        settings->taps > mask->taps ? settings->taps : mask->taps,
                                    .rate = settings->rate,
                                    .block = settings->block,
                                    .frames = settings->frames,
                                    .live = settings->live || settings->gpu.mode != GPU_MODE_AUTO,
                                    .alike = settings->alike,
                                    .paths = mask->path_count,
                                    .has_choices = settings->taps > 0,
                                    .gpu = settings->gpu,
                                    .service = settings->service,
                                    .workers = settings->workers};
}

/* The backend of the service. NULL: there is no service, or it does not take the convolver. */
static const struct convolver_backend *find_service(const struct convolver_settings *settings,
                                                    const struct mask *mask)
{
    const struct convolver_service *service = settings->service;
    const struct convolver_shape shape = shape_for(settings, mask);
    return service && service->serves(service, &shape, mask) ? service->backend : NULL;
}

enum status convolver_create_on(const struct convolver_backend *backend,
                                const struct convolver_settings *settings, const struct mask *mask,
                                struct filter **result)
{
    struct convolver *convolver = calloc(1, sizeof *convolver);
    if (!convolver)
        return fail_memory("a convolver");
    convolver->shape = shape_for(settings, mask);
    convolver->filter = (struct filter){.kind = convolver_is_in_double(convolver) ? &kind_in_double
                                                                                  : &convolver_kind,
                                        .inputs = mask->inputs,
                                        .outputs = mask->outputs,
                                        .block = settings->block,
                                        .latency = mask->origin,
                                        .tail = convolver->shape.taps - 1};
    convolver->origin = mask->origin;
    enum status status = fill(convolver, backend, settings, mask);
    if (status != STATUS_OK) {
        convolver_destroy(&convolver->filter);
        return status;
    }
    *result = &convolver->filter;
    return STATUS_OK;
}

enum status convolver_create(const struct convolver_settings *settings, const struct mask *mask,
                             struct filter **result)
{
    char reason[sizeof((struct convolver *)NULL)->reason];
    const struct convolver_backend *backend = find_service(settings, mask);
    if (backend)
        snprintf(reason, sizeof reason, "with other sounds in batches");
    else
        backend = convolver_choose(settings, mask, reason, sizeof reason);
    if (!backend)
        return fail(CAUSE_USAGE, "unknown backend '%s'", settings->backend);
    bool free_to_choose = backend != &convolver_cpu && *reason;
    log_as_notes(free_to_choose);
    enum status status = convolver_create_on(backend, settings, mask, result);
    log_as_notes(false);
    if (status != STATUS_OK && free_to_choose) {
        snprintf(reason, sizeof reason, "the GPU is not usable");
        status = convolver_create_on(&convolver_cpu, settings, mask, result);
    }
    if (status == STATUS_OK)
        memcpy(((struct convolver *)*result)->reason, reason, sizeof reason);
    return status;
}

const char *convolver_backend(const struct filter *filter)
{
    const struct convolver *convolver = (const struct convolver *)filter;
    return convolver->backend[convolver_side_of(convolver)]->name;
}

const char *convolver_algorithm(const struct filter *filter)
{
    const struct convolver *convolver = (const struct convolver *)filter;
    return convolver->algorithm[convolver_side_of(convolver)];
}

const char *convolver_reason(const struct filter *filter)
{
    return ((const struct convolver *)filter)->reason;
}

uint64_t convolver_late(const struct filter *filter)
{
    return atomic_load(&((const struct convolver *)filter)->late);
}

uint64_t convolver_failures(const struct filter *filter)
{
    return convolver_is_replaced((const struct convolver *)filter);
}

void convolver_prove(struct filter *filter, struct proof *proof)
{
    prover_finish(((struct convolver *)filter)->prover, proof);
}

enum status convolver_prepare(struct filter *filter, const struct mask *mask,
                              struct convolver_mask **prepared)
{
    struct convolver *convolver = (struct convolver *)filter;
    if (mask->inputs != filter->inputs || mask->outputs != filter->outputs)
        return fail(
            CAUSE_UNSUPPORTED,
            "cannot switch to mask %s: it has %zu input%s and %zu output%s, not %zu and %zu",
            mask->name, mask->inputs, plural_s(mask->inputs), mask->outputs,
            plural_s(mask->outputs), filter->inputs, filter->outputs);
    if (mask->taps > convolver->shape.taps || mask->origin != convolver->origin)
        return fail(CAUSE_UNSUPPORTED,
                    "cannot switch to mask %s: its %zu taps with origin %zu do not fit the "
                    "convolver's %zu with origin %zu",
                    mask->name, mask->taps, mask->origin, convolver->shape.taps, convolver->origin);
    return prepare(convolver, mask, prepared);
}

struct convolver_mask *convolver_first_mask(const struct filter *filter)
{
    return ((const struct convolver *)filter)->first;
}

void convolver_release(struct filter *filter, struct convolver_mask *prepared)
{
    struct convolver *convolver = (struct convolver *)filter;
    struct convolver_mask **at = &convolver->masks;
    while (*at && *at != prepared)
        at = &(*at)->next;
    if (!prepared || !*at)
        return;
    *at = prepared->next;
    mask_release(convolver, prepared);
}

static enum status make_coming(struct convolver *convolver)
{
    const struct filter *filter = &convolver->filter;
    if (convolver->coming.data || convolver->coming_in_double.data)
        return STATUS_OK;
    if (convolver_is_in_double(convolver))
        return block_init_in_double(&convolver->coming_in_double, filter->outputs, filter->block,
                                    "a convolver");
    return block_init(&convolver->coming, filter->outputs, filter->block, "a convolver");
}

enum status convolver_switch(struct filter *filter, const struct convolver_switch *to)
{
    struct convolver *convolver = (struct convolver *)filter;
    if (atomic_load(&convolver->switching))
        return fail(CAUSE_BUSY, "cannot switch masks: the previous switch is still under way");
    /* The step does not use `change` until `switching` is set. */
    TRY(make_coming(convolver));
    convolver->change = *to;
    atomic_store(&convolver->switching, true);
    return STATUS_OK;
}

bool convolver_is_within_switch(const struct filter *filter, uint64_t *at)
{
    const struct convolver *convolver = (const struct convolver *)filter;
    *at = convolver->change.at;
    return atomic_load(&convolver->switching) && convolver->begun;
}

HALO_REALTIME bool convolver_switched(const struct filter *filter, uint64_t *at)
{
    const struct convolver *convolver = (const struct convolver *)filter;
    bool done = !atomic_load(&convolver->switching);
    if (done && at)
        *at = convolver->change.at;
    return done;
}
