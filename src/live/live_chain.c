#include "live/live_chain.h"

#include "base/plural.h"
#include "base/realtime.h"
#include "chain/chain.h"
#include "chain/stage_mask.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SILENT_BLOCKS = 4 }; /* blocks of silence that are processed before the stream starts */

/* ---- the masks to choose from ---- */

struct choices {
    struct filter *convolver;
    size_t count;
    struct convolver_mask **masks;
    size_t sounding;
    size_t asked;
    uint64_t at; /* earliest frame of the requested switch */
    struct choices_way way;
    bool waiting;   /* a request has not been sent to the convolver yet */
    bool switching; /* a switch to choice `going` is in progress */
    size_t going;
    const struct convolver_mask *heard; /* mask of the choice that sounds */
    struct convolver_mask *replaced;    /* mask to release when it is silent; NULL: none */
};

static void choices_destroy(struct choices *choices)
{
    if (!choices)
        return;
    free(choices->masks);
    free(choices);
}

static enum status choices_create(struct filter *convolver, struct mask *const *masks, size_t count,
                                  struct choices **result)
{
    enum status status = STATUS_OK;
    struct choices *choices = calloc(1, sizeof *choices);
    if (!choices || !(choices->masks = calloc(count, sizeof *choices->masks))) {
        status = fail_memory("masks to choose from");
        goto fail;
    }
    choices->convolver = convolver;
    choices->count = count;
    choices->masks[0] = convolver_first_mask(convolver);
    choices->heard = choices->masks[0];
    for (size_t i = 1; i < count; i++)
        if ((status = convolver_prepare(convolver, masks[i], &choices->masks[i])))
            goto fail;
    *result = choices;
    return STATUS_OK;
fail:
    choices_destroy(choices); /* destroying the convolver releases the masks */
    return status;
}

void choices_ask(struct choices *choices, size_t choice, uint64_t at, const struct choices_way *way)
{
    choices->asked = choice;
    choices->at = at;
    choices->way = *way;
    choices->waiting = true;
}

enum status choices_replace(struct choices *choices, size_t choice, const struct mask *mask,
                            const struct choices_way *way)
{
    if (choices->replaced || choices->switching)
        return fail(CAUSE_BUSY, "cannot replace mask %s: a switch is in progress; try again",
                    mask->name);
    struct convolver_mask *prepared;
    TRY(convolver_prepare(choices->convolver, mask, &prepared));
    struct convolver_mask *old = choices->masks[choice];
    choices->masks[choice] = prepared;
    if (choices->heard != old) {
        convolver_release(choices->convolver, old);
        return STATUS_OK;
    }
    choices->replaced = old;
    if (way && !choices->waiting)
        choices_ask(choices, choice, 0, way);
    return STATUS_OK;
}

static void send(struct choices *choices)
{
    const struct convolver_switch to = {
        .to = choices->masks[choices->asked],
        .at = choices->at,
        .frames = choices->way.frames,
        .shape = choices->way.shape,
    };
    choices->waiting = false;
    if (to.to == choices->heard || convolver_switch(choices->convolver, &to) != STATUS_OK)
        return;
    choices->going = choices->asked;
    choices->switching = true;
}

bool choices_poll(struct choices *choices, size_t *choice, uint64_t *at)
{
    bool ended = choices->switching && convolver_switched(choices->convolver, at);
    if (ended) {
        choices->switching = false;
        choices->sounding = *choice = choices->going;
        choices->heard = choices->masks[choices->sounding];
        convolver_release(choices->convolver, choices->replaced);
        choices->replaced = NULL;
    }
    if (choices->waiting && !choices->switching)
        send(choices);
    return ended;
}

bool choices_are_within_switch(const struct choices *choices, size_t *choice, uint64_t *at)
{
    *choice = choices->going;
    return choices->switching && convolver_is_within_switch(choices->convolver, at);
}

size_t choices_asked(const struct choices *choices)
{
    return choices->asked;
}

size_t choices_sounding(const struct choices *choices)
{
    return choices->sounding;
}

