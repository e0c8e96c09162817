/* Handing stretches of sound over to devices, and the life of a gather. */
#include "convolve/gather_state.h"

#include "base/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- places in batches; the lock is held ---- */

/* What a stretch needs of a batch of one device. */
struct gather_place {
    struct gather_worker *worker;
    struct gather_slot *slot;
    struct gather_cost cost;
    struct gather_kept *kept; /* NULL: the mask has to be sent */
    size_t in, out, rows;     /* floats, rows */
};

static size_t floats_in(size_t inputs, size_t before, size_t frames)
{
    return inputs * gather_row(before + frames);
}

static struct gather_place place_on(struct gather_worker *worker, const struct gather_work *work)
{
    const struct gather_mask *mask = work->mask;
    struct gather_place place = {.worker = worker};
    place.cost = worker->gather->kind->cost(worker->device, mask->taps, work->frames);
    place.kept = gather_form_of(worker, mask, place.cost.length);
    place.in = floats_in(work->inputs, work->before, work->frames);
    if (!place.kept)
        place.in += gather_row(mask->columns * mask->taps);
    place.out = work->outputs * gather_row(work->frames);
    place.rows = mask->path_count * place.cost.rows;
    return place;
}

static bool has_room(const struct gather_batch *batch, const struct gather_place *place)
{
    return batch->item_count < GATHER_ITEMS_MOST &&
           batch->in_used + place->in <= GATHER_FLOATS_MOST &&
           batch->out_used + place->out <= GATHER_FLOATS_MOST &&
           batch->rows + place->rows <= GATHER_ROWS_MOST;
}

/* The open batch, or else a free one; an open one without room is closed. */
static struct gather_slot *find_slot(struct gather_worker *worker, const struct gather_place *place)
{
    struct gather_slot *unused = NULL;
    for (size_t i = 0; i < worker->open_slots; i++) {
        struct gather_slot *slot = &worker->slots[i];
        if (slot->stage == GATHER_OPEN && has_room(&slot->batch, place))
            return slot;
        if (slot->stage == GATHER_OPEN) {
            slot->stage = GATHER_CLOSED;
            pthread_cond_signal(&worker->ready);
        }
        if (slot->stage == GATHER_FREE)
            unused = slot;
    }
    return unused;
}

/* The device with the least to do that has room. */
static bool find_place(struct gather *gather, const struct gather_work *work,
                       struct gather_place *best)
{
    best->slot = NULL;
    for (size_t i = 0; i < gather->worker_count; i++) {
        struct gather_worker *worker = &gather->workers[i];
        if (*worker->loss || (best->slot && best->worker->pending <= worker->pending))
            continue;
        struct gather_place place = place_on(worker, work);
        place.slot = find_slot(worker, &place);
        if (place.slot)
            *best = place;
    }
    return best->slot != NULL;
}

static bool take_form(struct gather_place *place, const struct gather_work *work)
{
    if (place->kept)
        gather_form_use(place->kept);
    else
        place->kept = gather_form_add(place->worker, work->mask, place->cost.length);
    return place->kept != NULL;
}

/* The stretch becomes an item of the batch; its index. */
static size_t add_item(const struct gather_place *place, const struct gather_work *work, bool sends)
{
    struct gather_slot *slot = place->slot;
    struct gather_batch *batch = &slot->batch;
    size_t sound = floats_in(work->inputs, work->before, work->frames);
    if (slot->stage == GATHER_FREE) {
        slot->stage = GATHER_OPEN;
        slot->serial = place->worker->serials++;
    }
    batch->items[batch->item_count] = (struct gather_item){
        .in_at = batch->in_used,
        .out_at = batch->out_used,
        .inputs = work->inputs,
        .outputs = work->outputs,
        .before = work->before,
        .frames = work->frames,
        .paths = &work->mask->paths,
        .taps = work->mask->taps,
        .form = &place->kept->form,
        .taps_at = sends ? batch->in_used + sound : SIZE_MAX,
    };
    batch->in_used += place->in;
    batch->out_used += place->out;
    batch->rows += place->rows;
    place->worker->pending += place->in + place->out;
    return batch->item_count++;
}

