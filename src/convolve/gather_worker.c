/* The thread of a device: begins batches, ends them, and loses the device. */
#include "base/plural.h"
#include "convolve/gather_state.h"

#include <stdio.h>
#include <stdlib.h>

/* The first by order with items that has not begun, or NULL. */
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

void gather_slot_release(struct gather_worker *worker, struct gather_slot *slot)
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

/* Who waits for one of its batches hands the stretch over again. */
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

/* The lock is held before and after, not meanwhile. */
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

/* One thing at a time: begin a batch, end one, or wait. False: there is nothing more to come. */
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

void *gather_worker_run(void *context)
{
    struct gather_worker *worker = context;
    pthread_mutex_lock(&worker->gather->lock);
    while (!*worker->loss && do_one(worker))
        ;
    pthread_mutex_unlock(&worker->gather->lock);
    return NULL;
}
