#include "convolver.h"

#include "audio.h"
#include "partition.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A new backend is one file and one row; `auto` takes the first. */
static const struct convolver_backend *const backends[] = {
    &convolver_fft,
    &convolver_cuda,
    &convolver_direct,
};
enum { BACKENDS = sizeof backends / sizeof *backends };

struct convolver_change {
    const struct prepared *mask; /* on the way in the new one, on the way out the retired one */
    uint64_t at;
    uint64_t fade;
};

struct convolver {
    struct filter filter;
    const struct convolver_backend *backend;
    struct convolver_shape shape;
    size_t origin;
    struct convolution *convolution;

    /* The step's own. */
    const struct prepared *current;
    size_t voice;                    /* of the current mask; a fade's new one has the other */
    uint64_t position;               /* frames that came in */
    struct convolver_change *change; /* under way */
    bool begun;                      /* the change's mask sounds already */
    struct block faded; /* the new mask's output during a fade; made for the first one */

    /* One change crosses to the step and back. */
    _Atomic(struct convolver_change *) armed;
    _Atomic(struct convolver_change *) retired;
    bool changing; /* control thread: sent and not collected */
};

const char *convolver_backend_name(size_t index)
{
    return index < BACKENDS ? backends[index]->name : NULL;
}

static const struct convolver_backend *backend_named(const char *name)
{
    if (strcmp(name, "auto") == 0)
        return backends[0];
    for (size_t i = 0; i < BACKENDS; i++)
        if (strcmp(backends[i]->name, name) == 0)
            return backends[i];
    return NULL;
}

bool convolver_backend_exists(const char *name)
{
    return backend_named(name) != NULL;
}

/* ---- the step ---- */

static float weight_at(const struct convolver_change *change, uint64_t frame)
{
    if (frame < change->at)
        return 0;
    if (frame - change->at >= change->fade)
        return 1;
    return (float)((double)(frame - change->at) / (double)change->fade);
}

static void mix(const struct convolver *convolver, float *const *out)
{
    const struct filter *filter = &convolver->filter;
    for (size_t i = 0; i < filter->block; i++) {
        float weight = weight_at(convolver->change, convolver->position + i);
        if (weight == 0)
            continue;
        for (size_t c = 0; c < filter->outputs; c++) {
            float old = out[c][i], new = convolver->faded.data[c][i];
            out[c][i] = weight == 1 ? new : old + weight *(new - old);
        }
    }
}

/* The change that has begun to sound by the end of this block, if any; `fresh` where
 * it does so now. */
static struct convolver_change *take_change(struct convolver *convolver, bool *fresh)
{
    *fresh = false;
    if (!convolver->change) {
        convolver->change = atomic_exchange(&convolver->armed, NULL);
        if (convolver->change && convolver->change->at < convolver->position)
            convolver->change->at = convolver->position;
        convolver->begun = false;
    }
    uint64_t end = convolver->position + convolver->filter.block;
    if (!convolver->change || convolver->change->at >= end)
        return NULL;
    *fresh = !convolver->begun;
    convolver->begun = true;
    return convolver->change;
}

static void finish_change(struct convolver *convolver)
{
    struct convolver_change *change = convolver->change;
    const struct prepared *old = convolver->current;
    convolver->current = change->mask;
    convolver->voice = 1 - convolver->voice;
    convolver->change = NULL;
    change->mask = old;
    atomic_store(&convolver->retired, change);
}

static void convolver_process(struct filter *filter, const float *const *in, float *const *out)
{
    struct convolver *convolver = (struct convolver *)filter;
    const struct convolver_backend *backend = convolver->backend;
    struct convolver_voice voices[CONVOLVER_VOICES] = {0};
    bool fresh;
    struct convolver_change *change = take_change(convolver, &fresh);
    voices[convolver->voice] = (struct convolver_voice){convolver->current, false, out};
    if (change)
        voices[1 - convolver->voice] =
            (struct convolver_voice){change->mask, fresh, convolver->faded.data};
    backend->step(convolver->convolution, in, voices);
    uint64_t end = convolver->position + filter->block;
    if (change) {
        mix(convolver, out);
        if (end - change->at >= change->fade)
            finish_change(convolver);
    }
    convolver->position = end;
    if (backend->failure)
        filter->failure = backend->failure(convolver->convolution);
}

/* ---- the control thread ---- */

static void convolver_reset(struct filter *filter)
{
    struct convolver *convolver = (struct convolver *)filter;
    if (convolver->change)
        finish_change(convolver); /* nothing is left to fade from */
    convolver->backend->reset(convolver->convolution);
    convolver->position = 0;
}

static void change_free(const struct convolver *convolver, struct convolver_change *change)
{
    if (!change)
        return;
    convolver->backend->release((struct prepared *)change->mask);
    free(change);
}

static void convolver_destroy(struct filter *filter)
{
    struct convolver *convolver = (struct convolver *)filter;
    change_free(convolver, convolver->change);
    change_free(convolver, atomic_load(&convolver->armed));
    change_free(convolver, atomic_load(&convolver->retired));
    if (convolver->current)
        convolver->backend->release((struct prepared *)convolver->current);
    if (convolver->convolution)
        convolver->backend->destroy(convolver->convolution);
    block_free(&convolver->faded);
    free(convolver);
}

static const struct filter_kind convolver_kind = {
    .name = "convolver",
    .process = convolver_process,
    .reset = convolver_reset,
    .destroy = convolver_destroy,
};

