#include "live/session/replay.h"

#include "base/files_read.h"
#include "base/options.h"
#include "base/plain_text.h"
#include "base/stop.h"
#include "chain/stage_mask.h"
#include "design/design.h"
#include "live/session/live_log.h"
#include "live/session/live_session.h"
#include "signal/audio.h"

#include <errno.h>
#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHANNELS_MOST = LIVE_CHANNELS_MOST, RATE_MOST = 10000000, BLOCK_MOST = 1 << 16 };
enum { STAGES_MOST = 1000 };

static enum status replay_refuse(const struct replay *replay, const char *problem)
{
    return fail(CAUSE_USAGE, "cannot replay %s: %s", replay->path, problem);
}

static bool whole(const json_t *line, const char *key, size_t most, size_t *value)
{
    const json_t *number = json_object_get(line, key);
    if (!json_is_integer(number) || json_integer_value(number) < 0 ||
        (uint64_t)json_integer_value(number) > most)
        return false;
    *value = (size_t)json_integer_value(number);
    return true;
}

/* Reads a gain in dB; a missing member is 0 dB. */
static bool decibels(const json_t *line, const char *key, double *linear)
{
    const json_t *number = json_object_get(line, key);
    double db = json_number_value(number);
    *linear = audio_from_db(db);
    return (!number || json_is_number(number)) && fabs(db) <= OPTIONS_DB_MOST;
}

static size_t index_of(const char *name, const char *const *names)
{
    size_t i = 0;
    while (names[i] && (!name || strcmp(name, names[i]) != 0))
        i++;
    return i;
}

static enum status read_stages(struct replay *replay, const json_t *line)
{
    size_t i;
    const json_t *stages = json_object_get(line, "stages"), *pair;
    if (!json_is_array(stages) || json_array_size(stages) > STAGES_MOST)
        return replay_refuse(replay, "its first line lacks the stages of the chain");
    json_array_foreach(stages, i, pair)
    {
        const char *option = json_string_value(json_array_get(pair, 0));
        const char *spec = json_string_value(json_array_get(pair, 1));
        const struct stage_ops *ops = option ? stage_ops_named(option) : NULL;
        if (!ops || !spec)
            return replay_refuse(replay, "it has an unknown stage");
        TRY(stage_list_add(&replay->options.stages, ops, spec, replay->path));
    }
    return STATUS_OK;
}

/* Reads which stage has masks to choose from, and the specs of the other masks. */
static enum status read_choices(struct replay *replay, const json_t *line)
{
    size_t i;
    const json_t *at = json_object_get(line, "choose_at"), *text;
    const struct stage_list *stages = &replay->options.stages;
    struct live_chain_request *request = &replay->request;
    bool is_none = !at || json_integer_value(at) == -1;
    request->stage = SIZE_MAX;
    if (!is_none &&
        (!whole(line, "choose_at", STAGES_MOST, &request->stage) ||
         request->stage >= stages->count || !stages->stages[request->stage].ops->has_choices))
        return replay_refuse(replay, "choose_at names no stage with masks to choose from");
    json_array_foreach(json_object_get(line, "others"), i, text)
    {
        if (is_none || !json_is_string(text) || i + 1 >= LIVE_CHOICES_MOST)
            return replay_refuse(replay, "its choices are invalid");
        if (!(replay->others[i] = strdup(json_string_value(text))))
            return fail_memory("a log");
        request->other_count++;
    }
    return STATUS_OK;
}

/* Reads the tempo of the recording, if it had one. */
static bool read_tempo(const json_t *line, struct plugin_tempo *tempo)
{
    size_t bar = 0, unit = 0;
    double bpm = json_number_value(json_object_get(line, "bpm"));
    bool valid = bpm == 0 || (bpm > 0 && bpm < FLT_MAX && whole(line, "bar", UINT8_MAX, &bar) &&
                              whole(line, "beat_unit", UINT8_MAX, &unit) && bar > 0 && unit > 0);
    *tempo = (struct plugin_tempo){.bpm = bpm, .bar = (unsigned)bar, .unit = (unsigned)unit};
    return valid;
}

