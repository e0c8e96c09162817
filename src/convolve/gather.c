#include "base/plural.h"
#include "base/thread.h"
#include "convolve/gather_state.h"
#include "mask/mask_share.h"
#include "signal/audio.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- forms; the lock is held ---- */

static struct gather_kept *gather_form_of(const struct gather_worker *worker,
                                          const struct gather_mask *mask, size_t length)
{
    struct gather_kept *kept = mask->forms;
    while (kept && (kept->worker != worker || kept->form.length != length))
        kept = kept->next_of_mask;
    return kept;
}

static void leave_unused(struct gather_kept *kept)
{
    struct gather_worker *worker = kept->worker;
    *(kept->newer ? &kept->newer->older : &worker->newest) = kept->older;
    *(kept->older ? &kept->older->newer : &worker->oldest) = kept->newer;
    kept->newer = kept->older = NULL;
}

static void gather_form_use(struct gather_kept *kept)
{
    if (kept->users++ == 0)
        leave_unused(kept);
}

static void gather_form_leave(struct gather_kept *kept)
{
    struct gather_worker *worker = kept->worker;
    if (--kept->users > 0)
        return;
    kept->older = worker->newest;
    *(worker->newest ? &worker->newest->newer : &worker->oldest) = kept;
    worker->newest = kept;
}

/* Removes a form without users from its mask, and lists it for the device to free. */
static void let_go(struct gather_kept *kept)
{
    struct gather_worker *worker = kept->worker;
    struct gather_kept **at = &kept->mask->forms;
    leave_unused(kept);
    while (*at != kept)
        at = &(*at)->next_of_mask;
    *at = kept->next_of_mask;
    worker->mask_bytes -= kept->bytes;
    kept->form.next = worker->leaving;
    worker->leaving = &kept->form;
}

/* Adds a form, which has one user. Drops other forms if there is no room. NULL: no memory. */
static struct gather_kept *gather_form_add(struct gather_worker *worker, struct gather_mask *mask,
                                           size_t length)
{
    struct gather_kept *kept = calloc(1, sizeof *kept);
    if (!kept)
        return NULL;
    *kept = (struct gather_kept){
        .form = {.length = length, .columns = mask->columns, .taps = mask->taps},
        .mask = mask,
        .worker = worker,
        .users = 1,
        .bytes = mask->columns * worker->gather->kind->form_bytes(length),
        .next_of_mask = mask->forms};
    mask->forms = kept;
    worker->mask_bytes += kept->bytes;
    worker->count.masks_sent++;
    while (worker->mask_bytes > worker->mask_bytes_most && worker->oldest)
        let_go(worker->oldest);
    return kept;
}

/* Drops all forms of a device, at its end. */
static void gather_forms_drop(struct gather_worker *worker)
{
    while (worker->oldest)
        let_go(worker->oldest);
    worker->device->kind->let_go(worker->device, worker->leaving);
    while (worker->leaving) {
        struct gather_form *form = worker->leaving;
        worker->leaving = form->next;
        free(form);
    }
}

/* ---- masks ---- */

static void mask_free(void *form)
{
    struct gather_mask *mask = form;
    pthread_mutex_lock(&mask->gather->lock);
    while (mask->forms)
        let_go(mask->forms); /* no job uses the mask, so no batch does */
    pthread_mutex_unlock(&mask->gather->lock);
    path_table_free(&mask->paths);
    free(mask->rounded);
    free(mask);
}

static enum status mask_make(struct gather *gather, const struct mask *from,
                             struct gather_mask **result)
{
    struct gather_mask *mask = calloc(1, sizeof *mask);
    if (!mask)
        return fail_memory("a mask");
    *mask = (struct gather_mask){.gather = gather,
                                 .inputs = from->inputs,
                                 .outputs = from->outputs,
                                 .columns = from->columns,
                                 .taps = from->taps,
                                 .path_count = from->path_count};
    enum status status = path_table_init(&mask->paths, from);
    if (status == STATUS_OK)
        status = near_bound_find(&mask->bound, from, NULL);
    if (status == STATUS_OK && !(mask->rounded = mask_round(from)))
        status = fail_memory("a mask");
    if (status != STATUS_OK) {
        mask_free(mask);
        return status;
    }
    *result = mask;
    return STATUS_OK;
}

