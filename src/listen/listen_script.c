#include "listen/listen_script.h"

#include "base/options.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const double SECONDS_MOST = 1e9;

/* A or a, or 1, for the first. */
static bool parse_choice(const char *text, size_t choices, size_t *choice)
{
    if (!text[0] || text[1])
        return false;
    char first = isdigit((unsigned char)text[0]) ? '1' : 'A';
    int number = toupper((unsigned char)text[0]) - first;
    *choice = (size_t)number;
    return number >= 0 && *choice < choices;
}

static enum status parse_switch(char *word, size_t choices, struct listen_script_switch *to)
{
    char *colon = strchr(word, ':');
    if (!colon)
        return fail(STATUS_USAGE, "--script is made of TIME:CHOICE such as 5s:B, not '%s'", word);
    if (!parse_choice(colon + 1, choices, &to->choice))
        return fail(STATUS_USAGE, "--script: there is no choice '%s'; there are A to %c", colon + 1,
                    (char)('A' + choices - 1));
    *colon = '\0';
    return options_parse_seconds("script", word, 0, SECONDS_MOST, &to->seconds);
}

static enum status check_order(const struct listen_script *script, double isolated)
{
    for (size_t i = 1; i < script->count; i++) {
        double before = script->switches[i - 1].seconds, now = script->switches[i].seconds;
        if (now - before < isolated)
            return fail(STATUS_USAGE,
                        "--script: %g s comes too early after %g s; a switch takes %.3f s", now,
                        before, isolated);
    }
    return STATUS_OK;
}

enum status listen_script_parse(const char *text, size_t choices, double isolated,
                                struct listen_script *script)
{
    char word[64];
    enum status status = STATUS_OK;
    script->count = 0;
    for (text += strspn(text, " "); *text && status == STATUS_OK; text += strspn(text, " ")) {
        size_t length = strcspn(text, " ");
        if (script->count == LISTEN_SCRIPT_MOST || length >= sizeof word)
            return fail(STATUS_USAGE, "--script takes up to %d switches such as 5s:B",
                        LISTEN_SCRIPT_MOST);
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        status = parse_switch(word, choices, &script->switches[script->count++]);
        text += length;
    }
    return status == STATUS_OK ? check_order(script, isolated) : status;
}