/* Reads the layout of the input. Logs of earlier versions have none. */
static bool read_layout(const json_t *line, struct channel_layout *layout)
{
    size_t speakers = 0, ambisonic = 0;
    bool valid = (!json_object_get(line, "speakers") ||
                  whole(line, "speakers", (UINT32_C(1) << CHANNEL_POSITIONS) - 1, &speakers)) &&
                 (!json_object_get(line, "ambisonic") ||
                  whole(line, "ambisonic", AMBISONIC_FUMA, &ambisonic));
    *layout = (struct channel_layout){(uint32_t)speakers, (enum ambisonic)ambisonic};
    return valid;
}

static enum status read_set_up(struct replay *replay, const json_t *line)
{
    size_t rate, version, first = 1;
    struct live_chain_request *request = &replay->request;
    struct live_settings *settings = &replay->settings;
    struct stage_settings *stages = &replay->options.settings;
    if (!whole(line, "halo_log", 1, &version) || version != 1)
        return replay_refuse(replay, "it is not a log of a recording by halo");
    if (!whole(line, "rate", RATE_MOST, &rate) || rate == 0 ||
        !whole(line, "channels", CHANNELS_MOST, &replay->format.channels) ||
        replay->format.channels == 0 || !whole(line, "block", BLOCK_MOST, &request->block) ||
        request->block == 0 || !whole(line, "room", LIVE_CAPACITY, &request->capacity) ||
        !decibels(line, "ceiling_db", &settings->ceiling) ||
        !decibels(line, "gain_db", &settings->gain) || !read_tempo(line, &stages->tempo) ||
        !read_layout(line, &replay->format.layout))
        return replay_refuse(replay, "its first line lacks the set-up of the stream");
    replay->format.rate = settings->rate = (uint32_t)rate;
    settings->muted = json_is_true(json_object_get(line, "muted"));
    if (json_object_get(line, "first") &&
        (!whole(line, "first", LIVE_CHOICES_MOST, &first) || first == 0))
        return replay_refuse(replay, "it begins with a missing mask");
    request->first = first - 1;
    settings->dry = json_is_true(json_object_get(line, "dry"));
    request->equalises = json_is_true(json_object_get(line, "equalises"));
    request->format = replay->format;
    request->others = (const char *const *)replay->others;
    request->options = &replay->options;
    stages->replayed = true;
    if (json_is_true(json_object_get(line, "isolated")))
        return replay_refuse(replay, "it is of a halo whose plugins were a block late");
    if (json_is_true(json_object_get(line, "in_double")))
        stages->convolver.precision = PRECISION_DOUBLE;
    stages->align = json_is_true(json_object_get(line, "centre"))   ? MASK_ALIGN_CENTRE
                    : json_is_true(json_object_get(line, "causal")) ? MASK_ALIGN_CAUSAL
                                                                    : MASK_ALIGN_OWN;
    TRY(read_stages(replay, line));
    TRY(read_choices(replay, line));
    return request->first <= request->other_count
               ? STATUS_OK
               : replay_refuse(replay, "it begins with a missing mask");
}

/* Reads a change to another chain. */
static enum status read_preset(struct replay *replay, const json_t *line, struct logged *logged)
{
    size_t frame, since, fade;
    const char *shape = json_string_value(json_object_get(line, "shape"));
    size_t index = index_of(shape, live_log_shapes), block = replay->request.block;
    if (!whole(line, "frame", INT64_MAX, &frame) || !whole(line, "since", frame, &since) ||
        !whole(line, "fade", SIZE_MAX, &fade) || !live_log_shapes[index] || frame % block != 0 ||
        since % block != 0)
        return replay_refuse(replay, "it has an invalid change of presets");
    struct replay *other = calloc(1, sizeof *other);
    if (!other)
        return fail_memory("a log");
    *logged = (struct logged){
        .kind = LOGGED_PRESET,
        .frame = frame,
        .since = since,
        .way = {.frames = fade, .shape = (enum switch_shape)index},
        .preset = other,
    };
    other->path = replay->path;
    other->options.threads = replay->options.threads;
    other->options.settings = replay->options.settings;
    TRY(read_set_up(other, line));
    if (other->format.rate != replay->format.rate ||
        other->format.channels != replay->format.channels || other->request.block != block)
        return replay_refuse(replay, "a preset is of another stream");
    replay->has_presets = true;
    return STATUS_OK;
}

