/* Changes by a user while halo live runs: keys, OSC, and changed mask files. */
#include "base/plural.h"
#include "base/short_list.h"
#include "base/task.h"
#include "chain/stage_mask.h"
#include "design/design.h"
#include "live/session/live_offers.h"
#include "live/session/live_pages.h"
#include "view/distinct_name.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- reading a mask on a thread, since a disk can be slow and a network file can hang ---- */

struct choice_loader {
    struct task task;
    char *text;
    struct stream_format format;
    struct stage_settings settings;
    struct mask *mask;
};

static void destroy_loader(struct task *task)
{
    struct choice_loader *loader = (struct choice_loader *)task;
    mask_destroy(loader->mask);
    free(loader->text);
    free(loader);
}

static enum status read_mask(struct task *task)
{
    struct choice_loader *loader = (struct choice_loader *)task;
    return stage_mask_read(loader->text, &loader->format, &loader->settings, &loader->mask);
}

static enum status choice_loader_start(const char *text, const struct stream_format *format,
                                       const struct stage_settings *settings, struct task **result)
{
    struct choice_loader *loader = calloc(1, sizeof *loader);
    if (!loader || !(loader->text = strdup(text))) {
        free(loader);
        return fail_memory("a mask");
    }
    loader->format = *format;
    loader->settings = *settings;
    TRY(task_start(&loader->task, "halo load", "a mask", read_mask, destroy_loader));
    *result = &loader->task;
    return STATUS_OK;
}

/* ---- typing the name of a preset ---- */

enum { ESCAPE = 27 };

static void show_prompt(struct live_preset_prompt *prompt)
{
    const char *hint = prompt->replaces ? "Enter replaces it  Escape does not"
                       : prompt->offers ? "Enter saves  or type another name"
                                        : "Enter saves  Escape does not";
    snprintf(prompt->line, sizeof prompt->line, "%s %s_   %s",
             prompt->replaces ? "REPLACE preset" : "save as preset", prompt->name, hint);
    prompt->lines[0] = prompt->line;
}

/* Opens the prompt and offers the present name: a letter replaces it, a backspace edits it. */
static void open_prompt(struct live_session *session)
{
    struct live_preset_prompt *prompt = &session->presets.prompt;
    *prompt = (struct live_preset_prompt){.is_open = true};
    strcpy(prompt->name, session->presets.name);
    prompt->offers = *prompt->name;
    show_prompt(prompt);
}

/* Erases the last character, which may have several bytes. */
static void erase_last(struct live_preset_prompt *prompt)
{
    size_t length = strlen(prompt->name);
    while (length > 0 && ((unsigned char)prompt->name[--length] & 0xc0) == 0x80)
        ;
    prompt->name[length] = '\0';
}

/* Appends a character as UTF-8. If it does not fit, it is ignored. */
static void append(struct live_preset_prompt *prompt, unsigned code)
{
    unsigned char bytes[5] = {0};
    if (prompt->offers)
        prompt->name[0] = '\0';
    size_t extra = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char heads[] = {0, 0xc0, 0xe0, 0xf0};
    bytes[0] = (unsigned char)(heads[extra] | code >> (6 * extra));
    for (size_t i = 1; i <= extra; i++)
        bytes[i] = (unsigned char)(0x80 | ((code >> (6 * (extra - i))) & 0x3f));
    if (strlen(prompt->name) + extra + 1 < sizeof prompt->name)
        strcat(prompt->name, (const char *)bytes);
}

/* Whether to ask for a second Enter: another preset than the one that is heard has this name. */
static bool must_ask(const struct live_session *session)
{
    const struct live_presets *presets = &session->presets;
    char path[PATH_MAX];
    return !presets->prompt.replaces && strcmp(presets->prompt.name, presets->name) != 0 &&
           preset_path(presets->prompt.name, path) == STATUS_OK && access(path, F_OK) == 0;
}

static void save_typed(struct live_session *session)
{
    struct live_preset_prompt *prompt = &session->presets.prompt;
    char reason[TASK_REASON];
    const struct log_keeper before = log_keep_in(reason, sizeof reason);
    bool asks = must_ask(session);
    enum status status = asks ? STATUS_OK : live_preset_save(session, prompt->name, true);
    log_keep_again(&before);
    prompt->is_open = asks;
    prompt->replaces = asks;
    if (status != STATUS_OK)
        view_warning(session->stream.view, "%s", reason);
}

