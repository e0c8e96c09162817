/* The connections of a JACK client, remembered by the names of ports.
 *
 * One that was undone while the other port stayed is forgotten. One whose other port went away,
 * with its client or with the server, is made again as soon as a port of that name appears.
 * Private to driver_jack*.c. Threads: the control thread.
 */
#ifndef HALO_DRIVER_JACK_PATCH_H
#define HALO_DRIVER_JACK_PATCH_H

#include "base/status.h"

#include "live/jack_library.h"

struct jack_patch_link {
    char *own;   /* without the client, whose name the server may change */
    char *other; /* in full */
    bool there;  /* the other port, at the last look */
    int undone;  /* looks since then, with the port still there */
};

struct jack_patch {
    struct jack_patch_link *links;
    size_t count;
};

/* Learn the connections that the ports of `client` have now, and make those that have become
 * possible. False: look again soon, since a connection was undone and its port may be going away
 * too. Where memory is missing, links are lost. */
bool jack_patch_follow(struct jack_patch *patch, jack_client_t *client, jack_port_t *const *ports,
                       size_t count);

/* None of the other ports is there: all links are made again when they appear. */
void jack_patch_await(struct jack_patch *patch);

void jack_patch_clear(struct jack_patch *patch);

#endif
