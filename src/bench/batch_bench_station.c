/* A device with batches that are full of sounds, and the rooms that they need. */
#include "base/noise.h"
#include "bench/batch_bench_state.h"

#include <stdlib.h>
#include <string.h>

enum status batch_bench_fail(const struct bench_station *station, const char *why)
{
    return fail(STATUS_FAILED, "GPU %d failed: %s", station->device->number, why);
}

/* The form of a room for that length of transforms, made on the device if it is not there. */
static enum status find_form(struct bench_station *station, size_t room, size_t length,
                             struct gather_form **form)
{
    const struct gather_device_kind *kind = station->device->kind;
    const struct mask *mask = station->bench->rooms[room];
    struct gather_batch *batch = station->scratch;
    for (*form = station->forms[room]; *form; *form = (*form)->next)
        if ((*form)->length == length)
            return STATUS_OK;
    struct gather_form *made = calloc(1, sizeof *made);
    float *rounded = mask_round(mask);
    if (!made || !rounded) {
        free(made);
        free(rounded);
        return fail_memory("a room");
    }
    *made = (struct gather_form){
        .next = station->forms[room], .length = length, .columns = 1, .taps = mask->taps};
    station->forms[room] = *form = made;
    memset(batch->in, 0, GATHER_LINE * sizeof *batch->in);
    memcpy(batch->in + GATHER_LINE, rounded, mask->taps * sizeof *rounded);
    free(rounded);
    batch->in_used = GATHER_LINE + gather_row(mask->taps);
    batch->out_used = GATHER_LINE;
    batch->item_count = 1;
    batch->items[0] = (struct gather_item){.inputs = 1,
                                           .outputs = 1,
                                           .frames = 1,
                                           .paths = &station->bench->paths,
                                           .taps = mask->taps,
                                           .form = made,
                                           .taps_at = GATHER_LINE};
    const char *why = kind->begin(station->device, batch);
    if (!why)
        why = kind->end(station->device, batch);
    return why ? batch_bench_fail(station, why) : STATUS_OK;
}

/* False: there is no more room. */
static enum status add_sound(struct bench_station *station, struct gather_batch *batch, bool *fits)
{
    struct batch_bench *bench = station->bench;
    size_t frames = batch_bench_frames(bench, &bench->random), row = gather_row(frames);
    size_t room = noise_hash(bench->random++) % bench->settings.rooms;
    size_t taps = bench->rooms[room]->taps;
    struct gather_cost cost = station->device->kind->cost(station->device, taps, frames);
    struct gather_form *form;
    *fits = batch->in_used + row <= GATHER_FLOATS_MOST && batch->item_count < GATHER_ITEMS_MOST &&
            batch->rows + cost.rows <= GATHER_ROWS_MOST;
    if (!*fits)
        return STATUS_OK;
    TRY(find_form(station, room, cost.length, &form));
    batch->items[batch->item_count++] = (struct gather_item){.in_at = batch->in_used,
                                                             .out_at = batch->out_used,
                                                             .inputs = 1,
                                                             .outputs = 1,
                                                             .frames = frames,
                                                             .paths = &bench->paths,
                                                             .taps = taps,
                                                             .form = form,
                                                             .taps_at = SIZE_MAX};
    for (size_t i = 0; i < frames; i++)
        batch->in[batch->in_used + i] = noise_next(&bench->random);
    batch->in_used += row;
    batch->out_used += row;
    batch->rows += cost.rows;
    return STATUS_OK;
}

static enum status open_batch(struct bench_station *station, struct gather_batch **batch)
{
    *batch = calloc(1, sizeof **batch);
    if (!*batch)
        return fail_memory("a batch");
    enum status status = station->device->kind->batch_open(station->device, *batch);
    if (status != STATUS_OK) {
        free(*batch);
        *batch = NULL;
    }
    return status;
}

enum status bench_station_open(struct bench_station *station, int number)
{
    struct batch_bench *bench = station->bench;
    TRY(bench->settings.kind->open(number, &station->device));
    station->forms = calloc(bench->settings.rooms, sizeof(struct gather_form *));
    if (!station->forms)
        return fail_memory("rooms");
    TRY(open_batch(station, &station->scratch));
    for (size_t b = 0; b < GATHER_BATCHES; b++) {
        bool fits = true;
        TRY(open_batch(station, &station->batches[b]));
        while (fits)
            TRY(add_sound(station, station->batches[b], &fits));
        if (station->batches[b]->item_count == 0)
            return fail(STATUS_USAGE, "a sound of %g s does not fit into a batch: %d samples",
                        bench->settings.longest, GATHER_FLOATS_MOST);
    }
    return STATUS_OK;
}

static void close_batch(struct bench_station *station, struct gather_batch *batch)
{
    if (batch)
        station->device->kind->batch_close(station->device, batch);
    free(batch);
}

void bench_station_close(struct bench_station *station)
{
    if (!station->device)
        return;
    for (size_t r = 0; station->forms && r < station->bench->settings.rooms; r++) {
        station->device->kind->let_go(station->device, station->forms[r]);
        while (station->forms[r]) {
            struct gather_form *form = station->forms[r];
            station->forms[r] = form->next;
            free(form);
        }
    }
    free((void *)station->forms);
    for (size_t b = 0; b < GATHER_BATCHES; b++)
        close_batch(station, station->batches[b]);
    close_batch(station, station->scratch);
    station->device->kind->close(station->device);
}