static void type_key(struct live_session *session, int key)
{
    struct live_preset_prompt *prompt = &session->presets.prompt;
    if (key == '\n')
        save_typed(session);
    else if (key == ESCAPE)
        prompt->is_open = false;
    else if (key == VIEW_KEY_BACKSPACE)
        erase_last(prompt);
    else if (key >= ' ' && key < VIEW_KEY_LEFT && key != 0x7f)
        append(prompt, (unsigned)key);
    if (key != '\n')
        prompt->offers = prompt->replaces = false;
    show_prompt(prompt);
}

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

/* Requests to read a mask. One mask is read at a time, while no switch is in progress. If it cannot
 * be read, the old mask stays and `command` (NULL: a key) is answered. */
static enum status ask_load(struct live_session *session, size_t choice, const char *text,
                            const struct live_command *command)
{
    struct stream_session *stream = &session->stream;
    if (stream->next[STREAM_MASK].is_asked)
        return fail(CAUSE_BUSY, "cannot read a mask: another one waits to be read");
    char *kept = text ? strdup(text) : NULL;
    if (text && !kept)
        return fail_memory("a mask");
    stream_session_ask(stream, STREAM_MASK,
                       &(struct stream_request){.choice = choice, .text = kept}, command);
    return STATUS_OK;
}

static void begin_load(struct live_session *session)
{
    struct stream_session *stream = &session->stream;
    const struct live_chain *chain = &stream->chain;
    struct stream_request *load = stream_session_begin_request(stream, STREAM_MASK);
    char reason[TASK_REASON] = "";
    const struct log_keeper before = log_keep_in(reason, sizeof reason);
    enum status status = choice_loader_start(load->text ? load->text : chain->texts[load->choice],
                                             &chain->mask_format, &chain->request.options->settings,
                                             &session->loader);
    log_keep_again(&before);
    if (status != STATUS_OK)
        stream_session_end_request(stream, load, reason);
}

static void finish_load(struct live_session *session)
{
    struct stream_session *stream = &session->stream;
    struct live_chain *chain = &stream->chain;
    struct stream_request *load = &stream->current[STREAM_MASK];
    struct choice_loader *loader = (struct choice_loader *)session->loader;
    char reason[TASK_REASON];
    if (!task_is_done(&loader->task))
        return;
    struct mask *mask = loader->mask;
    loader->mask = NULL;
    strcpy(reason, loader->task.reason);
    task_release(session->loader);
    session->loader = NULL;
    if (*reason) {
        stream_session_end_request(stream, load, reason);
        return;
    }
    const struct log_keeper before = log_keep_in(reason, sizeof reason);
    enum status status = live_chain_put(chain, load->choice, load->text, mask, &stream->way);
    bool is_loaded = status == STATUS_OK;
    log_keep_again(&before);
    /* a new chain, with room for the mask, will replace the present one */
    if (status == STATUS_TRY_AGAIN && !load->text) {
        live_preset_ask_present(session);
        reason[0] = '\0';
    }
    if (is_loaded) {
        live_log_load(stream->log, load->choice, chain->texts[load->choice],
                      live_frames(stream->live));
        view_message(stream->view, "mask %s is loaded", chain->names[load->choice]);
    }
    stream_session_end_request(stream, load, is_loaded ? "" : reason);
}

static void advance_loads(struct live_session *session)
{
    size_t changed;
    if (is_switching(session) || session->edit.versions[0])
        return;
    if (session->loader)
        finish_load(session);
    else if (session->stream.next[STREAM_MASK].is_asked)
        begin_load(session);
    else if (session->watch && file_watch_next(session->watch, &changed) &&
             ask_load(session, changed, NULL, NULL) != STATUS_OK)
        return;
}

void live_control_end_loads(struct live_session *session)
{
    struct stream_session *stream = &session->stream;
    struct stream_request *const loads[] = {&stream->current[STREAM_MASK],
                                            &stream->next[STREAM_MASK]};
    task_release(session->loader);
    session->loader = NULL;
    for (size_t i = 0; i < 2; i++)
        stream_session_end_request(stream, loads[i],
                                   loads[i]->path ? "cannot read a mask: the masks changed" : "");
}

