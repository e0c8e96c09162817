/* A convolver for users of libhalo.
 *
 * If calls may have any number of frames, the mask is split (split_head.h). The first taps (the
 * head) are computed directly; `filter` computes the others, whenever SPLIT_BLOCK frames are
 * complete. Its output is due in the next SPLIT_BLOCK frames. If all calls have the same length,
 * there is no head: `filter` has all taps, and its block is the call's length.
 *
 * A switch of a split convolver has two parts: a switch of the filter, which computes SPLIT_BLOCK
 * frames ahead, and a crossfade of heads. Both have the same weights at the same frames. */
#include "api/api_call.h"
#include "base/plural.h"
#include "base/realtime.h"
#include "convolve/convolver.h"
#include "convolve/split_head.h"
#include "convolve/switch_weights.h"

#include <halo/halo.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct halo_convolver {
    size_t inputs, outputs;
    size_t taps;  /* most taps that a mask may have */
    size_t split; /* taps of a head: SPLIT_BLOCK, or 0 if there are no heads */
    size_t block; /* block of the filter, in frames */
    bool on_gpu;
    struct workers *workers;
    struct filter *filter; /* NULL: no mask has more taps than the head */

    struct split_head heads[CONVOLVER_SLOTS];
    struct block in;     /* `split` frames of history, then the current block */
    struct block ready;  /* output of the filter for the current block */
    struct block coming; /* output of the new head during a switch */
    /* pointers to the channels of a call, of a block, and of a part of a block */
    const float **call_in;
    float **call_out;
    const float **in_rows;
    const float **now_rows;
    float **part_rows;
    size_t at;         /* frames of the current block so far */
    uint64_t position; /* input frames so far */

    size_t slot; /* index of the current head */
    bool begun;  /* the crossfade to the new head has begun */

    /* Used by the control thread while `switching` is false, else by the processing thread. */
    struct convolver_switch change;
    uint64_t number; /* number of the filter's switch that belongs to `change` */
    _Atomic bool switching;

    struct convolver_mask *current, *retired; /* masks of the filter; used by the control thread */
};

/* ---- the real-time step ---- */

/* Whether the crossfade of heads can begin: the filter has begun its switch, one block ahead. */
HALO_REALTIME static bool has_begun(struct halo_convolver *convolver)
{
    struct convolver_switch *change = &convolver->change;
    uint64_t at;
    if (!convolver->filter) {
        change->at = change->at > convolver->position ? change->at : convolver->position;
        return true;
    }
    if (!convolver_has_begun(convolver->filter, convolver->number, &at))
        return false;
    change->at = at + SPLIT_BLOCK;
    return true;
}

/* Called at the end of a block, when the filter's output for the next block is known. */
HALO_REALTIME static void look_for_switch(struct halo_convolver *convolver)
{
    if (!convolver->begun && atomic_load(&convolver->switching))
        convolver->begun = has_begun(convolver);
}

HALO_REALTIME static void end_switch(struct halo_convolver *convolver)
{
    const struct convolver_switch *change = &convolver->change;
    if (!convolver->begun || convolver->position < change->at ||
        convolver->position - change->at < change->frames)
        return;
    convolver->slot = 1 - convolver->slot;
    convolver->begun = false;
    atomic_store(&convolver->switching, false);
}

/* Writes both heads, weighted, to part_rows. The filter crossfades itself; its output is added. */
HALO_REALTIME static void write_both(const struct halo_convolver *convolver, size_t frames)
{
    float *const *out = convolver->part_rows;
    split_head_write(&convolver->heads[convolver->slot], convolver->now_rows, NULL, 0, frames, out);
    split_head_write(&convolver->heads[1 - convolver->slot], convolver->now_rows, NULL, 0, frames,
                     convolver->coming.data);
    for (size_t i = 0; i < frames; i++) {
        struct switch_weights weights =
            switch_weights_at(&convolver->change, convolver->position + i);
        for (size_t c = 0; c < convolver->outputs; c++)
            out[c][i] = weights.old * out[c][i] + weights.new * convolver->coming.data[c][i] +
                        convolver->ready.data[c][convolver->at + i];
    }
}

