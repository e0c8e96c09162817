/* The control side of libhalo's convolver. */
#include "api/api_convolver.h"

#include "api/api_call.h"
#include "api/api_mask.h"
#include "base/plural.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_MOST = 1 << 20, THREADS_MOST = 1024 };

static const size_t taps_most = (size_t)1 << 32;

static void lock_gpu(const struct halo_convolver *convolver, int (*act)(pthread_mutex_t *lock))
{
    if (convolver->on_gpu)
        (void)act(&api_gpu_lock);
}

static enum status check_options(const struct halo_convolver_options *options)
{
    bool known = !options->backend;
    for (size_t i = 0; convolver_choice_name(i) && !known; i++)
        known = strcmp(convolver_choice_name(i), options->backend) == 0;
    if (!known)
        return fail(CAUSE_USAGE, "unknown backend '%s'; use auto, cpu, cuda or direct",
                    options->backend);
    if (options->block > BLOCK_MOST)
        return fail(CAUSE_USAGE,
                    "cannot make a convolver for blocks of %zu frames: 1 to %d are "
                    "possible",
                    options->block, BLOCK_MOST);
    if (options->taps > taps_most)
        return fail(CAUSE_USAGE, "cannot make a convolver for %zu taps: at most %zu are possible",
                    options->taps, taps_most);
    if (options->threads > THREADS_MOST)
        return fail(CAUSE_USAGE, "cannot make a convolver with %zu threads: %d are possible",
                    options->threads, THREADS_MOST);
    return STATUS_OK;
}

static enum status make_rows(struct halo_convolver *convolver)
{
    size_t inputs = convolver->inputs, outputs = convolver->outputs;
    convolver->call_in = calloc(inputs, sizeof *convolver->call_in);
    convolver->in_rows = calloc(inputs, sizeof *convolver->in_rows);
    convolver->now_rows = calloc(inputs, sizeof *convolver->now_rows);
    convolver->call_out = calloc(outputs, sizeof *convolver->call_out);
    convolver->part_rows = calloc(outputs, sizeof *convolver->part_rows);
    if (!convolver->call_in || !convolver->in_rows || !convolver->now_rows ||
        !convolver->call_out || !convolver->part_rows)
        return fail_memory("a convolver");
    TRY(block_init(&convolver->in, inputs, convolver->split + convolver->block, "a convolver"));
    TRY(block_init(&convolver->ready, outputs, convolver->block, "a convolver"));
    return block_init(&convolver->coming, outputs, convolver->block, "a convolver");
}

/* In graph mode as the plugins (processor.c); blocks that are longer than its are no streams. */
static enum gpu_mode gpu_mode(const struct halo_convolver *convolver)
{
    bool is_stream = convolver->on_gpu && convolver->block <= GPU_LIVE_BLOCK_MOST;
    return is_stream ? GPU_MODE_GRAPH : GPU_MODE_AUTO;
}

static enum status make_filter(struct halo_convolver *convolver,
                               const struct halo_convolver_options *options,
                               const struct halo_mask *mask)
{
    struct mask *tail = NULL;
    if (convolver->taps <= convolver->split)
        return STATUS_OK;
    TRY(split_tail(mask->mask, convolver->split, &tail));
    const struct convolver_settings settings = {
        .backend = options->backend ? options->backend : "auto",
        .rate = mask->rate,
        .block = convolver->block,
        .taps = convolver->taps - convolver->split,
        .live = true,
        .gpu.mode = gpu_mode(convolver),
        .workers = convolver->workers,
    };
    lock_gpu(convolver, pthread_mutex_lock);
    enum status status = convolver_create(&settings, tail, &convolver->filter);
    lock_gpu(convolver, pthread_mutex_unlock);
    mask_destroy(tail);
    if (status == STATUS_OK)
        convolver->current = convolver_first_mask(convolver->filter);
    return status;
}

static enum status fill(struct halo_convolver *convolver,
                        const struct halo_convolver_options *options, const struct halo_mask *mask)
{
    const struct mask *own = mask->mask;
    convolver->inputs = own->inputs;
    convolver->outputs = own->outputs;
    convolver->taps = options->taps > own->taps ? options->taps : own->taps;
    convolver->split = options->block ? 0 : SPLIT_BLOCK;
    convolver->block = options->block ? options->block : SPLIT_BLOCK;
    convolver->on_gpu = options->backend && strcmp(options->backend, "cuda") == 0;
    if (convolver->on_gpu && convolver->taps <= convolver->split)
        convolver->taps = convolver->split + 1; /* its part, however short the masks are */
    TRY(workers_create(options->threads ? options->threads : 1, &convolver->workers));
    TRY(make_rows(convolver));
    if (convolver->split)
        TRY(split_head_init(&convolver->heads[0], own, 0));
    return make_filter(convolver, options, mask);
}

enum halo_status halo_convolver_create(const struct halo_mask *mask,
                                       const struct halo_convolver_options *given,
                                       struct halo_convolver **result, struct halo_error *error)
{
    struct api_call call;
    struct halo_convolver_options options;
    struct halo_convolver *convolver = NULL;
    api_begin(&call);
    enum status status =
        api_read_struct(given, &options, sizeof options, "struct halo_convolver_options");
    if (status == STATUS_OK && !mask)
        status = fail(CAUSE_USAGE, "cannot make a convolver without a mask");
    if (status == STATUS_OK)
        status = check_options(&options);
    if (status == STATUS_OK && !(convolver = calloc(1, sizeof *convolver)))
        status = fail_memory("a convolver");
    if (status == STATUS_OK)
        status = fill(convolver, &options, mask);
    enum halo_status code = api_end(&call, status, error);
    if (code == HALO_OK)
        *result = convolver;
    else
        halo_convolver_destroy(convolver);
    return code;
}

