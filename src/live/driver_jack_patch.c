#include "live/driver_jack_patch.h"

#include <stdlib.h>
#include <string.h>

/* A port that goes away is disconnected before, and a server that ends may take a while. */
enum { LOOKS_UNDONE = 20 };

static void link_free(struct jack_patch_link *link)
{
    free(link->own);
    free(link->other);
}

void jack_patch_clear(struct jack_patch *patch)
{
    for (size_t i = 0; i < patch->count; i++)
        link_free(&patch->links[i]);
    free(patch->links);
    *patch = (struct jack_patch){0};
}

void jack_patch_await(struct jack_patch *patch)
{
    for (size_t i = 0; i < patch->count; i++)
        patch->links[i].there = false;
}

static struct jack_patch_link *find(const struct jack_patch *patch, const char *own,
                                    const char *other)
{
    for (size_t i = 0; i < patch->count; i++)
        if (strcmp(patch->links[i].own, own) == 0 && strcmp(patch->links[i].other, other) == 0)
            return &patch->links[i];
    return NULL;
}

static void learn(struct jack_patch *patch, const char *own, const char *other)
{
    if (find(patch, own, other))
        return;
    struct jack_patch_link link = {.own = strdup(own), .other = strdup(other), .there = true};
    struct jack_patch_link *links = realloc(patch->links, (patch->count + 1) * sizeof *links);
    if (links)
        patch->links = links;
    if (links && link.own && link.other)
        links[patch->count++] = link;
    else
        link_free(&link);
}

static void learn_port(struct jack_patch *patch, jack_client_t *client, const jack_port_t *port)
{
    const char **others = jack_port_get_all_connections(client, port);
    for (size_t i = 0; others && others[i]; i++)
        learn(patch, jack_port_short_name(port), others[i]);
    jack_free(others);
}

static jack_port_t *own_port(jack_port_t *const *ports, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(jack_port_short_name(ports[i]), name) == 0)
            return ports[i];
    return NULL;
}

static void make(jack_client_t *client, const jack_port_t *port, const char *other)
{
    bool is_input = jack_port_flags(port) & JackPortIsInput;
    const char *own = jack_port_name(port);
    (void)jack_connect(client, is_input ? other : own, is_input ? own : other);
}

/* False: it was undone, and is to be forgotten. */
static bool follow(struct jack_patch_link *link, jack_client_t *client, jack_port_t *port)
{
    bool was_there = link->there;
    link->there = jack_port_by_name(client, link->other) != NULL;
    bool is_open = port && link->there && !jack_port_connected_to(port, link->other);
    link->undone = is_open && was_there ? link->undone + 1 : 0;
    if (is_open && !was_there)
        make(client, port, link->other);
    return link->undone < LOOKS_UNDONE;
}

bool jack_patch_follow(struct jack_patch *patch, jack_client_t *client, jack_port_t *const *ports,
                       size_t count)
{
    size_t kept = 0;
    bool is_settled = true;
    for (size_t i = 0; i < patch->count; i++) {
        struct jack_patch_link *link = &patch->links[i];
        bool keep = follow(link, client, own_port(ports, count, link->own));
        is_settled = is_settled && link->undone == 0;
        if (keep)
            patch->links[kept++] = *link;
        else
            link_free(link);
    }
    patch->count = kept;
    for (size_t i = 0; i < count; i++)
        learn_port(patch, client, ports[i]);
    return is_settled;
}
