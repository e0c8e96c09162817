/* Links between halo's node and the devices in PipeWire's graph.
 *
 * Each direction has a target: the named device, or the server's default one, which is followed.
 * A direction whose links a user cuts by hand is left to the user. Links made by hand are
 * remembered by the names of their ports, and made again after a reconnect.
 * Threads: any, with the loop's lock held.
 */
#ifndef HALO_DRIVER_PIPEWIRE_LINKS_H
#define HALO_DRIVER_PIPEWIRE_LINKS_H

#include "live/driver_pipewire_registry.h"

#include "live/device.h"

struct pipewire_end {
    bool is_wanted;                  /* it is linked, not left to programs */
    bool is_monitor;                 /* the input is the monitor of a sink */
    bool is_default_sink;            /* the input is that of the default sink, as it changes */
    char named[PIPEWIRE_NAME];       /* of the device; empty: the server's default one */
    char target[PIPEWIRE_NAME];      /* of the last one */
    char description[PIPEWIRE_NAME]; /* of the same; empty: none was there */
    bool is_there;                   /* the target */
    bool is_stated;                  /* halo's channels are called as a user or the chain says */
    size_t channels;
};

struct pipewire_own_link {
    bool is_input;   /* of halo */
    bool is_by_hand; /* it was made by a user before a reconnect */
    bool is_cut;     /* by someone else */
    int tries;
    uint32_t out_port, in_port;
    struct pw_proxy *proxy; /* NULL: it failed, or is cut */
    struct spa_hook hook;
    struct pipewire_own_link *next;
};

struct pipewire_links {
    struct pipewire_registry *graph;
    uint32_t nodes[2];               /* halo's own for each direction; SPA_ID_INVALID: not yet */
    char own_sink[PIPEWIRE_NAME];    /* never played to; empty: none */
    struct pipewire_end ends[2];     /* output, input */
    struct pipewire_own_link *own;   /* a list */
    size_t moves;                    /* times that a device was replaced by another */
    char refused[2 * PIPEWIRE_NAME]; /* the sink whose monitor was refused; empty: none */
};

enum { PIPEWIRE_OUTPUT, PIPEWIRE_INPUT };

/* Adapt the links to the graph. */
void pipewire_links_update(struct pipewire_links *links);

/* All ports of all wanted directions have their links, as far as they can. */
bool pipewire_links_are_there(const struct pipewire_links *links);

/* Forget the links that the stream before had. */
void pipewire_links_forget(void);

void pipewire_links_free(struct pipewire_links *links);

#endif