/* Waits for room. False: there is no device, or no memory. */
static bool reserve(struct gather *gather, const struct gather_work *work,
                    struct gather_place *place, size_t *item)
{
    while (gather->left > 0 && !find_place(gather, work, place))
        pthread_cond_wait(&gather->room, &gather->lock);
    if (gather->left == 0)
        return false;
    bool sends = !place->kept;
    if (!take_form(place, work))
        return false;
    *item = add_item(place, work, sends);
    return true;
}

/* ---- a stretch; without the lock, as its place is its own ---- */

static void pack(const struct gather_work *work, const struct gather_item *item, float *in)
{
    size_t row = gather_row(work->before + work->frames);
    for (size_t c = 0; c < work->inputs; c++) {
        float *to = in + item->in_at + c * row;
        if (work->before > 0)
            memcpy(to, work->history[c], work->before * sizeof *to);
        memcpy(to + work->before, work->in[c], work->frames * sizeof *to);
    }
    if (item->taps_at != SIZE_MAX)
        memcpy(in + item->taps_at, work->mask->rounded,
               work->mask->columns * work->mask->taps * sizeof *in);
}

static void unpack(const struct gather_work *work, const struct gather_item *item, const float *out)
{
    const size_t *first = work->mask->paths.first;
    for (size_t c = 0; c < work->outputs; c++) {
        const float *from = out + item->out_at + c * gather_row(work->frames);
        if (first[c] == first[c + 1]) /* no path leads there */
            memset(work->out[c], 0, work->frames * sizeof *from);
        else
            memcpy(work->out[c], from, work->frames * sizeof *from);
    }
}

/* The lock is held before and after. False: the device was lost. */
static bool wait_for(struct gather *gather, const struct gather_place *place,
                     const struct gather_work *work, size_t index)
{
    struct gather_slot *slot = place->slot;
    const struct gather_item *item = &slot->batch.items[index];
    pthread_mutex_unlock(&gather->lock);
    pack(work, item, slot->batch.in);
    pthread_mutex_lock(&gather->lock);
    if (++slot->packed == slot->batch.item_count)
        pthread_cond_signal(&place->worker->ready);
    while (slot->stage != GATHER_DONE && slot->stage != GATHER_LOST)
        pthread_cond_wait(&slot->done, &gather->lock);
    bool is_done = slot->stage == GATHER_DONE;
    if (is_done) {
        pthread_mutex_unlock(&gather->lock);
        unpack(work, item, slot->batch.out);
        pthread_mutex_lock(&gather->lock);
        if (++slot->left == slot->batch.item_count)
            gather_slot_release(place->worker, slot);
    }
    return is_done;
}

bool gather_convolve(struct gather *gather, const struct gather_work *work)
{
    struct gather_place place;
    size_t item;
    bool is_done = false;
    pthread_mutex_lock(&gather->lock);
    while (!is_done && reserve(gather, work, &place, &item))
        is_done = wait_for(gather, &place, work, item);
    pthread_mutex_unlock(&gather->lock);
    return is_done;
}

/* ---- what fits ---- */

bool gather_fits(const struct gather *gather, const struct convolver_shape *shape, size_t columns)
{
    const struct gather_worker *worker = &gather->workers[0];
    struct gather_cost cost = gather->kind->cost(worker->device, shape->taps, shape->block);
    size_t in =
        floats_in(shape->inputs, shape->taps - 1, shape->block) + gather_row(columns * shape->taps);
    return in <= GATHER_FLOATS_MOST &&
           shape->outputs * gather_row(shape->block) <= GATHER_FLOATS_MOST &&
           shape->paths * cost.rows <= GATHER_ROWS_MOST &&
           columns * gather->kind->form_bytes(cost.length) <= worker->mask_bytes_most;
}

/* Half of a batch, so that it is not alone in it, with room for the mask. */
static size_t block_most(size_t channels, size_t taps)
{
    size_t each = GATHER_FLOATS_MOST / (2 * channels);
    return each > 2 * taps + GATHER_LINE ? (each - 2 * taps) / GATHER_LINE * GATHER_LINE : 0;
}

const char *gather_loss(const struct gather *gather)
{
    return *gather->loss ? gather->loss : NULL;
}

bool gather_count_of(struct gather *gather, size_t index, struct gather_count *count)
{
    if (index >= gather->worker_count)
        return false;
    struct gather_worker *worker = &gather->workers[index];
    pthread_mutex_lock(&gather->lock);
    *count = worker->count;
    count->number = worker->device->number;
    count->loss = *worker->loss ? worker->loss : NULL;
    pthread_mutex_unlock(&gather->lock);
    return true;
}

