/* The plugin in a session, and a mask as a preset. On the main thread. */
#include "clap_effect.h"
#include "saved_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static bool save(const struct clap_plugin *plugin, const struct clap_ostream *stream)
{
    struct clap_effect *clap = clap_effect_of(plugin);
    struct saved_state state;
    char text[SAVED_STATE_MOST];
    float trim;
    effect_save(clap->effect, state.file, &trim);
    for (size_t p = 0; p < EFFECT_CONTROLS; p++)
        state.values[p] = atomic_load(&clap->values[p]);
    return write_all(stream, text, saved_state_print(&state, text));
}

/* ---- loading ---- */

/* All of the stream as text. False: it fails, is too long, or has a NUL. */
static bool read_all(const struct clap_istream *stream, char text[SAVED_STATE_MOST])
{
    size_t size = 0;
    int64_t count;
    while ((count = stream->read(stream, text + size, SAVED_STATE_MOST - 1 - size)) > 0) {
        if ((uint64_t)count > SAVED_STATE_MOST - 1 - size)
            return false;
        size += (size_t)count;
        if (size == SAVED_STATE_MOST - 1)
            return false;
    }
    text[size] = '\0';
    return count == 0 && strlen(text) == size;
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
    char text[SAVED_STATE_MOST];
    struct saved_state state;
    if (!read_all(stream, text) || !saved_state_parse(&state, text))
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

/* The path is made absolute, since a session is opened from any folder. `error`: the system's, 0:
 * it has none. */
static bool choose(struct clap_effect *clap, uint32_t kind, const char *location, int *error)
{
    if (kind != CLAP_PRESET_DISCOVERY_LOCATION_FILE || !location) {
        snprintf(clap->cause, sizeof clap->cause, "a preset of halo is the file of a mask");
        return false;
    }
    char *path = realpath(location, NULL);
    *error = path ? 0 : errno;
    bool loaded = clap_effect_load(clap, path ? path : location, EFFECT_CHOOSE);
    free(path);
    return loaded;
}

static bool from_location(const struct clap_plugin *plugin, uint32_t kind, const char *location,
                          const char *key)
{
    struct clap_effect *clap = clap_effect_of(plugin);
    const struct clap_host_preset_load *host = clap->preset_load;
    int error = 0;
    bool loaded = choose(clap, kind, location, &error);
    if (!loaded && host)
        host->on_error(clap->host, kind, location, key, error, clap->cause);
    if (!loaded)
        return false;
    if (clap->state)
        clap->state->mark_dirty(clap->host);
    if (host)
        host->loaded(clap->host, kind, location, key);
    return true;
}

const struct clap_plugin_preset_load clap_effect_preset_load = {.from_location = from_location};