static bool read_live_event(const json_t *line, const char *name, struct logged *logged)
{
    size_t stage = 0;
    const char *symbol = json_string_value(json_object_get(line, "control"));
    enum live_control what = (enum live_control)index_of(name, live_log_events);
    bool of_stage = what >= LIVE_STAGE_CONTROL;
    const json_t *number = json_object_get(line, "value");
    double value = json_number_value(number);
    bool is_level = what == LIVE_GAIN || what == LIVE_CEILING;
    double most = is_level ? audio_from_db(OPTIONS_DB_MOST) : (double)FLT_MAX;
    if (!live_log_events[what] || !json_is_number(number) || fabs(value) > most ||
        (what == LIVE_CEILING && !(value > 0)) ||
        (of_stage && (!whole(line, "stage", STAGES_MOST, &stage) || stage == 0)))
        return false;
    logged->kind = what == LIVE_STAGE_CONTROL ? LOGGED_CONTROL : LOGGED_EVENT;
    logged->text = what == LIVE_STAGE_CONTROL && symbol ? strdup(symbol) : NULL;
    logged->event = (struct live_event){
        .what = what,
        .value = value,
        .frame = logged->frame,
        .stage = of_stage ? stage - 1 : 0,
    };
    return logged->kind == LOGGED_EVENT || logged->text;
}

static bool read_way(const json_t *line, struct choices_way *way)
{
    size_t fade = 0;
    const char *shape = json_string_value(json_object_get(line, "shape"));
    way->shape = (enum switch_shape)index_of(shape, live_log_shapes);
    bool known = live_log_shapes[way->shape] && whole(line, "fade", SIZE_MAX, &fade);
    way->frames = fade;
    return known;
}

/* Reads a mask that replaced a choice's, or that of a stage. */
static bool read_load(const json_t *line, struct logged *logged)
{
    const char *text = json_string_value(json_object_get(line, "mask"));
    bool of_stage = whole(line, "stage", STAGES_MOST, &logged->event.stage);
    if (!text || (of_stage && (logged->event.stage-- == 0 || !read_way(line, &logged->way))))
        return false;
    logged->kind = of_stage ? LOGGED_BANDS : LOGGED_LOAD;
    logged->text = strdup(text);
    return logged->text != NULL;
}

static bool read_event(const json_t *line, size_t number, struct logged *logged)
{
    const char *name = json_string_value(json_object_get(line, "event"));
    size_t frame, choice = 0;
    if (!name || !whole(line, "frame", INT64_MAX, &frame))
        return false;
    *logged = (struct logged){.frame = frame, .number = number};
    if (whole(line, "choice", LIVE_CHOICES_MOST, &choice) && choice > 0)
        logged->choice = choice - 1;
    if (strcmp(name, "load") == 0)
        return (choice > 0 || json_object_get(line, "stage")) && read_load(line, logged);
    if (strcmp(name, "choose") == 0) {
        logged->kind = LOGGED_SWITCH;
        return read_way(line, &logged->way) && choice > 0;
    }
    return read_live_event(line, name, logged);
}

static enum status add_event(struct replay *replay, const json_t *line)
{
    size_t count = replay->event_count;
    const char *name = json_string_value(json_object_get(line, "event"));
    if (name && strcmp(name, live_log_outage_name) == 0)
        return STATUS_OK;
    if (count == replay->event_room) {
        size_t room = count ? 2 * count : 64;
        struct logged *events = realloc(replay->events, room * sizeof *events);
        if (!events)
            return fail_memory("a log");
        replay->events = events;
        replay->event_room = room;
    }
    struct logged *logged = &replay->events[count];
    *logged = (struct logged){0};
    if (name && strcmp(name, live_log_preset_name) == 0) {
        replay->event_count++; /* replay_free also frees it */
        TRY(read_preset(replay, line, logged));
        logged->number = count;
        return STATUS_OK;
    }
    if (!read_event(line, count, logged))
        return replay_refuse(replay, "it has an unknown event");
    replay->event_count++;
    replay->fails |= replay->events[count].event.what == LIVE_STAGE_FAILED;
    return STATUS_OK;
}

