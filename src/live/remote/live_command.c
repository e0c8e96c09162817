#include "live/remote/live_command.h"

#include "base/decimal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define WHOLE_MOST 9007199254740992.0 /* 2^53: a double has all whole numbers up to it */

/* `arguments` has a letter per argument:
 * - c choice, C choice from 1, s stage from 1, d number
 * - t text, q text that may be empty or in quotes, v value
 * - o on or off, O on or off given as a value
 * `usage` describes the arguments to users. `text` is the initial live_command.text. */
static const struct {
    const char *path;
    const char *arguments;
    const char *usage;
    enum command_action action;
    const char *text;
} messages[] = {
    {"/halo/choose", "c", "a NUMBER (0: dry) or a NAME", COMMAND_CHOOSE, ""},
    {"/halo/choose", "t", "a NUMBER (0: dry) or a NAME", COMMAND_CHOOSE_NAMED, ""},
    {"/halo/dry", "", "no arguments", COMMAND_CHOOSE, ""},
    {"/halo/gain", "d", "a number of dB", COMMAND_GAIN, ""},
    {"/halo/ceiling", "d", "a number of dB", COMMAND_CEILING, ""},
    {"/halo/mute", "o", "0 or 1", COMMAND_MUTE, ""},
    {"/halo/control", "stv", "STAGE (from 1), SYMBOL and VALUE", COMMAND_CONTROL, ""},
    {"/halo/mix", "sv", "STAGE (from 1) and VALUE", COMMAND_CONTROL, "@mix"},
    {"/halo/bypass", "sO", "STAGE (from 1) and 0 or 1", COMMAND_CONTROL, "@bypass"},
    {"/halo/eq", "sqd", "STAGE (from 1), BANDS such as \"PK 1000 -6 1.4\" and PREAMP in dB",
     COMMAND_EQ, ""},
    {"/halo/load", "Ct", "NUMBER (from 1) and PATH", COMMAND_LOAD, ""},
    {"/halo/reload", "", "no arguments", COMMAND_RELOAD, ""},
    {"/halo/preset", "t", "a NAME", COMMAND_PRESET, ""},
    {"/halo/preset/next", "", "no arguments", COMMAND_PRESET_NEXT, ""},
    {"/halo/preset/previous", "", "no arguments", COMMAND_PRESET_PREVIOUS, ""},
    {"/halo/preset/save", "t", "a NAME", COMMAND_PRESET_SAVE, ""},
    {"/halo/preset/for-device", "t", "a NAME", COMMAND_PRESET_FOR_DEVICE, ""},
    {"/halo/quit", "", "no arguments", COMMAND_QUIT, ""},
    {"/halo/stage/add", "svt", "STAGE (from 1), OPTION and SPEC", COMMAND_STAGE_ADD, ""},
    {"/halo/stage/remove", "s", "STAGE (from 1)", COMMAND_STAGE_REMOVE, ""},
    {"/halo/stage/move", "sC", "STAGE and its new number", COMMAND_STAGE_MOVE, ""},
    {"/halo/undo", "", "no arguments", COMMAND_UNDO, ""},
    {"/halo/blind/begin", "", "no arguments", COMMAND_BLIND_BEGIN, ""},
    {"/halo/blind/hear", "C", "1 or 2", COMMAND_BLIND_HEAR, ""},
    {"/halo/blind/keep", "C", "1 or 2", COMMAND_BLIND_KEEP, ""},
    {"/halo/blind/end", "", "no arguments", COMMAND_BLIND_END, ""},
};

/* ---- arguments ---- */

static bool read_whole(const struct command_argument *argument, double least, size_t *whole)
{
    double number = argument->number;
    if (argument->text || argument->is_switch || !(number >= least && number <= WHOLE_MOST) ||
        floor(number) != number)
        return false;
    *whole = (size_t)number;
    return true;
}

static bool read_text(const struct command_argument *argument, char *text, size_t size)
{
    if (!argument->text || !*argument->text || strlen(argument->text) >= size)
        return false;
    strcpy(text, argument->text);
    return true;
}

static bool read_switch(const struct command_argument *argument, bool *on)
{
    *on = argument->number == 1;
    return !argument->text && (argument->number == 0 || argument->number == 1);
}

static bool read_number(const struct command_argument *argument, double *number)
{
    *number = argument->number;
    return !argument->text && !argument->is_switch && isfinite(*number);
}

static bool read_value(const struct command_argument *argument, char *value_text)
{
    double number;
    if (argument->text)
        return read_text(argument, value_text, COMMAND_VALUE_MOST);
    if (!read_number(argument, &number))
        return false;
    snprintf(value_text, COMMAND_VALUE_MOST, "%.9g", number);
    return true;
}

