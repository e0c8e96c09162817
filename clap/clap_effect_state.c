/* The plugin in a session, as text; and a mask as a preset. On the main thread.
 *
 *     halo.clap 1
 *     bypass 0
 *     gain -6
 *     ...
 *     mask 20
 *     /home/ann/s/hall.wav
 *
 * Parameters by symbol, in any order; the path comes last, with its length in bytes, and not at all
 * without a mask. What is damaged changes nothing. */
#include "clap_effect.h"

#include "base/decimal.h"
#include "base/plain_locale.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADING "halo.clap 1\n"

enum { STATE_MOST = EFFECT_FILE_MOST + 1024 };

/* ---- saving ---- */

static bool write_all(const struct clap_ostream *stream, const char *text, size_t size)
{
    while (size > 0) {
        int64_t written = stream->write(stream, text, size);
        if (written <= 0 || (uint64_t)written > size)
            return false;
        text += written;
        size -= (size_t)written;
    }
    return true;
}

static size_t print_state(struct clap_effect *clap, char text[STATE_MOST])
{
    char file[EFFECT_FILE_MOST];
    float trim;
    effect_save(clap->effect, file, &trim);
    size_t size = (size_t)snprintf(text, STATE_MOST, HEADING);
    for (size_t p = 0; p < EFFECT_CONTROLS; p++)
        size += (size_t)snprintf(text + size, STATE_MOST - size, "%s %.17g\n",
                                 clap_effect_param_symbol(p), atomic_load(&clap->values[p]));
    if (*file)
        size +=
            (size_t)snprintf(text + size, STATE_MOST - size, "mask %zu\n%s", strlen(file), file);
    return size;
}

static bool save(const struct clap_plugin *plugin, const struct clap_ostream *stream)
{
    char text[STATE_MOST];
    struct plain_locale locale = plain_locale_begin();
    size_t size = print_state(clap_effect_of(plugin), text);
    plain_locale_end(locale);
    return write_all(stream, text, size);
}

/* ---- loading ---- */

struct saved_state {
    double values[EFFECT_CONTROLS];
    const char *file; /* "": none */
};

/* All of the stream as text. False: it fails, is too long, or has a NUL. */
static bool read_all(const struct clap_istream *stream, char text[STATE_MOST])
{
    size_t size = 0;
    int64_t count;
    while ((count = stream->read(stream, text + size, STATE_MOST - 1 - size)) > 0) {
        if ((uint64_t)count > STATE_MOST - 1 - size)
            return false;
        size += (size_t)count;
        if (size == STATE_MOST - 1)
            return false;
    }
    text[size] = '\0';
    return count == 0 && strlen(text) == size;
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
    state->file = end + 1;
    size_t length = strlen(state->file);
    return length > 0 && length < EFFECT_FILE_MOST && (double)length == value ? end + 1 + length
                                                                              : NULL;
}

static bool parse_state(struct saved_state *state, char *text)
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

static bool refuse(struct clap_effect *clap, const char *cause)
{
    if (clap->log)
        clap->log->log(clap->host, CLAP_LOG_ERROR, cause);
    return false;
}

/* A mask that cannot be read today stays in the session. */
static bool load(const struct clap_plugin *plugin, const struct clap_istream *stream)
{
    struct clap_effect *clap = clap_effect_of(plugin);
    char text[STATE_MOST];
    struct saved_state state;
    if (!read_all(stream, text) || !parse_state(&state, text))
        return refuse(clap, "the state is damaged, or of a later version of halo.clap");
    for (size_t p = 0; p < EFFECT_CONTROLS; p++)
        atomic_store(&clap->values[p], state.values[p]);
    bool loaded = clap_effect_load(clap, state.file, EFFECT_RESTORE);
    if (clap->params)
        clap->params->rescan(clap->host, CLAP_PARAM_RESCAN_VALUES);
    return loaded;
}

const struct clap_plugin_state clap_effect_state = {.save = save, .load = load};

/* ---- a mask as a preset ---- */

/* The path is made absolute, since a session is opened from any folder. */
static bool choose(struct clap_effect *clap, uint32_t kind, const char *location)
{
    if (kind != CLAP_PRESET_DISCOVERY_LOCATION_FILE || !location) {
        snprintf(clap->cause, sizeof clap->cause, "a preset of halo is the file of a mask");
        return false;
    }
    char *path = realpath(location, NULL);
    bool loaded = clap_effect_load(clap, path ? path : location, EFFECT_CHOOSE);
    free(path);
    return loaded;
}

static bool from_location(const struct clap_plugin *plugin, uint32_t kind, const char *location,
                          const char *key)
{
    struct clap_effect *clap = clap_effect_of(plugin);
    const struct clap_host_preset_load *host = clap->preset_load;
    errno = 0;
    bool loaded = choose(clap, kind, location);
    if (!loaded && host)
        host->on_error(clap->host, kind, location, key, errno, clap->cause);
    if (!loaded)
        return false;
    if (clap->state)
        clap->state->mark_dirty(clap->host);
    if (host)
        host->loaded(clap->host, kind, location, key);
    return true;
}

const struct clap_plugin_preset_load clap_effect_preset_load = {.from_location = from_location};
