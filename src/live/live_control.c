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

static bool is_switching(const struct live_session *session)
{
    const struct choices *choices = session->stream.chain.choices;
    return choices && choices_are_switching(choices);
}

/* One mask at a time: it is read when the previous one was, and no switch is under way. If it
 * cannot be read the old one stays. False: another one waits already. */
static bool load(struct live_session *session, size_t choice, const char *text, bool is_by_osc)
{
    struct live_load_request *next = &session->next_load;
    char *kept = text ? strdup(text) : NULL;
    if (next->is_asked || (text && !kept)) {
        view_message(session->stream.view, "cannot read a mask: another one waits to be read");
        free(kept);
        return false;
    }
    *next = (struct live_load_request){
        .is_asked = true, .is_by_osc = is_by_osc, .choice = choice, .text = kept};
    return true;
}

static void end_load(struct live_session *session, bool is_loaded)
{
    if (!is_loaded && session->load.is_by_osc)
        osc_refuse(session->osc);
    free(session->load.text);
    session->load = (struct live_load_request){0};
}

static void begin_load(struct live_session *session)
{
    const struct live_chain *chain = &session->stream.chain;
    struct live_load_request *load = &session->load;
    *load = session->next_load;
    session->next_load = (struct live_load_request){0};
    if (choice_loader_start(load->text ? load->text : chain->texts[load->choice],
                            &chain->mask_format, &chain->request.options->settings,
                            &session->loader) != STATUS_OK)
        end_load(session, false);
}

static void finish_load(struct live_session *session)
{
    struct stream_session *stream = &session->stream;
    struct live_chain *chain = &stream->chain;
    const struct live_load_request *load = &session->load;
    struct mask *mask;
    if (!choice_loader_take(session->loader, &mask))
        return;
    session->loader = NULL;
    bool is_loaded =
        mask && live_chain_put(chain, load->choice, load->text, mask, &stream->way) == STATUS_OK;
    if (is_loaded) {
        live_log_load(stream->log, load->choice, chain->texts[load->choice],
                      live_frames(stream->live));
        view_message(stream->view, "mask %s is loaded", chain->names[load->choice]);
    }
    end_load(session, is_loaded);
}

static void advance_loads(struct live_session *session)
{
    size_t changed;
    if (is_switching(session))
        return;
    if (session->loader)
        finish_load(session);
    else if (session->next_load.is_asked)
        begin_load(session);
    else if (session->watch && file_watch_next(session->watch, &changed))
        (void)load(session, changed, NULL, false);
}

void live_control_end_loads(struct live_session *session)
{
    choice_loader_abandon(session->loader);
    session->loader = NULL;
    free(session->load.text);
    free(session->next_load.text);
    session->load = session->next_load = (struct live_load_request){0};
}

/* Of the mask that is heard. */
static bool reload(struct live_session *session, bool is_by_osc)
{
    const struct choices *choices = session->stream.chain.choices;
    return !choices || load(session, choices_asked(choices), NULL, is_by_osc);
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
        (void)reload(session, false);
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
    return load(session, number - 1, text, true);
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
        return reload(session, true);
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
    int key;
    while ((key = view_key(session->stream.view)) != VIEW_KEY_NONE)
        handle_key(session, key);
    while (session->osc && osc_receive(session->osc, &command))
        if (!execute(session, &command))
            osc_refuse(session->osc);
    advance_loads(session);
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
