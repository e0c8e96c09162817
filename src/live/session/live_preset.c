/* Presets of halo live while it runs: starting with one, changing to another one, saving. */
#include "base/monotonic.h"
#include "base/plural.h"
#include "live/session/live_session.h"
#include "live/session/present.h"
#include "signal/audio.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- preparing a preset beside the stream, on a thread and on the CPU ---- */

enum { WAIT_NS = 1000000 };

struct preset_loader {
    struct task task; /* held while the loader uses the stream */
    struct preset_source source;
    struct chain_options settings; /* settings for the chain, without stages */
    /* Request for the present chain; the new chain gets the same rate, block and so on. */
    struct live_chain_request like;
    struct live *live; /* must outlive the loader */
    size_t outputs;    /* outputs of the present chain; the new chain must have as many */
    unsigned number;   /* number of the new slot */
    double at;         /* monotonic seconds: earliest time of the change */
    struct prepared_preset *prepared;
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

static void destroy_loader(struct task *task)
{
    struct preset_loader *loader = (struct preset_loader *)task;
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

/* ---- the loader's thread ---- */

static enum status load_chain(struct preset_loader *loader)
{
    struct prepared_preset *prepared = loader->prepared;
    struct live_chain *chain = &prepared->chain;
    if (!prepared->preset)
        TRY(preset_load(&loader->source, &loader->settings, &prepared->preset));
    const struct preset *preset = prepared->preset;
    const struct live_chain_request request = preset_chain_request(preset, &loader->like);
    TRY(live_chain_init(chain, &request));
    if (chain->filter->outputs != loader->outputs)
        return fail(CAUSE_UNSUPPORTED,
                    "it makes %zu channel%s, not %zu as what plays; begin with it instead",
                    chain->filter->outputs, plural_s(chain->filter->outputs), loader->outputs);
    const struct stream_slot_settings settings = {.chain = chain->filter,
                                                  .stages = &chain->stages,
                                                  .gain = audio_from_db(preset->live.gain_db),
                                                  .dry = preset->live.dry,
                                                  .number = loader->number};
    return stream_slot_init(&prepared->coming.slot, &settings);
}

/* Frames for which the filter remembers its input. */
static uint64_t memory_of(const struct filter *filter)
{
    return filter->tail_unknown ? UINT32_MAX : filter->latency + filter->tail;
}

static enum status prepare(struct task *task)
{
    struct preset_loader *loader = (struct preset_loader *)task;
    struct prepared_preset *prepared = loader->prepared;
    TRY(load_chain(loader));
    TRY(task_hold(task));
    TRY(live_change_feed(live_change_of(loader->live), &prepared->coming,
                         memory_of(prepared->chain.filter), &task->is_cancelled));
    while (!atomic_load(&task->is_cancelled) && monotonic_seconds() < loader->at) {
        nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
        TRY(live_change_feed_on(live_change_of(loader->live), &prepared->coming,
                                &task->is_cancelled));
    }
    if (atomic_load(&task->is_cancelled))
        return STATUS_INTERRUPTED;
    prepared->chain.since = prepared->coming.since;
    live_change_offer(live_change_of(loader->live), &prepared->coming);
    return STATUS_OK;
}

/* ---- the control thread ---- */

/* Reads what only the control thread may read. The loader's thread reads the rest. */
static enum status prepare_options(struct preset_loader *loader, const struct play_options *options)
{
    loader->settings = options->chain;
    loader->settings.stages = (struct stage_list){0};
    present_keep_to_cpu(&loader->settings.settings.convolver);
    if (loader->prepared->preset)
        return STATUS_OK;
    if (loader->source.place == PRESET_SAVED)
        return preset_check_name(loader->source.text);
    if (loader->source.place != PRESET_OF_OPTIONS)
        return STATUS_OK;
    return preset_of_options(options, loader->source.mask, &loader->settings,
                             &loader->prepared->preset);
}

/* Starts to prepare a preset, while no change is under way. `preset`: owned; NULL: of `source`. The
 * change begins at the monotonic time `at` or later. */
static enum status preset_loader_start(struct live_session *session,
                                       const struct preset_source *source, struct preset *preset,
                                       double at)
{
    const struct stream_session *stream = &session->stream;
    struct preset_loader *loader = calloc(1, sizeof *loader);
    struct prepared_preset *prepared = calloc(1, sizeof *prepared);
    if (!loader || !prepared) {
        free(loader);
        free(prepared);
        preset_destroy(preset);
        return fail_memory("a preset");
    }
    prepared->preset = preset;
    prepared->coming.frames = stream->way.frames;
    prepared->coming.shape = stream->way.shape;
    loader->prepared = prepared;
    loader->source = *source;
    loader->like = stream->chain.request;
    loader->live = stream->live;
    loader->outputs = stream->chain.filter->outputs;
    loader->number = ++session->presets.number;
    loader->at = at;
    loader->task.is_quiet = at > 0; /* blind: notes on masks would tell what is heard */
    enum status status = prepare_options(loader, &session->options->play);
    if (status != STATUS_OK) {
        destroy_loader(&loader->task);
        return status;
    }
    TRY(task_start(&loader->task, "halo preset", "a preset", prepare, destroy_loader));
    session->presets.loader = &loader->task;
    return STATUS_OK;
}

/* ---- the present preset ---- */

static const char *name_of(const struct preset *preset)
{
    return preset->source.place == PRESET_SAVED ? preset->source.text : "";
}

/* Stores the name for --resume. A failure is only a warning. */
static void remember(struct live_session *session)
{
    const char *name = session->presets.name;
    char reason[TASK_REASON];
    const struct log_keeper before = log_keep_in(reason, sizeof reason);
    enum status status = preset_remember(name);
    log_keep_again(&before);
    if (status != STATUS_OK)
        view_warning(session->stream.view, "--resume will not know preset %s: %s", name, reason);
}

static enum status find_first(const struct live_options *options, struct preset_source *source)
{
    *source = (struct preset_source){.place = PRESET_OF_OPTIONS, .mask = PRESET_OWN_MASK};
    if (options->preset || options->resume)
        source->place = PRESET_SAVED;
    if (options->resume)
        return preset_last(source->text);
    if (options->preset)
        TRY(preset_check_name(options->preset));
    if (options->preset)
        strcpy(source->text, options->preset);
    return STATUS_OK;
}

enum status live_preset_load_source(const struct live_options *options,
                                    const struct preset_source *source, struct preset **preset)
{
    return source->place == PRESET_OF_OPTIONS
               ? preset_of_options(&options->play, source->mask, &options->play.chain, preset)
               : preset_load(source, &options->play.chain, preset);
}

/* Loads the preset that the options name; none: *preset stays NULL. Errors: no such preset. */
static enum status live_preset_load(const struct live_options *options, struct preset **preset)
{
    struct preset_source source;
    char where[PRESET_LABEL_MOST + 16], label[PRESET_LABEL_MOST];
    TRY(find_first(options, &source));
    if (source.place == PRESET_OF_OPTIONS)
        return STATUS_OK;
    preset_source_describe(&source, label);
    snprintf(where, sizeof where, "cannot resume %s", label);
    const char *before = log_prefix(options->resume ? where : NULL);
    enum status status = live_preset_load_source(options, &source, preset);
    log_prefix(before);
    return status;
}

/* The first mask of the command line's chain, for devices without a --for-device rule. */
static int first_mask(const struct live_options *options, const struct preset *preset)
{
    if (!preset)
        return options->play.choosing == SIZE_MAX ? PRESET_OWN_MASK : 1;
    if (preset->live.dry)
        return 0;
    return preset->live.stage == SIZE_MAX ? PRESET_OWN_MASK : (int)preset->live.mask;
}

void live_preset_use(struct live_session *session, struct preset *preset)
{
    preset_destroy(session->presets.preset);
    session->presets.preset = preset;
    session->stream.gain_db = preset->live.gain_db;
    session->stream.dry = preset->live.dry;
}

enum status live_preset_begin(struct live_session *session)
{
    struct live_presets *presets = &session->presets;
    struct preset *preset = NULL;
    TRY(find_first(session->options, &presets->first));
    TRY(live_preset_load(session->options, &preset));
    presets->first.mask = first_mask(session->options, preset);
    if (preset)
        live_preset_use(session, preset);
    return STATUS_OK;
}

void live_preset_begun(struct live_session *session)
{
    struct live_presets *presets = &session->presets;
    if (presets->preset)
        strcpy(presets->name, name_of(presets->preset));
    if (*presets->name && !presets->is_for_device)
        remember(session);
}

/* `others`: for the specs of the alternatives. */
static struct chain_live present_live(const struct stream_session *stream,
                                      const char *others[LIVE_CHOICES_MOST])
{
    const struct live_chain *chain = &stream->chain;
    struct chain_live live = {
        .stage = SIZE_MAX, .mask = 1, .dry = stream->dry, .gain_db = stream->gain_db};
    if (chain->choice_count > 0) {
        live.stage = chain->request.stage;
        live.other_count = chain->choice_count - 1;
        live.others = others;
        for (size_t i = 0; i < live.other_count; i++)
            others[i] = live_chain_text(chain, live.stage, i + 1);
        live.mask = choices_asked(chain->choices) + 1;
    }
    return live;
}

enum status live_preset_save(struct live_session *session, const char *name, bool force)
{
    struct stream_session *stream = &session->stream;
    const char *others[LIVE_CHOICES_MOST];
    const struct chain_live live = present_live(stream, others);
    struct stage_list list;
    enum status status = present_stages(stream, 0, &list);
    if (status == STATUS_OK)
        status = preset_save(name, force, &list, &live);
    present_stages_free(&list);
    TRY(status);
    snprintf(session->presets.name, sizeof session->presets.name, "%s", name);
    remember(session);
    view_message(stream->view, "saved as preset %s", name);
    return STATUS_OK;
}

enum status live_preset_present(const struct live_session *session, struct preset **preset)
{
    const struct stream_session *stream = &session->stream;
    const char *others[LIVE_CHOICES_MOST];
    const struct chain_live live = present_live(stream, others);
    struct chain_options like = session->options->play.chain;
    present_keep_to_cpu(&like.settings.convolver);
    struct stage_list list;
    enum status status = present_stages(stream, 0, &list);
    list.tempo = stream->chain.stages.tempo;
    if (status == STATUS_OK)
        status = preset_of_stages(&list, &live, PRESET_OWN_MASK, &like, preset);
    present_stages_free(&list);
    return status;
}

/* ---- requests ---- */

/* Ends a request and answers it. `reason`: why it failed; "": it succeeded. */
static void end_request(struct live_session *session, struct stream_request *request,
                        const char *reason)
{
    char label[PRESET_LABEL_MOST], text[PRESET_LABEL_MOST + TASK_REASON + 32];
    preset_source_describe(&request->source, label);
    if (*reason && request->is_kept)
        live_edit_drop(session);
    if (request->is_edit)
        snprintf(text, sizeof text, "cannot change the chain: %s", reason);
    else
        snprintf(text, sizeof text, "cannot change to %s: %s", label, reason);
    stream_session_end_request(&session->stream, request, *reason ? text : "");
}

/* Only the last request counts. A program whose request is replaced gets an answer; keys do not. */
static void supersede(struct live_session *session, struct stream_request *request)
{
    if (request->is_asked && request->path)
        end_request(session, request, "another preset was asked for since");
}

static void ask(struct live_session *session, const struct stream_request *request,
                const struct live_command *command)
{
    supersede(session, &session->stream.next[STREAM_PRESET]);
    stream_session_ask(&session->stream, STREAM_PRESET, request, command);
}

enum status live_preset_ask(struct live_session *session, const char *name,
                            const struct live_command *command)
{
    struct stream_request request = {.source = {.place = PRESET_SAVED, .mask = PRESET_OWN_MASK}};
    TRY(preset_check_name(name));
    strcpy(request.source.text, name);
    ask(session, &request, command);
    return STATUS_OK;
}

void live_preset_ask_for_device(struct live_session *session, const struct preset_source *source)
{
    ask(session, &(struct stream_request){.is_for_device = true, .source = *source}, NULL);
}

const struct preset_source *live_preset_last_asked(const struct live_session *session)
{
    const struct stream_request *next = &session->stream.next[STREAM_PRESET];
    const struct stream_request *current = &session->stream.current[STREAM_PRESET];
    static const struct preset_source of_options = {.place = PRESET_OF_OPTIONS};
    return next->is_asked            ? &next->source
           : current->is_asked       ? &current->source
           : session->presets.preset ? &session->presets.preset->source
                                     : &of_options;
}

/* Name of the preset that was requested last, or else of the one that is heard; "": none. */
static const char *last_name(const struct live_session *session)
{
    const struct stream_session *stream = &session->stream;
    const struct preset_source *last = live_preset_last_asked(session);
    if (!stream->next[STREAM_PRESET].is_asked && !stream->current[STREAM_PRESET].is_asked)
        return session->presets.name;
    return last->place == PRESET_SAVED ? last->text : "";
}

enum status live_preset_go(struct live_session *session, int direction,
                           const struct live_command *command)
{
    struct preset_names names;
    enum status status = preset_names_init(&names);
    if (status == STATUS_OK && names.count == 0)
        status = fail(CAUSE_USAGE, "there are no presets; key s saves one");
    if (status != STATUS_OK)
        goto end;
    /* if none is equal, go to the first or last preset */
    size_t at = 0, from = direction > 0 ? names.count - 1 : 0;
    for (at = 0; at < names.count; at++)
        if (strcmp(names.names[at], last_name(session)) == 0)
            from = at;
    at = (from + (direction > 0 ? 1 : names.count - 1)) % names.count;
    status = live_preset_ask(session, names.names[at], command);
end:
    preset_names_free(&names);
    return status;
}

/* Prepares the present chain again. */
static enum status start_present(struct live_session *session)
{
    const struct preset_source source = {.place = PRESET_OF_OPTIONS};
    struct preset *preset;
    TRY(live_preset_present(session, &preset));
    return preset_loader_start(session, &source, preset, 0);
}

bool live_preset_is_idle(const struct live_session *session)
{
    const struct live_presets *presets = &session->presets;
    return !presets->loader && !presets->coming && !session->stream.next[STREAM_PRESET].is_asked;
}

enum status live_preset_change(struct live_session *session, struct preset *preset, double at)
{
    struct stream_request *current = &session->stream.current[STREAM_PRESET];
    const struct preset_source source = {.place = PRESET_OF_OPTIONS};
    enum status status = preset_loader_start(session, &source, preset, at);
    if (status == STATUS_OK)
        *current = (struct stream_request){.is_asked = true, .is_edit = true, .source = source};
    return status;
}

void live_preset_ask_present(struct live_session *session)
{
    struct live_presets *presets = &session->presets;
    const struct preset_source *source =
        presets->preset ? &presets->preset->source : &presets->first;
    if (!session->stream.next[STREAM_PRESET].is_asked) /* otherwise another preset will be heard */
        ask(session,
            &(struct stream_request){.is_for_device = true, .is_present = true, .source = *source},
            NULL);
}

static void start_loader(struct live_session *session)
{
    char reason[TASK_REASON] = "";
    struct stream_request *current = stream_session_begin_request(&session->stream, STREAM_PRESET);
    const struct log_keeper before = log_keep_in(reason, sizeof reason);
    enum status status = current->is_present
                             ? start_present(session)
                             : preset_loader_start(session, &current->source, NULL, 0);
    log_keep_again(&before);
    if (status != STATUS_OK)
        end_request(session, current, reason);
}

/* ---- the change ---- */

static void log_change(const struct live_session *session, const struct prepared_preset *prepared)
{
    const struct stream_session *stream = &session->stream;
    const struct chain_live *live = &prepared->preset->live;
    struct live_settings settings = stream_session_settings(stream);
    settings.gain = audio_from_db(live->gain_db);
    settings.dry = live->dry;
    const struct live_log_preset preset = {
        .chain = &prepared->chain,
        .settings = &settings,
        .at = prepared->coming.began,
        .way = {.frames = prepared->coming.frames, .shape = prepared->coming.shape}};
    live_log_preset(stream->log, &preset);
}

static void exchange_chains(struct live_session *session, struct prepared_preset *prepared)
{
    struct stream_session *stream = &session->stream;
    struct live_chain chain = stream->chain;
    struct preset *preset = session->presets.preset;
    stream->chain = prepared->chain;
    session->presets.preset = prepared->preset;
    prepared->chain = chain;
    prepared->preset = preset;
}

/* Shows what is heard now. If a user requested the preset, stores its name for --resume. */
static void tell(struct live_session *session)
{
    struct live_presets *presets = &session->presets;
    const struct stream_request *current = &session->stream.current[STREAM_PRESET];
    if (current->is_edit)
        presets->preset->source.place = PRESET_EDITED;
    char label[PRESET_LABEL_MOST];
    strcpy(presets->name, name_of(presets->preset));
    if (*presets->name && !current->is_for_device)
        remember(session);
    preset_source_describe(&presets->preset->source, label);
    if (current->is_present)
        snprintf(label, sizeof label, "the masks are loaded, with room for the longer one");
    if (current->is_edit)
        snprintf(label, sizeof label, "the chain has changed");
    view_message(session->stream.view, "%s", label);
}

/* Completes a change. The step no longer uses the old chain. */
static void adopt(struct live_session *session, struct prepared_preset *prepared)
{
    struct stream_session *stream = &session->stream;
    struct live_presets *presets = &session->presets;
    stream_session_update(stream); /* handles events that the step reported about the old chain */
    stream_session_switch(stream, true);
    log_change(session, prepared);
    live_session_prove(session, &stream->chain, prepared->coming.began + prepared->coming.frames);
    live_control_end_loads(session);
    exchange_chains(session, prepared);
    live_controls_free(&stream->controls);
    live_send_to(stream->live, presets->number);
    if (stream_session_make_controls(stream) != STATUS_OK)
        stream->controls.count = 0; /* a message says so */
    if (!stream->blind)             /* a matched gain would tell which version is heard */
        stream->gain_db = presets->preset->live.gain_db;
    stream->dry = presets->preset->live.dry;
    stream->from_cpu += stream_session_blocks_from_cpu(&prepared->chain);
    prepared_preset_free(prepared);
    if (!stream->blind)
        live_control_show_keys(session);
    live_control_watch_again(session);
    tell(session);
}

static void take_loaded(struct live_session *session)
{
    struct live_presets *presets = &session->presets;
    struct stream_request *current = &session->stream.current[STREAM_PRESET];
    struct preset_loader *loader = (struct preset_loader *)presets->loader;
    if (!task_is_done(&loader->task))
        return;
    presets->loader = NULL;
    if (*loader->task.reason)
        end_request(session, current, loader->task.reason);
    else {
        if (current->is_present)
            loader->prepared->preset->source = current->source;
        presets->coming = loader->prepared;
        loader->prepared = NULL;
    }
    task_release(&loader->task);
}

static void take_changed(struct live_session *session)
{
    struct live_presets *presets = &session->presets;
    if (!live_change_taken(live_change_of(session->stream.live)))
        return;
    adopt(session, presets->coming);
    presets->coming = NULL;
    end_request(session, &session->stream.current[STREAM_PRESET], "");
}

void live_preset_advance(struct live_session *session)
{
    struct live_presets *presets = &session->presets;
    if (presets->loader)
        take_loaded(session);
    if (presets->coming)
        take_changed(session);
    if (!presets->loader && !presets->coming && session->stream.next[STREAM_PRESET].is_asked)
        start_loader(session);
}

void live_preset_finish(struct live_session *session)
{
    struct stream_session *stream = &session->stream;
    struct live_presets *presets = &session->presets;
    live_preset_advance(session);
    while (presets->loader && live_change_is_under_way(live_change_of(stream->live))) {
        sched_yield(); /* the loader has offered its slot, and will be done at once */
        live_preset_advance(session);
    }
    if (presets->coming && !stream->stuck && live_change_of(stream->live)->has_begun)
        log_change(session, presets->coming);
}

void live_preset_close(struct live_session *session)
{
    struct live_presets *presets = &session->presets;
    task_release(presets->loader);
    prepared_preset_free(presets->coming);
    presets->loader = NULL;
    presets->coming = NULL;
}

void live_preset_start_again(struct live_session *session)
{
    struct stream_request *next = &session->stream.next[STREAM_PRESET];
    struct stream_request *current = &session->stream.current[STREAM_PRESET];
    live_preset_finish(session);
    live_preset_close(session); /* first: the loader may still offer a slot */
    live_change_withdraw(live_change_of(session->stream.live));
    if (current->is_edit)
        end_request(session, current, "the device changed");
    else if (next->is_asked)
        supersede(session, current);
    else
        *next = *current;
    *current = (struct stream_request){0};
}
