/* Masks on the devices of a gather: which are there, and which are let go. */
#include "convolve/gather_state.h"
#include "mask/mask_share.h"
#include "signal/audio.h"

#include <stdlib.h>
#include <string.h>

/* ---- forms; the lock is held ---- */

struct gather_kept *gather_form_of(const struct gather_worker *worker,
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

void gather_form_use(struct gather_kept *kept)
{
    if (kept->users++ == 0)
        leave_unused(kept);
}

void gather_form_leave(struct gather_kept *kept)
{
    struct gather_worker *worker = kept->worker;
    if (--kept->users > 0)
        return;
    kept->older = worker->newest;
    *(worker->newest ? &worker->newest->newer : &worker->oldest) = kept;
    worker->newest = kept;
}

/* One without users leaves its mask and waits for the device to let it go. */
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

struct gather_kept *gather_form_add(struct gather_worker *worker, struct gather_mask *mask,
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

void gather_forms_drop(struct gather_worker *worker)
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
    mine->is_shared = true; /* before another thread finds it */
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

/* In parts no longer than a transform: a part of one is louder than all of it. */
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
