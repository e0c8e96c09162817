#include "saved_state.h"

#include "clap_effect.h"

#include "base/decimal.h"
#include "base/plain_locale.h"

#include <stdio.h>
#include <string.h>

#define HEADING "halo.clap 1\n"

size_t saved_state_print(const struct saved_state *state, char text[SAVED_STATE_MOST])
{
    struct plain_locale locale = plain_locale_begin();
    size_t size = (size_t)snprintf(text, SAVED_STATE_MOST, HEADING);
    for (size_t p = 0; p < EFFECT_CONTROLS; p++)
        size += (size_t)snprintf(text + size, SAVED_STATE_MOST - size, "%s %.17g\n",
                                 clap_effect_param_symbol(p), state->values[p]);
    if (*state->file)
        size += (size_t)snprintf(text + size, SAVED_STATE_MOST - size, "mask %zu\n%s",
                                 strlen(state->file), state->file);
    plain_locale_end(locale);
    return size;
}

static bool parse_param(struct saved_state *state, const char *name, double value)
{
    for (size_t p = 0; p < EFFECT_CONTROLS; p++)
        if (strcmp(clap_effect_param_symbol(p), name) == 0) {
            state->values[p] = value;
            return value == clap_effect_param_clamped(p, value);
        }
    return false;
}

/* One line, and after that of the mask its path. Returns what follows, or NULL. */
static char *parse_line(struct saved_state *state, char *line)
{
    char *end = strchr(line, '\n'), *blank = strchr(line, ' ');
    double value;
    if (!end || !blank || blank > end)
        return NULL;
    *end = *blank = '\0';
    if (!decimal_parse(blank + 1, &value))
        return NULL;
    if (strcmp(line, "mask") != 0)
        return parse_param(state, line, value) ? end + 1 : NULL;
    size_t length = strlen(end + 1);
    if (length == 0 || length >= sizeof state->file || (double)length != value)
        return NULL;
    memcpy(state->file, end + 1, length + 1);
    return end + 1 + length;
}

bool saved_state_parse(struct saved_state *state, char *text)
{
    *state = (struct saved_state){.file = ""};
    for (size_t p = 0; p < EFFECT_CONTROLS; p++)
        state->values[p] = clap_effect_param_initial(p);
    if (strncmp(text, HEADING, strlen(HEADING)) != 0)
        return false;
    struct plain_locale locale = plain_locale_begin();
    text += strlen(HEADING);
    while (text && *text)
        text = parse_line(state, text);
    plain_locale_end(locale);
    return text;
}