bool choices_are_switching(const struct choices *choices)
{
    return choices->switching || choices->waiting;
}

/* ---- the chain ---- */

static struct stage *choosing_stage(const struct live_chain *chain)
{
    return chain->choice_count > 0 ? &chain->stages.stages[chain->request.stage] : NULL;
}

const struct filter *live_chain_convolver(const struct live_chain *chain)
{
    const struct stage *stage = choosing_stage(chain);
    return stage ? stage->filter : NULL;
}

size_t live_chain_mask_count(const struct live_chain *chain)
{
    return chain->choice_count + (chain->choice_count > 0 && chain->request.dry);
}

size_t live_chain_mask_of(const struct live_chain *chain, size_t choice)
{
    return choice % live_chain_mask_count(chain);
}

size_t live_chain_mask_latency(const struct live_chain *chain)
{
    size_t latency = 0;
    for (size_t i = 0; i < chain->stages.count; i++)
        if (stage_describe(&chain->stages.stages[i]).taps > 0)
            latency += (size_t)chain->stages.stages[i].filter->latency;
    return latency;
}

/* Reads the mask of a further choice. An error names the chain's file, as stages' errors do. */
static enum status read_other(struct live_chain *chain, const struct stage *stage, size_t i)
{
    const struct live_chain_request *request = &chain->request;
    char where[PATH_MAX + 80];
    snprintf(where, sizeof where, "%s, alternative %zu", stage->origin ? stage->origin : "", i + 2);
    const char *before = log_prefix(stage->origin ? where : NULL);
    enum status status = stage_mask_read(request->others[i], &chain->mask_format,
                                         &request->options->settings, &chain->masks[i + 1]);
    log_prefix(before);
    return status;
}

/* Whether masks contain their mix. They do if there are several choices, or one beside the dry
 * sound. Otherwise the stage mixes, and its mix can be changed. */
static bool has_mixes(const struct live_chain *chain)
{
    return chain->request.other_count > 0 || chain->request.adapt;
}

static void take_mix(struct stage *stage, struct mask *mask)
{
    mask->wet = stage_mix_gains(&stage->mix).wet;
    mask->dry = stage_mix_gains(&stage->mix).dry;
    stage->mix = (struct stage_mix_spec){.given = false};
    stage->has_mixes = true;
}

/* Makes a mask that passes `count` of the inputs to the outputs. */
static enum status make_passing(const struct live_chain *chain, const char *name, size_t first,
                                size_t count, size_t outputs, struct mask **result)
{
    TRY(mask_create_passing(name, chain->mask_format.channels, first, count, outputs, result));
    (*result)->rate = chain->mask_format.rate;
    return STATUS_OK;
}

static enum status choose_among_sounds(struct live_chain *chain)
{
    const struct live_chain_request *request = &chain->request;
    size_t first = 0;
    mask_destroy(stage_mask_swap(&chain->stages.stages[request->stage], NULL));
    chain->choice_count = request->sound_count;
    for (size_t i = 0; i < request->sound_count; i++) {
        const struct live_chain_sound *sound = &request->sounds[i];
        chain->texts[i] = sound->name;
        TRY(make_passing(chain, sound->name, first, sound->channels, sound->channels,
                         &chain->masks[i]));
        first += sound->channels;
    }
    return STATUS_OK;
}

static enum status read_choices(struct live_chain *chain)
{
    const struct live_chain_request *request = &chain->request;
    struct stage *stage = &chain->stages.stages[request->stage];
    if (request->sound_count > 0)
        return choose_among_sounds(chain);
    chain->choice_count = request->other_count + 1;
    chain->masks[0] = stage_mask_swap(stage, NULL);
    chain->texts[0] = stage->text;
    if (has_mixes(chain))
        take_mix(stage, chain->masks[0]);
    for (size_t i = 0; i < request->other_count; i++) {
        TRY(read_other(chain, stage, i));
        chain->texts[i + 1] = request->others[i];
    }
    return STATUS_OK;
}

