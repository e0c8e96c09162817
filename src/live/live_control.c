#include "live/live_session.h"

#include "chain/stage_mask.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

/* ---- masks and recordings ---- */

/* From 1; 0 is dry. False: no such choice. */
static bool choose(struct live_session *session, size_t number)
{
    if (number > session->stream.chain.choice_count)
        return false;
    stream_session_set_dry(&session->stream, number == 0);
    if (number > 0)
        choices_ask(session->stream.chain.choices, number - 1, 0, &session->stream.way);
    return true;
}

/* During a switch the mask is read after it. If it cannot be read the old one stays. */
static bool load(struct live_session *session, size_t choice, const char *text)
{
    struct live_chain *chain = &session->stream.chain;
    if (choices_are_switching(chain->choices) && !session->load_waits) {
        session->load_choice = choice;
        session->load_text = text ? strdup(text) : NULL;
        session->load_waits = !text || session->load_text;
        return session->load_waits;
    }
    if (live_chain_load(chain, choice, text, &session->stream.way) != STATUS_OK)
        return false;
    live_log_load(session->stream.log, choice, chain->texts[choice],
                  live_frames(session->stream.live));
    view_message(session->stream.view, "mask %s is loaded", chain->names[choice]);
    return true;
}

static void reload(struct live_session *session)
{
    if (session->stream.chain.choices)
        (void)load(session, choices_asked(session->stream.chain.choices), NULL);
}

static void flush_recordings(struct live_session *session)
{
    uint64_t frames = 0;
    bool any = false;
    for (size_t i = 0; i < LIVE_RECORDINGS; i++) {
        const struct live_recording *own = &session->recordings[i];
        if (!own->recorder)
            continue;
        any = true;
        recorder_flush(own->recorder, &frames);
        view_message(session->stream.view, "%s: %.1f s written", own->path,
                     (double)frames / (double)session->stream.info.rate);
    }
    if (!any)
        view_message(session->stream.view, "no recording; start with --record OUT.wav");
}

static void handle_key(struct live_session *session, int key)
{
    if (stream_session_key(&session->stream, key))
        return;
    if (key >= '1' && key <= '9') {
        if (!choose(session, (size_t)(key - '0')))
            view_message(session->stream.view, "there is no mask %c", key);
    } else if (key == 'r') {
        reload(session);
    } else if (key == 'w') {
        flush_recordings(session);
    }
}

/* ---- OSC ---- */

static bool choose_named(struct live_session *session, const char *name)
{
    for (size_t i = 0; i < session->stream.chain.choice_count; i++)
        if (strcmp(session->stream.chain.names[i], name) == 0)
            return choose(session, i + 1);
    return false;
}

/* A path is not a list of options: its commas are escaped. */
static bool load_path(struct live_session *session, size_t number, const char *path)
{
    char text[2 * OSC_TEXT_MOST], *to = text;
    if (number == 0 || number > session->stream.chain.choice_count)
        return false;
    for (; *path; path++) {
        if (*path == ',')
            *to++ = '\\';
        *to++ = *path;
    }
    *to = '\0';
    return load(session, number - 1, text);
}

static bool execute(struct live_session *session, const struct osc_command *command)
{
    struct stream_session *stream = &session->stream;
    switch (command->action) {
    case OSC_CHOOSE:
        return choose(session, command->choice);
    case OSC_CHOOSE_NAMED:
        return choose_named(session, command->text);
    case OSC_LOAD:
        return load_path(session, command->choice, command->text);
    case OSC_CONTROL:
        return live_controls_set(&stream->controls, command->stage, command->text,
                                 command->value_text) == STATUS_OK;
    case OSC_GAIN:
        stream_session_set_gain(stream, command->value);
        break;
    case OSC_MUTE:
        stream_session_set_mute(stream, command->on);
        break;
    case OSC_RELOAD:
        reload(session);
        break;
    case OSC_QUIT:
        stream_session_leave(stream);
        break;
    }
    return true;
}

enum status live_control_watch(struct live_session *session)
{
    const struct live_chain *chain = &session->stream.chain;
    enum status status = file_watch_open(&session->watch);
    for (size_t i = 0; i < chain->choice_count && status == STATUS_OK; i++) {
        char *file = NULL;
        status = stage_mask_file(chain->texts[i], &file);
        if (status == STATUS_OK && file)
            status = file_watch_add(session->watch, file, i);
        free(file);
    }
    return status;
}

static void handle_commands(struct live_session *session)
{
    struct osc_command command;
    size_t changed;
    int key;
    while ((key = view_key(session->stream.view)) != VIEW_KEY_NONE)
        handle_key(session, key);
    while (session->osc && osc_receive(session->osc, &command))
        if (!execute(session, &command))
            osc_refuse(session->osc);
    /* One mask at a time: the switch to it ends before the next is read. */
    const struct choices *choices = session->stream.chain.choices;
    bool busy = choices && choices_are_switching(choices);
    if (session->load_waits && !busy) {
        (void)load(session, session->load_choice, session->load_text);
        session->load_waits = false;
        free(session->load_text);
        session->load_text = NULL;
    } else if (session->watch && !busy && file_watch_next(session->watch, &changed)) {
        (void)load(session, changed, NULL);
    }
}

void live_control_wait(struct live_session *session, int milliseconds)
{
    struct pollfd fds[2] = {
        {.fd = view_key_fd(session->stream.view), .events = POLLIN},
        {.fd = session->osc ? osc_fd(session->osc) : -1, .events = POLLIN},
    };
    (void)poll(fds, 2, milliseconds);
    handle_commands(session);
}