HALO_REALTIME static void feed(struct halo_convolver *convolver)
{
    for (size_t c = 0; c < convolver->inputs; c++)
        convolver->in_rows[c] = convolver->in.data[c] + convolver->split;
    if (convolver->filter)
        filter_process(convolver->filter, convolver->in_rows, convolver->ready.data);
}

HALO_REALTIME static void end_block(struct halo_convolver *convolver)
{
    feed(convolver);
    for (size_t c = 0; c < convolver->inputs; c++)
        memcpy(convolver->in.data[c], convolver->in.data[c] + SPLIT_BLOCK,
               SPLIT_BLOCK * sizeof(float));
    convolver->at = 0;
    look_for_switch(convolver);
}

/* Processes the frames from `done` on; they lie within the current block. */
HALO_REALTIME static void run_part(struct halo_convolver *convolver, const float *const *in,
                                   float *const *out, size_t done, size_t frames)
{
    size_t now = convolver->split + convolver->at;
    for (size_t c = 0; c < convolver->inputs; c++) {
        memcpy(convolver->in.data[c] + now, in[c] + done, frames * sizeof(float));
        convolver->now_rows[c] = convolver->in.data[c] + now;
    }
    for (size_t c = 0; c < convolver->outputs; c++)
        convolver->part_rows[c] = out[c] + done;
    if (!convolver->filter)
        look_for_switch(convolver);
    if (convolver->begun)
        write_both(convolver, frames);
    else
        split_head_write(&convolver->heads[convolver->slot], convolver->now_rows,
                         (const float *const *)convolver->ready.data, convolver->at, frames,
                         convolver->part_rows);
    convolver->at += frames;
    convolver->position += frames;
    end_switch(convolver);
    if (convolver->at == SPLIT_BLOCK)
        end_block(convolver);
}

HALO_REALTIME static void run_split(struct halo_convolver *convolver, const float *const *in,
                                    float *const *out, size_t frames)
{
    for (size_t done = 0; done < frames;) {
        size_t left = SPLIT_BLOCK - convolver->at, part = frames - done;
        part = part < left ? part : left;
        run_part(convolver, in, out, done, part);
        done += part;
    }
}

HALO_REALTIME static void run_whole(struct halo_convolver *convolver, const float *const *in,
                                    float *const *out, size_t frames)
{
    size_t bytes = convolver->block * sizeof(float);
    for (size_t done = 0; done < frames; done += convolver->block) {
        for (size_t c = 0; c < convolver->inputs; c++)
            memcpy(convolver->in.data[c], in[c] + done, bytes);
        feed(convolver);
        for (size_t c = 0; c < convolver->outputs; c++)
            memcpy(out[c] + done, convolver->ready.data[c], bytes);
    }
}

HALO_REALTIME enum halo_status halo_convolver_process_channels(struct halo_convolver *convolver,
                                                               const float *const *in,
                                                               float *const *out, size_t frames)
{
    if (!convolver->split && frames % convolver->block != 0)
        return HALO_USAGE;
    struct realtime_floats before = realtime_floats_begin();
    (convolver->split ? run_split : run_whole)(convolver, in, out, frames);
    realtime_floats_end(before);
    return HALO_OK;
}

HALO_REALTIME enum halo_status halo_convolver_process(struct halo_convolver *convolver,
                                                      const float *in, size_t in_stride, float *out,
                                                      size_t out_stride, size_t frames)
{
    for (size_t c = 0; c < convolver->inputs; c++)
        convolver->call_in[c] = in + c * in_stride;
    for (size_t c = 0; c < convolver->outputs; c++)
        convolver->call_out[c] = out + c * out_stride;
    return halo_convolver_process_channels(convolver, convolver->call_in, convolver->call_out,
                                           frames);
}

/* ---- the control thread ---- */

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

/* Graph mode as in the plugins, or automatic for blocks above GPU_LIVE_BLOCK_MOST (no streams). */
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
        convolver->taps = convolver->split + 1; /* a part for the GPU, even if masks are short */
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

/* Prepares the filter's part of the mask. *prepared is NULL if there is no filter. */
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

/* Requests a switch. Sets `change` first: the step needs its head once the filter switches. */
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