/* Reads a line. `number` counts from 1. */
static enum status read_line(struct replay *replay, const char *text, size_t length, size_t number)
{
    size_t mark = number == 1 ? plain_text_mark(text) : 0;
    json_t *line = json_loadb(text + mark, length - mark, JSON_REJECT_DUPLICATES, NULL);
    enum status status = STATUS_OK;
    if (!line && number == 1)
        status = replay_refuse(replay, "it is not a log of a recording by halo");
    else if (!line)
        status = fail(CAUSE_USAGE, "cannot replay %s: line %zu is damaged", replay->path, number);
    else
        status = number == 1 ? read_set_up(replay, line) : add_event(replay, line);
    json_decref(line);
    return status;
}

/* Reads all lines. Ignores a last line that a crash has cut. */
static enum status read_lines(struct replay *replay, FILE *file)
{
    enum status status = STATUS_OK;
    char *text = NULL;
    size_t capacity = 0, number = 0;
    ssize_t length;
    while (status == STATUS_OK && (length = getline(&text, &capacity, file)) > 0)
        if (number == 0 || text[length - 1] == '\n')
            status = read_line(replay, text, (size_t)length, ++number);
    int error = ferror(file) || !feof(file) ? errno : 0; /* ferror() misses a lack of memory */
    free(text);
    if (status == STATUS_OK && error)
        return fail_errno(error, "cannot read %s", replay->path);
    return status == STATUS_OK && number == 0
               ? replay_refuse(replay, "it is not a log of a recording by halo")
               : status;
}

/* Sorts by frame. A switch is logged at its end, after other events that happened meanwhile. */
static int in_order(const void *a, const void *b)
{
    const struct logged *left = a, *right = b;
    return left->frame != right->frame
               ? (left->frame > right->frame ? 1 : -1)
               : (left->number > right->number) - (left->number < right->number);
}

enum status replay_load(struct replay *replay, const char *path,
                        const struct chain_options *options)
{
    *replay = (struct replay){.path = path};
    replay->options.threads = options->threads;
    replay->options.settings = options->settings;
    FILE *file = files_read_add(path) ? fopen(path, "re") : NULL;
    if (!file)
        return stop_requested() ? STATUS_INTERRUPTED : fail_errno(errno, "cannot open %s", path);
    enum status status = read_lines(replay, file);
    if (stop_requested()) /* perhaps within a line */
        status = STATUS_INTERRUPTED;
    fclose(file);
    if (replay->event_count > 0)
        qsort(replay->events, replay->event_count, sizeof *replay->events, in_order);
    return status;
}

void replay_free(struct replay *replay)
{
    chain_options_free(&replay->options);
    for (size_t i = 0; i < LIVE_CHOICES_MOST; i++)
        free(replay->others[i]);
    for (size_t i = 0; i < replay->event_count; i++) {
        free(replay->events[i].text);
        if (replay->events[i].preset)
            replay_free(replay->events[i].preset);
        free(replay->events[i].preset);
    }
    free(replay->events);
    *replay = (struct replay){0};
}

/* ---- the live step, on a file ---- */

struct replay_state {
    struct replay *replay;
    struct live_chain *chain;
    struct live *live;
    struct prepared_preset *coming; /* the chain about to replace the present one, or NULL */
    unsigned slots;                 /* number of the last slot */
    struct proof_result *proof;
    struct block in;
    struct block out;
    size_t next; /* index of the next event */
};

static bool is_of_mask(const struct logged *logged)
{
    return logged->kind == LOGGED_SWITCH || logged->kind == LOGGED_LOAD;
}

/* Checks that the chain has the stage or mask of an event. */
static enum status check_event(const struct replay *replay, const struct live_chain *chain,
                               struct logged *logged)
{
    struct live_event *event = &logged->event;
    struct stage_control control;
    if (is_of_mask(logged))
        return logged->choice < chain->choice_count
                   ? STATUS_OK
                   : replay_refuse(replay, "it chooses a missing mask");
    if (logged->kind == LOGGED_BANDS)
        return live_chain_equaliser(chain, event->stage)
                   ? STATUS_OK
                   : replay_refuse(replay, "it changes a missing equaliser");
    if (logged->kind == LOGGED_CONTROL) {
        TRY(stage_controls_find(&chain->stages, event->stage, logged->text, &control));
        event->kind = control.kind;
        event->port = control.port_index;
    } else if (event->what > LIVE_STAGE_CONTROL &&
               (event->stage >= chain->stages.count || !chain->stages.stages[event->stage].mixed)) {
        return replay_refuse(replay, "it has an event of a missing stage");
    }
    return STATUS_OK;
}