static bool read_argument(const struct command_argument *argument, char letter,
                          struct live_command *command)
{
    switch (letter) {
    case 'c':
        return read_whole(argument, 0, &command->choice);
    case 'C':
        return read_whole(argument, 1, &command->choice);
    case 's':
        return read_whole(argument, 1, &command->stage);
    case 't':
        return read_text(argument, command->text, sizeof command->text);
    case 'q':
        return (argument->text && !*argument->text) ||
               read_text(argument, command->text, sizeof command->text);
    case 'v':
        return read_value(argument, command->value_text);
    case 'd':
        return read_number(argument, &command->value);
    case 'O':
        if (!read_switch(argument, &command->on))
            return false;
        strcpy(command->value_text, command->on ? "on" : "off");
        return true;
    default:
        return read_switch(argument, &command->on);
    }
}

static bool has_long_text(const struct command_argument *arguments, size_t count)
{
    bool found = false;
    for (size_t i = 0; i < count; i++)
        found |= arguments[i].text && strlen(arguments[i].text) >= COMMAND_TEXT_MOST;
    return found;
}

bool live_command_make(const char *path, const struct command_argument *arguments, size_t count,
                       struct live_command *command, char reason[static COMMAND_REASON_MOST])
{
    snprintf(reason, COMMAND_REASON_MOST, "there is no such message");
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        const char *letters = messages[i].arguments;
        if (strcmp(path, messages[i].path) != 0)
            continue;
        *command = (struct live_command){.action = messages[i].action, .path = messages[i].path};
        strcpy(command->text, messages[i].text);
        bool fits = count == strlen(letters);
        for (size_t at = 0; fits && letters[at]; at++)
            fits = read_argument(&arguments[at], letters[at], command);
        if (fits)
            return true;
        if (has_long_text(arguments, count))
            snprintf(reason, COMMAND_REASON_MOST, "a text is longer than %d bytes",
                     COMMAND_TEXT_MOST - 1);
        else
            snprintf(reason, COMMAND_REASON_MOST, "it takes %s", messages[i].usage);
    }
    return false;
}

/* ---- commands as text ---- */

/* Takes a word of *text as the argument for a letter, and moves *text past it. If the last argument
 * is text, it may contain blanks. */
static bool take_word(char letter, bool is_last, char **text, struct command_argument *argument)
{
    bool is_quoted = letter == 'q' && **text == '"';
    char *word = *text + is_quoted;
    char *end =
        word + (letter == 't' && is_last ? strlen(word) : strcspn(word, is_quoted ? "\"" : " "));
    *text = end + (is_quoted && *end);
    *text += strspn(*text, " ");
    *end = '\0';
    *argument = (struct command_argument){0};
    if (strchr("tqv", letter)) {
        argument->text = word;
        return *word || is_quoted;
    }
    bool on = strcmp(word, "on") == 0, off = strcmp(word, "off") == 0;
    argument->number = on;
    return (strchr("oO", letter) && (on || off)) || decimal_parse(word, &argument->number);
}

static bool split_words(const char *letters, const char *rest, char *words,
                        struct command_argument *arguments, size_t *count)
{
    char *at = words;
    bool fits = (size_t)snprintf(words, COMMAND_TEXT_MOST, "%s", rest) < COMMAND_TEXT_MOST;
    for (*count = 0; fits && *letters; letters++)
        fits = take_word(*letters, !letters[1], &at, &arguments[(*count)++]);
    return fits && !*at;
}

enum status live_command_split(const char *text, char words[static COMMAND_TEXT_MOST],
                               const char **path, struct command_argument *arguments, size_t *count)
{
    const char *prefix = "/halo/", *usage = NULL;
    text += strncmp(text, prefix, strlen(prefix)) == 0 ? strlen(prefix) : 0;
    size_t length = strcspn(text, " ");
    const char *rest = text + length + strspn(text + length, " ");
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        *path = messages[i].path;
        const char *name = *path + strlen(prefix);
        if (strlen(name) != length || strncmp(name, text, length) != 0)
            continue;
        usage = messages[i].usage;
        if (split_words(messages[i].arguments, rest, words, arguments, count))
            return STATUS_OK;
    }
    return usage ? fail(CAUSE_USAGE, "%.*s takes %s, not '%s'", (int)length, text, usage, rest)
                 : fail(CAUSE_USAGE,
                        "there is no command '%.*s'; halo live --help lists those of "
                        "OSC",
                        (int)length, text);
}
