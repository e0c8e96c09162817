/* Unix datagram sockets by which halo live --send reaches what runs: $XDG_RUNTIME_DIR/halo/NAME.
 *
 * NAME is that of the service (HALO_SERVICE in its unit), else the process id. Folders in which
 * another user could write are not used. Private to osc*.c. Threads: the control thread.
 */
#ifndef HALO_OSC_LOCAL_H
#define HALO_OSC_LOCAL_H

#include "base/status.h"

enum { OSC_LOCAL_NAME_MOST = 100 /* bytes, with its 0 */ };

struct osc_local {
    int fd;     /* non-blocking; -1: none */
    int folder; /* with the socket */
    char name[OSC_LOCAL_NAME_MOST];
};

/* local->fd is -1 if it fails, with a note if notes are detailed. */
void osc_local_listen(struct osc_local *local);

/* Removes the socket from its folder, too. */
void osc_local_close(struct osc_local *local);

/* Connect to the socket of that name, else ("") to the only one that is listened to, whose name is
 * returned. Sockets of processes that ended are removed. Errors: none or several run; no folder. */
MUST_CHECK enum status osc_local_connect(char name[static OSC_LOCAL_NAME_MOST], int *fd);

#endif