static enum status change_mask(struct replay_state *state, const struct logged *logged)
{
    struct live_chain *chain = state->chain;
    enum status status = STATUS_OK;
    if (logged->frame < chain->since)
        return replay_refuse(state->replay, "it chooses a mask of a chain that is not there");
    if (logged->kind == LOGGED_SWITCH)
        choices_ask(chain->choices, logged->choice, logged->frame - chain->since, &logged->way);
    if (logged->kind == LOGGED_LOAD) {
        if (!design_is_spec(logged->text))
            note("%s: at %.3f s mask %s was read again; its present content is used",
                 state->replay->path, (double)logged->frame / (double)state->replay->format.rate,
                 logged->text);
        struct mask *mask = NULL;
        TRY(stage_mask_read(logged->text, &chain->mask_format, &state->replay->options.settings,
                            &mask));
        status = live_chain_put(chain, logged->choice, logged->text, mask, NULL);
    }
    if (status == STATUS_OK)
        (void)live_chain_advance(chain, chain->request.stage, false);
    return status;
}

/* The last switch of the stage is over. */
static enum status change_bands(const struct replay_state *state, const struct logged *logged)
{
    struct live_chain *chain = state->chain;
    size_t stage = logged->event.stage;
    const struct stream_format format = {.rate = state->replay->format.rate,
                                         .channels = chain->stages.stages[stage].inputs};
    struct mask *mask = NULL;
    if (logged->frame < chain->since)
        return replay_refuse(state->replay, "it changes an equaliser of a chain that is not there");
    TRY(stage_mask_read(logged->text, &format, &state->replay->options.settings, &mask));
    TRY(live_chain_put_at(chain, stage, logged->text, mask, logged->frame - chain->since,
                          &logged->way));
    (void)live_chain_advance(chain, stage, false);
    return STATUS_OK;
}

/* ---- presets ---- */

static enum status prepare(struct replay_state *state, const struct logged *logged)
{
    const struct replay *replay = state->replay, *preset = logged->preset;
    struct prepared_preset *prepared = state->coming;
    struct live_chain_request request = preset->request;
    request.proof = replay->request.proof;
    request.frames = replay->request.frames - (int64_t)logged->since;
    struct live_change *change = live_change_of(state->live);
    TRY(live_chain_init(&prepared->chain, &request));
    if (prepared->chain.filter->outputs != state->chain->filter->outputs)
        return replay_refuse(state->replay, "a preset makes other channels");
    const struct stream_slot_settings settings = {.chain = prepared->chain.filter,
                                                  .stages = &prepared->chain.stages,
                                                  .gain = preset->settings.gain,
                                                  .dry = preset->settings.dry,
                                                  .number = ++state->slots};
    TRY(stream_slot_init(&prepared->coming.slot, &settings));
    prepared->coming.frames = logged->way.frames;
    prepared->coming.shape = logged->way.shape;
    prepared->chain.since = logged->since;
    TRY(live_change_feed_since(change, &prepared->coming, logged->since));
    live_change_offer(change, &prepared->coming);
    return STATUS_OK;
}

static enum status change_chain(struct replay_state *state, const struct logged *logged)
{
    if (!(state->coming = calloc(1, sizeof *state->coming)))
        return fail_memory("a replay");
    return prepare(state, logged);
}

/* Proves a chain whose last step ended at frame `until`. */
static void prove_chain(const struct replay_state *state, struct live_chain *chain, uint64_t until)
{
    const struct replay *replay = state->replay;
    if (replay->request.proof)
        proof_end(replay->request.proof, &chain->stages, chain->since, until, replay->format.rate,
                  state->proof);
}

/* After a block: takes a finished change, as the control thread of a stream does. */
static void take_changed(struct replay_state *state)
{
    if (!state->coming || !live_change_taken(live_change_of(state->live)))
        return;
    prove_chain(state, state->chain, live_frames(state->live));
    struct live_chain old = *state->chain;
    *state->chain = state->coming->chain;
    state->coming->chain = old;
    prepared_preset_free(state->coming);
    state->coming = NULL;
    live_send_to(state->live, state->slots);
}