/* ---- its life ---- */

static bool serves(const struct convolver_service *service, const struct convolver_shape *shape,
                   const struct mask *mask)
{
    struct gather *gather = (struct gather *)service;
    pthread_mutex_lock(&gather->lock);
    bool is_there = gather->left > 0;
    pthread_mutex_unlock(&gather->lock);
    return is_there && shape->precision == PRECISION_SINGLE && !shape->live &&
           !shape->has_choices && gather_fits(gather, shape, mask->columns);
}

const struct convolver_service *gather_service(const struct gather *gather)
{
    return gather ? &gather->service : NULL;
}

static enum status worker_fill(struct gather *gather, struct gather_worker *worker, int number,
                               size_t mask_bytes)
{
    TRY(gather->kind->open(number, &worker->device));
    worker->mask_bytes_most = mask_bytes ? mask_bytes : worker->device->mask_bytes;
    for (; worker->open_slots < GATHER_BATCHES; worker->open_slots++)
        TRY(gather->kind->batch_open(worker->device, &worker->slots[worker->open_slots].batch));
    if (thread_start(&worker->thread, "halo gather", THREAD_AS_CALLER, gather_worker_run, worker))
        return fail(CAUSE_NO_MEMORY, "cannot start a thread for a GPU");
    worker->has_thread = true;
    gather->left++;
    return STATUS_OK;
}

/* Its batches and its thread are beside the device. */
static enum status worker_start(struct gather *gather, struct gather_worker *worker, int number,
                                size_t mask_bytes)
{
    struct numa_before before = {0};
    worker->gather = gather;
    pthread_cond_init(&worker->ready, NULL);
    for (size_t i = 0; i < GATHER_BATCHES; i++)
        pthread_cond_init(&worker->slots[i].done, NULL);
    gather->worker_count++;
    if (gather->kind->enter)
        gather->kind->enter(number, &before);
    enum status status = worker_fill(gather, worker, number, mask_bytes);
    numa_leave(&before);
    return status;
}

static void worker_end(struct gather *gather, struct gather_worker *worker)
{
    if (worker->has_thread)
        pthread_join(worker->thread, NULL);
    if (worker->device)
        gather_forms_drop(worker);
    for (size_t i = 0; i < worker->open_slots; i++)
        gather->kind->batch_close(worker->device, &worker->slots[i].batch);
    if (worker->device)
        gather->kind->close(worker->device);
    for (size_t i = 0; i < GATHER_BATCHES; i++)
        pthread_cond_destroy(&worker->slots[i].done);
    pthread_cond_destroy(&worker->ready);
}

void gather_destroy(struct gather *gather)
{
    if (!gather)
        return;
    pthread_mutex_lock(&gather->lock);
    gather->stopping = true;
    for (size_t i = 0; i < gather->worker_count; i++)
        pthread_cond_signal(&gather->workers[i].ready);
    pthread_mutex_unlock(&gather->lock);
    for (size_t i = 0; i < gather->worker_count; i++)
        worker_end(gather, &gather->workers[i]);
    pthread_cond_destroy(&gather->room);
    pthread_mutex_destroy(&gather->lock);
    free(gather->workers);
    free(gather);
}

enum status gather_create(const struct gather_settings *settings, struct gather **result)
{
    struct gather *gather = calloc(1, sizeof *gather);
    struct gather_worker *workers = calloc(settings->count, sizeof *workers);
    if (!gather || !workers) {
        free(gather);
        free(workers);
        return fail_memory("a batch of sounds");
    }
    gather->service = (struct convolver_service){&convolver_gathered, serves, block_most};
    gather->kind = settings->kind;
    gather->workers = workers;
    pthread_mutex_init(&gather->lock, NULL);
    pthread_cond_init(&gather->room, NULL);
    enum status status = STATUS_OK;
    for (size_t i = 0; i < settings->count && status == STATUS_OK; i++)
        status = worker_start(gather, &workers[i], settings->numbers[i], settings->mask_bytes);
    if (status != STATUS_OK) {
        gather_destroy(gather);
        return status;
    }
    *result = gather;
    return STATUS_OK;
}
