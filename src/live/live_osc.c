/* What the commands of OSC do to halo live. */
#include "live/live_session.h"

#include "base/plural.h"
#include <string.h>

static enum status choose_named(struct live_session *session, const char *name)
{
    const struct live_chain *chain = &session->stream.chain;
    for (size_t i = 0; i < chain->choice_count; i++)
        if (strcmp(chain->names[i], name) == 0)
            return live_control_choose(session, i + 1);
    return fail(STATUS_USAGE, "there is no mask '%s'", name);
}

/* A path is not a list of options: its commas are escaped. */
static enum status load_path(struct live_session *session, const struct osc_command *command)
{
    char text[2 * OSC_TEXT_MOST], *to = text;
    size_t count = session->stream.chain.choice_count;
    if (command->choice == 0 || command->choice > count)
        return fail(STATUS_USAGE, "there is no mask %zu: there %s %zu", command->choice,
                    plural_are(count), count);
    for (const char *at = command->text; *at; at++) {
        if (*at == ',')
            *to++ = '\\';
        *to++ = *at;
    }
    *to = '\0';
    return live_control_load(session, command->choice - 1, text, command);
}

static enum status set_gain(struct stream_session *stream, double db)
{
    if (db < STREAM_GAIN_LEAST_DB || db > STREAM_GAIN_MOST_DB)
        return fail(STATUS_USAGE, "the gain is from %g to %g dB, not %g", STREAM_GAIN_LEAST_DB,
                    STREAM_GAIN_MOST_DB, db);
    stream_session_set_gain(stream, db);
    return STATUS_OK;
}

static enum status execute(struct live_session *session, const struct osc_command *command)
{
    struct stream_session *stream = &session->stream;
    switch (command->action) {
    case OSC_CHOOSE:
        return live_control_choose(session, command->choice);
    case OSC_CHOOSE_NAMED:
        return choose_named(session, command->text);
    case OSC_LOAD:
        return load_path(session, command);
    case OSC_CONTROL:
        return live_controls_set(&stream->controls, command->stage, command->text,
                                 command->value_text);
    case OSC_GAIN:
        return set_gain(stream, command->value);
    case OSC_MUTE:
        stream_session_set_mute(stream, command->on);
        break;
    case OSC_RELOAD:
        return live_control_reload(session, command);
    case OSC_PRESET:
        return live_preset_ask(session, command->text, command);
    case OSC_PRESET_NEXT:
    case OSC_PRESET_PREVIOUS:
        return live_preset_go(session, command->action == OSC_PRESET_NEXT ? 1 : -1, command);
    case OSC_PRESET_SAVE:
        return live_preset_save(session, command->text, true);
    case OSC_QUIT:
        stream_session_leave(stream);
        break;
    }
    return STATUS_OK;
}

void live_osc_receive(struct live_session *session)
{
    struct osc_command command;
    const char *refusal;
    while (osc_receive(session->osc, &command)) {
        char reason[256];
        const struct log_keeper before = log_keep_in(reason, sizeof reason);
        enum status status = execute(session, &command);
        log_keep_again(&before);
        if (status != STATUS_OK)
            osc_refuse(session->osc, &command.sender, command.path, reason);
    }
    while ((refusal = osc_refusal(session->osc)))
        view_warning(session->stream.view, "OSC %s", refusal);
}
