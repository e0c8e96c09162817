#include "listen/listen_script.h"

#include "base/options.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const double SECONDS_MOST = 1e9;

/* The first is A, a or 1. */
static bool parse_choice(const char *text, size_t choices, size_t *choice)
{
    *choice = choices;
    if (strcmp(text, "dry") == 0)
        return true;
    if (!text[0] || text[1])
        return false;
    char first = isdigit((unsigned char)text[0]) ? '1' : 'A';
    int number = toupper((unsigned char)text[0]) - first;
    *choice = (size_t)number;
    return number >= 0 && *choice < choices;
}

static enum status parse_switch(char *item, size_t choices, struct script_switch *to)
{
    char *colon = strchr(item, ':');
    if (!colon)
        return fail(CAUSE_USAGE, "--script is made of TIME:CHOICE such as 5s:B, not '%s'", item);
    if (!parse_choice(colon + 1, choices, &to->choice))
        return fail(CAUSE_USAGE, "--script: there is no choice '%s'; there are A to %c, and dry",
                    colon + 1, (char)('A' + choices - 1));
    *colon = '\0';
    return options_parse_seconds("script", item, 0, SECONDS_MOST, &to->seconds);
}

enum status listen_script_parse(const char *text, size_t choices, double apart,
                                struct listen_script *script)
{
    char item[64];
    script->count = 0;
    script->has_dry = false;
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        size_t length = strcspn(text, " ");
        if (script->count == LISTEN_SCRIPT_MOST || length >= sizeof item)
            return fail(CAUSE_USAGE, "--script takes up to %d switches such as 5s:B",
                        LISTEN_SCRIPT_MOST);
        snprintf(item, sizeof item, "%.*s", (int)length, text);
        struct script_switch *to = &script->switches[script->count++];
        TRY(parse_switch(item, choices, to));
        script->has_dry |= to->choice == choices;
        text += length;
    }
    for (size_t i = 1; i < script->count; i++) {
        double before = script->switches[i - 1].seconds, now = script->switches[i].seconds;
        if (now - before < apart)
            return fail(CAUSE_USAGE,
                        "--script: %g s comes too early after %g s; a switch takes %.3f s", now,
                        before, apart);
    }
    return STATUS_OK;
}