static enum status widen(const struct live_chain *chain, struct mask *mask, size_t outputs)
{
    const char *what = chain->request.sound_count > 0 ? "" : "mask ";
    if (mask->outputs == 1 && outputs == 2)
        note("%s%s makes one channel, which plays on both", what, mask->name);
    else if (mask->outputs == 1 && outputs > 2)
        note("%s%s makes one channel, which plays on channels 1 and 2 of %zu", what, mask->name,
             outputs);
    else if (mask->outputs < outputs)
        note("%s%s makes %zu channel%s of %zu; the others are silent", what, mask->name,
             mask->outputs, plural_s(mask->outputs), outputs);
    return mask_widen(mask, outputs);
}

/* Gives all masks as many outputs as the widest one has. */
static enum status widen_choices(struct live_chain *chain)
{
    size_t outputs = chain->request.outputs;
    for (size_t i = 0; i < chain->choice_count; i++)
        if (chain->masks[i]->outputs > outputs)
            outputs = chain->masks[i]->outputs;
    for (size_t i = 0; i < chain->choice_count; i++)
        TRY(widen(chain, chain->masks[i], outputs));
    for (size_t i = 0; i < chain->choice_count && has_mixes(chain); i++)
        TRY(mask_mix(chain->masks[i]));
    choosing_stage(chain)->outputs = outputs;
    return chain->request.dry ? make_passing(chain, "dry", 0, chain->mask_format.channels, outputs,
                                             &chain->masks[chain->choice_count])
                              : STATUS_OK;
}

/* A mask's name for messages is its own name, or its spec if another mask has the same name. */
static void name_choices(struct live_chain *chain)
{
    for (size_t i = 0; i < chain->choice_count; i++) {
        size_t same = 0;
        for (size_t j = 0; j < chain->choice_count; j++)
            same += strcmp(chain->masks[i]->name, chain->masks[j]->name) == 0;
        chain->names[i] = same > 1 ? chain->texts[i] : chain->masks[i]->name;
    }
    chain->names[chain->choice_count] = "dry";
}

static enum status adapt_choices(struct live_chain *chain)
{
    const struct live_chain_request *request = &chain->request;
    enum status status = STATUS_OK;
    name_choices(chain);
    if (request->adapt)
        status = request->adapt(request->adapt_context, chain->masks, live_chain_mask_count(chain));
    name_choices(chain);
    return status;
}

static enum status unite(struct live_chain *chain)
{
    struct mask **masks = chain->masks;
    size_t count = live_chain_mask_count(chain);
    for (size_t i = 0; i < count; i++)
        if (masks[i]->origin > chain->origin)
            chain->origin = masks[i]->origin;
    chain->taps = chain->request.capacity;
    for (size_t i = 0; i < count; i++) {
        TRY(mask_pad(masks[i], chain->origin - masks[i]->origin));
        if (masks[i]->taps > chain->taps)
            chain->taps = masks[i]->taps;
    }
    return STATUS_OK;
}

static enum status load_choices(struct live_chain *chain)
{
    TRY(adapt_choices(chain));
    enum status status = unite(chain);
    choosing_stage(chain)->settings.convolver.taps = chain->taps;
    (void)stage_mask_swap(choosing_stage(chain), chain->masks[0]); /* still owned by the chain */
    return status;
}

/* `format`: format of the input before, and of the output after. */
static enum status load_stages(struct live_chain *chain, const struct stage_settings *settings,
                               struct stream_format *format)
{
    const struct live_chain_request *request = &chain->request;
    size_t count = chain->stages.count, end = 0;
    bool has_choices =
        request->stage < count && chain->stages.stages[request->stage].ops->has_choices;
    if (has_choices) {
        end = request->stage + 1;
        TRY(stage_list_load_part(&chain->stages, settings, format, 0, request->stage));
        chain->mask_format = *format;
        TRY(stage_list_load_part(&chain->stages, settings, format, request->stage, end));
        TRY(read_choices(chain));
        TRY(widen_choices(chain));
        stream_format_set_channels(format, choosing_stage(chain)->outputs);
        if (request->sound_count > 0 && request->sounds[0].channels == format->channels)
            format->layout = request->sounds[0].layout;
    }
    TRY(stage_list_load_part(&chain->stages, settings, format, end, count));
    if (request->proof)
        TRY(proof_begin(request->proof, &chain->stages, request->frames));
    return has_choices ? load_choices(chain) : STATUS_OK;
}

