#include "bench/batch_bench.h"

#include "base/monotonic.h"
#include "base/noise.h"
#include "base/stop.h"
#include "base/thread.h"
#include "bench/batch_bench_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LOOKED_AT = 16 }; /* frames of an item */

static const char *const memory_names[] = {
    [BENCH_COPIES] = "copies",
    [BENCH_DEVICE] = "device",
    [BENCH_PINNED] = "pinned",
    [BENCH_GATHERED] = "gathered",
};

/* ---- rooms ---- */

static const double DECAY = 1e-3; /* of a room from its first tap to its last */

static enum status make_room(struct batch_bench *bench, size_t number)
{
    const struct batch_bench_settings *settings = &bench->settings;
    double part = 0.2 + 0.8 * (0.5 + 0.5 * (double)noise_next(&bench->random));
    size_t taps = (size_t)fmax(1, settings->room * part * (double)settings->rate);
    struct mask **mask = &bench->rooms[number];
    TRY(mask_create("a room of noise", 1, taps, mask));
    double *column = mask_column(*mask, 0), step = pow(DECAY, 1 / (double)taps), level = 1;
    for (size_t k = 0; k < taps; k++, level *= step)
        column[k] = (double)(float)(level * (double)noise_next(&bench->random));
    return mask_route(*mask, 1, MASK_ORDER_LL_LR_RL_RR, MASK_MAP_AUTO);
}

size_t batch_bench_frames(struct batch_bench *bench, uint64_t *random)
{
    const struct batch_bench_settings *settings = &bench->settings;
    double part = 0.5 + 0.5 * (double)noise_next(random);
    double seconds = settings->shortest + part * (settings->longest - settings->shortest);
    return (size_t)fmax(1, seconds * (double)settings->rate);
}

/* ---- a round ---- */

/* Batches until all devices together have had enough sounds. */
static void *run_station(void *context)
{
    struct bench_station *station = context;
    struct batch_bench *bench = station->bench;
    const struct gather_device_kind *kind = station->device->kind;
    size_t begun = 0, ended = 0;
    station->sounds = station->frames = 0;
    batch_bench_wait(bench);
    for (;;) {
        struct gather_batch *batch = station->batches[begun % GATHER_BATCHES];
        size_t before = atomic_fetch_add(&bench->taken, batch->item_count);
        bool more = before < bench->settings.sounds && !station->why && !stop_requested();
        if (!more && begun == ended)
            return NULL;
        if (!more || begun - ended == GATHER_RUNNING_MOST) {
            const char *why =
                kind->end(station->device, station->batches[ended++ % GATHER_BATCHES]);
            station->why = station->why ? station->why : why;
        }
        if (!more)
            continue;
        station->why = station->why ? station->why : kind->begin(station->device, batch);
        begun++;
        for (size_t i = 0; i < batch->item_count; i++)
            station->frames += batch->items[i].frames;
        station->sounds += batch->item_count;
    }
}

static void set_kind(struct batch_bench *bench, enum batch_bench_memory memory)
{
    for (size_t s = 0; s < bench->station_count; s++)
        for (size_t b = 0; b < GATHER_BATCHES; b++) {
            bench->stations[s].batches[b]->stays = memory == BENCH_DEVICE;
            bench->stations[s].batches[b]->only_copies = memory == BENCH_COPIES;
        }
}

enum status batch_bench_start(struct batch_bench *bench, pthread_t *threads, size_t count,
                              void *(*run)(void *context), void *contexts, size_t size)
{
    size_t t = 0;
    atomic_store(&bench->taken, 0);
    pthread_mutex_lock(&bench->gate);
    while (t < count && thread_start(&threads[t], "halo bench", THREAD_AS_CALLER, run,
                                     (char *)contexts + t * size) == 0)
        t++;
    if (t == count)
        return STATUS_OK;
    atomic_store(&bench->taken, bench->settings.sounds);
    pthread_mutex_unlock(&bench->gate);
    while (t > 0)
        pthread_join(threads[--t], NULL);
    return fail(STATUS_FAILED, "cannot start %zu threads", count);
}

void batch_bench_wait(struct batch_bench *bench)
{
    pthread_mutex_lock(&bench->gate);
    pthread_mutex_unlock(&bench->gate);
}

enum status batch_bench_finish(struct batch_bench *bench, pthread_t *threads, size_t count,
                               double *seconds)
{
    double begun = monotonic_seconds();
    pthread_mutex_unlock(&bench->gate);
    for (size_t t = 0; t < count; t++)
        pthread_join(threads[t], NULL);
    *seconds = monotonic_seconds() - begun;
    return stop_requested() ? STATUS_INTERRUPTED : STATUS_OK;
}

static enum status run_stations(struct batch_bench *bench, struct bench_round *round)
{
    pthread_t threads[BATCH_BENCH_DEVICES];
    size_t count = bench->station_count;
    TRY(batch_bench_start(bench, threads, count, run_station, bench->stations,
                          sizeof *bench->stations));
    TRY(batch_bench_finish(bench, threads, count, &round->seconds));
    for (size_t s = 0; s < count; s++) {
        const struct bench_station *station = &bench->stations[s];
        if (station->why)
            return batch_bench_fail(station, station->why);
        round->sounds += station->sounds;
        round->frames += station->frames;
    }
    return STATUS_OK;
}

/* ---- errors ---- */

/* Of some frames of a sound of `frames`: relative to max|x| sum|h|, where |x| is up to 1. */
double batch_bench_error(const struct mask *room, const float *in, const float *out, size_t frames,
                         uint64_t *random)
{
    const double *taps = mask_column(room, 0);
    double worst = 0, norm = 0;
    for (size_t k = 0; k < room->taps; k++)
        norm += fabs(taps[k]);
    for (size_t look = 0; look < LOOKED_AT; look++) {
        size_t at = noise_hash((*random)++) % frames;
        double sum = 0;
        for (size_t k = 0; k < room->taps && k <= at; k++)
            sum += taps[k] * (double)in[at - k];
        worst = fmax(worst, fabs(sum - (double)out[at]));
    }
    return worst / norm;
}

