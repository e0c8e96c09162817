#include "live/preset_loader.h"

#include "base/plural.h"
#include "base/thread.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum loader_stage { READING, FEEDING, ABANDONED };

struct preset_loader {
    struct preset_loader_request request;
    struct preset_source source;
    struct chain_options settings; /* without stages */
    struct live_chain_request like;
    struct prepared_preset *prepared;
    pthread_t thread;
    _Atomic(enum loader_stage) stage;
    atomic_bool cancelled;
    atomic_bool is_done;
    atomic_int users; /* its thread and its owner; the last one frees it */
};

void prepared_preset_free(struct prepared_preset *prepared)
{
    if (!prepared)
        return;
    stream_slot_free(&prepared->coming.slot);
    live_chain_free(&prepared->chain);
    preset_destroy(prepared->preset);
    free(prepared);
}

static void release(struct preset_loader *loader)
{
    if (atomic_fetch_sub(&loader->users, 1) > 1)
        return;
    prepared_preset_free(loader->prepared);
    free(loader);
}

struct live_chain_request preset_chain_request(const struct preset *preset,
                                               const struct live_chain_request *like)
{
    struct live_chain_request request = *like;
    request.options = &preset->options;
    request.stage = preset->live.stage;
    request.others = preset->live.others;
    request.other_count = preset->live.other_count;
    request.first = preset->live.mask - 1;
    return request;
}

/* ---- its thread ---- */

static enum status load_chain(struct preset_loader *loader)
{
    struct prepared_preset *prepared = loader->prepared;
    struct live_chain *chain = &prepared->chain;
    if (!prepared->preset)
        TRY(preset_load(&loader->source, &loader->settings, &prepared->preset));
    const struct preset *preset = prepared->preset;
    const struct live_chain_request request = preset_chain_request(preset, &loader->like);
    TRY(live_chain_init(chain, &request));
    if (chain->filter->outputs != loader->request.outputs)
        return fail(CAUSE_UNSUPPORTED,
                    "it makes %zu channel%s, not %zu as what plays; begin with it instead",
                    chain->filter->outputs, plural_s(chain->filter->outputs),
                    loader->request.outputs);
    const struct stream_slot_settings settings = {.chain = chain->filter,
                                                  .stages = &chain->stages,
                                                  .gain = audio_from_db(preset->live.gain_db),
                                                  .dry = preset->live.dry,
                                                  .number = loader->request.number};
    prepared->coming.frames = loader->request.way.frames;
    prepared->coming.shape = loader->request.way.shape;
    return stream_slot_init(&prepared->coming.slot, &settings);
}

/* As long as anything that was heard can still sound. */
static uint64_t memory_of(const struct filter *filter)
{
    return filter->tail_unknown ? UINT32_MAX : filter->latency + filter->tail;
}

static enum status prepare(struct preset_loader *loader)
{
    struct prepared_preset *prepared = loader->prepared;
    enum loader_stage reading = READING;
    TRY(load_chain(loader));
    if (!atomic_compare_exchange_strong(&loader->stage, &reading, FEEDING))
        return STATUS_INTERRUPTED;
    TRY(live_change_feed(live_change_of(loader->request.live), &prepared->coming,
                         memory_of(prepared->chain.filter), &loader->cancelled));
    if (atomic_load(&loader->cancelled))
        return STATUS_INTERRUPTED;
    prepared->chain.since = prepared->coming.since;
    live_change_offer(live_change_of(loader->request.live), &prepared->coming);
    return STATUS_OK;
}

static void *run_loader(void *context)
{
    struct preset_loader *loader = context;
    struct prepared_preset *prepared = loader->prepared;
    const struct log_keeper before = log_keep_in(prepared->reason, sizeof prepared->reason);
    enum status status = prepare(loader);
    log_keep_again(&before);
    if (status != STATUS_OK && !*prepared->reason)
        strcpy(prepared->reason, "it was interrupted");
    atomic_store(&loader->is_done, true);
    release(loader);
    return NULL;
}

/* ---- the control thread ---- */

/* A GPU's memory can be freed only while no kernel polls for blocks: what comes while a stream runs
 * is for the CPU. */
static void keep_to_cpu_beside(struct convolver_settings *convolver)
{
    convolver->gpu = (struct gpu_settings){0};
    if (strcmp(convolver->backend, "direct") != 0)
        convolver->backend = "cpu";
}

/* What only the control thread may read; the rest its thread reads. */
static enum status prepare_request(struct preset_loader *loader,
                                   const struct preset_loader_request *request)
{
    const struct play_options *options = request->options;
    loader->request = *request;
    loader->source = *request->source;
    loader->like = *request->like;
    loader->settings = options->chain;
    loader->settings.stages = (struct stage_list){0};
    keep_to_cpu_beside(&loader->settings.settings.convolver);
    if (request->source->place == PRESET_SAVED)
        return preset_check_name(request->source->text);
    if (request->source->place != PRESET_OF_OPTIONS)
        return STATUS_OK;
    TRY(preset_of_options(options, request->source->mask, &loader->settings,
                          &loader->prepared->preset));
    loader->prepared->preset->live.gain_db = request->gain_db;
    return STATUS_OK;
}

enum status preset_loader_start(const struct preset_loader_request *request,
                                struct preset_loader **result)
{
    struct preset_loader *loader = calloc(1, sizeof *loader);
    struct prepared_preset *prepared = calloc(1, sizeof *prepared);
    if (!loader || !prepared) {
        free(loader);
        free(prepared);
        return fail_memory("a preset");
    }
    loader->prepared = prepared;
    atomic_init(&loader->users, 1);
    enum status status = prepare_request(loader, request);
    if (status != STATUS_OK) {
        release(loader);
        return status;
    }
    atomic_store(&loader->users, 2);
    int error = thread_start(&loader->thread, "halo preset", THREAD_ORDINARY, run_loader, loader);
    if (error != 0) {
        atomic_store(&loader->users, 1);
        release(loader);
        return fail(CAUSE_NO_MEMORY, "cannot start a thread for a preset: %s", thread_error(error));
    }
    *result = loader;
    return STATUS_OK;
}

bool preset_loader_take(struct preset_loader *loader, struct prepared_preset **prepared)
{
    if (!atomic_load(&loader->is_done))
        return false;
    pthread_join(loader->thread, NULL);
    *prepared = loader->prepared;
    loader->prepared = NULL;
    release(loader);
    return true;
}

void preset_loader_abandon(struct preset_loader *loader)
{
    enum loader_stage reading = READING;
    if (!loader)
        return;
    atomic_store(&loader->cancelled, true);
    if (atomic_compare_exchange_strong(&loader->stage, &reading, ABANDONED))
        pthread_detach(loader->thread);
    else
        pthread_join(loader->thread, NULL);
    release(loader);
}