static enum status prepare_choices(struct live_chain *chain)
{
    size_t times = chain->request.twice ? 2 : 1, count = times * live_chain_mask_count(chain);
    struct mask *masks[2 * LIVE_CHOICES_MOST + 2];
    for (size_t i = 0; i < count; i++)
        masks[i] = chain->masks[live_chain_mask_of(chain, i)];
    return choices_create(chain->stages.stages[chain->request.stage].filter, masks, count,
                          &chain->choices);
}

/* Asks for the choice that sounds first. The switch ends within the silence that follows. */
static void ask_for_first(const struct live_chain *chain)
{
    const struct choices_way at_once = {.frames = 0};
    size_t choice;
    uint64_t at;
    if (!chain->choices || chain->request.first == 0)
        return;
    choices_ask(chain->choices, chain->request.first, 0, &at_once);
    (void)choices_poll(chain->choices, &choice, &at);
}

static void settle_first(const struct live_chain *chain)
{
    size_t choice;
    uint64_t at;
    if (chain->choices)
        (void)choices_poll(chain->choices, &choice, &at);
}

/* The first blocks allocate, start threads and wait. Some plugins reach the values of their
 * controls only after them. So a replay has to process them too. */
static enum status run_silence(const struct live_chain *chain)
{
    struct filter *filter = chain->filter;
    struct block in, out = {0};
    enum status status;
    if ((status = block_init(&in, filter->inputs, filter->block, "a stream")) ||
        (status = block_init(&out, filter->outputs, filter->block, "a stream")))
        goto end;
    for (size_t i = 0; i < SILENT_BLOCKS; i++)
        filter_process(filter, (const float *const *)in.data, out.data);
    filter_reset(filter);
end:
    block_free(&in);
    block_free(&out);
    return status;
}

/* The workers inherit the priority of the step, or the one below it. */
static enum status create_filters(struct live_chain *chain)
{
    const struct live_chain_request *request = &chain->request;
    struct realtime_before before;
    size_t threads = request->options->threads;
    if (threads == 0)
        threads = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 2 : 1; /* the step and a worker */
    bool raised = request->priority > 0 && realtime_raise(request->priority, &before);
    enum status status = workers_create(threads, &chain->workers);
    if (status == STATUS_OK)
        status = stage_list_create(&chain->stages, request->format.channels, request->block,
                                   chain->workers, &chain->filter);
    if (status == STATUS_OK && chain->stages.precision == PRECISION_DOUBLE) {
        struct filter *inner = chain->filter;
        chain->filter = NULL; /* the adapter owns `inner`, even if it fails */
        status = precision_adapter_create(inner, &chain->filter);
    }
    if (raised)
        realtime_restore(&before);
    return status;
}

static enum status begin_chain(struct live_chain *chain, const struct live_chain_request *request,
                               struct stream_format *format)
{
    *chain = (struct live_chain){.request = *request};
    struct stage_settings settings = request->options->settings;
    settings.convolver.live = request->live;
    settings.convolver.alike = request->twice;
    settings.streamed = true;
    for (size_t i = 0; i < request->options->stages.count; i++) {
        const struct stage *stage = &request->options->stages.stages[i];
        TRY(stage_list_add(&chain->stages, stage->ops, stage->text, stage->origin));
    }
    *format = request->format;
    TRY(load_stages(chain, &settings, format));
    chain->layout = format->layout;
    return STATUS_OK;
}