static bool has_form(const struct gather_form *forms, const struct gather_form *form)
{
    while (forms && forms != form)
        forms = forms->next;
    return forms != NULL;
}

static double error_of_item(struct bench_station *station, const struct gather_batch *batch,
                            const struct gather_item *item)
{
    struct batch_bench *bench = station->bench;
    size_t room = 0;
    while (!has_form(station->forms[room], item->form))
        room++;
    return batch_bench_error(bench->rooms[room], batch->in + item->in_at, batch->out + item->out_at,
                             item->frames, &bench->random);
}

/* Each batch once more, since few sounds need few of them. */
static enum status look_at_station(struct bench_station *station, double *worst)
{
    const struct gather_device_kind *kind = station->device->kind;
    for (size_t b = 0; b < GATHER_BATCHES; b++) {
        struct gather_batch *batch = station->batches[b];
        const char *why = kind->begin(station->device, batch);
        if (!why)
            why = kind->end(station->device, batch);
        if (why)
            return batch_bench_fail(station, why);
        for (size_t i = 0; i < batch->item_count; i++)
            *worst = fmax(*worst, error_of_item(station, batch, &batch->items[i]));
    }
    return STATUS_OK;
}

static enum status find_error(struct batch_bench *bench, double *error_db)
{
    double worst = 0;
    for (size_t s = 0; s < bench->station_count; s++)
        TRY(look_at_station(&bench->stations[s], &worst));
    *error_db = 20 * log10(fmax(worst, 1e-30));
    return STATUS_OK;
}

/* ---- all of it ---- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The first round, which is not counted, warms up. */
static enum status measure_rounds(struct batch_bench *bench, enum batch_bench_memory memory,
                                  struct batch_bench_row *row)
{
    double rates[BATCH_BENCH_ROUNDS], sounds = 0, frames = 0;
    size_t rounds = bench->settings.rounds;
    for (size_t r = 0; r <= rounds; r++) {
        struct bench_round round = {0};
        TRY(memory == BENCH_GATHERED ? batch_bench_gather(bench, &round)
                                     : run_stations(bench, &round));
        if (r > 0)
            rates[r - 1] = (double)round.frames / round.seconds;
        sounds = (double)round.sounds;
        frames = (double)round.frames;
    }
    qsort(rates, rounds, sizeof *rates, compare);
    row->samples = rates[rounds / 2];
    row->least = rates[0];
    row->most = rates[rounds - 1];
    row->sounds = row->samples * sounds / frames;
    row->seconds = row->samples / (double)bench->settings.rate;
    return STATUS_OK;
}

enum status batch_bench_measure(struct batch_bench *bench, enum batch_bench_memory memory,
                                struct batch_bench_row *row)
{
    *row = (struct batch_bench_row){
        .devices = bench->station_count, .memory = memory_names[memory], .error_db = NAN};
    set_kind(bench, memory);
    TRY(measure_rounds(bench, memory, row));
    if (memory == BENCH_COPIES)
        bench->copies = row->samples;
    row->of_copies = bench->copies > 0 ? row->samples / bench->copies : NAN;
    if (memory == BENCH_PINNED)
        TRY(find_error(bench, &row->error_db));
    if (memory == BENCH_GATHERED)
        row->error_db = 20 * log10(fmax(bench->gather_error, 1e-30));
    return STATUS_OK;
}

void batch_bench_destroy(struct batch_bench *bench)
{
    if (!bench)
        return;
    for (size_t s = 0; s < bench->station_count; s++)
        bench_station_close(&bench->stations[s]);
    for (size_t r = 0; bench->rooms && r < bench->settings.rooms; r++)
        mask_destroy(bench->rooms[r]);
    free((void *)bench->rooms);
    pthread_mutex_destroy(&bench->gate);
    free(bench);
}

static enum status fill(struct batch_bench *bench, size_t devices)
{
    static size_t first[] = {0, 1};
    static struct mask_path path = {0};
    bench->paths = (struct path_table){first, &path};
    bench->rooms = calloc(bench->settings.rooms, sizeof(struct mask *));
    if (!bench->rooms)
        return fail_memory("rooms");
    for (size_t r = 0; r < bench->settings.rooms; r++)
        TRY(make_room(bench, r));
    for (size_t s = 0; s < devices; s++) {
        bench->stations[s].bench = bench;
        bench->station_count++;
        TRY(bench_station_open(&bench->stations[s], (int)s));
    }
    return STATUS_OK;
}

enum status batch_bench_create(const struct batch_bench_settings *settings, size_t devices,
                               struct batch_bench **result)
{
    size_t there;
    if (!settings->kind->count)
        return fail(STATUS_FAILED, "halo bench batch needs CUDA, which this build lacks; see halo "
                                   "--version");
    TRY(settings->kind->count(&there));
    if (devices > there)
        return fail(STATUS_FAILED, "there %s %zu GPU%s, not %zu", there == 1 ? "is" : "are", there,
                    there == 1 ? "" : "s", devices);
    struct batch_bench *bench = calloc(1, sizeof *bench);
    if (!bench)
        return fail_memory("the bench");
    bench->settings = *settings;
    bench->random = 1;
    pthread_mutex_init(&bench->gate, NULL);
    enum status status = fill(bench, devices);
    if (status != STATUS_OK) {
        batch_bench_destroy(bench);
        return status;
    }
    *result = bench;
    return STATUS_OK;
}