/* ---- events ---- */

static bool must_wait(const struct replay_state *state, const struct logged *logged)
{
    const struct choices *choices = logged->kind == LOGGED_BANDS
                                        ? live_chain_equaliser(state->chain, logged->event.stage)
                                    : is_of_mask(logged) ? state->chain->choices
                                                         : NULL;
    return (choices && choices_are_switching(choices)) ||
           (logged->kind == LOGGED_PRESET && state->coming);
}

static enum status send_event(struct replay_state *state, struct logged *logged, bool *is_sent)
{
    *is_sent = true;
    if (logged->kind == LOGGED_PRESET)
        return change_chain(state, logged);
    TRY(check_event(state->replay, state->chain, logged));
    if (is_of_mask(logged))
        return change_mask(state, logged);
    if (logged->kind == LOGGED_BANDS)
        return change_bands(state, logged);
    *is_sent = live_send(state->live, &logged->event); /* false: the queue is full */
    return STATUS_OK;
}

/* Sends events up to the end of the next block. As recorded, a switch waits for the one before. */
static enum status send_events(struct replay_state *state, uint64_t end)
{
    const struct replay *replay = state->replay;
    bool is_sent = true;
    for (; state->next < replay->event_count; state->next++) {
        struct logged *logged = &replay->events[state->next];
        if (logged->frame >= end || must_wait(state, logged))
            return STATUS_OK;
        TRY(send_event(state, logged, &is_sent));
        if (!is_sent)
            return STATUS_OK;
    }
    return STATUS_OK;
}

static enum status run_block(struct replay_state *state, struct source *source, struct sink *sink,
                             uint64_t *heard, bool *ended)
{
    size_t block = state->in.frames, got = 0;
    TRY(source_read(source, state->in.data, block, &got));
    block_silence(&state->in, got, block - got);
    *ended = got < block;
    for (size_t i = 0; i < state->chain->stages.count; i++)
        (void)live_chain_advance(state->chain, i, false);
    TRY(send_events(state, *heard + block));
    live_process(state->live, (const float *const *)state->in.data, state->out.data);
    const char *failure = state->chain->filter->failure;
    if (failure && !state->replay->fails) /* a plugin that failed in the recording may fail again */
        return fail(CAUSE_OTHER, "cannot replay %s: %s", state->replay->path, failure);
    struct live_event taken;
    while (live_receive(state->live, &taken))
        ;
    take_changed(state);
    *heard += got;
    return got > 0 ? sink_write(sink, (const float *const *)state->out.data, got) : STATUS_OK;
}

enum status replay_run(struct replay *replay, struct live_chain *chain, struct source *source,
                       struct sink *sink, uint64_t *heard, struct proof_result *proof)
{
    struct replay_state state = {.replay = replay, .chain = chain, .proof = proof};
    /* the first chain; further chains have the same channels */
    const struct filter *filter = chain->filter;
    bool ended = false;
    *heard = 0;
    replay->settings.stages = &chain->stages;
    if (replay->has_presets)
        replay->settings.history = live_change_history(chain->filter->inputs, replay->format.rate);
    for (size_t i = 0; i < replay->event_count && replay->events[i].kind != LOGGED_PRESET; i++)
        TRY(check_event(replay, chain, &replay->events[i]));
    enum status status;
    if ((status = live_create(&replay->settings, chain->filter, NULL, NULL, &state.live)) ||
        (status = block_init(&state.in, filter->inputs, filter->block, "a replay")) ||
        (status = block_init(&state.out, filter->outputs, filter->block, "a replay")))
        goto end;
    while (status == STATUS_OK && !ended)
        status =
            stop_requested() ? STATUS_INTERRUPTED : run_block(&state, source, sink, heard, &ended);
    if (status == STATUS_OK && state.coming)
        prove_chain(&state, &state.coming->chain, *heard);
    if (status == STATUS_OK)
        prove_chain(&state, state.chain, *heard);
end:
    block_free(&state.in);
    block_free(&state.out);
    live_destroy(state.live);
    prepared_preset_free(state.coming);
    return status;
}