enum status live_chain_count_outputs(const struct live_chain_request *request, size_t *outputs)
{
    struct live_chain chain;
    struct stream_format format;
    enum status status = begin_chain(&chain, request, &format);
    *outputs = format.channels;
    live_chain_free(&chain);
    return status;
}

enum status live_chain_init(struct live_chain *chain, const struct live_chain_request *request)
{
    struct stream_format format;
    TRY(begin_chain(chain, request, &format));
    TRY(create_filters(chain));
    stage_list_warn_of_precision(&chain->stages);
    if (chain->choice_count > 0)
        TRY(prepare_choices(chain));
    ask_for_first(chain);
    TRY(run_silence(chain));
    settle_first(chain);
    stage_list_discard(&chain->stages);
    for (size_t i = 1; i < live_chain_mask_count(chain); i++)
        mask_discard_coefficients(chain->masks[i], NULL);
    return STATUS_OK;
}

void live_chain_free(struct live_chain *chain)
{
    choices_destroy(chain->choices);
    filter_destroy(chain->filter);
    workers_destroy(chain->workers);
    if (choosing_stage(chain))
        (void)stage_mask_swap(choosing_stage(chain), NULL);
    stage_list_free(&chain->stages);
    for (size_t i = 0; i <= LIVE_CHOICES_MOST; i++)
        mask_destroy(chain->masks[i]);
    for (size_t i = 0; i < LIVE_CHOICES_MOST; i++)
        free(chain->replaced[i]);
    *chain = (struct live_chain){0};
}

/* ---- masks loaded later ---- */

/* The mask does not fit this chain. A chain with other sizes could take it. */
static enum status try_again(enum status failed)
{
    return failed == STATUS_FAILED ? STATUS_TRY_AGAIN : failed;
}

static enum status fit(const struct live_chain *chain, struct mask *mask)
{
    if (mask->outputs > chain->masks[0]->outputs)
        return fail(
            CAUSE_UNSUPPORTED,
            "mask %s does not fit: it makes %zu channel%s, and the masks at the start make at "
            "most %zu; restart with it",
            mask->name, mask->outputs, plural_s(mask->outputs), chain->masks[0]->outputs);
    TRY(widen(chain, mask, chain->masks[0]->outputs));
    if (has_mixes(chain))
        TRY(mask_mix(mask));
    if (mask->origin > chain->origin)
        return try_again(fail(
            CAUSE_UNSUPPORTED,
            "mask %s does not fit: its time zero is at tap %zu, later than tap %zu of the masks "
            "at the start",
            mask->name, mask->origin, chain->origin));
    enum status status = mask_pad(mask, chain->origin - mask->origin);
    if (status == STATUS_OK && mask->taps > chain->taps)
        status =
            try_again(fail(CAUSE_UNSUPPORTED,
                           "mask %s does not fit: it has %zu tap%s, and the limit is %zu; restart "
                           "with it",
                           mask->name, mask->taps, plural_s(mask->taps), chain->taps));
    return status;
}

static void put_mask(struct live_chain *chain, size_t choice, char *text, struct mask *mask)
{
    struct stage *stage = &chain->stages.stages[chain->request.stage];
    mask_discard_coefficients(mask, NULL);
    mask_destroy(chain->masks[choice]);
    chain->masks[choice] = mask;
    if (choice == 0)
        (void)stage_mask_swap(stage, mask);
    if (text) {
        free(chain->replaced[choice]);
        chain->replaced[choice] = text;
        chain->texts[choice] = text;
    }
    name_choices(chain);
}

enum status live_chain_put(struct live_chain *chain, size_t choice, const char *text,
                           struct mask *mask, const struct choices_way *way)
{
    char *kept = text ? strdup(text) : NULL;
    enum status status = text && !kept ? fail_memory("a mask") : fit(chain, mask);
    if (status != STATUS_OK || (status = choices_replace(chain->choices, choice, mask, way)))
        goto fail;
    put_mask(chain, choice, kept, mask);
    return STATUS_OK;
fail:
    mask_destroy(mask);
    free(kept);
    return status;
}
