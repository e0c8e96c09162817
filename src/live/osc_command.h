/* Parses OSC packets: single messages and bundles. Private to osc*.c. Threads: the control thread.
 */
#ifndef HALO_OSC_COMMAND_H
#define HALO_OSC_COMMAND_H

#include "live/lo_library.h"
#include "live/osc.h"

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

/* A command as words, "choose 2" or "/halo/control 1 gain -6dB", as a message for *path, to be
 * freed. Errors (usage): there is no such command, other arguments. */
MUST_CHECK enum status osc_message_make(const char *text, const char **path, lo_message *message);

#endif
