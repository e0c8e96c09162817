#include "live/driver_portaudio_alsa.h"

#include "live/portaudio_library.h"

#include <dlfcn.h>
#include <string.h>

/* Declared here and found by name, since ALSA's headers may be missing. */
struct alsa_library {
    int (*update)(void);
    int (*search)(void *tree, const char *key, void **node);
    int (*search_definition)(void *tree, const char *base, const char *name, void **node);
    int (*get_string)(const void *node, const char **text);
    int (*delete_node)(void *node);
    void **tree;
};

/* False: a PortAudio without ALSA. */
static bool find_library(struct alsa_library *alsa)
{
    *(void **)&alsa->update = library_symbol(&portaudio_library, "snd_config_update");
    *(void **)&alsa->search = library_symbol(&portaudio_library, "snd_config_search");
    *(void **)&alsa->search_definition =
        library_symbol(&portaudio_library, "snd_config_search_definition");
    *(void **)&alsa->get_string = library_symbol(&portaudio_library, "snd_config_get_string");
    *(void **)&alsa->delete_node = library_symbol(&portaudio_library, "snd_config_delete");
    alsa->tree = library_symbol(&portaudio_library, "snd_config");
    return alsa->update && alsa->search && alsa->search_definition && alsa->get_string &&
           alsa->delete_node && alsa->tree;
}

/* ---- devices ---- */

bool portaudio_alsa_has_default(void)
{
    struct alsa_library alsa;
    void *node;
    return !find_library(&alsa) ||
           (alsa.update() >= 0 && *alsa.tree && alsa.search(*alsa.tree, "pcm.default", &node) == 0);
}

enum { NESTED_MOST = 8 }; /* plugins upon plugins */

static const char *server_named(const struct alsa_library *alsa, const char *device, int depth);

static const char *server_of_node(const struct alsa_library *alsa, void *node, int depth)
{
    static const char *const below[] = {"slave.pcm", "slave", "playback.pcm", "capture.pcm"};
    const char *text, *server = NULL;
    void *inner;
    if (depth > NESTED_MOST)
        return NULL;
    if (alsa->get_string(node, &text) == 0)
        return server_named(alsa, text, depth + 1);
    if (alsa->search(node, "type", &inner) == 0 && alsa->get_string(inner, &text) == 0) {
        if (strcmp(text, "pulse") == 0)
            return "PulseAudio";
        if (strcmp(text, "pipewire") == 0)
            return "PipeWire";
    }
    for (size_t i = 0; i < sizeof below / sizeof *below && !server; i++)
        if (alsa->search(node, below[i], &inner) == 0)
            server = server_of_node(alsa, inner, depth + 1);
    return server;
}

static const char *server_named(const struct alsa_library *alsa, const char *device, int depth)
{
    const char *server = NULL;
    void *definition;
    if (depth > NESTED_MOST || !*alsa->tree ||
        alsa->search_definition(*alsa->tree, "pcm", device, &definition) < 0)
        return NULL;
    server = server_of_node(alsa, definition, depth);
    alsa->delete_node(definition);
    return server;
}

const char *portaudio_alsa_server(const char *device)
{
    struct alsa_library alsa;
    return find_library(&alsa) && alsa.update() >= 0 ? server_named(&alsa, device, 0) : NULL;
}
