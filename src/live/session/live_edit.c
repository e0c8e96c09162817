#include "live/session/live_edit.h"

#include "base/monotonic.h"
#include "base/plural.h"
#include "base/task.h"
#include "live/session/live_session.h"
#include "signal/audio.h"
#include "signal/loudness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* ---- states ---- */

static bool is_edit(enum command_action action)
{
    return action >= COMMAND_STAGE_ADD && action <= COMMAND_BLIND_END;
}

static bool changes_sound(enum command_action action)
{
    return action == COMMAND_CHOOSE || action == COMMAND_CHOOSE_NAMED || action == COMMAND_GAIN ||
           action == COMMAND_LOAD || action == COMMAND_CONTROL || action == COMMAND_EQ ||
           action == COMMAND_PRESET || action == COMMAND_PRESET_NEXT ||
           action == COMMAND_PRESET_PREVIOUS || action == COMMAND_STAGE_ADD ||
           action == COMMAND_STAGE_REMOVE || action == COMMAND_STAGE_MOVE;
}

/* Whether both change one value, as when a slider is dragged. */
static bool is_of_same(const struct live_command *last, const struct live_command *command)
{
    return last->action == command->action && last->stage == command->stage &&
           last->path == command->path && last->sender.size == command->sender.size &&
           (command->action == COMMAND_GAIN || command->action == COMMAND_EQ ||
            (command->action == COMMAND_CONTROL && strcmp(last->text, command->text) == 0));
}

/* Whether a command goes on with what the last one began. */
static bool goes_on(const struct live_edit *edit, const struct live_command *command)
{
    double joins = is_of_same(&edit->last, command) ? UNDO_JOINS : UNDO_JOINS_ALL;
    return edit->state_count > 0 && monotonic_seconds() - edit->last_at < joins;
}

static void push(struct live_edit *edit, struct preset *state)
{
    if (edit->state_count == UNDO_MOST) {
        preset_destroy(edit->states[0]);
        memmove(edit->states, edit->states + 1, (UNDO_MOST - 1) * sizeof *edit->states);
        edit->state_count--;
    }
    edit->states[edit->state_count++] = state;
}

static struct preset *pop(struct live_edit *edit)
{
    return edit->states[--edit->state_count];
}

enum status live_edit_keep(struct live_session *session, const struct live_command *command,
                           bool *kept)
{
    struct live_edit *edit = &session->edit;
    struct preset *state;
    *kept = false;
    if (!changes_sound(command->action))
        return STATUS_OK;
    bool on = goes_on(edit, command);
    edit->last_at = monotonic_seconds();
    if (on)
        return STATUS_OK;
    TRY(live_preset_present(session, &state));
    push(edit, state);
    edit->last = *command;
    *kept = true;
    return STATUS_OK;
}

void live_edit_drop(struct live_session *session)
{
    preset_destroy(pop(&session->edit));
    session->edit.last_at = -UNDO_JOINS;
}

bool live_edit_can_undo(const struct live_session *session)
{
    return session->edit.state_count > 0;
}

/* ---- going to a state ---- */

static enum status copy_state(const struct preset *state, struct preset **copy)
{
    return preset_of_stages(&state->options.stages, &state->live, PRESET_OWN_MASK, &state->options,
                            copy);
}

static bool has_same_stages(const struct preset *state, const struct preset *other)
{
    const struct stage_list *stages = &state->options.stages, *others = &other->options.stages;
    bool same = stages->count == others->count && state->live.stage == other->live.stage &&
                state->live.other_count == other->live.other_count;
    for (size_t i = 0; same && i < stages->count; i++)
        same = stages->stages[i].ops == others->stages[i].ops &&
               strcmp(stages->stages[i].text, others->stages[i].text) == 0;
    for (size_t i = 0; same && i < state->live.other_count; i++)
        same = strcmp(state->live.others[i], other->live.others[i]) == 0;
    return same;
}