static enum status reload(struct live_session *session, const struct live_command *command)
{
    const struct choices *choices = session->stream.chain.choices;
    if (!choices)
        return fail(CAUSE_USAGE, "there is no mask to reload");
    return ask_load(session, choices_asked(choices), NULL, command);
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

/* Keeps the present state for undo, if a key will change the sound. */
static enum status keep_for_key(struct live_session *session, int key, bool *kept)
{
    const struct live_status_control control = live_controls_show(&session->stream.controls);
    struct live_command command = {.action = COMMAND_MUTE, .path = "key"};
    *kept = false;
    if (session->stream.blind)
        return STATUS_OK;
    if ((key >= '0' && key <= '9') || key == ' ')
        command.action = COMMAND_CHOOSE;
    else if (key == 'p' || key == 'P')
        command.action = COMMAND_PRESET_NEXT;
    else if (key > 0 && key < 0x80 && strchr("[]<>", key))
        command.action = COMMAND_GAIN;
    else if (key > 0 && key < 0x80 && strchr("+-=b", key) && control.symbol) {
        command.action = COMMAND_CONTROL;
        command.stage = control.stage;
        snprintf(command.text, sizeof command.text, "%s", control.symbol);
    }
    return live_edit_keep(session, &command, kept);
}

static enum status act_on_key(struct live_session *session, int key)
{
    if (key > 0 && key < 0x80 && strchr("[]<>", key))
        TRY(live_edit_allows(session, COMMAND_GAIN));
    if (stream_session_key(&session->stream, key))
        return STATUS_OK;
    TRY(live_edit_allows(session, COMMAND_CHOOSE));
    if (key >= '1' && key <= '9')
        return live_control_choose(session, (size_t)(key - '0'));
    switch (key) {
    case 'r':
        return reload(session, NULL);
    case 'p':
    case 'P':
        return live_preset_go(session, key == 'p' ? 1 : -1, NULL);
    case 'u':
        return live_control_obey(session,
                                 &(struct live_command){.action = COMMAND_UNDO, .path = "key"});
    case 's':
        open_prompt(session);
        return STATUS_OK;
    case 'w':
        flush_recordings(session);
        return STATUS_OK;
    default:
        return STATUS_OK;
    }
}

void live_control_key(struct stream_session *stream, int key)
{
    struct live_session *session = (struct live_session *)stream;
    char reason[256];
    if (session->presets.prompt.is_open) {
        type_key(session, key);
        return;
    }
    bool kept;
    const struct log_keeper before = log_keep_in(reason, sizeof reason);
    enum status status = keep_for_key(session, key, &kept);
    if (status == STATUS_OK)
        status = act_on_key(session, key);
    if (status != STATUS_OK && kept)
        live_edit_drop(session);
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

void live_control_show_keys(struct live_session *session)
{
    struct stream_session *stream = &session->stream;
    snprintf(
        stream->keys, sizeof stream->keys,
        "1-9 mask  space dry  [ ] gain  m mute  q leave%s  p preset  s save  u undo  r reload  w write",
        live_controls_keys(&stream->controls));
}

/* ---- OSC ---- */

enum { SHORTEST = 8 /* least columns that a screen shows of a name */ };

/* Whether `name` is the name of a choice, in full or as a screen of some width shows it. */
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

/* Reads the mask of a path. Escapes commas in the path, since in a spec they begin an option. */
static enum status load_path(struct live_session *session, const struct live_command *command)
{
    char text[2 * COMMAND_TEXT_MOST], *to = text;
    size_t count = session->stream.chain.choice_count;
    if (command->choice == 0 || command->choice > count)
        return fail(CAUSE_USAGE, "there is no mask %zu: there %s %zu", command->choice,
                    plural_are(count), count);
    for (const char *at = command->text; *at; at++) {
        if (*at == ',' && !command->is_remote) /* a page sends the spec that it was offered */
            *to++ = '\\';
        *to++ = *at;
    }
    *to = '\0';
    return ask_load(session, command->choice - 1, text, command);
}

static enum status set_gain(struct stream_session *stream, double db)
{
    if (db < STREAM_GAIN_LEAST_DB || db > STREAM_GAIN_MOST_DB)
        return fail(CAUSE_USAGE, "the gain is from %g to %g dB, not %g", STREAM_GAIN_LEAST_DB,
                    STREAM_GAIN_MOST_DB, db);
    stream_session_set_gain(stream, db);
    return STATUS_OK;
}

static enum status set_ceiling(struct stream_session *stream, double db)
{
    if (db < STREAM_CEILING_LEAST_DB || db > 0)
        return fail(CAUSE_USAGE, "the ceiling is from %g to 0 dB, not %g", STREAM_CEILING_LEAST_DB,
                    db);
    stream_session_set_ceiling(stream, db);
    return STATUS_OK;
}

static enum status equalise(struct stream_session *stream, const struct live_command *command)
{
    struct eq_bands bands;
    TRY(design_bands(command->text, stream->chain.request.format.rate, &bands));
    bands.preamp = command->value;
    if (fabs(bands.preamp) > EQ_DB_MOST)
        return fail(CAUSE_USAGE, "the preamp is from %g to %g dB, not %g", -EQ_DB_MOST, EQ_DB_MOST,
                    bands.preamp);
    return live_chain_equalise(&stream->chain, command->stage - 1, &bands, &stream->way);
}

static enum status execute(struct live_session *session, const struct live_command *command)
{
    struct stream_session *stream = &session->stream;
    switch (command->action) {
    case COMMAND_CHOOSE:
        return live_control_choose(session, command->choice);
    case COMMAND_CHOOSE_NAMED:
        return choose_named(session, command->text);
    case COMMAND_LOAD:
        return load_path(session, command);
    case COMMAND_CONTROL:
        return live_controls_set(&stream->controls, command->stage, command->text,
                                 command->value_text);
    case COMMAND_EQ:
        return equalise(stream, command);
    case COMMAND_GAIN:
        return set_gain(stream, command->value);
    case COMMAND_CEILING:
        return set_ceiling(stream, command->value);
    case COMMAND_MUTE:
        stream_session_set_mute(stream, command->on);
        break;
    case COMMAND_RELOAD:
        return reload(session, command);
    case COMMAND_PRESET:
        return live_preset_ask(session, command->text, command);
    case COMMAND_PRESET_NEXT:
    case COMMAND_PRESET_PREVIOUS:
        return live_preset_go(session, command->action == COMMAND_PRESET_NEXT ? 1 : -1, command);
    case COMMAND_PRESET_SAVE:
        return live_preset_save(session, command->text, true);
    case COMMAND_PRESET_FOR_DEVICE:
        return live_for_device_add(session, command->text);
    case COMMAND_QUIT:
        stream_session_leave(stream);
        break;
    default:
        return live_edit_perform(session, command);
    }
    return STATUS_OK;
}

/* Executes a command. If it changes the sound, the state before it is kept for undo. */
enum status live_control_obey(struct live_session *session, const struct live_command *command)
{
    bool kept = false;
    TRY(live_edit_allows(session, command->action));
    TRY(live_offers_allow(session, command));
    if (live_edit_waits(session, command->action))
        return live_edit_queue(session, command);
    TRY(live_edit_keep(session, command, &kept));
    enum status status = execute(session, command);
    struct stream_request *change = &session->stream.current[STREAM_PRESET];
    if (status != STATUS_OK && kept)
        live_edit_drop(session);
    else if (kept && change->is_edit)
        change->is_kept = true; /* if it fails later, the state is dropped */
    return status;
}

static void receive_osc(struct live_session *session)
{
    struct live_command command;
    const char *refusal;
    while (osc_receive(session->stream.osc, &command)) {
        char reason[256];
        const struct log_keeper before = log_keep_in(reason, sizeof reason);
        enum status status = live_control_obey(session, &command);
        session->stream.changed = true;
        log_keep_again(&before);
        if (status != STATUS_OK)
            osc_refuse(session->stream.osc, &command.sender, command.path, reason);
    }
    while ((refusal = osc_refusal(session->stream.osc)))
        view_warning(session->stream.view, "OSC %s", refusal);
}

void live_control_advance(struct stream_session *stream, bool keys_ended)
{
    struct live_session *session = (struct live_session *)stream;
    (void)keys_ended; /* a service has no keys */
    if (stream->osc)
        receive_osc(session);
    live_pages_advance(session);
    advance_loads(session);
    live_preset_advance(session);
    live_edit_advance(session);
}
