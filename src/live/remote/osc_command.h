/* Parses OSC packets: single messages and bundles. Private to osc*.c. Threads: the control thread.
 */
#ifndef HALO_OSC_COMMAND_H
#define HALO_OSC_COMMAND_H

#include "live/remote/lo_library.h"
#include "live/remote/osc.h"

enum osc_kind {
    OSC_REFUSED, /* unknown, of other types, or not OSC */
    OSC_COMMAND,
    OSC_SUBSCRIBE, /* port; 0: the sender's */
    OSC_UNSUBSCRIBE,
};

enum { OSC_REASON_MOST = 256 /* bytes, with its 0 */ };

struct osc_message {
    enum osc_kind kind;
    struct osc_command command;
    size_t port;
    char path[OSC_PATH_MOST];     /* of a refused one; "" where it is not OSC. Perhaps cut */
    char reason[OSC_REASON_MOST]; /* why it was refused */
};

/* Call handle() for every message of a packet; what is not OSC is one refused message. `bytes` are
 * 8-byte aligned and modified. */
void osc_packet_read(void *bytes, size_t size,
                     void (*handle)(void *context, const struct osc_message *message),
                     void *context);

/* Unix datagram sockets by which halo live --send reaches what runs: $XDG_RUNTIME_DIR/halo/NAME.
 *
 * NAME is that of the service (HALO_SERVICE in its unit), else the process id. Folders in which
 * another user could write are not used. Private to osc*.c. Threads: the control thread.
 */
enum { OSC_LOCAL_NAME_MOST = 100 /* bytes, with its 0 */ };

struct osc_local {
    int fd;     /* non-blocking; -1: none */
    int folder; /* with the socket */
    char name[OSC_LOCAL_NAME_MOST];
};

/* Connect to the socket of that name, else ("") to the only one that is listened to, whose name is
 * returned. Sockets of processes that ended are removed. Errors: none or several run; no folder. */
MUST_CHECK enum status osc_local_connect(char name[static OSC_LOCAL_NAME_MOST], int *fd);

#endif