/* Goes to a state, which it owns. If the chain is the same, only choice and gain change. */
static enum status go_to(struct live_session *session, struct preset *state)
{
    struct preset *present;
    enum status status = live_preset_present(session, &present);
    if (status != STATUS_OK) {
        preset_destroy(state);
        return status;
    }
    bool same = has_same_stages(state, present);
    preset_destroy(present);
    if (!same)
        return live_preset_change(session, state, 0);
    stream_session_set_gain(&session->stream, state->live.gain_db);
    if (session->stream.chain.choice_count > 0)
        status = live_control_choose(session, state->live.mask);
    stream_session_set_dry(&session->stream, state->live.dry);
    preset_destroy(state);
    return status;
}

static enum status undo(struct live_session *session)
{
    if (session->edit.state_count == 0)
        return fail(CAUSE_USAGE, "there is nothing to undo");
    session->edit.last_at = -UNDO_JOINS;
    return go_to(session, pop(&session->edit));
}

/* ---- stages ---- */

static enum status refuse_stage(const struct stage_list *list, size_t stage)
{
    return fail(CAUSE_USAGE, "there is no stage %zu: there %s %zu", stage, plural_are(list->count),
                list->count);
}

static enum status add_stage(struct preset *state, const struct live_command *command)
{
    struct stage_list *list = &state->options.stages;
    const struct stage_ops *ops = stage_ops_named(command->value_text);
    if (command->stage > list->count + 1)
        return refuse_stage(list, command->stage);
    if (!ops)
        return fail(CAUSE_USAGE, "there is no kind of stage '%s'", command->value_text);
    if (state->live.stage != SIZE_MAX && command->stage - 1 <= state->live.stage)
        state->live.stage++;
    return stage_list_insert(list, command->stage - 1, ops, command->text);
}

static void forget_choices(struct chain_live *live)
{
    live->stage = SIZE_MAX;
    live->mask = 1;
    while (live->other_count > 0)
        free((void *)live->others[--live->other_count]);
}

static enum status remove_stage(struct preset *state, size_t stage)
{
    struct stage_list *list = &state->options.stages;
    struct chain_live *live = &state->live;
    if (stage > list->count)
        return refuse_stage(list, stage);
    free(list->stages[stage - 1].text);
    free(list->stages[stage - 1].origin);
    memmove(&list->stages[stage - 1], &list->stages[stage],
            (list->count - stage) * sizeof *list->stages);
    list->count--;
    if (live->stage == stage - 1)
        forget_choices(live);
    else if (live->stage != SIZE_MAX && live->stage > stage - 1)
        live->stage--;
    return STATUS_OK;
}

/* The index of a stage after the stage `from` has moved to `to`. */
static size_t index_after(size_t index, size_t from, size_t to)
{
    if (index == SIZE_MAX || index == from)
        return index == from ? to : index;
    return index - (index > from) + (index - (index > from) >= to);
}

static enum status move_stage(struct preset *state, size_t stage, size_t to)
{
    struct stage_list *list = &state->options.stages;
    if (stage > list->count || to > list->count)
        return refuse_stage(list, stage > list->count ? stage : to);
    size_t from = stage - 1, at = to - 1;
    struct stage moved = list->stages[from];
    memmove(&list->stages[from], &list->stages[from + 1],
            (list->count - stage) * sizeof *list->stages);
    memmove(&list->stages[at + 1], &list->stages[at], (list->count - to) * sizeof *list->stages);
    list->stages[at] = moved;
    state->live.stage = index_after(state->live.stage, from, at);
    return STATUS_OK;
}

/* Changes the present chain by a command. */
static enum status change_stages(struct live_session *session, const struct live_command *command)
{
    struct preset *state, *settled;
    TRY(live_preset_present(session, &state));
    enum status status = command->action == COMMAND_STAGE_ADD ? add_stage(state, command)
                         : command->action == COMMAND_STAGE_REMOVE
                             ? remove_stage(state, command->stage)
                             : move_stage(state, command->stage, command->choice);
    if (status == STATUS_OK) /* the copy finds the stage whose masks can be chosen */
        status = copy_state(state, &settled);
    preset_destroy(state);
    return status == STATUS_OK ? live_preset_change(session, settled, 0) : status;
}

/* ---- the loudness of two states, on a thread ---- */

struct blind_match {
    struct task task;
    struct preset *versions[2]; /* copies */
    struct live_chain_request like;
    size_t outputs;
    const struct live_change *change; /* used while the task is held */
    double loudness[2];               /* LUFS */
    double seconds;                   /* time until the slower version can be heard */
};