struct gather_mask_key {
    char name[8];
    uint64_t gather;
};

enum status gather_mask_take(struct gather *gather, const struct mask *from,
                             struct gather_mask **taken)
{
    const struct gather_mask_key key = {"gather", (uint64_t)(uintptr_t)gather};
    *taken = mask_share_form(from, &key, sizeof key);
    if (*taken)
        return STATUS_OK;
    TRY(mask_make(gather, from, taken));
    if (!from->share)
        return STATUS_OK;
    struct gather_mask *mine = *taken;
    mine->is_shared = true; /* set before another thread can find it */
    if (!mask_share_keep(from, &key, sizeof key, mine, mine->columns * mine->taps * sizeof(float),
                         mask_free))
        mine->is_shared = false;
    return STATUS_OK;
}

void gather_mask_give_back(struct gather_mask *mask)
{
    if (mask && !mask->is_shared)
        mask_free(mask);
}

/* Measures parts no longer than a transform, since one part can be louder than the whole. */
static bool is_near(const struct gather_mask *mask, const float *samples, size_t frames, float peak)
{
    enum { PART = 8192 };
    for (size_t at = 0; at < frames; at += PART) {
        size_t part = frames - at < PART ? frames - at : PART;
        if (near_bound_is_near(&mask->bound, samples + at, part, part, peak))
            return true;
    }
    return false;
}

bool gather_is_near(const struct gather_work *work, float *peak)
{
    const struct gather_mask *mask = work->mask;
    bool near = false;
    for (size_t c = 0; c < work->inputs; c++) {
        float highest = audio_peak(work->in[c], work->frames);
        *peak = highest > *peak ? highest : *peak;
    }
    for (size_t c = 0; c < work->inputs && near_bound_is_possible(&mask->bound) && !near; c++)
        near = is_near(mask, work->in[c], work->frames, *peak) ||
               (work->before > 0 && is_near(mask, work->history[c], work->before, *peak));
    return near && *peak > 0;
}

/* ---- the thread of a device: begins and ends batches, handles the loss of the device ---- */

/* The batch that is first in order and has items but has not begun. NULL: there is none. */
static struct gather_slot *find_waiting(struct gather_worker *worker)
{
    struct gather_slot *first = NULL;
    for (size_t i = 0; i < worker->open_slots; i++) {
        struct gather_slot *slot = &worker->slots[i];
        bool waits = slot->stage == GATHER_OPEN || slot->stage == GATHER_CLOSED;
        if (waits && (!first || slot->serial < first->serial))
            first = slot;
    }
    return first;
}

static struct gather_slot *find_running(struct gather_worker *worker)
{
    struct gather_slot *first = NULL;
    for (size_t i = 0; i < worker->open_slots; i++) {
        struct gather_slot *slot = &worker->slots[i];
        if (slot->stage == GATHER_RUNNING && (!first || slot->serial < first->serial))
            first = slot;
    }
    return first;
}

static void leave_pending(struct gather_worker *worker, const struct gather_slot *slot)
{
    worker->pending -= slot->batch.in_used + slot->batch.out_used;
}

/* Frees a batch whose results were all taken. The lock is held. */
static void gather_slot_release(struct gather_worker *worker, struct gather_slot *slot)
{
    slot->stage = GATHER_FREE;
    slot->packed = slot->left = 0;
    slot->batch.in_used = slot->batch.out_used = slot->batch.rows = slot->batch.item_count = 0;
    pthread_cond_broadcast(&worker->gather->room);
}

static void leave_forms(const struct gather_slot *slot)
{
    for (size_t i = 0; i < slot->batch.item_count; i++)
        gather_form_leave((struct gather_kept *)slot->batch.items[i].form);
}

