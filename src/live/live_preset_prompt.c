/* The line in which the name of a preset is typed. */
#include "live/live_session.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ESCAPE = 27 };

static void show(struct live_preset_prompt *prompt)
{
    const char *hint = prompt->replaces ? "Enter replaces it  Escape does not"
                       : prompt->offers ? "Enter saves  or type another name"
                                        : "Enter saves  Escape does not";
    snprintf(prompt->line, sizeof prompt->line, "%s %s_   %s",
             prompt->replaces ? "REPLACE preset" : "save as preset", prompt->name, hint);
    prompt->lines[0] = prompt->line;
}

/* The name of what is heard is offered as text that is selected: a letter replaces it, and a
 * backspace edits it. */
void live_preset_open_prompt(struct live_session *session)
{
    struct live_preset_prompt *prompt = &session->presets.prompt;
    *prompt = (struct live_preset_prompt){.is_open = true};
    strcpy(prompt->name, session->presets.name);
    prompt->offers = *prompt->name;
    show(prompt);
}

/* The last character, of one byte or more. */
static void erase(struct live_preset_prompt *prompt)
{
    size_t length = strlen(prompt->name);
    while (length > 0 && ((unsigned char)prompt->name[--length] & 0xc0) == 0x80)
        ;
    prompt->name[length] = '\0';
}

/* In UTF-8; what does not fit is left out. */
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

/* One of that name, other than what is heard, is replaced after a second Enter. */
static bool must_ask(const struct live_session *session)
{
    const struct live_presets *presets = &session->presets;
    char path[PATH_MAX];
    return !presets->prompt.replaces && strcmp(presets->prompt.name, presets->name) != 0 &&
           preset_path(presets->prompt.name, path) == STATUS_OK && access(path, F_OK) == 0;
}

static void save(struct live_session *session)
{
    struct live_preset_prompt *prompt = &session->presets.prompt;
    char reason[PRESET_REASON];
    const struct log_keeper before = log_keep_in(reason, sizeof reason);
    bool asks = must_ask(session);
    enum status status = asks ? STATUS_OK : live_preset_save(session, prompt->name, true);
    log_keep_again(&before);
    prompt->is_open = asks;
    prompt->replaces = asks;
    if (status != STATUS_OK)
        view_warning(session->stream.view, "%s", reason);
}

void live_preset_type(struct live_session *session, int key)
{
    struct live_preset_prompt *prompt = &session->presets.prompt;
    if (key == '\n')
        save(session);
    else if (key == ESCAPE)
        prompt->is_open = false;
    else if (key == VIEW_KEY_BACKSPACE)
        erase(prompt);
    else if (key >= ' ' && key < VIEW_KEY_LEFT && key != 0x7f)
        append(prompt, (unsigned)key);
    if (key != '\n')
        prompt->offers = prompt->replaces = false;
    show(prompt);
}