static void destroy_match(struct task *task)
{
    struct blind_match *match = (struct blind_match *)task;
    for (size_t i = 0; i < 2; i++)
        preset_destroy(match->versions[i]);
    free(match);
}

struct blind_ear {
    struct loudness *loudness;
    size_t block;
};

static enum status hear_block(void *context, float *const *out)
{
    const struct blind_ear *ear = context;
    return loudness_add(ear->loudness, (const float *const *)out, ear->block);
}

/* Hears the version on the recent input. */
static enum status measure(struct blind_match *match, struct prepared_preset *prepared,
                           struct loudness *loudness)
{
    const struct preset *version = prepared->preset;
    const struct live_chain_request request = preset_chain_request(version, &match->like);
    TRY(live_chain_init(&prepared->chain, &request));
    const struct stream_slot_settings settings = {.chain = prepared->chain.filter,
                                                  .stages = &prepared->chain.stages,
                                                  .gain = audio_from_db(version->live.gain_db),
                                                  .dry = version->live.dry};
    TRY(stream_slot_init(&prepared->coming.slot, &settings));
    struct blind_ear ear = {.loudness = loudness, .block = prepared->chain.filter->block};
    TRY(task_hold(&match->task));
    enum status status = live_change_hear(match->change, &prepared->coming, UINT32_MAX,
                                          &match->task.is_cancelled, hear_block, &ear);
    task_let_go(&match->task);
    return atomic_load(&match->task.is_cancelled) ? STATUS_INTERRUPTED : status;
}

static enum status match_version(struct blind_match *match, size_t version)
{
    const double begin = monotonic_seconds();
    struct prepared_preset *prepared = calloc(1, sizeof *prepared);
    struct loudness *loudness = NULL;
    if (!prepared)
        return fail_memory("a blind comparison");
    enum status status = copy_state(match->versions[version], &prepared->preset);
    if (status == STATUS_OK)
        status = loudness_create(match->like.format.rate, match->outputs, &loudness);
    if (status == STATUS_OK)
        status = measure(match, prepared, loudness);
    if (status == STATUS_OK)
        match->loudness[version] = loudness_integrated(loudness);
    loudness_destroy(loudness);
    prepared_preset_free(prepared);
    match->seconds = fmax(match->seconds, monotonic_seconds() - begin);
    return status;
}

static enum status match_versions(struct task *task)
{
    struct blind_match *match = (struct blind_match *)task;
    TRY(match_version(match, 0));
    TRY(match_version(match, 1));
    return isfinite(match->loudness[0]) && isfinite(match->loudness[1])
               ? STATUS_OK
               : fail(CAUSE_USAGE, "the last ten seconds were silent: play something first");
}

static void end_match(struct live_edit *edit)
{
    if (edit->match)
        task_release(&edit->match->task);
    edit->match = NULL;
}

/* ---- the blind comparison ---- */

static void forget_versions(struct live_session *session)
{
    struct live_edit *edit = &session->edit;
    end_match(edit);
    for (size_t i = 0; i < 2; i++) {
        preset_destroy(edit->versions[i]);
        edit->versions[i] = NULL;
    }
    edit->is_matched = false;
    edit->heard = 0;
    session->stream.blind = false;
}

static enum status start_match(struct live_session *session)
{
    struct live_edit *edit = &session->edit;
    struct blind_match *match = calloc(1, sizeof *match);
    if (!match)
        return fail_memory("a blind comparison");
    match->like = session->stream.chain.request;
    match->like.priority = 0;
    match->outputs = session->stream.chain.filter->outputs;
    match->change = live_change_of(session->stream.live);
    match->task.is_quiet = true; /* notes would tell which version is heard */
    enum status status = copy_state(edit->versions[0], &match->versions[0]);
    if (status == STATUS_OK)
        status = copy_state(edit->versions[1], &match->versions[1]);
    if (status != STATUS_OK) {
        destroy_match(&match->task);
        return status;
    }
    TRY(task_start(&match->task, "halo blind", "a blind comparison", match_versions,
                   destroy_match));
    edit->match = match;
    return STATUS_OK;
}

