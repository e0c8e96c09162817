/* Parses OSC packets: single messages and bundles. Private to osc*.c. Threads: the control thread.
 */
#ifndef HALO_OSC_COMMAND_H
#define HALO_OSC_COMMAND_H

#include "live/osc.h"

enum osc_kind {
    OSC_REFUSED, /* unknown, of other types, or not OSC */
    OSC_COMMAND,
    OSC_SUBSCRIBE, /* port; 0: the sender's */
    OSC_UNSUBSCRIBE,
};

struct osc_message {
    enum osc_kind kind;
    struct osc_command command;
    size_t port;
};

/* Call handle() for every message of a packet; what is not OSC is one refused message. `bytes` are
 * 8-byte aligned and modified. */
void osc_packet_read(void *bytes, size_t size,
                     void (*handle)(void *context, const struct osc_message *message),
                     void *context);

#endif