static enum status prepare(const struct convolver *convolver, const struct mask *mask,
                           const struct prepared **result)
{
    struct prepared *prepared;
    enum status status = convolver->backend->prepare(convolver->convolution, mask, &prepared);
    if (status == STATUS_OK)
        *result = prepared;
    return status;
}

static enum status fill(struct convolver *convolver, const struct convolver_settings *settings,
                        const struct mask *mask)
{
    convolver->backend = backend_named(settings->backend);
    if (!convolver->backend)
        return fail(STATUS_USAGE, "unknown backend '%s'", settings->backend);
    enum status status = convolver->backend->create(&convolver->shape, &convolver->convolution);
    if (status == STATUS_OK)
        status = prepare(convolver, mask, &convolver->current);
    return status;
}

enum status convolver_create(const struct convolver_settings *settings, const struct mask *mask,
                             struct filter **result)
{
    struct convolver *convolver = calloc(1, sizeof *convolver);
    if (!convolver)
        return fail_memory("a convolver");
    size_t taps = settings->taps > mask->taps ? settings->taps : mask->taps;
    convolver->filter = (struct filter){
        .kind = &convolver_kind,
        .inputs = mask->inputs,
        .outputs = mask->outputs,
        .block = settings->block,
        .latency = mask->origin,
        .tail = taps - 1,
    };
    convolver->origin = mask->origin;
    convolver->shape = (struct convolver_shape){
        .inputs = mask->inputs,
        .outputs = mask->outputs,
        .taps = taps,
        .block = settings->block,
        .live = settings->live,
        .gpu = settings->gpu,
        .workers = settings->workers,
    };
    enum status status = fill(convolver, settings, mask);
    if (status != STATUS_OK) {
        convolver_destroy(&convolver->filter);
        return status;
    }
    *result = &convolver->filter;
    return STATUS_OK;
}

const char *convolver_backend(const struct filter *filter)
{
    return ((const struct convolver *)filter)->backend->name;
}

const char *convolver_algorithm(const struct filter *filter)
{
    const struct convolver *convolver = (const struct convolver *)filter;
    return convolver->backend->algorithm(convolver->convolution);
}

enum status convolver_change_begin(struct filter *filter, const struct mask *mask, uint64_t at,
                                   uint64_t fade)
{
    struct convolver *convolver = (struct convolver *)filter;
    if (mask->inputs != filter->inputs || mask->outputs != filter->outputs)
        return fail(STATUS_FAILED,
                    "cannot change to mask %s: it has %zu inputs and %zu outputs, "
                    "the one before %zu and %zu",
                    mask->name, mask->inputs, mask->outputs, filter->inputs, filter->outputs);
    if (mask->taps > convolver->shape.taps || mask->origin != convolver->origin)
        return fail(STATUS_FAILED,
                    "cannot change to mask %s: its %zu taps from tap %zu on do not "
                    "fit the %zu from tap %zu on that were prepared for",
                    mask->name, mask->taps, mask->origin, convolver->shape.taps, convolver->origin);
    if (!convolver_change_collect(filter))
        return fail(STATUS_FAILED, "cannot change to mask %s: the change before is not finished",
                    mask->name);
    struct convolver_change *change = calloc(1, sizeof *change);
    if (!change)
        return fail_memory("a change of mask");
    enum status status = STATUS_OK;
    if (!convolver->faded.data) /* no change is under way: the step does not look at it */
        status = block_init(&convolver->faded, filter->outputs, filter->block, "a convolver");
    if (status == STATUS_OK)
        status = prepare(convolver, mask, &change->mask);
    if (status != STATUS_OK) {
        free(change);
        return status;
    }
    change->at = at;
    change->fade = fade;
    convolver->changing = true;
    atomic_store(&convolver->armed, change);
    return STATUS_OK;
}

bool convolver_change_collect(struct filter *filter)
{
    struct convolver *convolver = (struct convolver *)filter;
    if (!convolver->changing)
        return true;
    struct convolver_change *change = atomic_exchange(&convolver->retired, NULL);
    if (!change)
        return false;
    change_free(convolver, change);
    convolver->changing = false;
    return true;
}

size_t convolver_wish(const struct mask *mask, size_t threads, size_t most)
{
    return partition_wish(mask->taps, threads, most);
}

/* ---- for the backends ---- */

enum status path_table_init(struct path_table *table, const struct mask *mask)
{
    table->first = calloc(mask->outputs + 1, sizeof *table->first);
    table->paths = calloc(mask->path_count + 1, sizeof *table->paths);
    if (!table->first || !table->paths) {
        path_table_free(table);
        return fail_memory("a mask");
    }
    for (size_t p = 0; p < mask->path_count; p++)
        table->first[mask->paths[p].output + 1]++;
    for (size_t o = 0; o < mask->outputs; o++)
        table->first[o + 1] += table->first[o];
    for (size_t p = mask->path_count; p-- > 0;) {
        /* Backwards, so that paths to one output keep their order. */
        size_t output = mask->paths[p].output;
        size_t slot = table->first[output + 1] - 1;
        table->paths[slot] = mask->paths[p];
        table->first[output + 1] = slot;
    }
    /* Each first[o + 1] has come down to where its output begins: shift back. */
    for (size_t o = 0; o < mask->outputs; o++)
        table->first[o] = table->first[o + 1];
    table->first[mask->outputs] = mask->path_count;
    return STATUS_OK;
}

void path_table_free(struct path_table *table)
{
    free(table->first);
    free(table->paths);
    *table = (struct path_table){0};
}