void live_edit_interrupt(struct live_session *session)
{
    if (!session->edit.versions[0])
        return;
    preset_destroy(session->edit.restores);
    session->edit.restores = session->edit.versions[1];
    session->edit.versions[1] = NULL;
    forget_versions(session);
    view_warning(session->stream.view, "the blind comparison ended: the device changed");
}

static enum status begin_blind(struct live_session *session)
{
    struct live_edit *edit = &session->edit;
    unsigned char chance = 0;
    if (edit->versions[0])
        return fail(CAUSE_USAGE, "a blind comparison runs already");
    if (edit->state_count == 0)
        return fail(CAUSE_USAGE, "there is no state before this one: change something first");
    if (getrandom(&chance, 1, 0) != 1)
        return fail(CAUSE_OTHER, "cannot draw the order");
    enum status status = copy_state(edit->states[edit->state_count - 1], &edit->versions[0]);
    if (status == STATUS_OK)
        status = live_preset_present(session, &edit->versions[1]);
    if (status == STATUS_OK)
        status = start_match(session);
    edit->is_swapped = chance & 1;
    edit->last_at = -UNDO_JOINS;
    session->stream.blind = status == STATUS_OK;
    if (status != STATUS_OK)
        forget_versions(session);
    return status;
}

static void finish_match(struct live_session *session)
{
    static const double MARGIN = 1.5;
    struct live_edit *edit = &session->edit;
    const struct blind_match *match = edit->match;
    if (!match || !task_is_done(&match->task))
        return;
    if (*match->task.reason) {
        view_warning(session->stream.view, "no blind comparison: %s", match->task.reason);
        forget_versions(session);
        return;
    }
    double target = fmin(match->loudness[0], match->loudness[1]);
    for (size_t i = 0; i < 2; i++)
        edit->gains[i] = fmax(edit->versions[i]->live.gain_db + target - match->loudness[i],
                              STREAM_GAIN_LEAST_DB);
    edit->patience = MARGIN * match->seconds;
    edit->is_matched = true;
    end_match(edit);
}

/* The index of version 1 or 2. */
static size_t version_of(const struct live_edit *edit, size_t number)
{
    return (number - 1) ^ (size_t)edit->is_swapped;
}

static enum status check_version(const struct live_edit *edit, size_t number)
{
    if (!edit->versions[0])
        return fail(CAUSE_USAGE, "no blind comparison runs: blind/begin starts one");
    if (!edit->is_matched)
        return fail(CAUSE_BUSY, "the loudness is being matched: try again");
    return number == 1 || number == 2
               ? STATUS_OK
               : fail(CAUSE_USAGE, "there are versions 1 and 2, not %zu", number);
}

static enum status hear(struct live_session *session, size_t number)
{
    struct live_edit *edit = &session->edit;
    struct preset *version;
    TRY(check_version(edit, number));
    size_t index = version_of(edit, number);
    TRY(copy_state(edit->versions[index], &version));
    version->live.gain_db = edit->gains[index];
    TRY(live_preset_change(session, version, monotonic_seconds() + edit->patience));
    edit->heard = number;
    return STATUS_OK;
}

static enum status keep(struct live_session *session, size_t number)
{
    struct live_edit *edit = &session->edit;
    TRY(check_version(edit, number));
    size_t index = version_of(edit, number);
    struct preset *version = edit->versions[index];
    edit->versions[index] = NULL;
    view_message(
        session->stream.view,
        "version %zu is the state before the change, version %zu the one after it; kept %zu",
        (size_t)edit->is_swapped + 1, 2 - (size_t)edit->is_swapped, number);
    forget_versions(session);
    if (index == 0 && edit->state_count > 0)
        preset_destroy(pop(edit));
    return go_to(session, version);
}

static enum status end_blind(struct live_session *session)
{
    struct live_edit *edit = &session->edit;
    if (edit->is_matched)
        return keep(session, 2 - (size_t)edit->is_swapped);
    if (!edit->versions[0])
        return fail(CAUSE_USAGE, "no blind comparison runs");
    forget_versions(session);
    return STATUS_OK;
}

