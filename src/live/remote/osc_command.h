/* Parses OSC packets: messages and bundles. Private to osc*.c. Threads: the control thread. */
#ifndef HALO_OSC_COMMAND_H
#define HALO_OSC_COMMAND_H

#include "live/remote/lo_library.h"
#include "live/remote/osc.h"

enum osc_kind {
    OSC_REFUSED, /* unknown, of wrong types, or not OSC */
    OSC_COMMAND,
    OSC_SUBSCRIBE, /* uses port; 0: the sender's port */
    OSC_UNSUBSCRIBE,
};

struct osc_message {
    enum osc_kind kind;
    struct live_command command;
    size_t port;
    char path[OSC_PATH_MOST]; /* OSC_REFUSED: path of the message, perhaps cut; "": not OSC */
    char reason[COMMAND_REASON_MOST]; /* OSC_REFUSED: reason */
};

/* Calls handle() for every message of a packet. If the packet is not OSC, handle() gets one refused
 * message. `bytes` are 8-byte aligned, and are modified. */
void osc_packet_read(void *bytes, size_t size,
                     void (*handle)(void *context, const struct osc_message *message),
                     void *context);

/* Unix datagram sockets, through which halo live --send reaches a running halo live:
 * $XDG_RUNTIME_DIR/halo/NAME.
 *
 * NAME is the name of the service (HALO_SERVICE in its unit), else the process id. Folders in which
 * another user could write are not used. Private to osc*.c. Threads: the control thread. */
enum { OSC_LOCAL_NAME_MOST = 100 /* bytes, with its 0 */ };

struct osc_local {
    int fd;     /* non-blocking; -1: there is no socket */
    int folder; /* descriptor of the folder of the socket */
    char name[OSC_LOCAL_NAME_MOST];
};

/* Connects to the socket `name`. If it is empty, to the only one that a process listens to; returns
 * its name. Removes sockets of ended processes. Errors: none or several run; no folder. */
MUST_CHECK enum status osc_local_connect(char name[static OSC_LOCAL_NAME_MOST], int *fd);

#endif
