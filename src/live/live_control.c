#include "live/live_session.h"

#include "base/stop.h"
#include "chain/stage_mask.h"
#include "signal/audio.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double GAIN_STEP_DB = 1, GAIN_LEAST_DB = -60, GAIN_MOST_DB = 24;

static void send(struct live_session *session, enum live_control what, double value)
{
    const struct live_event event = {.what = what, .value = value};
    if (!live_send(session->live, &event))
        live_notify(session, "too many changes wait: one was left out");
}

/* ---- what can be asked for ---- */

void live_control_leave(struct live_session *session)
{
    if (!session->leaving)
        send(session, LIVE_END, 0);
    session->leaving = true;
}

static void set_dry(struct live_session *session, bool dry)
{
    if (session->dry != dry)
        send(session, LIVE_DRY, dry);
    session->dry = dry;
}

/* 1 and up; 0 is dry. False: there is no such choice. */
static bool choose(struct live_session *session, size_t number)
{
    if (number > session->chain.choice_count)
        return false;
    set_dry(session, number == 0);
    if (number > 0)
        choices_ask(session->chain.choices, number - 1, 0, &session->way);
    return true;
}

static void set_gain(struct live_session *session, double db)
{
    session->gain_db = fmin(GAIN_MOST_DB, fmax(GAIN_LEAST_DB, db));
    send(session, LIVE_GAIN, audio_from_db(session->gain_db));
}

static void set_mute(struct live_session *session, bool muted)
{
    session->muted = muted;
    session->fed_back = false;
    send(session, LIVE_MUTE, muted);
}

/* One that is asked for within a switch is read after it. */
static bool load_later(struct live_session *session, size_t choice, const char *text)
{
    char *kept = text ? strdup(text) : NULL;
    if (text && !kept)
        return false;
    session->load_waits = true;
    session->load_choice = choice;
    session->load_text = kept;
    return true;
}

/* A mask that cannot be read is told in a line, and the old one goes on. */
static bool load(struct live_session *session, size_t choice, const char *text)
{
    struct live_chain *chain = &session->chain;
    if (choices_are_switching(chain->choices) && !session->load_waits)
        return load_later(session, choice, text);
    if (live_chain_load(chain, choice, text, &session->way) != STATUS_OK)
        return false;
    live_log_load(session->log, choice, chain->texts[choice], live_frames(session->live));
    live_notify(session, "mask %s is read", chain->names[choice]);
    return true;
}

static void load_now(struct live_session *session)
{
    (void)load(session, session->load_choice, session->load_text);
    session->load_waits = false;
    free(session->load_text);
    session->load_text = NULL;
}

static void reload(struct live_session *session)
{
    if (session->chain.choices)
        (void)load(session, choices_asked(session->chain.choices), NULL);
}

static void flush_recordings(struct live_session *session)
{
    uint64_t frames = 0;
    struct recorder *recorders[] = {session->recorder, session->recorder_dry};
    const char *paths[] = {session->options->record, session->options->record_dry};
    for (size_t i = 0; i < 2; i++) {
        if (!recorders[i])
            continue;
        recorder_flush(recorders[i], &frames);
        live_notify(session, "%s: %.1f s are written", paths[i],
                  (double)frames / (double)session->info.rate);
    }
    if (!recorders[0] && !recorders[1])
        live_notify(session, "nothing is recorded; start with --record OUT.wav");
}

/* ---- keys ---- */

static void take_key(struct live_session *session, int key)
{
    if (live_controls_key(&session->controls, key))
        return;
    if (key >= '0' && key <= '9') { /* 0 is dry, as the screen lists it */
        if (!choose(session, (size_t)(key - '0')))
            live_notify(session, "there is no mask %c", key);
    } else if (key == ' ') {
        set_dry(session, !session->dry);
    } else if (key == '[' || key == ']') {
        set_gain(session, session->gain_db + (key == ']' ? GAIN_STEP_DB : -GAIN_STEP_DB));
    } else if (key == 'm') {
        set_mute(session, !session->muted);
    } else if (key == 'r') {
        reload(session);
    } else if (key == 'w') {
        flush_recordings(session);
    } else if (key == 'q') {
        live_control_leave(session);
    }
}

/* ---- OSC ---- */

static bool choose_named(struct live_session *session, const char *name)
{
    for (size_t i = 0; i < session->chain.choice_count; i++)
        if (strcmp(session->chain.names[i], name) == 0)
            return choose(session, i + 1);
    return false;
}

/* A path is no list of options: its commas are part of it. */
static bool load_path(struct live_session *session, size_t number, const char *path)
{
    char text[2 * OSC_TEXT_MOST], *to = text;
    if (number == 0 || number > session->chain.choice_count)
        return false;
    for (; *path; path++) {
        if (*path == ',')
            *to++ = '\\';
        *to++ = *path;
    }
    *to = '\0';
    return load(session, number - 1, text);
}

static bool obey(struct live_session *session, const struct osc_command *command)
{
    bool done = true;
    switch (command->action) {
    case OSC_CHOOSE:
        done = choose(session, command->choice);
        break;
    case OSC_CHOOSE_NAMED:
        done = choose_named(session, command->text);
        break;
    case OSC_GAIN:
        set_gain(session, command->value);
        break;
    case OSC_MUTE:
        set_mute(session, command->on);
        break;
    case OSC_LOAD:
        done = load_path(session, command->choice, command->text);
        break;
    case OSC_CONTROL:
        done = live_controls_set(&session->controls, command->stage, command->text,
                                 command->value_text) == STATUS_OK;
        break;
    case OSC_RELOAD:
        reload(session);
        break;
    case OSC_QUIT:
        live_control_leave(session);
        break;
    }
    return done;
}

/* ---- files that change ---- */

enum status live_control_watch(struct live_session *session)
{
    enum status status = file_watch_open(&session->watch);
    for (size_t i = 0; i < session->chain.choice_count && status == STATUS_OK; i++) {
        char *file;
        status = stage_mask_file(session->chain.texts[i], &file);
        if (status != STATUS_OK || !file)
            continue;
        status = file_watch_add(session->watch, file, i);
        free(file);
    }
    return status;
}

/* ---- all of them ---- */

static void take_commands(struct live_session *session)
{
    struct osc_command command;
    size_t changed;
    int key;
    while ((key = view_key(session->view)) != VIEW_KEY_NONE)
        take_key(session, key);
    while (session->osc && osc_receive(session->osc, &command))
        if (!obey(session, &command))
            osc_refuse(session->osc);
    /* One at a time: the switch to it has to be over before the next. */
    bool busy = session->chain.choices && choices_are_switching(session->chain.choices);
    if (session->load_waits && !busy)
        load_now(session);
    else if (session->watch && !busy && file_watch_next(session->watch, &changed))
        (void)load(session, changed, NULL);
}

void live_control_wait(struct live_session *session, int milliseconds)
{
    struct pollfd fds[2] = {
        {.fd = view_key_fd(session->view), .events = POLLIN},
        {.fd = session->osc ? osc_fd(session->osc) : -1, .events = POLLIN},
    };
    (void)poll(fds, 2, milliseconds);
    take_commands(session);
}
