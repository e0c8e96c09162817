#include "live/live_session.h"

#include "base/plural.h"
#include "chain/stage_mask.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- masks and recordings ---- */

enum status live_control_choose(struct live_session *session, size_t number)
{
    size_t count = session->stream.chain.choice_count;
    if (number > count)
        return fail(CAUSE_USAGE, "there is no mask %zu: there %s %zu", number, plural_are(count),
                    count);
    stream_session_set_dry(&session->stream, number == 0);
    if (number > 0)
        choices_ask(session->stream.chain.choices, number - 1, 0, &session->stream.way);
    return STATUS_OK;
}

static bool is_switching(const struct live_session *session)
{
    const struct choices *choices = session->stream.chain.choices;
    return choices && choices_are_switching(choices);
}

/* One mask at a time: it is read when the previous one was, and no switch is under way. If it
 * cannot be read the old one stays. */
enum status live_control_load(struct live_session *session, size_t choice, const char *text,
                              const struct osc_command *command)
{
    struct live_load_request *next = &session->next_load;
    if (next->is_asked)
        return fail(CAUSE_BUSY, "cannot read a mask: another one waits to be read");
    char *kept = text ? strdup(text) : NULL;
    if (text && !kept)
        return fail_memory("a mask");
    *next = (struct live_load_request){.is_asked = true, .choice = choice, .text = kept};
    if (command)
        next->path = command->path;
    if (command)
        next->sender = command->sender;
    return STATUS_OK;
}

/* `reason`: of a failure; "": there was none. */
static void end_load(struct live_session *session, struct live_load_request *load,
                     const char *reason)
{
    if (*reason && load->path)
        osc_refuse(session->osc, &load->sender, load->path, reason);
    else if (*reason)
        view_warning(session->stream.view, "%s", reason);
    free(load->text);
    *load = (struct live_load_request){0};
}

static void begin_load(struct live_session *session)
{
    const struct live_chain *chain = &session->stream.chain;
    struct live_load_request *load = &session->load;
    char reason[CHOICE_LOADER_REASON] = "";
    *load = session->next_load;
    session->next_load = (struct live_load_request){0};
    const struct log_keeper before = log_keep_in(reason, sizeof reason);
    enum status status = choice_loader_start(load->text ? load->text : chain->texts[load->choice],
                                             &chain->mask_format, &chain->request.options->settings,
                                             &session->loader);
    log_keep_again(&before);
    if (status != STATUS_OK)
        end_load(session, &session->load, reason);
}

static void finish_load(struct live_session *session)
{
    struct stream_session *stream = &session->stream;
    struct live_chain *chain = &stream->chain;
    const struct live_load_request *load = &session->load;
    char reason[CHOICE_LOADER_REASON];
    struct mask *mask;
    if (!choice_loader_take(session->loader, &mask, reason))
        return;
    session->loader = NULL;
    if (!mask) {
        end_load(session, &session->load, reason);
        return;
    }
    const struct log_keeper before = log_keep_in(reason, sizeof reason);
    enum status status = live_chain_put(chain, load->choice, load->text, mask, &stream->way);
    bool is_loaded = status == STATUS_OK;
    log_keep_again(&before);
    if (status == STATUS_TRY_AGAIN && !load->text) { /* a chain of another size takes it */
        live_preset_ask_present(session);
        reason[0] = '\0';
    }
    if (is_loaded) {
        live_log_load(stream->log, load->choice, chain->texts[load->choice],
                      live_frames(stream->live));
        view_message(stream->view, "mask %s is loaded", chain->names[load->choice]);
    }
    end_load(session, &session->load, is_loaded ? "" : reason);
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
    else if (session->watch && file_watch_next(session->watch, &changed) &&
             live_control_load(session, changed, NULL, NULL) != STATUS_OK)
        return;
}

void live_control_end_loads(struct live_session *session)
{
    struct live_load_request *const loads[] = {&session->load, &session->next_load};
    choice_loader_abandon(session->loader);
    session->loader = NULL;
    for (size_t i = 0; i < 2; i++)
        end_load(session, loads[i], loads[i]->path ? "cannot read a mask: the masks changed" : "");
}

enum status live_control_reload(struct live_session *session, const struct osc_command *command)
{
    const struct choices *choices = session->stream.chain.choices;
    if (!choices)
        return fail(CAUSE_USAGE, "there is no mask to reload");
    return live_control_load(session, choices_asked(choices), NULL, command);
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

static enum status act_on_key(struct live_session *session, int key)
{
    if (stream_session_key(&session->stream, key))
        return STATUS_OK;
    if (key >= '1' && key <= '9')
        return live_control_choose(session, (size_t)(key - '0'));
    switch (key) {
    case 'r':
        return live_control_reload(session, NULL);
    case 'p':
    case 'P':
        return live_preset_go(session, key == 'p' ? 1 : -1, NULL);
    case 's':
        live_preset_open_prompt(session);
        return STATUS_OK;
    case 'w':
        flush_recordings(session);
        return STATUS_OK;
    default:
        return STATUS_OK;
    }
}

static void handle_key(struct live_session *session, int key)
{
    char reason[256];
    if (session->presets.prompt.is_open) {
        live_preset_type(session, key);
        return;
    }
    const struct log_keeper before = log_keep_in(reason, sizeof reason);
    enum status status = act_on_key(session, key);
    log_keep_again(&before);
    if (status != STATUS_OK)
        view_message(session->stream.view, "%s", reason);
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

void live_control_watch_again(struct live_session *session)
{
    if (!session->watch)
        return;
    file_watch_close(session->watch);
    session->watch = NULL;
    if (live_control_watch(session) != STATUS_OK)
        view_warning(session->stream.view, "the masks of the preset are not watched");
}

static void handle_commands(struct live_session *session)
{
    int key;
    while ((key = view_key(session->stream.view)) != VIEW_KEY_NONE)
        handle_key(session, key);
    if (session->osc)
        live_osc_receive(session);
    advance_loads(session);
    live_preset_advance(session);
}

void live_control_show_keys(struct live_session *session)
{
    struct stream_session *stream = &session->stream;
    snprintf(
        stream->keys, sizeof stream->keys,
        "1-9 mask  space dry  [ ] gain  m mute  q leave%s  p preset  s save  r reload  w write",
        live_controls_keys(&stream->controls));
}

void live_control_wait(struct live_session *session, int milliseconds)
{
    struct pollfd fds[] = {
        {.fd = view_key_fd(session->stream.view), .events = POLLIN},
        {.fd = session->osc ? osc_fd(session->osc) : -1, .events = POLLIN},
        {.fd = session->osc ? osc_local_fd(session->osc) : -1, .events = POLLIN},
    };
    (void)poll(fds, sizeof fds / sizeof *fds, milliseconds);
    handle_commands(session);
}