/* Marks the device as lost. Threads that wait for its batches hand their stretches over again. */
static void lose(struct gather_worker *worker, const char *why)
{
    struct gather *gather = worker->gather;
    size_t items = 0;
    snprintf(worker->loss, sizeof worker->loss, "%s", why);
    for (size_t i = 0; i < worker->open_slots; i++) {
        struct gather_slot *slot = &worker->slots[i];
        if (slot->stage == GATHER_FREE || slot->stage == GATHER_DONE)
            continue;
        leave_pending(worker, slot);
        leave_forms(slot);
        items += slot->batch.item_count;
        slot->stage = GATHER_LOST;
        pthread_cond_broadcast(&slot->done);
    }
    worker->count.lost_items += items;
    worker->running = 0;
    if (--gather->left == 0)
        snprintf(gather->loss, sizeof gather->loss, "%s", why);
    pthread_cond_broadcast(&gather->room);
    warning("GPU %d failed (%s): %zu unfinished piece%s of sound %s done again %s",
            worker->device->number, why, items, plural_s(items), items == 1 ? "is" : "are",
            gather->left > 0 ? "by the others" : "on the CPU");
}

/* Begins a batch. The lock is held before and after, but not meanwhile. */
static void begin(struct gather_worker *worker, struct gather_slot *slot)
{
    const struct gather_device_kind *kind = worker->device->kind;
    struct gather_form *leaving = worker->leaving;
    worker->leaving = NULL;
    slot->stage = GATHER_RUNNING;
    worker->running++;
    pthread_mutex_unlock(&worker->gather->lock);
    kind->let_go(worker->device, leaving);
    while (leaving) {
        struct gather_form *form = leaving;
        leaving = form->next;
        free(form);
    }
    const char *why = kind->begin(worker->device, &slot->batch);
    pthread_mutex_lock(&worker->gather->lock);
    if (why)
        lose(worker, why);
}

static void end(struct gather_worker *worker, struct gather_slot *slot)
{
    pthread_mutex_unlock(&worker->gather->lock);
    const char *why = worker->device->kind->end(worker->device, &slot->batch);
    pthread_mutex_lock(&worker->gather->lock);
    if (why) {
        lose(worker, why);
        return;
    }
    worker->running--;
    worker->count.batches++;
    worker->count.items += slot->batch.item_count;
    worker->count.samples += (double)(slot->batch.in_used + slot->batch.out_used);
    leave_pending(worker, slot);
    leave_forms(slot);
    slot->stage = GATHER_DONE;
    pthread_cond_broadcast(&slot->done);
}

/* Begins a batch, ends one, or waits. False: no more batches will come. */
static bool do_one(struct gather_worker *worker)
{
    struct gather_slot *next = find_waiting(worker);
    bool idle = worker->running == 0;
    if (next && worker->running < GATHER_RUNNING_MOST && (idle || next->stage == GATHER_CLOSED)) {
        next->stage = GATHER_CLOSED;
        if (next->packed == next->batch.item_count) {
            begin(worker, next);
            return true;
        }
    }
    if (!idle)
        end(worker, find_running(worker));
    else if (!next && worker->gather->stopping)
        return false;
    else
        pthread_cond_wait(&worker->ready, &worker->gather->lock);
    return true;
}

static void *gather_worker_run(void *context)
{
    struct gather_worker *worker = context;
    pthread_mutex_lock(&worker->gather->lock);
    while (!*worker->loss && do_one(worker))
        ;
    pthread_mutex_unlock(&worker->gather->lock);
    return NULL;
}

/* ---- places in batches; the lock is held ---- */

/* The room that a stretch needs in a batch of one device. */
struct gather_place {
    struct gather_worker *worker;
    struct gather_slot *slot;
    struct gather_cost cost;
    struct gather_kept *kept; /* NULL: the mask must be sent */
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

/* The open batch or, if there is none, a free one. Closes an open batch without room. */
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

/* Finds the device with the least to do that has room. False: no device has room. */
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

/* Makes the stretch an item of the batch. Returns its index. */
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

/* Reserves a place, and waits for room. False: there is no device, or no memory. */
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

/* ---- packing a stretch; without the lock, since no other thread uses its place ---- */

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
        if (first[c] == first[c + 1]) /* no path leads to the output */
            memset(work->out[c], 0, work->frames * sizeof *from);
        else
            memcpy(work->out[c], from, work->frames * sizeof *from);
    }
}

/* Packs, waits, unpacks. The lock is held before and after, not meanwhile. False: lost device. */
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

static bool gather_fits(const struct gather *gather, const struct convolver_shape *shape,
                        size_t columns)
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

/* The longest block, in frames. Two blocks, each with the mask, fit into a batch. */
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

/* ---- life of a gather ---- */

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

/* Starts a worker. Its batches and its thread are near the device. */
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