void halo_convolver_destroy(struct halo_convolver *convolver)
{
    struct api_call call;
    if (!convolver)
        return;
    api_begin(&call);
    lock_gpu(convolver, pthread_mutex_lock);
    filter_destroy(convolver->filter);
    lock_gpu(convolver, pthread_mutex_unlock);
    workers_destroy(convolver->workers);
    for (size_t v = 0; v < CONVOLVER_SLOTS; v++)
        split_head_free(&convolver->heads[v]);
    block_free(&convolver->in);
    block_free(&convolver->ready);
    block_free(&convolver->coming);
    free(convolver->call_in);
    free(convolver->call_out);
    free(convolver->in_rows);
    free(convolver->now_rows);
    free(convolver->part_rows);
    free(convolver);
    (void)api_end(&call, STATUS_OK, NULL);
}

/* ---- switches ---- */

static enum status check_fit(const struct halo_convolver *convolver, const struct halo_mask *mask)
{
    if (!mask)
        return fail(CAUSE_USAGE, "cannot switch masks: there is none");
    const struct mask *own = mask->mask;
    if (own->inputs != convolver->inputs || own->outputs != convolver->outputs)
        return fail(
            CAUSE_USAGE,
            "cannot switch to mask %s: it has %zu input%s and %zu output%s, not %zu and %zu",
            own->name, own->inputs, plural_s(own->inputs), own->outputs, plural_s(own->outputs),
            convolver->inputs, convolver->outputs);
    if (own->taps > convolver->taps)
        return fail(CAUSE_USAGE,
                    "cannot switch to mask %s: it has %zu tap%s, and the convolver is made for %zu",
                    own->name, own->taps, plural_s(own->taps), convolver->taps);
    return STATUS_OK;
}

/* The filter's form of the mask; NULL: there is no filter. */
static enum status prepare(struct halo_convolver *convolver, const struct mask *mask,
                           struct convolver_mask **prepared)
{
    struct mask *tail = NULL;
    *prepared = NULL;
    if (!convolver->filter)
        return STATUS_OK;
    convolver_release(convolver->filter, convolver->retired);
    convolver->retired = NULL;
    TRY(split_tail(mask, convolver->split, &tail));
    lock_gpu(convolver, pthread_mutex_lock);
    enum status status = convolver_prepare(convolver->filter, tail, prepared);
    lock_gpu(convolver, pthread_mutex_unlock);
    mask_destroy(tail);
    return status;
}

/* The step may see the filter's switch as soon as it is asked for: by then it must know the head.
 */
static enum status ask_for(struct halo_convolver *convolver, const struct convolver_switch *change)
{
    struct convolver_switch tail = *change;
    if (convolver->split) {
        convolver->change = *change;
        atomic_store(&convolver->switching, true);
        tail.at = change->at > SPLIT_BLOCK ? change->at - SPLIT_BLOCK : 0;
    }
    if (!convolver->filter)
        return STATUS_OK;
    enum status status = convolver_switch(convolver->filter, &tail);
    if (status != STATUS_OK)
        atomic_store(&convolver->switching, false);
    return status;
}

static enum status switch_to(struct halo_convolver *convolver, const struct mask *mask, uint64_t at,
                             uint64_t frames)
{
    struct convolver_mask *prepared;
    struct split_head *head = &convolver->heads[1 - convolver->slot];
    TRY(prepare(convolver, mask, &prepared));
    split_head_free(head);
    enum status status = convolver->split ? split_head_init(head, mask, 0) : STATUS_OK;
    const struct convolver_switch change = {
        .to = prepared, .at = at, .frames = frames, .shape = SWITCH_FADE};
    convolver->number++;
    if (status == STATUS_OK)
        status = ask_for(convolver, &change);
    if (status == STATUS_OK) {
        convolver->retired = convolver->current;
        convolver->current = prepared;
        return STATUS_OK;
    }
    convolver->number--;
    if (convolver->filter)
        convolver_release(convolver->filter, prepared);
    return status;
}

enum halo_status halo_convolver_switch(struct halo_convolver *convolver,
                                       const struct halo_mask *mask, uint64_t at, uint64_t fade,
                                       struct halo_error *error)
{
    struct api_call call;
    api_begin(&call);
    enum status status = !halo_convolver_switched(convolver, NULL)
                             ? fail(CAUSE_BUSY, "cannot switch masks: the previous switch is "
                                                "still under way")
                             : check_fit(convolver, mask);
    if (status == STATUS_OK)
        status = switch_to(convolver, mask->mask, at, fade);
    return api_end(&call, status, error);
}

bool halo_convolver_switched(const struct halo_convolver *convolver, uint64_t *at)
{
    if (!convolver->split)
        return convolver_switched(convolver->filter, at);
    bool done = !atomic_load(&convolver->switching);
    if (done && at)
        *at = convolver->change.at;
    return done;
}

void halo_convolver_reset(struct halo_convolver *convolver)
{
    struct api_call call;
    api_begin(&call);
    if (convolver->filter)
        filter_reset(convolver->filter);
    if (atomic_load(&convolver->switching))
        convolver->slot = 1 - convolver->slot;
    convolver->begun = false;
    convolver->position = convolver->at = 0;
    block_silence(&convolver->in, 0, convolver->split + convolver->block);
    block_silence(&convolver->ready, 0, convolver->block);
    atomic_store(&convolver->switching, false);
    (void)api_end(&call, STATUS_OK, NULL);
}

const char *halo_convolver_backend(const struct halo_convolver *convolver)
{
    return convolver->filter ? convolver_backend(convolver->filter) : "direct";
}

const char *halo_convolver_algorithm(const struct halo_convolver *convolver)
{
    return convolver->filter ? convolver_algorithm(convolver->filter) : "direct form";
}
