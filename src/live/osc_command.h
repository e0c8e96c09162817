/* Commands out of OSC packets: single messages, and bundles of them. */
#ifndef HALO_OSC_COMMAND_H
#define HALO_OSC_COMMAND_H

#include "live/osc.h"

enum osc_kind {
    OSC_REFUSED,     /* unknown, ill-typed, or no OSC at all */
    OSC_COMMAND,     /* filled in */
    OSC_SUBSCRIBE,   /* port; 0: the sender's */
    OSC_UNSUBSCRIBE, /* the same */
};

struct osc_message {
    enum osc_kind kind;
    struct osc_command command;
    unsigned port;
};

/* Hand every message of a packet to take(); what is no OSC counts as one refused. `bytes`
 * are changed; 8-byte aligned. */
void osc_packet_read(void *bytes, size_t size,
                     void (*take)(void *context, const struct osc_message *message), void *context);

#endif
