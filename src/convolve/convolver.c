#include "convolve/convolver_service.h"
#include "convolve/convolver_state.h"

#include "base/laps.h"
#include "base/plural.h"
#include "base/thread_usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
                                    .reproducible = settings->reproducible,
                                    .alike = settings->alike,
                                    .paths = mask->path_count,
                                    .has_choices = settings->taps > 0,
                                    .gpu = settings->gpu,
                                    .service = settings->service,
                                    .workers = settings->workers};
}

/* The backend of the service, if it takes the convolver; NULL: none. */
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
    /* The step does not use it until `switching` is set. */
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