enum status live_edit_allows(const struct live_session *session, enum command_action action)
{
    bool is_of_blind = action >= COMMAND_BLIND_BEGIN && action <= COMMAND_BLIND_END;
    return !session->edit.versions[0] || is_of_blind || action == COMMAND_MUTE ||
                   action == COMMAND_QUIT
               ? STATUS_OK
               : fail(CAUSE_USAGE, "a blind comparison runs: blind/end ends it");
}

json_t *live_edit_blind_json(const struct live_session *session)
{
    const struct live_edit *edit = &session->edit;
    if (!edit->versions[0])
        return json_null();
    return json_pack("{s:b, s:o}", "ready", edit->is_matched, "heard",
                     edit->heard ? json_integer((json_int_t)edit->heard) : json_null());
}

/* ---- edits in turn ---- */

enum status live_edit_perform(struct live_session *session, const struct live_command *command)
{
    switch (command->action) {
    case COMMAND_UNDO:
        return undo(session);
    case COMMAND_BLIND_BEGIN:
        return begin_blind(session);
    case COMMAND_BLIND_HEAR:
        return hear(session, command->choice);
    case COMMAND_BLIND_KEEP:
        return keep(session, command->choice);
    case COMMAND_BLIND_END:
        return end_blind(session);
    default:
        return change_stages(session, command);
    }
}

/* Whether masks are being read, a chain is prepared, or other commands wait. */
static bool must_wait(const struct live_session *session, enum command_action action)
{
    const struct stream_session *stream = &session->stream;
    bool reads = session->loader || stream->next[STREAM_MASK].is_asked;
    if (session->edit.waiting_count > 0)
        return true;
    return is_edit(action) ? reads || !live_preset_is_idle(session)
                           : stream->current[STREAM_PRESET].is_edit;
}

bool live_edit_waits(const struct live_session *session, enum command_action action)
{
    bool is_of_sound = changes_sound(action) || is_edit(action);
    return is_of_sound && !session->edit.is_next && must_wait(session, action);
}

enum status live_edit_queue(struct live_session *session, const struct live_command *command)
{
    struct live_edit *edit = &session->edit;
    struct live_command *last =
        edit->waiting_count > 0 ? edit->waiting[edit->waiting_count - 1] : NULL;
    if (last && is_of_same(last, command)) { /* a slider: only its last value counts */
        *last = *command;
        return STATUS_OK;
    }
    if (edit->waiting_count == EDITS_WAIT_MOST)
        return fail(CAUSE_BUSY, "too many changes of the chain wait: try again");
    struct live_command *kept = malloc(sizeof *kept);
    if (!kept)
        return fail_memory("a change of the chain");
    *kept = *command;
    edit->waiting[edit->waiting_count++] = kept;
    return STATUS_OK;
}

/* Goes back to the state that a blind comparison left when the device changed. */
static void restore(struct live_session *session)
{
    struct preset *state = session->edit.restores;
    session->edit.restores = NULL;
    if (go_to(session, state) != STATUS_OK)
        view_warning(session->stream.view, "the state before the comparison is lost");
}

void live_edit_advance(struct live_session *session)
{
    struct live_edit *edit = &session->edit;
    char reason[TASK_REASON];
    finish_match(session);
    if (session->loader || session->stream.next[STREAM_MASK].is_asked ||
        !live_preset_is_idle(session))
        return;
    if (edit->restores)
        restore(session);
    else if (edit->waiting_count > 0) {
        struct live_command *command = edit->waiting[0];
        memmove(edit->waiting, edit->waiting + 1, --edit->waiting_count * sizeof *edit->waiting);
        const struct log_keeper before = log_keep_in(reason, sizeof reason);
        edit->is_next = true;
        enum status status = live_control_obey(session, command);
        edit->is_next = false;
        log_keep_again(&before);
        if (status != STATUS_OK && command->sender.size > 0)
            osc_refuse(session->stream.osc, &command->sender, command->path, reason);
        else if (status != STATUS_OK)
            view_warning(session->stream.view, "%s", reason);
        free(command);
    }
}

void live_edit_close(struct live_session *session)
{
    struct live_edit *edit = &session->edit;
    forget_versions(session);
    preset_destroy(edit->restores);
    while (edit->state_count > 0)
        preset_destroy(pop(edit));
    while (edit->waiting_count > 0)
        free(edit->waiting[--edit->waiting_count]);
}
