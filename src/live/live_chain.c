#include "live/live_chain.h"

#include "base/plural.h"
#include "base/realtime.h"
#include "base/text_stream.h"
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
    for (size_t i = 0; i < count && chain->request.equalises; i++)
        if (masks[i]->bands && chain->taps < chain->origin + EQ_TAPS_MOST)
            chain->taps = chain->origin + EQ_TAPS_MOST;
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

/* Gives the equalisers at other stages room for other bands. */
static enum status find_equalisers(struct live_chain *chain)
{
    if (!chain->request.equalises)
        return STATUS_OK;
    chain->equalisers = calloc(chain->stages.count + 1, sizeof *chain->equalisers);
    if (!chain->equalisers)
        return fail_memory("equalisers");
    for (size_t i = 0; i < chain->stages.count; i++) {
        struct stage *stage = &chain->stages.stages[i];
        const struct mask *mask = stage_mask_of(stage);
        chain->equalisers[i].is_one = stage == choosing_stage(chain) || (mask && mask->bands);
        if (stage == choosing_stage(chain) || !chain->equalisers[i].is_one)
            continue;
        size_t taps = mask->origin + EQ_TAPS_MOST;
        stage->settings.convolver.taps = mask->taps > taps ? mask->taps : taps;
    }
    return STATUS_OK;
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
    TRY(find_equalisers(chain));
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

static enum status prepare_equalisers(struct live_chain *chain)
{
    for (size_t i = 0; chain->equalisers && i < chain->stages.count; i++) {
        struct stage *stage = &chain->stages.stages[i];
        if (chain->equalisers[i].is_one && stage != choosing_stage(chain))
            TRY(choices_create(stage->filter, NULL, 1, &chain->equalisers[i].choices));
    }
    return STATUS_OK;
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
    TRY(prepare_equalisers(chain));
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
    for (size_t i = 0; chain->equalisers && i < chain->stages.count; i++) {
        choices_destroy(chain->equalisers[i].choices);
        free(chain->equalisers[i].waiting);
        free(chain->equalisers[i].text);
    }
    free(chain->equalisers);
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

/* ---- equalisers ---- */

const struct choices *live_chain_equaliser(const struct live_chain *chain, size_t stage)
{
    return chain->equalisers && stage < chain->stages.count ? chain->equalisers[stage].choices
                                                            : NULL;
}

static struct choices *choices_of(const struct live_chain *chain, size_t stage)
{
    bool chooses = &chain->stages.stages[stage] == choosing_stage(chain);
    return chooses ? chain->choices : chain->equalisers ? chain->equalisers[stage].choices : NULL;
}

/* The mask and the spec of a choice. A stage without choices has one. */
static const struct mask *mask_at(const struct live_chain *chain, size_t stage, size_t choice,
                                  const char **text)
{
    const struct stage *at = &chain->stages.stages[stage];
    bool chooses = at == choosing_stage(chain);
    choice = chooses ? live_chain_mask_of(chain, choice) : 0;
    *text = chooses ? chain->texts[choice] : at->text;
    return chooses ? chain->masks[choice] : stage_mask_of(at);
}

const struct eq_bands *live_chain_bands(const struct live_chain *chain, size_t stage)
{
    const char *text;
    if (!chain->equalisers || stage >= chain->stages.count || !chain->equalisers[stage].is_one)
        return NULL;
    const struct live_equaliser *equaliser = &chain->equalisers[stage];
    size_t asked = choices_asked(choices_of(chain, stage));
    return equaliser->waiting && equaliser->choice == asked
               ? equaliser->waiting
               : mask_at(chain, stage, asked, &text)->bands;
}

const char *live_chain_text(const struct live_chain *chain, size_t stage, size_t choice)
{
    const char *text;
    const struct live_equaliser *equaliser = chain->equalisers ? &chain->equalisers[stage] : NULL;
    (void)mask_at(chain, stage, choice, &text);
    return equaliser && equaliser->text && equaliser->choice == choice ? equaliser->text : text;
}

/* Makes the spec of the bands, with the mix that the old spec has. */
static enum status make_spec(const struct eq_bands *bands, double rate, const char *old,
                             char **result)
{
    size_t size = 0;
    char *own, **words = spec_split(old), *text = NULL;
    enum status status = words ? eq_bands_print(bands, rate, &own) : fail_memory("an equaliser");
    if (status != STATUS_OK) {
        free(words);
        return status;
    }
    FILE *stream = text_stream_open(&text, &size);
    if (stream)
        fputs(own, stream);
    for (size_t w = 1; stream && words[0] && words[w]; w++)
        if (stage_mix_is_word(words[w]))
            fprintf(stream, ",%s", words[w]);
    if (text_stream_finish(stream) != 0) {
        free(text);
        status = fail_memory("an equaliser");
    }
    free(own);
    free(words);
    *result = text;
    return status;
}

enum status live_chain_put_at(struct live_chain *chain, size_t stage, const char *text,
                              struct mask *mask, uint64_t at, const struct choices_way *way)
{
    struct stage *own = &chain->stages.stages[stage];
    struct live_equaliser *equaliser = &chain->equalisers[stage];
    const struct mask *old = stage_mask_of(own);
    enum status status = STATUS_OK;
    char *kept = strdup(text);
    if (!kept)
        status = fail_memory("an equaliser");
    else if (mask->origin > old->origin)
        status = fail(CAUSE_UNSUPPORTED, "mask %s has its time zero later than the one that sounds",
                      mask->name);
    if (status != STATUS_OK || (status = mask_pad(mask, old->origin - mask->origin)) ||
        (status = choices_replace(equaliser->choices, 0, mask, NULL))) {
        mask_destroy(mask);
        free(kept);
        return status;
    }
    choices_ask(equaliser->choices, 0, at, way);
    mask_discard_coefficients(mask, NULL);
    mask_destroy(stage_mask_swap(own, mask));
    free(own->text);
    own->text = kept;
    equaliser->way = *way;
    return STATUS_OK;
}

static enum status put_bands(struct live_chain *chain, size_t stage, size_t choice,
                             const char *text, const struct choices_way *way)
{
    const struct live_chain_request *request = &chain->request;
    const struct stage *own = &chain->stages.stages[stage];
    struct live_equaliser *equaliser = &chain->equalisers[stage];
    struct stream_format format = {.rate = request->format.rate, .channels = own->inputs};
    bool chooses = own == choosing_stage(chain);
    struct mask *mask = NULL;
    enum status status = stage_mask_read(text, chooses ? &chain->mask_format : &format,
                                         &request->options->settings, &mask);
    if (status == STATUS_OK)
        status = chooses ? live_chain_put(chain, choice, text, mask, way)
                         : live_chain_put_at(chain, stage, text, mask, 0, way);
    if (status == STATUS_OK) {
        equaliser->is_changed = true;
        equaliser->is_put = chooses;
        equaliser->put = choice;
    }
    return status == STATUS_TRY_AGAIN ? STATUS_FAILED : status;
}

/* Keeps bands until the switch in progress ends. Owns `text`, even on failure. */
static enum status wait_with(struct live_equaliser *equaliser, size_t choice,
                             const struct eq_bands *bands, char *text,
                             const struct choices_way *way)
{
    if (!equaliser->waiting && !(equaliser->waiting = malloc(sizeof *equaliser->waiting))) {
        free(text);
        return fail_memory("an equaliser");
    }
    *equaliser->waiting = *bands;
    free(equaliser->text);
    equaliser->text = text;
    equaliser->choice = choice;
    equaliser->next = *way;
    return STATUS_OK;
}

enum status live_chain_equalise(struct live_chain *chain, size_t stage,
                                const struct eq_bands *bands, const struct choices_way *way)
{
    if (!live_chain_bands(chain, stage))
        return fail(CAUSE_USAGE, "stage %zu has no equaliser", stage + 1);
    const struct choices *choices = choices_of(chain, stage);
    size_t choice = choices_asked(choices);
    char *text;
    TRY(make_spec(bands, chain->request.format.rate, live_chain_text(chain, stage, choice), &text));
    if (choices_are_switching(choices))
        return wait_with(&chain->equalisers[stage], choice, bands, text, way);
    enum status status = put_bands(chain, stage, choice, text, way);
    free(text);
    return status;
}

void live_chain_carry_bands(struct live_chain *chain, const struct live_chain *old)
{
    const struct choices_way at_once = {.frames = 0};
    for (size_t i = 0; i < chain->stages.count && i < old->stages.count; i++) {
        const struct eq_bands *bands = live_chain_bands(old, i), *now = live_chain_bands(chain, i);
        struct eq_bands fitting = {.preamp = bands ? bands->preamp : 0};
        for (size_t b = 0; bands && b < bands->count; b++)
            (void)eq_bands_add(&fitting, &bands->bands[b], chain->request.format.rate);
        bool is_due = bands && now && old->equalisers[i].is_changed;
        if (is_due && live_chain_equalise(chain, i, &fitting, &at_once) != STATUS_OK)
            return; /* a message says so */
    }
}

/* Applies the bands that waited for the end of a switch. */
static void put_waiting(struct live_chain *chain, size_t stage)
{
    struct live_equaliser *equaliser = &chain->equalisers[stage];
    const struct choices_way way = equaliser->next;
    char *text = equaliser->text;
    free(equaliser->waiting);
    equaliser->waiting = NULL;
    equaliser->text = NULL;
    if (put_bands(chain, stage, equaliser->choice, text, &way) != STATUS_OK)
        note("the last change of stage %zu has no effect", stage + 1);
    free(text);
}

/* Reports that a choice's mask was replaced, before a switch to it begins. */
static bool take_put(struct live_chain *chain, size_t stage, struct live_chain_done *done)
{
    struct live_equaliser *equaliser = chain->equalisers ? &chain->equalisers[stage] : NULL;
    if (!equaliser || !equaliser->is_put)
        return false;
    equaliser->is_put = false;
    *done = (struct live_chain_done){.event = LIVE_CHAIN_PUT, .choice = equaliser->put};
    return true;
}

struct live_chain_done live_chain_advance(struct live_chain *chain, size_t stage, bool is_over)
{
    struct live_chain_done done = {.event = LIVE_CHAIN_NOTHING};
    struct choices *choices = choices_of(chain, stage);
    struct live_equaliser *equaliser = chain->equalisers ? &chain->equalisers[stage] : NULL;
    if (!choices || take_put(chain, stage, &done))
        return done;
    if (choices_poll(choices, &done.choice, &done.at) ||
        (is_over && choices_are_within_switch(choices, &done.choice, &done.at))) {
        done.event = choices == chain->choices ? LIVE_CHAIN_SWITCHED : LIVE_CHAIN_EQUALISED;
        done.at += chain->since;
        done.way = equaliser ? equaliser->way : done.way;
    } else if (equaliser && equaliser->waiting && !is_over && !choices_are_switching(choices)) {
        put_waiting(chain, stage);
        if (!take_put(chain, stage, &done))
            (void)choices_poll(choices, &done.choice, &done.at); /* the switch begins now */
    }
    return done;
}

bool live_chain_is_switching(const struct live_chain *chain)
{
    bool switching = false;
    for (size_t i = 0; i < chain->stages.count; i++)
        switching |= choices_of(chain, i) && choices_are_switching(choices_of(chain, i));
    return switching;
}
