/* What the commands of OSC do to halo live. */
#include "live/live_session.h"

#include "base/plural.h"
#include "base/short_list.h"
#include "view/distinct_name.h"

#include <stdlib.h>
#include <string.h>

enum { SHORTEST = 8 /* columns of a name on a narrow screen */ };

/* Its name in full, or as a screen of some width shows it. */
static bool is_shown_as(const struct live_chain *chain, size_t choice, const char *name)
{
    char shown[DISTINCT_NAME_BYTES];
    bool is_same = strcmp(chain->names[choice], name) == 0;
    for (int columns = DISTINCT_NAME_BYTES; columns >= SHORTEST && !is_same; columns--) {
        distinct_name(chain->names, chain->choice_count, choice, columns, shown);
        is_same = strcmp(shown, name) == 0;
    }
    return is_same;
}

static enum status refuse_name(const struct live_chain *chain, const char *name)
{
    struct short_list all = {0};
    for (size_t i = 0; i <= chain->choice_count; i++)
        short_list_add(&all, i > 0 ? chain->names[i - 1] : "dry");
    return fail(CAUSE_USAGE, "there is no mask '%s'; there is %s", name, short_list_text(&all, ""));
}

static enum status choose_named(struct live_session *session, const char *name)
{
    const struct live_chain *chain = &session->stream.chain;
    char *end;
    for (size_t i = 0; i < chain->choice_count; i++)
        if (is_shown_as(chain, i, name))
            return live_control_choose(session, i + 1);
    unsigned long number = strtoul(name, &end, 10);
    if (strcmp(name, "dry") == 0)
        number = 0;
    else if (*end || name[0] < '0' || name[0] > '9')
        return refuse_name(chain, name);
    return live_control_choose(session, number);
}

/* A path is not a list of options: its commas are escaped. */
static enum status load_path(struct live_session *session, const struct osc_command *command)
{
    char text[2 * OSC_TEXT_MOST], *to = text;
    size_t count = session->stream.chain.choice_count;
    if (command->choice == 0 || command->choice > count)
        return fail(CAUSE_USAGE, "there is no mask %zu: there %s %zu", command->choice,
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
        return fail(CAUSE_USAGE, "the gain is from %g to %g dB, not %g", STREAM_GAIN_LEAST_DB,
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
